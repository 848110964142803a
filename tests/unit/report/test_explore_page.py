"""The page of every curve: what is in it, and that it is always the same."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workflow.lib.drawing.colours import PALETTE
from workflow.lib.report import explore_page
from workflow.lib.study.runs import Frames

ROOT = Path(__file__).parents[3]
TEMPLATE = (ROOT / "workflow/report/explore.html").read_text(encoding="utf-8")


def frame(*accuracies: float) -> pd.DataFrame:
    iterations = [1, *range(5, 5 * len(accuracies), 5)]
    return pd.DataFrame({"iteration": iterations, "accuracy": accuracies, "a_new_one": 0.5})


EXPERIMENTS: dict[str, Frames] = {
    "weak": {1: frame(0.3, 0.9, 1.0), 2: frame(0.2, 0.7, 1.0)},
    "small-groups": {1: frame(0.3, 0.4), 2: frame(0.3, np.nan)},
}


def numbers(array: dict[str, str]) -> list[float]:
    """An array as plotly writes it: the name of a type, and the bytes."""
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()


def figures_in(page: str) -> dict[str, dict[str, Any]]:
    """What the page draws, by metric."""
    match = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert match
    return {figure["metric"]: figure for figure in json.loads(match[1])}


@pytest.fixture(scope="module")
def page() -> str:
    return explore_page.explore_page(TEMPLATE, EXPERIMENTS)


def test_every_column_every_experiment_and_every_seed_is_there(page: str) -> None:
    figures = figures_in(page)
    assert list(figures) == ["accuracy", "a_new_one"]
    for figure in figures.values():
        names = [trace.get("name") for trace in figure["data"] if "name" in trace]
        assert names == [
            *("weak, seed 1", "weak, seed 2", "weak, mean"),
            *("small-groups, seed 1", "small-groups, seed 2", "small-groups, mean"),
        ]
    for value in ("accuracy", "a_new_one", "weak", "small-groups", "mean", "band", "seeds"):
        assert f'value="{value}"' in page


def test_the_values_are_the_tables(page: str) -> None:
    band, one, two, mean = figures_in(page)["accuracy"]["data"][:4]
    for trace in (one, two, mean):
        assert numbers(trace["x"]) == [1, 5, 10]
    assert numbers(one["y"]) == pytest.approx([0.3, 0.9, 1.0])
    assert numbers(two["y"]) == pytest.approx([0.2, 0.7, 1.0])
    assert numbers(mean["y"]) == pytest.approx([0.25, 0.8, 1.0])
    assert numbers(mean["customdata"]) == pytest.approx([0.05, 0.1, 0.0])
    assert numbers(band["x"]) == [1, 5, 10, 10, 5, 1]
    assert numbers(band["y"]) == pytest.approx([0.3, 0.9, 1.0, 1.0, 0.7, 0.2])
    assert [trace["meta"]["shows"] for trace in (band, one, two, mean)] == [
        *("band", "seeds", "seeds", "mean")
    ]


def test_a_gap_in_a_column_is_a_gap_in_the_line(page: str) -> None:
    seed = next(
        trace
        for trace in figures_in(page)["accuracy"]["data"]
        if trace.get("name") == "small-groups, seed 2"
    )
    assert numbers(seed["y"]) == pytest.approx([0.3, np.nan], nan_ok=True)


def test_the_same_curves_give_the_same_page(page: str) -> None:
    assert explore_page.explore_page(TEMPLATE, EXPERIMENTS) == page


def test_nothing_is_fetched(page: str) -> None:
    own = page.replace(explore_page.get_plotlyjs(), "")
    assert len(own) < len(page) / 10
    assert "http" not in own and "src=" not in own


def test_a_column_of_one_experiment_only_is_drawn_for_that_one() -> None:
    curves = {1: frame(0.5).assign(margin=1.0)}
    page = explore_page.explore_page(TEMPLATE, {**EXPERIMENTS, "learned": curves})
    names = [trace.get("name") for trace in figures_in(page)["margin"]["data"]]
    assert names == [None, "learned, seed 1", "learned, mean"]


def test_no_two_of_48_experiments_look_alike() -> None:
    styles = explore_page.line_styles(f"e{n}" for n in range(48))
    assert len(set(styles.values())) == 48
    assert [style[0] for style in list(styles.values())[:8]] == list(PALETTE)


def test_text_cannot_end_the_script_it_is_in() -> None:
    curves = {1: frame(1.0).rename(columns={"a_new_one": "</script><b>"})}
    page = explore_page.explore_page(TEMPLATE, {"weak": curves})
    assert list(figures_in(page)) == ["accuracy", "</script><b>"]
    assert "<b>" not in page.replace(explore_page.get_plotlyjs(), "").replace("<\\/script><b>", "")
