# GRPO with a verifiable reward corrects a teacher's systematic error: the whole study.
# Train flawed models and correct them (train), draw what happened (figures), and decide what was
# claimed of it (claims).


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/provenance.smk"


rule all:
    default_target: True
    input:
        study_results(),
        "results/manifest.json",
    message:
        "All results are there"


onstart:
    keep_sources(Path("results/records/code"))


onsuccess:
    print_verdicts()
