# Draw the figures that the configuration describes.


rule plot_curves:
    input:
        unpack(
            lambda wildcards: layout.files_of_runs(
                study, study.curves[wildcards.curves].experiments
            )
        ),
    output:
        figure=in_report(
            layout.CURVES["figure"],
            "Figures",
            caption="../report/curves.rst",
            labels={
                "figure": "{curves}",
                "shows": "A figure of the configuration's own",
            },
        ),
        record=layout.CURVES.record,
    log:
        layout.CURVES.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=lambda wildcards: job(
            "scripts.plot_curves",
            metrics=study.curves[wildcards.curves].metrics,
            title=study.curves[wildcards.curves].title,
            **settings_behind(study.curves[wildcards.curves].experiments),
        ),
    message:
        "The figure {wildcards.curves}"
    script:
        "../scripts/plot_curves.py"
