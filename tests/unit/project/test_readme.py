"""The README says what the reference run says."""

import csv
import re
from pathlib import Path

from tests.unit.questions.examples import QUESTIONS

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_speeds_is_the_benchmarks() -> None:
    with (ROOT / "reference/benchmark.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    jobs = ["sft", "weak", "long", "cold", "all 15 jobs, summed", "whole study"]
    assert [row["job"] for row in rows] == jobs
    for row in rows:
        plain, library, ratio = (float(row[key]) for key in ("plain_s", "library_s", "ratio"))
        line = f"| {row['job']} | {plain:.2f} | {library:.2f} | {ratio:.2f} "
        if row["of_limit"]:
            share = f"{100 * float(row['of_limit']):.0f} %"
            line += f"({row['ratio_lowest']} to {row['ratio_highest']}) | {share} |"
        assert line in README


def test_the_numbers_of_the_extensions_page_are_the_reference_runs() -> None:
    """Each number with three digits or more in a question's paragraph stands among its findings."""
    with (ROOT / "reference/extensions/findings.csv").open(encoding="utf-8", newline="") as file:
        findings = list(csv.DictReader(file))
    page = (ROOT / "docs/extensions.md").read_text(encoding="utf-8")
    sections = re.split(
        r"^## ", page.partition("## 4.")[1] + page.partition("## 4.")[2], flags=re.M
    )
    varied = {
        str(value)
        for question in QUESTIONS.values()
        for experiment in question.experiments.values()
        for value in experiment.values()
    }
    checked = 0
    for section in sections[1:8]:
        [figure] = re.findall(r"\(figures/(\w+)\.png\)", section)
        rows = [row for row in findings if row["figure"] == figure]
        known = varied | set(
            re.findall(
                r"\d+\.\d+", " ".join(f"{row['observed']} {row['expected']}" for row in rows)
            )
        )
        for number in re.findall(r"\d+\.\d{2,}(?! %)", section):
            assert number in known, f"{figure}: {number}"
            checked += 1
    assert checked > 40


def test_the_numbers_of_another_processor_are_its_findings() -> None:
    """And those beside them for comparison are the reference run's."""
    page = (ROOT / "docs/extensions.md").read_text(encoding="utf-8")
    section = page.partition("## The same on another processor")[2].partition("\n## ")[0]
    findings = []
    for name in ("findings", "findings-xeon"):
        with (ROOT / f"reference/extensions/{name}.csv").open(encoding="utf-8", newline="") as file:
            findings.append(list(csv.DictReader(file)))
    seen = " ".join(f"{row['observed']} {row['expected']}" for rows in findings for row in rows)
    numbers = re.findall(r"\d+\.\d{2,}", section)
    assert len(numbers) > 15 and set(numbers) <= set(re.findall(r"\d+\.\d+", seen))
    pairs = list(zip(*findings, strict=True))
    same = [ours["verdict"] == theirs["verdict"] for ours, theirs in pairs]
    assert f"Of the {len(same)} verdicts {sum(same)} are the same" in section


def commands(text: str) -> list[str]:
    """The commands that a page gives, a line each."""
    code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [line.strip() for line in code.splitlines() if line.startswith("    ")]


def test_the_chinese_readme_says_the_same() -> None:
    """The same commands, examples, links, pictures, numbers, and as many headings and rows."""
    chinese = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    english = README
    assert commands(chinese) == commands(english)
    for pattern in (
        r"```.*?```",  # examples
        r"\]\((?!README)([^)]*)\)",  # links and pictures
        r'src="([^"]*)"',
        r"^(#+) ",  # headings
        r"^\|",  # rows
        r"\d+\.\d+",  # numbers
    ):
        found = [re.findall(pattern, text, flags=re.DOTALL | re.M) for text in (english, chinese)]
        assert found[0] == found[1], pattern


def test_the_first_numbers_are_the_reference_runs() -> None:
    """Greedy accuracy of the SFT models, and that on carry prompts: means over the seeds."""
    rows = [
        next(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        for path in sorted((ROOT / "reference/sft/q0.3").glob("seed*.csv"))
    ]
    assert len(rows) == 3
    for column in ("accuracy", "accuracy_carry"):
        mean = sum(float(row[column]) for row in rows) / len(rows)
        assert f"{mean:.2f}" in README.partition("## Two commands")[0]


def test_what_is_counted_in_words_is_so_many() -> None:
    left_open = [question for question in QUESTIONS.values() if not question.of_chapter]
    more = sum(len(question.experiments) for question in left_open)
    assert f"runs {more} more experiments" in README
    faults = re.search(r"^FAULTS \?= (\d+)$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert faults and f"a small study {faults[1]} times" in README


def test_it_ends_where_the_first_lines_say() -> None:
    """Means over the seeds: above 0.9 after about 10 iterations, and near 1 in the end."""
    said = " ".join(README.partition("## Two commands")[0].split())
    assert "After about 10 iterations both are above 0.9, and they end near 1." in said
    runs = []
    for path in sorted((ROOT / "reference/grpo/weak").glob("seed*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            runs.append(list(csv.DictReader(file)))
    assert len(runs) == 3
    for column in ("accuracy", "accuracy_carry"):
        means = [
            sum(float(row[column]) for row in rows) / len(rows) for rows in zip(*runs, strict=True)
        ]
        reached = next(i for i, mean in enumerate(means) if mean > 0.9)
        assert int(runs[0][reached]["iteration"]) <= 10
        assert means[-1] >= 0.99


def test_the_table_of_claims_is_the_reference_runs() -> None:
    page = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    for row in claim_rows():
        assert row in page, "`python -m tests.unit.project.test_readme` prints the table"
    assert page.count("\n| ") > len(claim_rows())


def claim_rows() -> list[str]:
    """The table of docs/claims.md."""
    with (ROOT / "reference/claims.csv").open(encoding="utf-8", newline="") as file:
        return [
            f"| {claim['statement']} | {claim['chapter'] or '(theory)'} "
            f"| {in_short(claim['observed'])} | {claim['verdict']} |"
            for claim in csv.DictReader(file)
        ]


def in_short(observed: str) -> str:
    """Each list of the seeds' numbers as its lowest to its highest."""

    def spread(match: re.Match[str]) -> str:
        ordered = sorted(match[0].split(", "), key=float)
        return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"

    number = r"-?\d+(?:\.\d+)?"
    return re.sub(rf"{number}(?:, {number})+", spread, observed)


if __name__ == "__main__":
    print("\n".join(claim_rows()))
