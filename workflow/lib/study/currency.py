"""Which results of a study are damaged, and which are out of date, as their records say.

A result is current if and only if it is there with its record, its record says that it was made by
the job that would make it now (the same code, software and settings), and from inputs that are
current and the same. Times do not count, nor does what Snakemake remembers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflow.lib.jobs.files import DamagedFileError
from workflow.lib.jobs.records import checksum_of_record, difference, fault_of, read_record
from workflow.lib.study.layout import Step


@dataclass
class State:
    """What there is of a study."""

    damaged: dict[str, str] = field(default_factory=dict)
    """Files that are not as their jobs wrote them, and what is wrong with them."""
    outdated: dict[str, str] = field(default_factory=dict)
    """Jobs, by their steps' names, whose results are not what they would make, and why; without a
    reason where something is missing, or comes from what is itself out of date."""


def examine(steps: Sequence[Step], made_by: Callable[[Step], Mapping[str, Any]]) -> State:
    """The state of the results.

    Args:
        steps: all jobs; whoever makes a file comes before whoever reads it.
        made_by: the settings, code and software of a job as it would be now.
    """
    state = State()
    checksums: dict[str, str] = {}
    makers = {file: step.name for step in steps for file in step.outputs}
    for step in steps:
        try:
            record = read_record(step.record)
        except FileNotFoundError:
            state.outdated[step.name] = ""
            continue
        except DamagedFileError:
            state.outdated[step.name] = "its record cannot be read"
            continue
        written = record["sha256"]
        if written.keys() != set(step.results):
            state.outdated[step.name] = "its record is of other files"
            continue
        for file, checksum in written.items():
            if fault := fault_of(Path(file), str(checksum)):
                state.damaged[file] = fault
        checksums |= {**written, step.record: checksum_of_record(record)}
        inputs = record["inputs"]
        if not all(Path(file).exists() for file in written) or any(
            makers.get(file, file) in state.outdated for file in inputs
        ):
            state.outdated[step.name] = ""
        elif why := difference(record, made_by(step)):
            state.outdated[step.name] = why
        else:
            for file, checksum in inputs.items():
                if checksums.get(file) != checksum:
                    state.outdated[step.name] = f"{file} has changed"
                    break
    return state
