"""Curves: means and bands over the seeds, sweeps of dots, and figures of a reader's own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.unit.questions.examples import SEEDS, make_runs
from workflow.lib.drawing import curves
from workflow.lib.drawing.colours import BLUE, PALETTE
from workflow.lib.drawing.look import look, metric_label, save
from workflow.lib.study.settings import GrpoSettings


def run_of(seeds: list[int]) -> dict[int, pd.DataFrame]:
    return dict(make_runs(seeds=seeds).metrics)


def test_a_band_is_one_population_standard_deviation_around_the_mean() -> None:
    frames = {
        seed: pd.DataFrame({"iteration": [1, 5, 10], "kl": kl})
        for seed, kl in {7: [0.0, 1.0, 3.0], 8: [0.0, 2.0, 3.0], 9: [0.0, 6.0, 6.0]}.items()
    }
    iteration, mean, low, high = curves.mean_and_band(frames, "kl")
    # 1, 2, 6: squared deviations 4 + 1 + 9, over n = 3.  3, 3, 6: 1 + 1 + 4, over 3.
    deviation = [0, np.sqrt(14 / 3), np.sqrt(2)]
    np.testing.assert_array_equal(iteration, [1, 5, 10])
    np.testing.assert_allclose(mean, [0, 3, 4])
    np.testing.assert_allclose(mean - low, deviation)
    np.testing.assert_allclose(high - mean, deviation)


def test_the_band_of_one_seed_has_no_width() -> None:
    frames = run_of([42])
    _, mean, low, high = curves.mean_and_band(frames, "accuracy")
    for values in (mean, low, high):
        np.testing.assert_array_equal(values, frames[42]["accuracy"])


@pytest.mark.parametrize("column", ["kl", "iteration"])
def test_a_missing_column_is_named_with_its_seed(column: str) -> None:
    frames = run_of([42, 43])
    frames[43] = frames[43].drop(columns=column)
    with pytest.raises(ValueError, match=f"seed 43 have no column '{column}'"):
        curves.mean_and_band(frames, "kl")


@pytest.mark.parametrize("change", [lambda frame: frame[:-1], lambda frame: frame + 1])
def test_seeds_recorded_at_other_iterations_are_not_averaged(
    change: Callable[[pd.DataFrame], pd.DataFrame],
) -> None:
    frames = run_of([42, 43])
    frames[43] = change(frames[43])
    with pytest.raises(ValueError, match=r"'kl': seed 43 .* other iterations than seed 42"):
        curves.mean_and_band(frames, "kl")


def test_no_seeds_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="no seed to draw 'kl'"):
        curves.mean_and_band({}, "kl")


def test_a_curve_has_a_light_band_of_its_colour() -> None:
    axes = Figure().subplots()
    curves.plot_band(axes, run_of([1, 2]), "kl", BLUE, "words", "--")
    [line] = axes.lines
    [band] = [item for item in axes.collections if isinstance(item, PolyCollection)]
    assert to_hex(line.get_color()) == to_hex(BLUE)
    assert (line.get_label(), line.get_linestyle()) == ("words", "--")
    assert to_hex(np.asarray(band.get_facecolor())[0]) == to_hex(BLUE)
    assert (band.get_alpha() or 1) <= 0.3


@pytest.mark.parametrize(("rows", "marker"), [(1, "o"), (9, "o"), (10, "")])
def test_a_curve_of_few_rows_has_its_rows_marked(rows: int, marker: str) -> None:
    axes = Figure().subplots()
    frames = {1: pd.DataFrame({"iteration": range(rows), "kl": 0.5})}
    curves.plot_band(axes, frames, "kl", BLUE, "words")
    assert axes.lines[0].get_marker() == marker


def test_a_sweep_is_a_line_of_means_and_a_dot_for_each_seed() -> None:
    axes = Figure().subplots()
    numbers = [{1: 0.0, 2: 1.0}, {1: 3.0, 2: 5.0}]
    curves.plot_sweep(axes, [0.001, 10], numbers, BLUE, "words", "s")
    means, one, two = axes.lines
    np.testing.assert_array_equal(np.asarray(means.get_ydata()), [0.5, 4])
    np.testing.assert_array_equal(np.asarray(one.get_ydata()), [0, 3])
    np.testing.assert_array_equal(np.asarray(two.get_ydata()), [1, 5])
    assert means.get_label() == "words" and one.get_linestyle() == "None"
    assert [line.get_marker() for line in axes.lines] == ["s"] * 3
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001", "10"]


def test_what_is_infinite_is_not_drawn_nor_a_mean_of_it() -> None:
    axes = Figure().subplots()
    numbers = [{1: 5.0, 2: np.inf}, {1: 3.0, 2: 5.0}]
    curves.plot_sweep(axes, [1, 2], numbers, BLUE, "words")
    means, one, two = (np.asarray(line.get_ydata()) for line in axes.lines)
    np.testing.assert_array_equal(means, [np.nan, 4])
    np.testing.assert_array_equal(one, [5, 3])
    np.testing.assert_array_equal(two, [np.nan, 5])


def test_numbers_for_some_of_the_values_stand_at_their_places() -> None:
    axes = Figure().subplots()
    curves.plot_sweep(axes, [1, 2, 3], [{1: 5.0}, {1: 6.0}], BLUE, "words", places=[2, 0])
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines] == [[2, 0]] * 2
    assert len(axes.get_xticks()) == 3


# Figures of a reader's own


def labels(figure: Figure) -> list[str]:
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("metrics", [["kl"], ["kl", "accuracy"], ["kl", "accuracy", "clip_ratio"]])
def test_curves_draw_any_metrics(metrics: list[str]) -> None:
    experiments = {
        name: make_runs(settings=GrpoSettings(beta=beta)).metrics
        for name, beta in (("one", 0.0), ("two", 0.1))
    }
    figure = curves.curves(experiments, metrics, "Mine")
    assert figure.get_suptitle() == "Mine (3 seeds)"
    assert labels(figure) == ["one", "two"]
    assert [axes.get_ylabel() for axes in figure.axes] == [metric_label(m) for m in metrics]
    for axes, metric in zip(figure.axes, metrics, strict=True):
        assert len(axes.lines) == 2
        assert (axes.get_ylim() == (-0.05, 1.05)) == (metric != "kl")


def test_eight_experiments_are_told_apart() -> None:
    names = [f"e{n}" for n in range(8)]
    figure = curves.curves(dict.fromkeys(names, run_of([1])), ["kl"], "Mine")
    assert [to_hex(line.get_color()) for line in figure.axes[0].lines] == [
        to_hex(colour) for colour in PALETTE
    ]
    assert labels(figure) == names


def test_a_title_is_no_formula(tmp_path: Path) -> None:
    with look():
        figure = curves.curves({"one": run_of(list(SEEDS))}, ["kl"], r"$\nothing$ of {x}_2 & 5 %")
    save(figure, tmp_path / "figure.pdf", "title", {}, [])
    assert (tmp_path / "figure.pdf").stat().st_size > 1000


@pytest.mark.parametrize(("seeds", "last"), [(1, 1), (2, 10), (20, 300)])
def test_drawing_and_saving_warn_of_nothing(
    seeds: int, last: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = make_runs(settings=GrpoSettings(iterations=last), seeds=range(seeds))
    with look():
        figure = curves.curves({"one": run.metrics}, ["kl", "accuracy", "entropy"], "β")
    save(figure, tmp_path / "figure.pdf", "β", {}, [])
    assert caplog.records == []
