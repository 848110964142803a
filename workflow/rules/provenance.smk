# Say what made what.


rule manifest:
    input:
        results=study_results(),
        records=study_records(),
    output:
        manifest="results/manifest.json",
        record="results/records/manifest.json",
    log:
        "results/logs/manifest.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=study_settings(study_experiments()),
        code=code_of("manifest"),
        software=software(),
    message:
        "The manifest of all results"
    script:
        "../scripts/manifest.py"
