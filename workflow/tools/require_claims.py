"""Fail unless every claim holds: `python -m workflow.tools.require_claims results`.

Prints the SHA-256 of every result first, then each claim that does not hold.
"""

import argparse
import json
import sys
from pathlib import Path

from workflow.lib.study.question import AS_EXPECTED, CONTRADICTED, REPRODUCED
from workflow.lib.study.runs import read_claims

EXPECTED = (REPRODUCED, AS_EXPECTED, CONTRADICTED)


def failed_claims(results: Path) -> dict[str, str]:
    """The claims that do not hold, with their verdict and what was seen.

    Raises:
        ValueError: where no claims were checked.
    """
    claims = read_claims(results / "claims.csv")
    if not claims:
        raise ValueError(f"{results}/claims.csv holds no claims.")
    return {
        claim["claim"]: f"{claim['verdict']} ({claim['observed']})"
        for claim in claims
        if claim["verdict"] not in EXPECTED
    }


def main(results: Path) -> int:
    """The exit status."""
    try:
        manifest = json.loads((results / "manifest.json").read_text("utf-8"))
        failed = failed_claims(results)
    except FileNotFoundError as error:
        print(f"{error.filename} is missing: run `snakemake` first.", file=sys.stderr)
        return 2
    for file, checksum in manifest["sha256"].items():
        print(checksum, file)
    for name, finding in failed.items():
        print(f"{name}: {finding}", file=sys.stderr)
    print("Not every claim holds." if failed else "Every claim holds.")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.tools.require_claims")
    parser.add_argument("results", type=Path, help="the folder of the results")
    sys.exit(main(parser.parse_args().results))
