"""The figures on the questions that the chapter left open.

Each takes the runs of the experiments that it draws, by name, and orders them by their settings: so
another value of what is varied is an entry in the configuration.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from workflow.lib.drawing.colours import BLUE, GREY, PALETTE, RED
from workflow.lib.drawing.figures import (
    FRACTION,
    add_legend,
    bands_of,
    label_axes,
    look,
    new_figure,
    plot_band,
    seeds_in_words,
)
from workflow.lib.study.claims import silent_fraction
from workflow.lib.study.questions import QUESTIONS
from workflow.lib.study.runs import Runs, sweep

DOUBLE_TALL = (10, 4.8)
BANDS_AND_DOTS = "lines: mean over seeds; bands: ± 1 s.d.; dots: seeds"

Figures = Mapping[str, Callable[[Mapping[str, Runs]], Figure]]


def plot_sweep(
    axes: Axes,
    values: Sequence[float],
    numbers: Sequence[Mapping[int, float]],
    colour: str,
    label: str,
    marker: str = "o",
) -> None:
    """A number of each seed against a few values, evenly spaced: dots, and a line of their means.

    What is infinite, as the iteration that a run never reached, is not drawn, nor in a mean.
    """
    table = np.array([list(of_seeds.values()) for of_seeds in numbers], dtype=float)
    finite = np.isfinite(table)
    means = [
        np.mean(row[known]) if known.all() else np.nan
        for row, known in zip(table, finite, strict=True)
    ]
    places = np.arange(len(values))
    axes.plot(places, means, color=colour, label=label, marker=marker, markersize=6)
    spread = np.where(finite, table, np.nan)
    for column in spread.T:
        axes.plot(places, column, marker, color=colour, alpha=0.35, markersize=4, linestyle="")
    axes.set_xticks(places, [f"{value:g}" for value in values])


def perfect_kl(prompts: pd.DataFrame) -> float:
    """The KL of a perfect policy to a reference, in nats: the mean of ln(1/p)."""
    return float(-np.log(prompts.probability).mean())


def titled(axes: Axes, title: str, x: str, y: str) -> None:
    """What a panel shows, in words."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


@look()
def cold_start_data(runs: Mapping[str, Runs]) -> Figure:
    """Figure 4: how much the SFT teacher's correctness decides of what GRPO can learn."""
    by_q = sweep(runs, lambda run: run.q)
    qs, ordered = list(by_q), list(by_q.values())
    seeds = seeds_in_words(*(run.metrics for run in ordered))
    figure, [left, middle, right] = new_figure(
        (13, 4.6), f"{QUESTIONS['fig4_cold_start_data']} ({seeds})", columns=3
    )
    x = "Teacher correctness q"
    shortest = min(run.settings.iterations for run in ordered)
    early = [run.at(shortest, "accuracy_carry") for run in ordered]
    plot_sweep(left, qs, early, BLUE, f"after {shortest} iterations")
    longer = [run for run in ordered if run.settings.iterations > shortest]
    if longer:
        places = [qs.index(run.q) for run in longer]
        final = np.array([list(run.last("accuracy_carry").values()) for run in longer])
        label = f"after {longer[0].settings.iterations} iterations"
        left.plot(places, final.mean(axis=1), color=RED, marker="s", markersize=6, label=label)
        left.plot(places, final, "s", color=RED, alpha=0.35, markersize=4)
    titled(left, "What is learned", x, "Greedy accuracy on carry prompts")
    left.set_ylim(FRACTION)

    reached = [run.reaches("accuracy_carry", 0.9) for run in ordered]
    plot_sweep(middle, qs, reached, BLUE, "first at 0.9 on carry prompts")
    if np.isfinite([list(of_seeds.values()) for of_seeds in reached]).any():
        middle.set_yscale("log")
        middle.yaxis.set_major_formatter(ScalarFormatter())
        middle.yaxis.set_minor_formatter(NullFormatter())
    titled(middle, "How fast (only what got there)", x, "GRPO iteration")

    first = [run.at(1, "frac_reward_zero_std") for run in ordered]
    expected = [
        {
            seed: silent_fraction(p.probability, run.settings.num_generations)
            for seed, p in run.prompts.items()
        }
        for run in ordered
    ]
    plot_sweep(right, qs, first, BLUE, "first batch of each run")
    plot_sweep(right, qs, expected, GREY, "expected from the checkpoint", "D")
    titled(right, "Zero-signal groups at the start", x, "Fraction of groups")
    right.set_ylim(FRACTION)
    for axes in (left, middle, right):
        axes.tick_params(axis="x", labelrotation=45)
    add_legend(figure, "lines: means over seeds; dots: seeds", columns=3)
    return figure


