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


rule train_reward:
    output:
        checkpoint="results/reward/q{q}/seed{seed}.pt",
        metrics=in_report(
            "results/reward/q{q}/seed{seed}.csv",
            "Metrics",
            "Reward model, q = {q}",
            caption="../report/reward.rst",
            labels={"seed": "{seed}"},
        ),
        record="results/records/reward/q{q}/seed{seed}.json",
    log:
        "results/logs/reward/q{q}/seed{seed}.log",
    benchmark:
        "results/benchmarks/reward/q{q}/seed{seed}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=30,
    params:
        seed=lambda wildcards: int(wildcards.seed),
        run="reward/q{q}",
        q=lambda wildcards: float(wildcards.q),
        settings=asdict(study.extensions.reward_model),
        eval_prompts=study.eval_prompts,
        code=lambda wildcards: code_of("train_reward"),
        software=software("torch", "numpy"),
    message:
        "Reward model of seed {wildcards.seed} on a teacher that is right with probability {wildcards.q}"
    script:
        "../scripts/train_reward.py"


rule grpo:
    input:
        checkpoint=lambda wildcards: checkpoint_of(wildcards.experiment, wildcards.seed),
        reward_model=lambda wildcards: reward_model_of(
            wildcards.experiment, wildcards.seed
        ),
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
    wildcard_constraints:
        experiment=experiments_that(keep_policy=False),
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
        settings=lambda wildcards: asdict(study.experiment(wildcards.experiment).grpo),
        code=code_of("grpo"),
        software=software("torch", "numpy"),
    message:
        "GRPO of seed {wildcards.seed}, experiment {wildcards.experiment}"
    script:
        "../scripts/grpo.py"


use rule grpo as grpo_keeping_policy with:
    output:
        metrics=in_report(
            "results/grpo/{experiment}/seed{seed}.csv",
            "Metrics",
            "GRPO, {experiment}",
            caption="../report/grpo.rst",
            labels={"seed": "{seed}"},
        ),
        policy="results/grpo/{experiment}/seed{seed}.pt",
        answers="results/grpo/{experiment}/answers/seed{seed}.csv",
        record="results/records/grpo/{experiment}/seed{seed}.json",
    wildcard_constraints:
        experiment=experiments_that(keep_policy=True),
