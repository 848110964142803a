# Put every curve on one page, to explore.


rule explore:
    input:
        **explore_inputs(study_experiments()),
    output:
        page=in_report(
            "results/explore.html",
            "Explore",
            caption="../report/explore.rst",
            labels={"page": "Every curve, to explore"},
        ),
        record="results/records/explore.json",
    log:
        "results/logs/explore.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        template=report_template("explore.html"),
        code=code_of("explore"),
        software=software("numpy", "pandas", "plotly"),
    message:
        "Every curve on one page, to explore"
    script:
        "../scripts/explore.py"


use rule explore as explore_extensions with:
    input:
        unpack(
            lambda wildcards: explore_inputs(
                [*study_experiments(), *extension_experiments()]
            )
        ),
    output:
        page=in_report(
            "results/extensions/explore.html",
            "Explore",
            caption="../report/explore.rst",
            labels={"page": "Every curve, with the extensions'"},
        ),
        record="results/records/extensions/explore.json",
    log:
        "results/logs/extensions/explore.log",
    params:
        seeds=study.seeds,
        template=report_template("explore.html"),
        code=lambda wildcards: code_of("explore"),
        software=software("numpy", "pandas", "plotly"),
    message:
        "Every curve, with the extensions', on one page, to explore"
