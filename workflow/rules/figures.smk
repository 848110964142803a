# Draw the three figures, and those of the user's own, from the CSVs alone.


rule plot_fig1:
    input:
        weak=lambda wildcards: grpo_metrics("weak"),
        sft=lambda wildcards: sft_metrics("weak"),
    output:
        figure=figure_in_report(
            "fig1_rlvr_overturns", "1", "The reward overturns the error"
        ),
        record="results/records/figures/fig1_rlvr_overturns.json",
    log:
        "results/logs/figures/fig1_rlvr_overturns.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        settings=figure_settings("fig1_rlvr_overturns"),
        code=code_of("plot_fig1"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "Figure 1: the verifiable reward overturns a systematic error"
    script:
        "../scripts/plot_fig1.py"


rule plot_fig2:
    input:
        long=lambda wildcards: grpo_metrics("long"),
    output:
        figure=figure_in_report(
            "fig2_unhackable_reward", "2", "Nothing collapses without an anchor"
        ),
        record="results/records/figures/fig2_unhackable_reward.json",
    log:
        "results/logs/figures/fig2_unhackable_reward.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        settings=figure_settings("fig2_unhackable_reward"),
        code=code_of("plot_fig2"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "Figure 2: an unhackable reward, without an anchor"
    script:
        "../scripts/plot_fig2.py"


rule plot_fig3:
    input:
        weak=lambda wildcards: grpo_metrics("weak"),
        cold=lambda wildcards: grpo_metrics("cold"),
    output:
        figure=figure_in_report("fig3_cold_start", "3", "A cold start learns nothing"),
        record="results/records/figures/fig3_cold_start.json",
    log:
        "results/logs/figures/fig3_cold_start.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        settings=figure_settings("fig3_cold_start"),
        code=code_of("plot_fig3"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "Figure 3: a cold start"
    script:
        "../scripts/plot_fig3.py"


rule plot_curves:
    input:
        metrics=lambda wildcards: [
            file
            for name in study.curves[wildcards.curves].experiments
            for file in grpo_metrics(name)
        ],
    output:
        figure=in_report(
            "results/figures/{curves}.pdf",
            "Figures",
            caption="../report/curves.rst",
            labels={
                "figure": "{curves}",
                "shows": "A figure of the configuration's own",
            },
        ),
        record="results/records/figures/{curves}.json",
    log:
        "results/logs/figures/{curves}.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        metrics=lambda wildcards: study.curves[wildcards.curves].metrics,
        experiments=lambda wildcards: study.curves[wildcards.curves].experiments,
        title=lambda wildcards: study.curves[wildcards.curves].title,
        settings=lambda wildcards: settings_of(
            study.curves[wildcards.curves].experiments
        ),
        code=lambda wildcards: code_of("plot_curves"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "The figure {wildcards.curves}"
    script:
        "../scripts/plot_curves.py"
