# GRPO with a verifiable reward corrects a teacher's systematic error: the whole study.
# Train flawed models and correct them (train), draw what happened (figures), and decide what was
# claimed of it (claims).


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"


rule all:
    default_target: True
    input:
        [f"results/figures/{figure}.pdf" for figure in study.figures],
        [grpo_metrics(experiment) for experiment in study.experiments],
        "results/claims.csv",


onsuccess:
    print_verdicts()
