"""One look for every figure; curves with bands.

Data frames go in, Matplotlib figures come out, and only `save` writes a file. Nothing here goes
through pyplot or leaves a setting changed: whatever draws does so under `look`, which starts from
Matplotlib's own defaults, so that a reader's matplotlibrc does not show either.

A new figure is `new_figure`, some `plot_band` (or any other artists), and `add_legend`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ticker import MaxNLocator

from workflow.lib.drawing.colours import BLUE, GREY, PALETTE, RED
from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.fingerprint import digest

Curves = Mapping[int, pd.DataFrame]
"""The metrics of one experiment: a frame per seed, a row per recorded iteration."""

LABELS = {
    "iteration": "GRPO iteration",
    "accuracy": "Greedy accuracy",
    "accuracy_carry": "Greedy accuracy on carry prompts",
    "accuracy_sampled": "Accuracy of one sample",
    "reward": "Mean reward",
    "kl": "KL to the SFT reference (nats)",
    "frac_reward_zero_std": "Fraction of zero-signal groups",
    "kl_full": "KL to the SFT reference, all tokens (nats)",
    "reward_std": "Reward's s.d. within groups",
    "frac_all_right": "Fraction of groups all right",
    "frac_all_wrong": "Fraction of groups all wrong",
    "entropy": "Entropy (nats per token)",
    "clip_ratio": "Fraction of ratios clipped",
    "grad_norm": "Gradient norm",
    "accuracy_units": "Greedy accuracy, units carry",
    "accuracy_tens": "Greedy accuracy, tens carry",
    "accuracy_both": "Greedy accuracy, both carry",
}
"""What an axis says about a column, with its unit where it has one."""

FRACTION = (-0.05, 1.05)
"""Limits of an axis of fractions: 0 and 1 stay clear of the frame."""

SINGLE, DOUBLE = (7.2, 4.8), (10, 4.2)
"""Sizes, in inches, of a figure with one panel and of one with two side by side."""

FRACTIONS = ("accuracy", "frac", "clip")
"""How the names of columns begin that hold fractions."""


def serif_fonts(installed: Collection[str]) -> list[str]:
    """The serif fonts to use, best first: naming one that is missing would make Matplotlib warn.

    DejaVu Serif comes with Matplotlib. It also draws any character that Times New Roman lacks.
    """
    return [name for name in ("Times New Roman", "DejaVu Serif") if name in installed]


@contextmanager
def look() -> Iterator[None]:
    """The style of every figure, while it is drawn and while it is saved."""
    settings = {
        "font.family": serif_fonts(fontManager.get_font_names()),
        "font.size": 11,
        "mathtext.fontset": "dejavuserif",
        "axes.titlesize": 11,
        "figure.titlesize": 13,
        "legend.fontsize": 10,
        "legend.title_fontsize": 9,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.w_pad": 0.1,
        "figure.constrained_layout.h_pad": 0.08,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.xmargin": 0.02,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#DDDDDD",
        "grid.linestyle": "--",
        "lines.linewidth": 1.8,
        "pdf.fonttype": 42,
    }
    with style.context(["default", settings]):
        yield


def metric_label(metric: str) -> str:
    """How an axis names a metric; a column without an entry in `LABELS` keeps its own words."""
    return LABELS.get(metric, metric.replace("_", " ").capitalize())


def mean_and_band(
    curves: Curves, metric: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Iteration, mean over the seeds, and one population standard deviation below and above it."""
    values = values_of(curves, metric)
    iterations = values_of(curves, "iteration")
    first, *others = curves
    for seed in others:
        if not np.array_equal(iterations[seed], iterations[first]):
            raise ValueError(
                f"Cannot average {metric!r}: seed {seed} was recorded at other iterations "
                f"than seed {first}."
            )
    table = np.array(list(values.values()))
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    return iterations[first], mean, mean - deviation, mean + deviation


def values_of(frames: Mapping[int, pd.DataFrame], metric: str) -> dict[int, np.ndarray]:
    """One column of each seed's frame."""
    if not frames:
        raise ValueError(f"There is no seed to draw {metric!r} from.")
    for seed, frame in frames.items():
        if metric not in frame:
            raise ValueError(f"The metrics of seed {seed} have no column {metric!r}.")
    return {seed: frame[metric].to_numpy(dtype=float) for seed, frame in frames.items()}


def seeds_in_words(*experiments: Mapping[int, pd.DataFrame]) -> str:
    """The number of seeds, as every title gives it; experiments in one figure share their seeds."""
    first, *others = (sorted(experiment) for experiment in experiments)
    for other in others:
        if other != first:
            raise ValueError(f"One figure cannot compare seeds {first} with seeds {other}.")
    return "1 seed" if len(first) == 1 else f"{len(first)} seeds"


def new_figure(
    size: tuple[float, float], title: str, rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """An empty figure of `size` inches and its panels, row by row."""
    figure = Figure(figsize=size)
    figure.suptitle(title, parse_math=False)  # a reader's own title may hold a $
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def label_axes(axes: Axes, x: str, y: str, limits: tuple[float, float] | None = None) -> None:
    """Name both axes after their columns, and fix the range of y where `limits` are given."""
    axes.set_xlabel(metric_label(x))
    axes.set_ylabel(metric_label(y))
    if x == "iteration":
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10], integer=True))
    if limits:
        axes.set_ylim(limits)


