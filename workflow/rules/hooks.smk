# What is done before the first job, after the last one, and instead of a report that would be wrong.

import functools
import os
import shlex
from dataclasses import replace

from workflow.lib.jobs.code import keep_sources
from workflow.lib.jobs.files import UnwritableFileError, forget_future_times, rebuild
from workflow.lib.report.summary import summary
from workflow.lib.study.currency import examine
from workflow.lib.study.runs import read_claims


@functools.cache
def outdated_in(dag):
    """What the jobs of a plan would not make now as it is.

    The first plan is of the results as they were when this was read; a report after a run has
    another.
    """
    return EXAMINED.pop() if EXAMINED else outdated_files()


def outdated_files():
    """What the study's jobs would not make now as it is; ends where a result is damaged."""
    if not workflow.is_main_process:
        return set()
    steps = [
        *layout.training(study, list(study.experiments)),
        *[step_of(name) for name in POSSIBLE],
        *OWN_FIGURES,
        *[layout.EXPLORE, layout.CLAIMS, layout.MANIFEST, layout.REPORT],
    ]
    steps = [replace(step, prefix=PREFIX) for step in steps]
    state = examine(steps, lambda step: JOBS[step.kind](**step.wildcards))
    if state.damaged:
        damaged = sorted(state.damaged)
        named = [f"{file} {state.damaged[file]}" for file in damaged]
        raise SystemExit(f"Damaged: {shortened(named)}. {rebuild(*damaged)}")
    asked = {step.name for step in EVERYTHING}
    reasons = [
        f"{step.results[0]} ({state.outdated[step.name]})"
        for step in steps
        if step.name in asked and state.outdated.get(step.name)
    ]
    if reasons:
        print(f"Out of date: {shortened(reasons)}.", file=sys.stderr)
    return {
        file for step in steps if step.name in state.outdated for file in step.outputs
    }


def refuse_stale_results():
    """End a report whose results are not what the code and the settings would make now."""
    stale = {file for job in workflow.dag.needrun_jobs() for file in job.output}
    results = sorted(file for file in stale if not file.startswith(layout.RECORDS))
    if results:
        raise SystemExit(
            "No report, since these results are not what the code and the settings would make "
            f"now: {shortened(results)}. Give the command without --report first (with --dry-run "
            "instead, it shows what it would do, and why), or let one do both: add "
            "--report-after-run."
        )


def shortened(words):
    """The first six of a list, and how many more there are."""
    more = [f"and {len(words) - 6} more"] if len(words) > 6 else []
    return ", ".join([*words[:6], *more])


def prepare_results():
    """What is done once, before the first job."""
    try:
        forget_future_times(Path(layout.RESULTS))
        keep_sources(Path(layout.SOURCES))
    except OSError as error:
        raise SystemExit(f"{UnwritableFileError(error.filename, error)}")
    except UnwritableFileError as error:
        raise SystemExit(f"{error}")


def study_options():
    """The options that name this study in another command given in the same folder."""
    here = workflow.workdir_init
    snakefile = workflow.main_snakefile
    named = {
        "--snakefile": [snakefile] if os.path.dirname(snakefile) != here else [],
        "--directory": (
            [workflow.overwrite_workdir] if workflow.overwrite_workdir else []
        ),
        "--configfile": workflow.config_settings.configfiles,
    }
    options = {
        option: [os.path.relpath(os.path.join(here, path), here) for path in paths]
        for option, paths in named.items()
    }
    options["--config"] = workflow.config_settings.config_args
    words = [
        word
        for option, values in options.items()
        if values
        for word in (option, *values)
    ]
    return shlex.join(words)


def print_summary():
    """What came out, where this run was for all of it."""
    if "all" in {job.rule.name for job in workflow.dag.jobs}:
        print(summary(read_claims(layout.CLAIMS["table"]), study_options()))
