"""The last words of a run."""

from workflow.lib.report.summary import summary
from workflow.lib.study.claims import CONTRADICTED, NOT_REPRODUCED, REPRODUCED


def claims(*verdicts: str) -> list[dict[str, str]]:
    return [{"statement": f"Claim {n}", "verdict": verdict} for n, verdict in enumerate(verdicts)]


def test_it_says_where_what_and_what_next() -> None:
    words = summary(claims(REPRODUCED, CONTRADICTED, REPRODUCED), extensions=False)
    assert "Figures:  results/figures" in words and "Beyond" not in words
    assert f"results/claims.csv\n          2 reproduced, 1 {CONTRADICTED}\n" in words
    assert "not reproduced" not in words
    assert "make report" in words


def test_what_named_the_study_names_it_again() -> None:
    words = summary(claims(REPRODUCED), extensions=False, options="--configfile mine.yaml")
    assert "snakemake --report report.html --configfile mine.yaml" in words


def test_what_was_not_reproduced_is_named() -> None:
    words = summary(claims(REPRODUCED, NOT_REPRODUCED), extensions=True)
    assert "1 not reproduced" in words and "not reproduced: Claim 1" in words
    assert "Claim 0" not in words
    assert "results/extensions/findings.csv" in words


def test_the_lines_are_short() -> None:
    verdicts = [REPRODUCED, NOT_REPRODUCED, CONTRADICTED, "not applicable"]
    lines = summary(claims(*verdicts), extensions=True).splitlines()
    assert all(len(line) <= 100 for line in lines)
