"""The report's pages: everything is escaped, numbers are the data's, words have no gaps."""

import re
from html import unescape
from pathlib import Path
from string import Template

import pandas as pd
import pytest
from docutils.core import publish_parts  # type: ignore[import-untyped]
from jinja2 import Environment

from workflow.lib.jobs.fingerprint import digest
from workflow.lib.report import pages as report_pages
from workflow.lib.study.configuration import FIGURE_EXPERIMENTS

TEMPLATES = Path(__file__).parents[3] / "workflow/report"
NASTY = '<script>alert("{{ 1 }}")</script> & {% raw %}'


def curve(*values: float) -> pd.DataFrame:
    """A run whose every metric takes these values."""
    columns = ("accuracy", "accuracy_carry", "reward", "kl", "frac_reward_zero_std")
    return pd.DataFrame(
        {"iteration": range(5, 5 + 5 * len(values), 5), **dict.fromkeys(columns, values)}
    )


GRPO = {
    "weak": {1: curve(0.1, 0.95, 1), 2: curve(0.2, 0.3, 0.5)},
    "long": {1: curve(0.1, 0.2, 0.6, 0.8), 2: curve(0.1, 0.2, 0.8, 0.8)},
    "cold": {1: curve(0.3, 0.3), 2: curve(0.3, 0.3)},
}
SFT = {name: {1: curve(0.25), 2: curve(0.35)} for name in GRPO}


@pytest.mark.parametrize("figure", FIGURE_EXPERIMENTS)
def test_each_figures_caption_has_all_its_numbers(figure: str) -> None:
    template = Template((TEMPLATES / f"{figure}.rst").read_text())
    numbers = report_pages.caption_numbers(figure, GRPO, SFT)
    assert set(template.get_identifiers()) == numbers.keys() | {"seeds"}
    html = publish_parts(template.substitute(seeds="1, 2", **numbers), writer="html")["body"]
    assert "system-message" not in html


def test_numbers_of_captions_are_the_datas() -> None:
    numbers = report_pages.caption_numbers("fig1_rlvr_overturns", GRPO, SFT)
    assert numbers == {
        "start": "0.300 (0.250 to 0.350)",
        "start_carry": "0.300 (0.250 to 0.350)",
        "final": "0.750 (0.500 to 1.000)",
        "final_carry": "0.750 (0.500 to 1.000)",
        "reached": "10 (seed 1), never (seed 2)",
    }
    numbers = report_pages.caption_numbers("fig2_unhackable_reward", GRPO, SFT)
    assert numbers["lowest"] == "0.700 (0.600 to 0.800)"
    assert numbers["late_kl"] == "0.75 (0.70 to 0.80)"
    numbers = report_pages.caption_numbers("fig3_cold_start", GRPO, SFT)
    assert numbers["silent_cold"] == "0.300"
    with pytest.raises(ValueError, match="fig4"):
        report_pages.caption_numbers("fig4", GRPO, SFT)


def test_a_number_just_below_zero_is_no_minus_zero() -> None:
    assert report_pages.spread([-0.0001]) == "0.000"


def making(text: str) -> report_pages.Making:
    return report_pages.Making(
        files=[f"results/{text}"],
        code=["workflow/lib/a.py@0", "workflow/scripts/s.py@1"],
        software={text: text},
        machine={"cpu": text},
        settings={text: {"inner": [text]}},
    )


def test_everything_on_the_pages_is_escaped() -> None:
    sources = {"workflow/lib/a.py@0": NASTY, "workflow/scripts/s.py@1": None}
    claim = dict.fromkeys(("claim", "statement", "expected", "observed", "verdict"), NASTY)
    study = {"experiments": {NASTY: {"teacher_correctness": NASTY, "grpo": {NASTY: NASTY}}}}
    pages = [
        report_pages.provenance([making(NASTY)], {}, sources),
        report_pages.claims_table([claim], dict.fromkeys(claim, NASTY)),
        report_pages.settings_table(study),
        report_pages.definitions({NASTY: NASTY}),
    ]
    for page in pages:
        assert "<script" not in page
        assert "&lt;script&gt;" in page


def test_html_passes_through_the_front_page_as_it_is() -> None:
    html = report_pages.definitions({"a_": "{{ 1 }} {# c #} *b* `c` |d| {% x %}"})
    rst = Environment().from_string(report_pages.raw_rst(html)).render()
    body = publish_parts(rst, writer="html")["body"]
    assert "a_</td><td>{{ 1 }} {# c #} *b* `c` |d| {% x %}" in unescape(body)
    assert "system-message" not in body


def test_results_are_grouped_by_what_made_them() -> None:
    made = {"code": ["workflow/scripts/s.py@1"], "software": {}, "machine": {}, "settings": 1}
    records = {
        "results/records/sft/q0/seed1.json": made,
        "results/records/sft/q0/seed2.json": made,
        "results/records/claims.json": {**made, "settings": 2},
    }
    results = [
        "results/claims.csv",
        "results/sft/q0/prompts/seed1.csv",
        "results/sft/q0/seed1.pt",
        "results/sft/q0/seed2.pt",
    ]
    groups = report_pages.group_records(records, results)
    assert [group.files for group in groups] == [
        ["results/sft/q0/seed1.pt", "results/sft/q0/prompts/seed1.csv", "results/sft/q0/seed2.pt"],
        ["results/claims.csv"],
    ]
    assert groups[0].script == "workflow/scripts/s.py"


def test_values_that_differ_are_all_named() -> None:
    merged = report_pages.merge([{"cpu": "A", "n": 1}, {"cpu": "B", "n": 1}])
    assert merged == {"cpu": "A, B", "n": "1"}


def test_pages_ask_for_nothing_from_outside() -> None:
    for file in TEMPLATES.iterdir():
        assert not re.search(r"https?://|src=(?!\"data:,\")|@import|url\(", file.read_text()), file


def test_a_digest_tells_values_apart_and_not_their_order() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert re.fullmatch("[0-9a-f]{12}", digest("β"))
