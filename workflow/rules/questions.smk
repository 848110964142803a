# Answer each question from what the runs of its experiments left behind: its figure, its claims and
# its caption. A file of workflow/questions says everything about one.


def make_rule(question):
    """The rule of a question; in a function, since Snakemake evaluates `script` when a job runs."""

    rule:
        name:
            rule_of(question)
        input:
            unpack(reads("question", question=question)),
        output:
            **question_outputs(question),
        log:
            step_of(question).log,
        conda:
            "../../envs/analysis.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            job=made_by("question", question=question),
        message:
            f"The question {question}: {QUESTIONS[question].title}"
        script:
            f"../questions/{question}.py"


for name in POSSIBLE:
    make_rule(name)
