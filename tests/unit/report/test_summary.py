"""The last words of a run."""

import pytest

from workflow.lib.report.summary import summary
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
)


def claims(*verdicts: str) -> list[dict[str, str]]:
    return [{"statement": f"Claim {n}", "verdict": verdict} for n, verdict in enumerate(verdicts)]


def test_it_says_where_what_and_what_next() -> None:
    words = summary(claims(REPRODUCED, CONTRADICTED, REPRODUCED))
    assert "Figures:  results/figures\nCurves:   results/explore.html" in words
    assert f"results/claims.csv\n          2 reproduced, 1 {CONTRADICTED}\n" in words
    assert "not reproduced" not in words
    assert "make report" in words


def test_what_named_the_study_names_it_again() -> None:
    words = summary(claims(REPRODUCED), options="--configfile mine.yaml")
    assert "snakemake --report report.html --configfile mine.yaml" in words


@pytest.mark.parametrize("verdict", [NOT_REPRODUCED, NOT_AS_EXPECTED])
def test_what_does_not_hold_is_named(verdict: str) -> None:
    words = summary(claims(REPRODUCED, verdict, CONTRADICTED, AS_EXPECTED, NOT_APPLICABLE))
    assert f"1 {verdict}" in words and f"{verdict}: Claim 1" in words
    assert words.count("Claim ") == 1


def test_the_lines_are_short() -> None:
    verdicts = [REPRODUCED, NOT_REPRODUCED, CONTRADICTED, NOT_APPLICABLE]
    lines = summary(claims(*verdicts)).splitlines()
    assert all(len(line) <= 100 for line in lines)
