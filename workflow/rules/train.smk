# Train a flawed model for each seed and teacher correctness, then correct it by GRPO.


rule train_sft:
    input:
        unpack(reads("train_sft")),
    output:
        checkpoint=layout.SFT["checkpoint"],
        metrics=in_report(
            layout.SFT["metrics"],
            "Metrics",
            "SFT, q = {q}",
            caption="../report/sft.rst",
            labels={"seed": "{seed}"},
        ),
        prompts=layout.SFT["prompts"],
        record=layout.SFT.record,
    log:
        layout.SFT.log,
    benchmark:
        layout.SFT.benchmark
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=30,
    params:
        job=made_by("train_sft"),
    message:
        "SFT of seed {wildcards.seed} on a teacher that is right with probability {wildcards.q}"
    script:
        "../scripts/train_sft.py"


rule train_reward:
    input:
        unpack(reads("train_reward")),
    output:
        checkpoint=layout.REWARD["checkpoint"],
        metrics=in_report(
            layout.REWARD["metrics"],
            "Metrics",
            "Reward model, q = {q}",
            caption="../report/reward.rst",
            labels={"seed": "{seed}"},
        ),
        record=layout.REWARD.record,
    log:
        layout.REWARD.log,
    benchmark:
        layout.REWARD.benchmark
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=30,
    params:
        job=made_by("train_reward"),
    message:
        "Reward model of seed {wildcards.seed} on a teacher that is right with probability {wildcards.q}"
    script:
        "../scripts/train_reward.py"


rule grpo:
    input:
        unpack(reads("grpo")),
    output:
        metrics=in_report(
            layout.GRPO["metrics"],
            "Metrics",
            "GRPO, {experiment}",
            caption="../report/grpo.rst",
            labels={"seed": "{seed}"},
        ),
        policy=layout.GRPO["policy"],
        prompts=layout.GRPO["prompts"],
        answers=layout.GRPO["answers"],
        record=layout.GRPO.record,
    log:
        layout.GRPO.log,
    benchmark:
        layout.GRPO.benchmark
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=GPUS_PER_JOB,
        mem_mb=600,
        runtime=60,
    params:
        job=made_by("grpo"),
    message:
        "GRPO of seed {wildcards.seed}, experiment {wildcards.experiment}"
    script:
        "../scripts/grpo.py"
