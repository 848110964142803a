"""Every curve on one page: metrics and experiments to choose from, values under the pointer.

Curves go in, HTML comes out. plotly draws, and its code is in the page: it needs no network.
"""

import json
from collections.abc import Iterable, Mapping
from html import escape
from itertools import cycle
from string import Template
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb
from plotly.offline import get_plotlyjs

from workflow.lib.drawing.colours import PALETTE
from workflow.lib.drawing.curves import mean_and_band, values_of
from workflow.lib.drawing.look import metric_label
from workflow.lib.study.runs import Frames

DASHES = ("none", "7,3", "2,3", "8,3,2,3", "14,4", "14,4,2,4")
"""Pixels of line and gap: the next one is taken where the colours come round again."""

Style = tuple[str, str]
"""The colour and the dash of an experiment's lines."""


def explore_page(template: str, experiments: Mapping[str, Frames]) -> str:
    """The page, made from its template.

    Args:
        template: HTML with the gaps `$metrics`, `$experiments`, `$plots`, `$figures`, `$plotly`.
        experiments: the metrics of each experiment.
    """
    metrics, styles = metrics_of(experiments), line_styles(experiments)
    figures = [
        {"metric": metric, **figure_of(metric, experiments, styles).to_dict()} for metric in metrics
    ]
    return Template(template).substitute(
        metrics="\n".join(
            checkbox("metric", metric, metric_label(metric), checked=metric in metrics[:2])
            for metric in metrics
        ),
        experiments="\n".join(
            checkbox("experiment", name, name, checked=n < len(PALETTE), sample=line_sample(style))
            for n, (name, style) in enumerate(styles.items())
        ),
        plots="\n".join(
            f'<div class="plot" id="plot-{escape(metric)}"></div>' for metric in metrics
        ),
        # Inside a script element, only this could end it.
        figures=json.dumps(figures).replace("</", "<\\/"),
        plotly=get_plotlyjs(),
    )


def metrics_of(experiments: Mapping[str, Frames]) -> list[str]:
    """All columns but the iteration, in the order in which they come."""
    frames = (frame for curves in experiments.values() for frame in curves.values())
    columns = dict.fromkeys(column for frame in frames for column in frame)
    return [str(column) for column in columns if column != "iteration"]


def line_styles(experiments: Iterable[str]) -> dict[str, Style]:
    """A colour and a dash for each experiment."""
    styles = [(colour, dash) for dash in DASHES for colour in PALETTE]  # 48 of them
    return dict(zip(experiments, cycle(styles), strict=False))


def figure_of(
    metric: str, experiments: Mapping[str, Frames], styles: Mapping[str, Style]
) -> go.Figure:
    """One metric against the iteration, with all there is to see of each experiment that has it."""
    figure = go.Figure()
    for name, curves in experiments.items():
        if all(metric in frame for frame in curves.values()):
            figure.add_traces(traces_of(name, curves, metric, styles[name]))
    line = {"gridcolor": "#dddddd", "linecolor": "#999999", "zeroline": False}
    figure.update_layout(
        template="none",
        title={"text": metric_label(metric), "font": {"size": 15}, "x": 0.02, "y": 0.97},
        xaxis={
            "title": {"text": metric_label("iteration")},
            "unifiedhovertitle": {"text": "iteration %{x}"},
            **line,
        },
        yaxis={"automargin": True, **line},
        margin={"l": 40, "r": 12, "t": 36, "b": 48},
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#222222"},
        hoverlabel={"font": {"size": 12}},
        showlegend=False,
    )
    return figure


def traces_of(name: str, curves: Frames, metric: str, style: Style) -> list[go.Scatter]:
    """The band, the mean and the single seeds of one experiment.

    The page tells them apart by `meta`: the experiment, and what the trace shows of it. Values are
    in single precision, which keeps the page small: plotly writes an array as its bytes.
    """
    colour, dash = style
    line = {"color": colour, "dash": "solid" if dash == "none" else dash}
    iteration, mean, low, high = mean_and_band(curves, metric)
    mode = "lines+markers" if len(iteration) < 10 else "lines"  # so that a single row can be seen

    def trace(shows: str, x: np.ndarray, y: np.ndarray, **look: Any) -> go.Scatter:
        meta = {"experiment": name, "shows": shows}
        return go.Scatter(x=x.astype(int), y=y.astype("f4"), meta=meta, **look)

    red, green, blue = hex_to_rgb(colour)
    band = trace(
        "band",
        np.concatenate([iteration, iteration[::-1]]),
        np.concatenate([high, low[::-1]]),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=f"rgba({red}, {green}, {blue}, 0.18)",
        hoverinfo="skip",
    )
    seeds = [
        trace(
            "seeds",
            iteration,
            values,
            name=f"{name}, seed {seed}",
            mode=mode,
            line={**line, "width": 1},
            opacity=0.7,
            hovertemplate="%{y:.4f}",
        )
        for seed, values in values_of(curves, metric).items()
    ]
    middle = trace(
        "mean",
        iteration,
        mean,
        name=f"{name}, mean",
        mode=mode,
        line={**line, "width": 2.5},
        customdata=(high - mean).astype("f4"),
        hovertemplate="%{y:.4f} ± %{customdata:.4f}",
    )
    return [band, *seeds, middle]


def checkbox(name: str, value: str, label: str, checked: bool, sample: str = "") -> str:
    """One thing to choose."""
    return (
        f'<label><input type="checkbox" name="{name}" value="{escape(value)}"'
        f"{' checked' if checked else ''}>{sample} {escape(label)}</label>"
    )


def line_sample(style: Style) -> str:
    """A piece of an experiment's line: what a legend would show."""
    colour, dash = style
    return (
        '<svg width="30" height="8" aria-hidden="true"><line x2="30" y1="4" y2="4" '
        f'stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
    )
