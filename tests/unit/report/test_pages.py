"""The report's pages: everything is escaped, numbers are the data's, words have no gaps."""

import re
from html import escape, unescape
from pathlib import Path

import pytest
from docutils.core import publish_parts  # type: ignore[import-untyped]
from jinja2 import Environment

from workflow.lib.report import pages as report_pages
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
)

TEMPLATES = Path(__file__).parents[3] / "workflow/report"
NASTY = '<script>alert("{{ 1 }}")</script> & {% raw %}'


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
    claim = dict.fromkeys(("claim", "statement", "chapter", "rule", "observed", "verdict"), NASTY)
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
    code = ["workflow/lib/a.py@0", "workflow/scripts/s.py@1"]
    made = {"code": code, "software": {}, "machine": {}, "settings": 1}
    records = [
        {**made, "seconds": 1.5, "sha256": {"results/a.pt": "0", "results/a.csv": "1"}},
        {**made, "settings": 2, "seconds": 1.5, "sha256": {"results/claims.csv": "2"}},
        {**made, "seconds": 2.5, "sha256": {"results/b.pt": "3"}},
    ]
    groups = report_pages.group_records(records)
    assert [group.files for group in groups] == [
        ["results/a.pt", "results/a.csv", "results/b.pt"],
        ["results/claims.csv"],
    ]
    assert [group.settings for group in groups] == [1, 2]


@pytest.mark.parametrize("script", ["workflow/scripts/s.py@1", "workflow/questions/fig1_x.py@1"])
def test_the_script_is_the_one_file_that_is_no_library(script: str) -> None:
    made = report_pages.Making([], ["workflow/lib/a.py@0", script], {}, {}, {})
    assert made.script == script


VERDICTS = [
    *(REPRODUCED, AS_EXPECTED, NOT_REPRODUCED),
    *(NOT_AS_EXPECTED, CONTRADICTED, NOT_APPLICABLE),
]


def test_verdicts_are_counted_in_words_those_that_hold_first() -> None:
    found = [NOT_APPLICABLE, REPRODUCED, "a new one", AS_EXPECTED, REPRODUCED, NOT_REPRODUCED]
    words = report_pages.verdict_counts([{"verdict": verdict} for verdict in found])
    assert words == ("2 reproduced, 1 as expected, 1 not reproduced, 1 not applicable, 1 a new one")
    assert report_pages.verdict_counts([]) == ""


def luminance(colour: str) -> float:
    """The relative luminance of WCAG."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_colour_on_which_white_can_be_read(verdict: str) -> None:
    colour = report_pages.COLOURS[verdict]
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5
    badge = report_pages.verdict_badge(verdict)
    assert colour in badge and f">{escape(verdict)}</span>" in badge


def test_what_holds_and_what_does_not_have_different_colours() -> None:
    colours = report_pages.COLOURS
    assert list(colours) == VERDICTS
    assert colours[REPRODUCED] == colours[AS_EXPECTED]
    assert len({colours[v] for v in (REPRODUCED, NOT_REPRODUCED, NOT_APPLICABLE)}) == 3


def test_a_table_of_claims_has_the_columns_asked_for() -> None:
    claim = {"claim": "fast", "verdict": REPRODUCED, "observed": "10 & 5", "rule": "by 25"}
    html = report_pages.claims_table([claim], {"verdict": "Verdict", "observed": "Seen"})
    assert re.findall("<th>(.*?)</th>", html) == ["Verdict", "Seen"]
    assert re.findall("<td>(.*?)</td>", html) == [
        report_pages.verdict_badge(REPRODUCED),
        "10 &amp; 5",
    ]


def test_provenance_links_results_to_sources_and_checksums() -> None:
    makings = [making("a.csv"), making("b.csv")]
    sources = {"workflow/lib/a.py@0": "x = 1", "workflow/scripts/s.py@1": None}
    html = report_pages.provenance(makings, {"results/a.csv": "0123abcd"}, sources)
    links = set(re.findall('href="#(.*?)"', html))
    assert links == set(re.findall('id="(.*?)"', html)) == {"making-1", "making-2", *sources}
    assert "<code>0123abcd</code>" in html and "<code>–</code>" in html
    assert "<pre>x = 1</pre>" in html and "This text was not kept." in html


def test_a_section_names_a_few_of_its_results() -> None:
    files = [f"results/{n}.csv" for n in range(5)]
    many = report_pages.Making(files, ["workflow/scripts/s.py@1"], {}, {}, {})
    html = report_pages.provenance([many], {}, {})
    assert "<h2><code>0.csv</code>, <code>1.csv</code> and 3 more</h2>" in html


def test_settings_have_a_column_for_each_experiment() -> None:
    study = {
        "experiments": {
            "weak": {"teacher_correctness": 0.3, "grpo": {"beta": 0.0}},
            "cold": {"teacher_correctness": 0.0, "grpo": {"beta": 0.1}},
        }
    }
    html = report_pages.settings_table(study)
    assert re.findall("<th>(.*?)</th>", html) == ["GRPO", "weak", "cold"]
    assert re.findall("<td>(.*?)</td>", html) == [
        *("teacher_correctness", "0.3", "0.0"),
        *("beta", "0.0", "0.1"),
    ]


def test_nested_settings_have_dotted_names() -> None:
    nested = {"a": {"b": 1, "c": [1, 2]}, "d": [{"e": 3}, 4], "f": []}
    assert report_pages.flatten(nested) == {
        **{"a.b": "1", "a.c": "1, 2", "d[0].e": "3", "d[1]": "4", "f": ""}
    }


def test_values_that_differ_are_all_named() -> None:
    merged = report_pages.merge([{"cpu": "A", "n": 1}, {"cpu": "B", "n": 1}])
    assert merged == {"cpu": "A, B", "n": "1"}


def test_pages_ask_for_nothing_from_outside() -> None:
    for file in TEMPLATES.iterdir():
        assert not re.search(r"https?://|src=(?!\"data:,\")|@import|url\(", file.read_text()), file
