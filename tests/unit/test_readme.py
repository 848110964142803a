"""The README says what the reference run says."""

import csv
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_speeds_is_the_benchmarks() -> None:
    with (ROOT / "reference/benchmark.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["job"] for row in rows] == ["sft", "weak", "long", "cold", "whole study"]
    for row in rows:
        plain, library, ratio = (float(row[key]) for key in ("plain_s", "library_s", "ratio"))
        line = f"| {row['job']} | {plain:.2f} | {library:.2f} | {ratio:.2f} "
        if row["of_limit"]:
            share = f"{100 * float(row['of_limit']):.0f} %"
            line += f"({row['ratio_lowest']} to {row['ratio_highest']}) | {share} |"
        assert line in README
