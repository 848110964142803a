# GRPO with a verifiable reward corrects a teacher's systematic error: the whole study.
# Train flawed models and correct them (train), draw what happened (figures, explore), decide what
# was claimed of it (claims), and tell what made what (provenance, report). Beyond the chapter:
# extensions.


configfile: f"{workflow.basedir}/config/config.yaml"
configfile: f"{workflow.basedir}/config/extensions.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/explore.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/provenance.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/extensions.smk"


report: Path(FRONT_PAGE).absolute()


refuse_undrawable_figures()
refuse_damaged_results()
refuse_missing_results()


rule all:
    default_target: True
    input:
        study_results(),
        "results/manifest.json",
        report_pages(),
    message:
        "All results are there"


rule extensions:
    input:
        rules.all.input,
        lambda wildcards: extension_results(),
        "results/extensions/manifest.json",
        extension_pages(),
    message:
        "All results are there, and those of the extensions"


onstart:
    prepare_results()


onsuccess:
    print_summary()
