"""What figures are made of: curves over iterations with bands, and numbers over settings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow.lib.drawing.colours import PALETTE
from workflow.lib.drawing.look import (
    DOUBLE,
    FRACTION,
    SINGLE,
    add_legend,
    label_axes,
    new_figure,
)
from workflow.lib.study.runs import Frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRACTIONS = ("accuracy", "frac", "clip")
"""How the names of columns begin that hold fractions."""


def values_of(frames: Frames, metric: str) -> dict[int, np.ndarray]:
    """One column of each seed's frame."""
    if not frames:
        raise ValueError(f"There is no seed to draw {metric!r} from.")
    for seed, frame in frames.items():
        if metric not in frame:
            raise ValueError(f"The metrics of seed {seed} have no column {metric!r}.")
    return {seed: frame[metric].to_numpy(dtype=float) for seed, frame in frames.items()}


def mean_and_band(
    frames: Frames, metric: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Iteration, mean over the seeds, and one population standard deviation below and above it."""
    values = values_of(frames, metric)
    iterations = values_of(frames, "iteration")
    first, *others = frames
    for seed in others:
        if not np.array_equal(iterations[seed], iterations[first]):
            raise ValueError(
                f"Cannot average {metric!r}: seed {seed} was recorded at other iterations "
                f"than seed {first}."
            )
    table = np.array(list(values.values()))
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    return iterations[first], mean, mean - deviation, mean + deviation


def plot_band(
    axes: "Axes", frames: Frames, metric: str, colour: str, label: str, line: str = "-"
) -> None:
    """A metric against the iteration: its mean over the seeds, in a band of ±1 s.d."""
    iteration, mean, low, high = mean_and_band(frames, metric)
    axes.fill_between(iteration, low, high, color=colour, alpha=0.2, linewidth=0)
    marker = "o" if len(iteration) < 10 else ""  # so that even a single row can be seen
    axes.plot(
        iteration, mean, color=colour, linestyle=line, label=label, marker=marker, markersize=4
    )


def plot_sweep(
    axes: "Axes",
    values: Sequence[float],
    numbers: Sequence[Mapping[int, float]],
    colour: str,
    label: str,
    marker: str = "o",
    places: Sequence[int] | None = None,
) -> None:
    """A number of each seed against a few values, evenly spaced: dots, and a line of their means.

    What is infinite, as the iteration that a run never reached, is not drawn, nor is a mean of it.

    Args:
        values: of the setting on the axis.
        numbers: of each seed, for each value.
        places: of the numbers among the values, where there is not one for each.
    """
    table = np.array([list(of_seeds.values()) for of_seeds in numbers], dtype=float)
    finite = np.isfinite(table)
    means = np.where(finite.all(axis=1), np.where(finite, table, 0).mean(axis=1), np.nan)
    at = np.arange(len(values)) if places is None else np.array(places)
    axes.plot(at, means, color=colour, label=label, marker=marker, markersize=6)
    for column in np.where(finite, table, np.nan).T:
        axes.plot(at, column, marker, color=colour, alpha=0.35, markersize=4, linestyle="")
    axes.set_xticks(np.arange(len(values)), [f"{value:g}" for value in values])


def curves(experiments: Mapping[str, Frames], metrics: Sequence[str], title: str) -> "Figure":
    """Any metrics of up to eight experiments against the iteration, a panel for each metric."""
    columns = min(len(metrics), 2)
    rows = -(-len(metrics) // columns)
    width, height = SINGLE if columns == 1 else DOUBLE
    figure, panels = new_figure((width, height * rows), title, experiments.values(), rows, columns)
    for axes, metric in zip(panels, metrics, strict=False):
        for colour, (name, frames) in zip(PALETTE, experiments.items(), strict=False):
            plot_band(axes, frames, metric, colour, name)
        label_axes(axes, "iteration", metric, FRACTION if metric.startswith(FRACTIONS) else None)
    for axes in panels[len(metrics) :]:
        axes.remove()
    add_legend(figure, next(iter(experiments.values())), columns=min(len(experiments), 4))
    return figure
