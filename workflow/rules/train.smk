# Train a flawed model for each seed and teacher correctness, then correct it by GRPO.


rule train_sft:
    output:
        checkpoint="results/sft/q{q}/seed{seed}.pt",
        metrics=in_report(
            "results/sft/q{q}/seed{seed}.csv",
            "Metrics",
            "SFT, q = {q}",
            caption="../report/sft.rst",
            labels={"seed": "{seed}"},
        ),
        prompts="results/sft/q{q}/prompts/seed{seed}.csv",
        record="results/records/sft/q{q}/seed{seed}.json",
    log:
        "results/logs/sft/q{q}/seed{seed}.log",
    benchmark:
        "results/benchmarks/sft/q{q}/seed{seed}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=30,
    params:
        seed=lambda wildcards: int(wildcards.seed),
        run="sft/q{q}",
        q=lambda wildcards: float(wildcards.q),
        settings=asdict(study.sft),
        eval_prompts=study.eval_prompts,
        code=code_of("train_sft"),
        software=software("torch", "numpy"),
    message:
        "SFT of seed {wildcards.seed} on a teacher that is right with probability {wildcards.q}"
    script:
        "../scripts/train_sft.py"


rule grpo:
    input:
        checkpoint=lambda wildcards: checkpoint_of(wildcards.experiment, wildcards.seed),
    output:
        metrics=in_report(
            "results/grpo/{experiment}/seed{seed}.csv",
            "Metrics",
            "GRPO, {experiment}",
            caption="../report/grpo.rst",
            labels={"seed": "{seed}"},
        ),
        record="results/records/grpo/{experiment}/seed{seed}.json",
    log:
        "results/logs/grpo/{experiment}/seed{seed}.log",
    benchmark:
        "results/benchmarks/grpo/{experiment}/seed{seed}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=60,
    params:
        seed=lambda wildcards: int(wildcards.seed),
        run="grpo/{experiment}",
        settings=lambda wildcards: asdict(study.experiments[wildcards.experiment].grpo),
        code=code_of("grpo"),
        software=software("torch", "numpy"),
    message:
        "GRPO of seed {wildcards.seed}, experiment {wildcards.experiment}"
    script:
        "../scripts/grpo.py"
