# Write the pages and captions that `snakemake --report report.html` shows.


rule report_pages:
    input:
        **report_inputs(),
        claims="results/claims.csv",
        manifest="results/manifest.json",
        records=[*study_records(), "results/records/manifest.json"],
    output:
        claims=in_report(
            "results/report/claims.html",
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "Claims and verdicts"},
        ),
        provenance=in_report(
            "results/report/provenance.html",
            "Provenance",
            caption="../report/provenance.rst",
            labels={"page": "What made each result"},
        ),
        answers=in_report(
            "results/report/answers.html",
            "Answers",
            caption="../report/answers.rst",
            labels={"page": "What the teacher and the models answer"},
        ),
        front=FRONT_PAGE,
        captions=[caption_of(figure) for figure in study.figures],
        record="results/records/report.json",
    log:
        "results/logs/report.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        templates=report_templates(),
        correctness={
            name: study.experiments[name].teacher_correctness
            for name in answering_experiments()
        },
        code=code_of("report_pages"),
        software=software("numpy", "pandas"),
    message:
        "The pages of the report"
    script:
        "../scripts/report_pages.py"
