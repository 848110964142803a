"""One look for every figure: sizes, fonts, names of axes, titles, legends, and how it is saved.

Nothing here goes through pyplot or leaves a setting changed: whatever draws does so under `look`,
which starts from Matplotlib's own defaults, so that a reader's matplotlibrc does not show either.
Matplotlib is imported where something is drawn, since the questions are read when a study is
planned, and planning has no use for it.

A new figure is `new_figure`, some `curves.plot_band` or other artists, `label_axes`, `add_legend`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workflow.lib.jobs.files import whole_file
from workflow.lib.jobs.fingerprint import digest
from workflow.lib.study.runs import Frames

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "iteration": "GRPO iteration",
    "accuracy": "Greedy accuracy",
    "accuracy_carry": "Greedy accuracy on carry prompts",
    "accuracy_sampled": "Accuracy of one sample",
    "reward": "Mean reward",
    "kl": "KL to the SFT reference (nats)",
    "frac_reward_zero_std": "Fraction of zero-std groups",
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

SINGLE, DOUBLE, DOUBLE_TALL, TRIPLE = (7.2, 4.8), (10, 4.2), (10, 4.8), (13, 4.6)
"""Sizes, in inches, of figures with one panel, and with two or three side by side."""

BANDS_AND_DOTS = "lines: mean over seeds; bands: ± 1 s.d.; dots: seeds"
"""What a legend says where some panels show curves, and some single seeds."""


def serif_fonts(installed: Collection[str]) -> list[str]:
    """The serif fonts to use, best first: naming one that is missing would make Matplotlib warn.

    DejaVu Serif comes with Matplotlib. It also draws any character that Times New Roman lacks.
    """
    return [name for name in ("Times New Roman", "DejaVu Serif") if name in installed]


@contextmanager
def look() -> Iterator[None]:
    """The style of every figure, while it is drawn and while it is saved."""
    from matplotlib import style
    from matplotlib.font_manager import fontManager

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
    """How an axis names a metric; words that are the name of none stay as they are."""
    return LABELS.get(metric, metric)


def count_seeds(*experiments: Frames) -> str:
    """The number of seeds, as every title gives it; experiments in one figure share their seeds."""
    first, *others = (sorted(experiment) for experiment in experiments)
    for other in others:
        if other != first:
            raise ValueError(f"One figure cannot compare seeds {first} with seeds {other}.")
    return "1 seed" if len(first) == 1 else f"{len(first)} seeds"


def new_figure(
    size: tuple[float, float],
    title: str,
    experiments: Iterable[Frames],
    rows: int = 1,
    columns: int = 1,
) -> "tuple[Figure, list[Axes]]":
    """An empty figure of `size` inches and its panels, row by row.

    Args:
        experiments: the tables of all that it will show; the title names the number of seeds.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    # A reader's own title may hold a $.
    figure.suptitle(f"{title} ({count_seeds(*experiments)})", parse_math=False)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def label_axes(
    axes: "Axes", x: str, y: str, limits: tuple[float, float] | None = None, title: str = ""
) -> None:
    """Name both axes, after columns or in words, and fix the range of y to `limits`."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(metric_label(x))
    axes.set_ylabel(metric_label(y))
    if title:
        axes.set_title(title)
    if x == "iteration":
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10], integer=True))
    if limits:
        axes.set_ylim(limits)


def add_legend(
    figure: "Figure", experiment: Frames, columns: int = 2, title: str = "mean ± 1 s.d. over seeds"
) -> None:
    """One legend for all panels, below them, where it cannot cover a curve.

    Args:
        experiment: any of those that are shown: of a single seed there is neither mean nor band.
        title: what lines, bands and dots are.
    """
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        handles=list(entries.values()),
        labels=list(entries),
        loc="outside lower center",
        ncols=columns,
        title="one seed" if len(experiment) == 1 else title,
    )


@look()
def save(
    figure: "Figure", path: Path | str, title: str, settings: object, code: Sequence[str]
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
    with whole_file(path) as partial:
        figure.savefig(partial, format="pdf", metadata=properties)
