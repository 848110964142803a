"""The extensions' figures: what they draw, in what order, and that nothing is left out."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure

from tests.unit.questions.examples import evidence, pass_at_k, run
from tests.unit.study.test_configuration import CONFIG, ROOT, SCHEMA
from workflow.lib.drawing import extension_figures, figures
from workflow.lib.drawing.extension_figures import FIGURES
from workflow.lib.study.configuration import read_study
from workflow.lib.study.findings import FINDINGS
from workflow.lib.study.questions import QUESTIONS


def labels(figure: Figure) -> list[str]:
    """What the legend says."""
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_draws_every_experiment_and_names_its_seeds(name: str) -> None:
    figure = FIGURES[name](evidence().runs[name])
    title = figure.get_suptitle()
    assert title.endswith("(3 seeds)")
    assert labels(figure)
    for axes in figure.axes:
        assert axes.lines, "an empty panel"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_can_be_drawn_of_a_single_seed(name: str) -> None:
    one = {
        key: replace(value, metrics={1: value.metrics[1]}, prompts={1: value.prompts[1]})
        for key, value in evidence().runs[name].items()
    }
    assert FIGURES[name](one).get_suptitle().endswith("(1 seed)")


def test_sweeps_are_in_the_order_of_what_they_vary() -> None:
    made = evidence().runs["fig9_noisy_verifier"]
    backwards = dict(reversed(list(made.items())))
    figure = FIGURES["fig9_noisy_verifier"](backwards)
    assert labels(figure)[:4] == [f"flipped: {noise}" for noise in ("0", "0.2", "0.4", "0.5")]
    ticks = [tick.get_text() for tick in figure.axes[1].get_xticklabels()]
    assert ticks == ["0", "0.2", "0.4", "0.5"]


def test_what_never_got_there_is_left_out_of_the_speeds() -> None:
    made = copy.deepcopy(evidence().runs["fig4_cold_start_data"])
    made["q0.3"].metrics[2]["accuracy_carry"] = 0.0
    figure = FIGURES["fig4_cold_start_data"](made)
    speeds = figure.axes[1].lines[0].get_ydata()
    assert np.isnan(np.asarray(speeds)[-1]), "the mean of a run that never gets there is not known"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_can_be_drawn_of_runs_that_learned_nothing(name: str, tmp_path: Path) -> None:
    made = copy.deepcopy(evidence().runs[name])
    for runs in made.values():
        for frame in runs.metrics.values():
            frame.loc[:, frame.columns != "iteration"] = 0.0
    figures.save(FIGURES[name](made), tmp_path / "figure.pdf", name, {}, [])


def test_a_perfect_policys_kl_is_drawn() -> None:
    figure = FIGURES["fig10_anchor"]({"a": run(beta=0.0), "b": run(beta=0.1)})
    line = figure.axes[1].lines
    expected = 0.6975 * np.log(1 / 0.3)
    assert any(np.allclose(np.asarray(one.get_ydata()), expected) for one in line)


def test_pass_at_k_draws_both_models() -> None:
    tables = {"weak": pass_at_k(0.3, 0.99), "cold": pass_at_k(0.0, 0.0)}
    figure = extension_figures.pass_at_k(tables)
    assert [axes.get_title() for axes in figure.axes] == ["weak", "cold"]
    assert labels(figure) == [
        "SFT, sampled",
        "SFT, exact",
        "after GRPO, sampled",
        "after GRPO, exact",
    ]


@pytest.mark.parametrize("metrics", [["kl"], ["kl", "accuracy"], ["kl", "accuracy", "entropy"]])
def test_curves_draw_any_metrics(metrics: list[str]) -> None:
    experiments = {name: run(beta=beta).metrics for name, beta in (("one", 0.0), ("two", 0.1))}
    figure = figures.curves(experiments, metrics, "Mine")
    assert figure.get_suptitle() == "Mine (3 seeds)"
    assert labels(figure) == ["one", "two"]
    assert [axes.get_ylabel() for axes in figure.axes] == [
        figures.metric_label(metric) for metric in metrics
    ]


def test_a_title_is_no_formula(tmp_path: Path) -> None:
    figure = figures.curves({"one": run().metrics}, ["kl"], r"$\nothing$ of {x}_2 & 5 %")
    figures.save(figure, tmp_path / "figure.pdf", "title", {}, [])


def test_names_are_the_same_everywhere() -> None:
    """In the schema, the configuration, the drawing, the findings and the report's captions."""
    names = list(CONFIG["extensions"]["figures"])
    schema = SCHEMA["properties"]["extensions"]["properties"]["figures"]
    assert schema["propertyNames"]["enum"] == names == list(QUESTIONS)
    assert {*FIGURES, "fig5_pass_at_k"} == set(names)
    assert {finding.figure for finding in FINDINGS} == set(names)
    for name in names:
        assert "$findings" in (ROOT / f"workflow/report/{name}.rst").read_text()


def test_every_experiment_of_the_extensions_is_drawn() -> None:
    study = read_study(CONFIG, SCHEMA)
    drawn = {name for names in study.extensions.figures.values() for name in names}
    assert study.extensions.experiments.keys() <= drawn


def test_the_small_study_draws_every_figure() -> None:
    small = yaml.safe_load((ROOT / "tests/extensions.yaml").read_text())
    assert list(small["extensions"]["figures"]) == list(CONFIG["extensions"]["figures"])
