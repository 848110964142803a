"""The page of answers, prompt by prompt."""

import re

import pandas as pd

from workflow.lib.report.answers_page import answers_body

FRAME = pd.DataFrame(
    {
        "a": [12.0, 47.0],
        "b": [34.0, 38.0],
        "sft_greedy": [46.0, 75.0],
        "sft_right": [0.9, 0.25],
        "sft_no_carry": [0.9, 0.5],
        "grpo_greedy": [46.0, -1.0],
        "grpo_right": [1.0, 1.0],
        "grpo_no_carry": [1.0, 0.0],
    }
)


def test_the_page_marks_what_is_wrong() -> None:
    body = answers_body({"weak": {1: FRAME, 2: FRAME}}, {"weak": 0.3})
    assert "a teacher who is right with probability 0.3" in body
    assert "right 25%, without carries 50%, other 25%" in body
    assert "right 90%, without carries 0%, other 10%" in body, "no carry: there is no such error"
    assert "right 30%, without carries 70%" in body, "the teacher's own"
    assert body.count(">075</b>") == 2 and "046 046" in body and ">none</b>" in body


def test_shares_are_means_over_the_seeds_and_greedy_answers_each_seed_s() -> None:
    other = FRAME.assign(sft_right=[0.9, 0.75], sft_greedy=[46.0, 85.0], sft_no_carry=[0.9, 0.1])
    body = answers_body({"weak": {1: FRAME, 2: other}}, {"weak": 0.3})
    assert "right 50%, without carries 30%, other 20%" in body
    assert ">075</b> 085</td>" in body


def test_a_bar_is_as_wide_as_its_shares() -> None:
    body = answers_body({"weak": {1: FRAME}}, {"weak": 0.3})
    bars = re.findall('inline-flex.*?vertical-align:middle">(.*?)</span> \\d+%', body)
    assert len(bars) == 6
    for bar in bars:
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", bar)]
        assert len(widths) == 3 and abs(sum(widths) - 100) < 0.2


def test_every_experiment_has_a_section_and_its_name_is_escaped() -> None:
    body = answers_body({"weak": {1: FRAME}, "<b>": {1: FRAME}}, {"weak": 0.3, "<b>": 0.0})
    assert body.count("<h2>") == body.count("<table>") == 2
    assert "<h2>&lt;b&gt;: a teacher who is right with probability 0</h2>" in body
