# GRPO with a verifiable reward corrects a teacher's systematic error: the whole study.
# Train flawed models and correct them (train), answer the questions that are asked of the runs
# (questions), draw what else is to be seen (curves), and put all of it together (report).


configfile: f"{workflow.current_basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/jobs.smk"
include: "workflow/rules/hooks.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/questions.smk"
include: "workflow/rules/curves.smk"
include: "workflow/rules/report.smk"


report: Path(layout.REPORT["front"]).absolute()


EXAMINED = [outdated_files()]


rule all:
    default_target: True
    input:
        [file for step in EVERYTHING for file in [*step.results, step.record]],
    message:
        "Done"


onstart:
    prepare_results()


onsuccess:
    print_summary()
