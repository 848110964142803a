# Answer the questions that the chapter left open. What their code is, is asked only where they run.


rule pass_at_k:
    input:
        sft=lambda wildcards: checkpoint_of(wildcards.experiment, wildcards.seed),
        grpo="results/grpo/{experiment}/seed{seed}.pt",
    output:
        table=in_report(
            "results/pass_at_k/{experiment}/seed{seed}.csv",
            "Metrics",
            "pass@k, {experiment}",
            caption="../report/pass_at_k.rst",
            labels={"seed": "{seed}"},
        ),
        record="results/records/pass_at_k/{experiment}/seed{seed}.json",
    log:
        "results/logs/pass_at_k/{experiment}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=30,
    params:
        **study.extensions.pass_at_k,
        seed=lambda wildcards: int(wildcards.seed),
        run="pass_at_k/{experiment}",
        code=lambda wildcards: code_of("pass_at_k"),
        software=software("torch", "numpy"),
    message:
        "pass@k of seed {wildcards.seed}, experiment {wildcards.experiment}"
    script:
        "../scripts/pass_at_k.py"


rule plot_pass_at_k:
    input:
        tables=lambda wildcards: pass_at_k_tables(),
    output:
        figure=extension_in_report(PASS_AT_K),
        record=f"results/records/figures/{PASS_AT_K}.json",
    log:
        f"results/logs/figures/{PASS_AT_K}.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        experiments=study.extensions.figures.get(PASS_AT_K, []),
        settings=lambda wildcards: settings_of(study.extensions.figures[PASS_AT_K]),
        code=lambda wildcards: code_of("plot_pass_at_k"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "The figure on pass@k"
    script:
        "../scripts/plot_pass_at_k.py"


rule plot_extension:
    input:
        metrics=lambda wildcards: metrics_drawn_in(wildcards.extension),
        prompts=lambda wildcards: prompts_behind(wildcards.extension),
    output:
        figure=extension_in_report("{extension}"),
        record="results/records/figures/{extension}.json",
    log:
        "results/logs/figures/{extension}.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        experiments=lambda wildcards: {
            name: asdict(study.experiment(name))
            for name in study.extensions.figures[wildcards.extension]
        },
        settings=lambda wildcards: settings_of(
            study.extensions.figures[wildcards.extension]
        ),
        code=lambda wildcards: code_of("plot_extension"),
        software=software("matplotlib", "numpy", "pandas"),
    message:
        "The figure {wildcards.extension}"
    script:
        "../scripts/plot_extension.py"


rule check_extensions:
    input:
        unpack(findings_inputs),
    output:
        table=in_report(
            "results/extensions/findings.csv",
            "Extensions",
            caption="../report/findings.rst",
            labels={"figure": "all", "question": "The findings as a table (CSV)"},
        ),
        record="results/records/extensions/findings.json",
    log:
        "results/logs/extensions/findings.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        figures=study.extensions.figures,
        experiments=lambda wildcards: {
            name: asdict(study.experiment(name)) for name in extension_experiments()
        },
        code=lambda wildcards: code_of("check_extensions"),
        software=software("numpy", "pandas"),
    message:
        "What the extensions found, against what was expected"
    script:
        "../scripts/check_extensions.py"


use rule manifest as extension_manifest with:
    input:
        results=lambda wildcards: extension_results(),
        records=lambda wildcards: records_of(extension_results()),
    output:
        manifest="results/extensions/manifest.json",
        record="results/records/extensions/manifest.json",
    log:
        "results/logs/extensions/manifest.log",
    params:
        settings=lambda wildcards: {
            **study_settings([*study_experiments(), *extension_experiments()]),
            "reward_model": asdict(study.extensions.reward_model),
            "pass_at_k": study.extensions.pass_at_k,
        },
        code=lambda wildcards: code_of("manifest"),
        software=software(),
    message:
        "The manifest of the extensions' results"


rule extension_pages:
    input:
        findings="results/extensions/findings.csv",
        manifest="results/extensions/manifest.json",
        records=lambda wildcards: [
            *records_of(extension_results()),
            "results/records/extensions/manifest.json",
        ],
    output:
        findings=in_report(
            "results/report/extensions/findings.html",
            "Extensions",
            caption="../report/findings.rst",
            labels={"figure": "all", "question": "What was found"},
        ),
        provenance=in_report(
            "results/report/extensions/provenance.html",
            "Provenance",
            caption="../report/provenance.rst",
            labels={"page": "What made each of the extensions' results"},
        ),
        captions=EXTENSION_CAPTIONS,
        record="results/records/report/extensions.json",
    log:
        "results/logs/report/extensions.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        figures=list(study.extensions.figures),
        templates=report_templates(),
        code=lambda wildcards: code_of("extension_pages"),
        software=software("pandas"),
    message:
        "The extensions' pages of the report"
    script:
        "../scripts/extension_pages.py"
