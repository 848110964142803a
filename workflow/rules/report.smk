# Put together what the questions and the runs left behind: one table of claims, one page to explore,
# one manifest, and the pages that `snakemake --report report.html` shows.


rule collect_claims:
    input:
        claims=[step["claims"] for step in ASKED],
        records=[step.record for step in ASKED],
    output:
        table=in_report(
            layout.CLAIMS["table"],
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "The same as a table (CSV)"},
        ),
        record=layout.CLAIMS.record,
    log:
        layout.CLAIMS.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=lambda wildcards: job("scripts.collect_claims"),
    message:
        "The claims of all questions"
    script:
        "../scripts/collect_claims.py"


rule explore:
    input:
        unpack(lambda wildcards: layout.files_of_runs(study, EXPERIMENTS)),
    output:
        page=in_report(
            layout.EXPLORE["page"],
            "Explore",
            caption="../report/explore.rst",
            labels={"page": "Every curve, to explore"},
        ),
        record=layout.EXPLORE.record,
    log:
        layout.EXPLORE.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=lambda wildcards: job(
            "scripts.explore",
            texts=report_texts("explore.html"),
            **settings_behind(EXPERIMENTS),
        ),
    message:
        "An interactive page of all curves"
    script:
        "../scripts/explore.py"


rule manifest:
    input:
        results=[file for step in STEPS for file in step.results],
        records=[step.record for step in STEPS],
    output:
        manifest=layout.MANIFEST["manifest"],
        record=layout.MANIFEST.record,
    log:
        layout.MANIFEST.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=lambda wildcards: job(
            "scripts.manifest",
            questions=study.questions,
            curves={name: asdict(figure) for name, figure in study.curves.items()},
            **settings_behind(EXPERIMENTS),
        ),
    message:
        "The manifest of all results"
    script:
        "../scripts/manifest.py"


rule report_pages:
    input:
        claims=layout.CLAIMS["table"],
        manifest=layout.MANIFEST["manifest"],
        answers=[step["answers"] for step in TRAINING if "answers" in step.files],
        records=[step.record for step in [*STEPS, layout.MANIFEST]],
    output:
        claims=in_report(
            layout.REPORT["claims"],
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "Claims and verdicts"},
        ),
        provenance=in_report(
            layout.REPORT["provenance"],
            "Provenance",
            caption="../report/provenance.rst",
            labels={"page": "What made each result"},
        ),
        answers=in_report(
            layout.REPORT["answers"],
            "Answers",
            caption="../report/answers.rst",
            labels={"page": "What the teacher and the models answer"},
        ),
        front=layout.REPORT["front"],
        record=layout.REPORT.record,
    log:
        layout.REPORT.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=lambda wildcards: job(
            "scripts.report_pages",
            seeds=study.seeds,
            correctness={
                name: study.experiments[name].teacher_correctness
                for name in EXPERIMENTS
            },
            texts=report_texts("page.html", "workflow.rst"),
        ),
    message:
        "The pages of the report"
    script:
        "../scripts/report_pages.py"
