# Decide what the chapter claimed.


rule check_claims:
    input:
        **claim_inputs(),
    output:
        table=in_report(
            "results/claims.csv",
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "The same as a table (CSV)"},
        ),
        record="results/records/claims.json",
    log:
        "results/logs/claims.log",
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        seeds=study.seeds,
        benchmarks=[training_benchmarks(seed) for seed in study.seeds],
        deviations=deviations(study),
        code=code_of("check_claims"),
        software=software("numpy", "pandas"),
    message:
        "What the chapter claims, against what this run saw"
    script:
        "../scripts/check_claims.py"