@look()
def pass_at_k(tables: Mapping[str, Mapping[int, pd.DataFrame]]) -> Figure:
    """Figure 5: whether GRPO teaches anything that the SFT model's k samples do not hold."""
    seeds = seeds_in_words(*tables.values())
    figure, panels = new_figure(
        (5 * max(2, len(tables)), 4.6),
        f"{QUESTIONS['fig5_pass_at_k']} ({seeds})",
        columns=len(tables),
    )
    for axes, (name, by_seed) in zip(panels, tables.items(), strict=True):
        for model, colour, label in [("sft", GREY, "SFT"), ("grpo", BLUE, "after GRPO")]:
            k = next(iter(by_seed.values())).k.to_numpy()
            sampled = np.array([frame[model] for frame in by_seed.values()])
            mean, deviation = sampled.mean(axis=0), sampled.std(axis=0)
            axes.fill_between(
                k, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(k, mean, "o", color=colour, label=f"{label}, sampled", markersize=5)
            exact = np.mean([frame[f"{model}_exact"] for frame in by_seed.values()], axis=0)
            axes.plot(k, exact, color=colour, label=f"{label}, exact")
        axes.set_xscale("log", base=2)
        titled(axes, name, "k", "pass@k on carry prompts")
        axes.set_ylim(FRACTION)
    add_legend(figure, bands_of(seeds), columns=4)
    return figure


REWARDS = {
    "verifier": "The verifier",
    "learned": "Learned from the teacher (log-odds)",
    "within_10": "Anything within 10",
    "without_hundreds": "No hundreds digit",
}


@look()
def reward_is_the_objective(runs: Mapping[str, Runs]) -> Figure:
    """Figure 6: what a reward asks for against what is true, with and without an anchor."""
    seeds = seeds_in_words(*(run.metrics for run in runs.values()))
    rewards = [
        name for name in REWARDS if any(run.settings.reward == name for run in runs.values())
    ]
    figure, panels = new_figure(
        (3.6 * len(rewards), 7.6),
        f"{QUESTIONS['fig6_reward_is_the_objective']} ({seeds})",
        2,
        len(rewards),
    )
    for column, reward in enumerate(rewards):
        top, bottom = panels[column], panels[len(rewards) + column]
        proxy_axes = top if reward != "learned" else top.twinx()
        betas = sweep(
            {name: run for name, run in runs.items() if run.settings.reward == reward},
            lambda run: run.settings.beta,
        )
        for (beta, run), line in zip(betas.items(), cycle(("-", "--", ":")), strict=False):
            anchored = f", β = {beta:g}"
            plot_band(top, run.metrics, "accuracy", BLUE, f"True accuracy{anchored}", line)
            plot_band(proxy_axes, run.metrics, "reward", RED, f"Reward{anchored}", line)
            plot_band(bottom, run.metrics, "kl", GREY, f"KL{anchored}", line)
        if proxy_axes is not top:
            proxy_axes.spines["right"].set_visible(True)
            proxy_axes.grid(False)
            proxy_axes.tick_params(axis="y", labelcolor=RED)
        label_axes(top, "iteration", "accuracy", FRACTION)
        top.set_title(REWARDS[reward])
        top.set_ylabel("Accuracy, reward" if column == 0 else "")
        label_axes(bottom, "iteration", "kl")
        if column > 0:
            bottom.set_ylabel("")
    add_legend(figure, bands_of(seeds), columns=6)
    return figure


ADVANTAGES = {
    "group": "group mean and s.d. (GRPO)",
    "group_mean": "group mean (Dr. GRPO)",
    "leave_one_out": "leave one out (RLOO)",
    "batch": "batch mean and s.d.",
    "none": "none",
}


@look()
def baseline(runs: Mapping[str, Runs]) -> Figure:
    """Figure 7: what the advantage is measured against, from different starts."""
    seeds = seeds_in_words(*(run.metrics for run in runs.values()))
    qs = sorted({run.q for run in runs.values()}, reverse=True)
    metrics = {"accuracy_carry": "Carry accuracy", "kl": "KL (nats)", "grad_norm": "Gradient norm"}
    figure, panels = new_figure(
        (4 * len(qs), 9), f"{QUESTIONS['fig7_baseline']} ({seeds})", len(metrics), len(qs)
    )
    for row, metric in enumerate(metrics):
        for column, q in enumerate(qs):
            axes = panels[row * len(qs) + column]
            for colour, (advantage, label) in zip(PALETTE, ADVANTAGES.items(), strict=False):
                for run in runs.values():
                    if run.q == q and run.settings.advantage == advantage:
                        plot_band(axes, run.metrics, metric, colour, label)
            label_axes(axes, "iteration", metric, FRACTION if metric == "accuracy_carry" else None)
            if row == 0:
                axes.set_title(f"q = {q:g}")
            axes.set_ylabel(metrics[metric] if column == 0 else "")
    add_legend(figure, bands_of(seeds), columns=3)
    return figure


@look()
def group_size(runs: Mapping[str, Runs]) -> Figure:
    """Figure 8: groups of different size, at the same number of completions."""
    by_size = sweep(runs, lambda run: run.settings.num_generations)
    sizes, ordered = list(by_size), list(by_size.values())
    seeds = seeds_in_words(*(run.metrics for run in ordered))
    figure, [left, right] = new_figure(
        DOUBLE_TALL, f"{QUESTIONS['fig8_group_size']} ({seeds})", columns=2
    )
    first = [run.at(1, "frac_reward_zero_std") for run in ordered]
    expected = [
        {seed: silent_fraction(p.probability, int(size)) for seed, p in run.prompts.items()}
        for size, run in by_size.items()
    ]
    plot_sweep(left, sizes, first, BLUE, "first batch of each run")
    plot_sweep(left, sizes, expected, GREY, "expected: the mean of $p^G + (1 - p)^G$", "D")
    titled(left, "Zero-signal groups at the start", "Group size G", "Fraction of groups")
    left.set_ylim(FRACTION)
    for colour, (size, run) in zip(cycle(PALETTE[2:]), by_size.items(), strict=False):
        plot_band(right, run.metrics, "accuracy_carry", colour, f"G = {size:g}")
    label_axes(right, "iteration", "accuracy_carry", FRACTION)
    right.set_title("Speed of learning")
    add_legend(figure, BANDS_AND_DOTS, columns=4)
    return figure


@look()
def noisy_verifier(runs: Mapping[str, Runs]) -> Figure:
    """Figure 9: verdicts that are flipped now and then."""
    by_noise = sweep(runs, lambda run: run.settings.reward_noise)
    noises, ordered = list(by_noise), list(by_noise.values())
    seeds = seeds_in_words(*(run.metrics for run in ordered))
    figure, [left, right] = new_figure(
        DOUBLE_TALL, f"{QUESTIONS['fig9_noisy_verifier']} ({seeds})", columns=2
    )
    for colour, (noise, run) in zip(cycle(PALETTE), by_noise.items(), strict=False):
        plot_band(left, run.metrics, "accuracy_carry", colour, f"flipped: {noise:g}")
    label_axes(left, "iteration", "accuracy_carry", FRACTION)
    left.set_title("Speed of learning")
    plot_sweep(right, noises, [run.late("accuracy") for run in ordered], BLUE, "all prompts")
    plot_sweep(right, noises, [run.late("accuracy_carry") for run in ordered], RED, "carry prompts")
    titled(right, "Over the last third", "Probability that a verdict is flipped", "Greedy accuracy")
    right.set_ylim(FRACTION)
    add_legend(figure, BANDS_AND_DOTS, columns=4)
    return figure


@look()
def anchor(runs: Mapping[str, Runs]) -> Figure:
    """Figure 10: a KL penalty of different weights, in long runs."""
    by_beta = sweep(runs, lambda run: run.settings.beta)
    betas, ordered = list(by_beta), list(by_beta.values())
    seeds = seeds_in_words(*(run.metrics for run in ordered))
    figure, [left, middle, right] = new_figure(
        (13, 4.6), f"{QUESTIONS['fig10_anchor']} ({seeds})", columns=3
    )
    for colour, (beta, run) in zip(cycle(PALETTE), by_beta.items(), strict=False):
        plot_band(left, run.metrics, "kl", colour, f"β = {beta:g}")
    label_axes(left, "iteration", "kl")
    left.set_title("KL along the way")
    perfect = [{seed: perfect_kl(p) for seed, p in run.prompts.items()} for run in ordered]
    plot_sweep(middle, betas, [run.late("kl") for run in ordered], BLUE, "over the last third")
    plot_sweep(middle, betas, perfect, GREY, "a perfect policy's KL", "D")
    titled(middle, "KL in the end", "β", "KL to the SFT reference (nats)")
    plot_sweep(right, betas, [run.late("accuracy") for run in ordered], BLUE, "over the last third")
    late_carry = [run.late("accuracy_carry") for run in ordered]
    plot_sweep(right, betas, late_carry, RED, "the same on carry prompts")
    titled(right, "Accuracy in the end", "β", "Greedy accuracy")
    lowest = min(value for of_seeds in late_carry for value in of_seeds.values())
    right.set_ylim(min(0.75, lowest - 0.05), 1.01)
    add_legend(figure, BANDS_AND_DOTS, columns=4)
    return figure


FIGURES: Figures = {
    "fig4_cold_start_data": cold_start_data,
    "fig6_reward_is_the_objective": reward_is_the_objective,
    "fig7_baseline": baseline,
    "fig8_group_size": group_size,
    "fig9_noisy_verifier": noisy_verifier,
    "fig10_anchor": anchor,
}
"""Those that draw metrics, by the names that the configuration gives them."""
