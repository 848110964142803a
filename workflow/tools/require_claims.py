"""Fail unless every claim holds: `python -m workflow.tools.require_claims results`.

Prints the SHA-256 of every result first, then each claim that does not hold.
"""

import csv
import json
import sys
from pathlib import Path

from workflow.lib.study.question import AS_EXPECTED, CONTRADICTED, REPRODUCED

EXPECTED = (REPRODUCED, AS_EXPECTED, CONTRADICTED)


def failed_claims(results: Path) -> dict[str, str]:
    """The claims that do not hold, with their verdict and what was seen.

    Raises:
        ValueError: where no claims were checked.
    """
    with (results / "claims.csv").open(encoding="utf-8", newline="") as table:
        claims = list(csv.DictReader(table))
    if not claims:
        raise ValueError(f"{results}/claims.csv holds no claims.")
    return {
        claim["claim"]: f"{claim['verdict']} ({claim['observed']})"
        for claim in claims
        if claim["verdict"] not in EXPECTED
    }


def main(results: Path) -> int:
    """The exit status."""
    manifest = json.loads((results / "manifest.json").read_text("utf-8"))
    for file, checksum in manifest["sha256"].items():
        print(checksum, file)
    failed = failed_claims(results)
    for name, finding in failed.items():
        print(f"{name}: {finding}", file=sys.stderr)
    print("Not every claim holds." if failed else "Every claim holds.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