def plot_band(
    axes: Axes, curves: Curves, metric: str, colour: str, label: str, line: str = "-"
) -> None:
    """A metric against the iteration: its mean over the seeds, in a band of ±1 s.d."""
    iteration, mean, low, high = mean_and_band(curves, metric)
    axes.fill_between(iteration, low, high, color=colour, alpha=0.2, linewidth=0)
    marker = "o" if len(iteration) < 10 else ""  # so that even a single row can be seen
    axes.plot(
        iteration, mean, color=colour, linestyle=line, label=label, marker=marker, markersize=4
    )


def bands_of(seeds: str) -> str:
    """What a legend says of lines and bands over so many seeds, as `seeds_in_words` counts them."""
    return "one seed" if seeds == "1 seed" else "mean ± 1 s.d. over seeds"


def add_legend(figure: Figure, title: str, columns: int = 2) -> None:
    """One legend for all panels, below them, where it cannot cover a curve."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        handles=list(entries.values()),
        labels=list(entries),
        loc="outside lower center",
        ncols=columns,
        title=title,
    )


@look()
def rlvr_overturns(weak: Curves, sft: Mapping[int, pd.DataFrame]) -> Figure:
    """Figure 1: GRPO lifts a confidently wrong SFT model, on all prompts and on those that carry.

    `sft` holds one row per seed: how good the model was from which that seed's GRPO started.
    """
    seeds = seeds_in_words(weak, sft)
    figure, [axes] = new_figure(SINGLE, f"Verifiable reward overturns a systematic error ({seeds})")
    for metric, prompts, colour in [
        ("accuracy", "overall", BLUE),
        ("accuracy_carry", "carry prompts", RED),
    ]:
        plot_band(axes, weak, metric, colour, f"GRPO, {prompts}")
        start = float(np.mean(list(values_of(sft, metric).values())))
        axes.axhline(start, color=colour, linestyle=":", label=f"SFT, {prompts}: {start:.3f}")
    label_axes(axes, "iteration", "accuracy", FRACTION)
    add_legend(figure, bands_of(seeds))
    return figure


@look()
def unhackable_reward(long: Curves, beta: float = 0.0) -> Figure:
    """Figure 2: a long run without a KL penalty keeps its accuracy, and its KL settles.

    The title names β and the iterations of the last row: 0 and 600 in the chapter.
    """
    seeds = seeds_in_words(long)
    iteration, _, _, high = mean_and_band(long, "kl")
    figure, [left] = new_figure(
        SINGLE, f"β = {beta:g}, {iteration[-1]:.0f} iterations: nothing collapses ({seeds})"
    )
    plot_band(left, long, "accuracy", BLUE, "Greedy accuracy (left axis)")
    label_axes(left, "iteration", "accuracy", (0.25, 1.05))
    left.yaxis.label.set_color(BLUE)

    right = left.twinx()
    plot_band(right, long, "kl", GREY, "KL (right axis)")
    label_axes(right, "iteration", "kl")
    right.yaxis.label.set_color(GREY)
    right.spines["right"].set_visible(True)
    right.grid(False)
    # A KL below the accuracy, not across it; and a scale on which noise around 0 looks like noise.
    highest = max(1.0, 1.3 * high.max())
    right.set_ylim(-0.05 * highest, highest)
    add_legend(figure, bands_of(seeds))
    return figure


@look()
def cold_start(weak: Curves, cold: Curves) -> Figure:
    """Figure 3: where every sample is wrong, every group is silent and nothing is learned."""
    seeds = seeds_in_words(weak, cold)
    figure, panels = new_figure(
        DOUBLE, f"Cold start: all-same groups carry no gradient ({seeds})", columns=2
    )
    for axes, metric in zip(panels, ["accuracy", "frac_reward_zero_std"], strict=True):
        plot_band(axes, weak, metric, BLUE, "Weak start")
        plot_band(axes, cold, metric, RED, "Cold start")
        label_axes(axes, "iteration", metric, FRACTION)
    add_legend(figure, bands_of(seeds))
    return figure


@look()
def curves(experiments: Mapping[str, Curves], metrics: Sequence[str], title: str) -> Figure:
    """Any metrics of up to eight experiments against the iteration, a panel for each metric."""
    seeds = seeds_in_words(*experiments.values())
    columns = min(len(metrics), 2)
    rows = -(-len(metrics) // columns)
    width, height = SINGLE if columns == 1 else DOUBLE
    figure, panels = new_figure((width, height * rows), f"{title} ({seeds})", rows, columns)
    for axes, metric in zip(panels, metrics, strict=False):
        for colour, (name, runs) in zip(PALETTE, experiments.items(), strict=False):
            plot_band(axes, runs, metric, colour, name)
        label_axes(axes, "iteration", metric, FRACTION if metric.startswith(FRACTIONS) else None)
    for axes in panels[len(metrics) :]:
        axes.remove()
    add_legend(figure, bands_of(seeds), columns=min(len(experiments), 4))
    return figure


@look()
def save(
    figure: Figure, path: Path | str, title: str, settings: object, code: Sequence[str]
) -> None:
    """Write `figure` as a PDF: the same bytes whatever the clock, the locale and the time zone.

    Its properties hold the title, and the fingerprints of the settings and of the code (each file's
    own, as a rule knows them) that made it.
    """
    properties = {
        "Title": title,
        "Subject": f"settings {digest(settings)}",
        "Keywords": f"code {digest(code)}",
        "Creator": "Matplotlib",
        "Producer": "Matplotlib",
        "CreationDate": None,
    }
    with whole_file(path) as beside:
        figure.savefig(beside, format="pdf", metadata=properties)
