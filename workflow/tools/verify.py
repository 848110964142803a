"""Compare a finished run with the reference: `python -m workflow.tools.verify results reference`.

The reference is the manifest of a run of the same study on the reference machine, and its tables.
Either all bytes are the same, or it is said how far each file is off, why that is likely so, and
whether the claims hold all the same. Exits 0 if they do.
"""

import csv
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from workflow.tools.require_claims import failed_claims


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

    checksums = theirs["sha256"]
    different = [file for file in checksums if sha256(results.parent / file) != checksums[file]]
    print(f"{len(checksums) - len(different)} of {len(checksums)} results have the same bytes.")
    if not different:
        return 0
    for file in different:
        print(f"  {file}: {difference(results.parent / file, reference, file)}")
    damaged = [
        file for file in different if sha256(results.parent / file) != ours["sha256"].get(file)
    ]
    if damaged:
        print(
            f"{len(damaged)} of them are missing, or not as they were made: "
            f"run `rm -f {' '.join(damaged)}`, then `snakemake`, which makes them anew."
        )
        return 1
    print(f"Likely reason: {likely_reason(ours, theirs)}")
    failed = failed_claims(results)
    print(f"Claims that do not hold: {', '.join(failed) or 'none'}.")
    return 1 if failed else 0


def sha256(path: Path) -> str:
    """The checksum of a file as it is on the disk, or nothing where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def difference(ours: Path, reference: Path, file: str) -> str:
    """How far a result is from the reference's, in words."""
    theirs = reference / Path(*Path(file).parts[1:])
    if not ours.exists():
        return "missing"
    if file.endswith("claims.csv") or Path(file).parent.name == "questions":
        return "different"
    if not theirs.exists():
        return "different, by how much is not known: the reference does not hold it"
    try:
        columns_of_ours, columns_of_theirs = (read_columns(path) for path in (ours, theirs))
    except (ValueError, IndexError, TypeError):
        return "no table of numbers"
    if columns_of_ours.keys() != columns_of_theirs.keys():
        return "other columns"
    largest, where = 0.0, ""
    for name, values in columns_of_theirs.items():
        if len(values) != len(columns_of_ours[name]):
            return "another number of rows"
        for one, other in zip(columns_of_ours[name], values, strict=True):
            apart = abs(one - other)
            if apart > largest or math.isnan(apart):
                largest, where = apart, name
    return f"differs by at most {largest:.3g} (in {where})" if where else "the same numbers"


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
            more = [f"{len(changed) - 3} more"] if len(changed) > 3 else []
            names = f" ({', '.join(changed[:3] + more)})" if changed else ""
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
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
