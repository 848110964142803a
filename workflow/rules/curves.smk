# Draw the figures that the configuration describes.


rule plot_curves:
    input:
        unpack(reads("plot_curves")),
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
        job=made_by("plot_curves"),
    message:
        "The figure {wildcards.curves}"
    script:
        "../scripts/plot_curves.py"
