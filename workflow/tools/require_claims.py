"""Fail unless every claim holds: `python -m workflow.tools.require_claims results`.

Prints the SHA-256 of every result, then each claim that does not hold.
"""

import csv
import hashlib
import sys
from pathlib import Path

EXPECTED = ("reproduced", "contradicted by the chapter's own code")


def main(folder: Path) -> int:
    """The exit status."""
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".csv", ".pt", ".pdf"}:
            print(hashlib.sha256(file.read_bytes()).hexdigest(), file)
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as table:
        claims = list(csv.DictReader(table))
    failed = [claim for claim in claims if claim["verdict"] not in EXPECTED]
    for claim in failed:
        print(f"{claim['claim']}: {claim['verdict']}: {claim['observed']}", file=sys.stderr)
    print(f"{len(claims) - len(failed)} of {len(claims)} claims hold.")
    return 1 if failed or not claims else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
