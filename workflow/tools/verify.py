"""Compare a finished run with the reference: `python -m workflow.tools.verify results reference`.

The reference is the manifest of a run of the same study on the reference machine, and its tables.
The conclusion comes first: all bytes are the same, or whether the claims hold all the same; then
why the bytes are likely other ones, and how far each table is off. Exits 0 if the claims hold.
"""

import argparse
import csv
import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from workflow.lib.jobs.fingerprint import changed_files
from workflow.tools.require_claims import failed_claims

SHOWN = ("accuracy", "kl")
"""The columns whose differences are shown."""


def main(results: Path, reference: Path) -> int:
    """The exit status."""
    missing = [path for path in (results, reference) if not (path / "manifest.json").exists()]
    if missing:
        print(f"{missing[0]}/manifest.json is missing: run `snakemake` first.", file=sys.stderr)
        return 2
    ours, theirs = (
        json.loads((folder / "manifest.json").read_text("utf-8")) for folder in (results, reference)
    )
    if ours["study"] != theirs["study"]:
        print("The configuration is not the reference's: there is nothing to compare.")
        return 2

    if old := changed_files(ours["code"]):
        print(
            f"These results are not of the code as it is now ({', '.join(shortened(old))}): run "
            "`snakemake` first.",
            file=sys.stderr,
        )
        return 2

    checksums = theirs["sha256"]
    found = {file: sha256(results.parent / file) for file in checksums}
    different = [file for file in checksums if found[file] != checksums[file]]
    if damaged := [file for file in different if found[file] != ours["sha256"].get(file)]:
        print(
            f"{len(damaged)} results are missing, or not as they were made: run "
            f"`rm -f {shlex.join(damaged)}`, then `snakemake`, which makes them again."
        )
        return 1
    if not different:
        print(f"All {len(checksums)} results have the same bytes as the reference.")
        return 0
    failed = failed_claims(results)
    print(
        f"Not all of these claims hold: {', '.join(failed)}."
        if failed
        else "Every claim holds, as in the reference run."
    )
    print(
        f"{len(different)} of {len(checksums)} results have other bytes. "
        f"Likely reason: {likely_reason(ours, theirs)}"
    )
    compared = {
        file: apart
        for file in different
        if (
            apart := largest_differences(
                results.parent / file, reference / Path(file).relative_to("results")
            )
        )
    }
    for file, apart in compared.items():
        words = ", ".join(f"{name} by at most {apart[name]:.3g}" for name in SHOWN if name in apart)
        print(f"  {file}: {words}")
    if others := len(different) - len(compared):
        print(f"  and {others} without numbers to compare")
    return 1 if failed else 0


def shortened(names: list[str]) -> list[str]:
    """The first three names, and how many more there are."""
    return names[:3] + ([f"{len(names) - 3} more"] if len(names) > 3 else [])


def sha256(path: Path) -> str:
    """The checksum of a file as it is on the disk, or nothing where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def largest_differences(ours: Path, theirs: Path) -> dict[str, float]:
    """By how much the columns of two tables differ at most; nothing if they are not alike."""
    try:
        pairs = read_columns(ours), read_columns(theirs)
        return {
            name: max(abs(one - other) for one, other in zip(pairs[0][name], values, strict=True))
            for name, values in pairs[1].items()
        }
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def read_columns(path: Path) -> dict[str, list[float]]:
    """The columns of a table of numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def likely_reason(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What differs between the two runs, the most telling first."""
    reasons = []
    for name, what in (("code", "code"), ("software", "versions of packages")):
        if ours[name] != theirs[name]:
            changed = [str(entry) for entry in ours[name] if entry not in theirs[name]]
            names = f" ({', '.join(shortened(changed))})" if changed else ""
            reasons.append(f"other {what}{names}")
    if ours["machines"] != theirs["machines"]:
        cpus = [
            ", ".join(sorted({machine.get("gpu") or machine["cpu"] for machine in run["machines"]}))
            for run in (ours, theirs)
        ]
        keys = {
            key
            for machines in (ours["machines"], theirs["machines"])
            for machine in machines
            for key, value in machine.items()
            if any(value != other.get(key) for other in (*ours["machines"], *theirs["machines"]))
        }
        reasons.append(
            f"another processor ({cpus[0]}, where the reference has {cpus[1]})"
            if cpus[0] != cpus[1]
            else f"the same processor, but another {', '.join(sorted(keys))}"
        )
    return f"{'; '.join(reasons) or 'none that the manifests know of. Please report this'}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.tools.verify")
    parser.add_argument("results", type=Path, help="the folder of the results")
    parser.add_argument("reference", type=Path, help="the folder of the reference run")
    options = parser.parse_args()
    sys.exit(main(options.results, options.reference))
