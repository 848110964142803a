"""Every question: its claims can come true and can fail, its figure draws, its words are whole."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docutils.core import publish_parts  # type: ignore[import-untyped]
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.unit.questions.examples import (
    CLAIMS,
    QUESTIONS,
    ROOT,
    SEEDS,
    changed,
    good_runs,
    make_runs,
    only,
    prompts,
    runs_of,
    verdicts,
)
from workflow.lib.drawing.look import look, save
from workflow.lib.drawing.publish import caption
from workflow.lib.study.configuration import read_study, running
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
    VERDICTS,
    decided,
)
from workflow.lib.study.runs import Runs
from workflow.lib.study.settings import GrpoSettings

DRAWN = [name for name, question in QUESTIONS.items() if question.draw]
AS_CLAIMED = {name: VERDICTS[claim.source][0] for name, claim in CLAIMS.items()} | {
    "size": CONTRADICTED
}

# The claims

Edit = Callable[[dict[str, Runs]], None]


def spoil(
    experiments: str | Sequence[str],
    column: str,
    value: Any,
    table: str = "metrics",
    seeds: Sequence[int] = SEEDS,
) -> Edit:
    """An edit that sets a column of tables of some experiments; `value` may be made of a table."""

    def edit(runs: dict[str, Runs]) -> None:
        for name in [experiments] if isinstance(experiments, str) else experiments:
            runs[name] = changed(runs[name], table, {column: value}, seeds)

    return edit


def spoil_one(experiment: str, column: str, value: Any, table: str = "metrics") -> Edit:
    """The same of a single seed."""
    return spoil(experiment, column, value, table, seeds=[43])


def rise(start: float, end: float, half: float) -> Callable[[Any], Any]:
    """A curve that has covered half of the way at iteration `half`."""
    return lambda frame: end - (end - start) * 0.5 ** (frame.iteration / half)


def seconds(took: float) -> Edit:
    def edit(runs: dict[str, Runs]) -> None:
        times = {**runs["long"].grpo_seconds, 43: took}
        runs["long"] = replace(runs["long"], grpo_seconds=times)

    return edit


FIG7_SMALL = [name for name in QUESTIONS["fig7_baseline"].experiments if name.startswith("small")]

SPOILED: dict[str, tuple[Edit, set[str]]] = {
    "an honest start": (spoil_one("weak", "accuracy", 0.90, "sft"), {"base"}),
    "a start that carries": (spoil_one("weak", "accuracy_carry", 0.50, "sft"), {"base"}),
    "a start that never samples the right carry": (
        spoil_one("weak", "probability", prompts(0).probability, "before"),
        {"base", "predicted samples", "predicted zero-std groups", "pass@k, weak"},
    ),
    "starts that never sample the right carry": (
        spoil("weak", "probability", prompts(0).probability, "before"),
        {
            *("base", "predicted samples", "predicted zero-std groups"),
            *("cold-start zero-std groups", "pass@k, weak"),
        },
    ),
    "samples unlike the model": (
        spoil_one("weak", "accuracy_sampled", 0.60, "sft"),
        {"predicted samples"},
    ),
    "a weak run that never learns": (
        spoil_one("weak", "accuracy_carry", 0.02),
        {"overturn", "fast", "cold-start data"},
    ),
    "weak runs that never learn": (
        spoil("weak", "accuracy_carry", 0.02),
        {"overturn", "fast", "cold-start data"},
    ),
    "weak runs that learn late": (spoil("weak", "accuracy_carry", rise(0.02, 1.0, 20)), {"fast"}),
    "a weak run that learns very late": (
        spoil_one("weak", "accuracy_carry", rise(0.02, 1.0, 40)),
        {"fast"},
    ),
    "a weak run that stalls": (spoil_one("weak", "accuracy", 0.85), {"overturn"}),
    "weak runs that stall": (spoil("weak", "accuracy", 0.95), {"overturn"}),
    "a long run that collapses": (
        spoil_one("long", "accuracy", lambda frame: np.where(frame.iteration < 450, 0.999, 0.3)),
        {"stable", "anchor, accuracy"},
    ),
    "a long run that stumbles once": (
        spoil_one("long", "accuracy", lambda frame: np.where(frame.iteration == 500, 0.85, 0.999)),
        {"stable"},
    ),
    "long runs that stay a bit below": (
        spoil("long", "accuracy", 0.95),
        {"stable", "anchor, accuracy"},
    ),
    "a KL that keeps growing": (
        spoil_one("long", "kl", lambda frame: frame.iteration / 250),
        {"stable", "predicted KL"},
    ),
    "a KL far from the theory's": (spoil_one("long", "kl", 1.6), {"predicted KL"}),
    "a KL of nothing": (
        spoil_one("long", "kl", 0.1),
        {"stable", "predicted KL", "anchor, KL"},
    ),
    "a cold run that learns": (
        spoil_one("cold", "accuracy_carry", rise(0.0, 0.9, 50)),
        {"cold", "cold-start data"},
    ),
    "a cold run that learns and forgets": (
        spoil_one("cold", "accuracy_carry", lambda frame: 0.5 * (frame.iteration == 100)),
        {"cold"},
    ),
    "a cold run that gets better": (spoil_one("cold", "accuracy", 0.5), {"cold"}),
    "a cold start that is right": (spoil_one("cold", "accuracy", 0.5, "sft"), {"cold"}),
    "a cold run with signal": (
        spoil_one("cold", "frac_reward_zero_std", 0.8),
        {"zero-signal", "cold-start zero-std groups"},
    ),
    "weak runs that start without signal": (
        spoil("weak", "frac_reward_zero_std", 0.95),
        {"zero-signal", "predicted zero-std groups", "cold-start zero-std groups"},
    ),
    "a weak run whose groups never agree": (
        spoil_one("weak", "frac_reward_zero_std", 0.35),
        {"zero-signal"},
    ),
    "weak runs whose groups agree too rarely": (
        spoil("weak", "frac_reward_zero_std", lambda f: np.where(f.iteration < 10, 0.343, 0.75)),
        {"zero-signal"},
    ),
    "a cold start that solves something else": (
        spoil_one("cold", "solved", 0.4, "before"),
        {"predicted greedy"},
    ),
    "prompts that are not all there are": (
        spoil_one("cold", "a", lambda frame: frame.a.where(frame.index != 9999, 0), "before"),
        {"predicted greedy"},
    ),
    "a model of another size": (spoil_one("weak", "parameters", 50_000, "sft"), {"size"}),
    "numbers that are none": (spoil_one("weak", "accuracy", np.nan), {"overturn"}),
    "a run that takes all day": (seconds(9000), {"time"}),
    "a sharp edge": (
        spoil(["q0001", "q0003", "q001", "q003"], "accuracy_carry", 1.0),
        {"cold-start data"},
    ),
    "more data that teaches less": (
        spoil("q003", "accuracy_carry", lambda frame: np.where(frame.iteration <= 300, 0.2, 1)),
        {"cold-start data"},
    ),
    "longer training that does not finish": (
        spoil("q001", "accuracy_carry", lambda f: np.where(f.iteration <= 300, 0.4, 0.8)),
        {"longer training"},
    ),
    "groups unlike the checkpoint": (
        spoil("q01", "frac_reward_zero_std", 0.0),
        {"cold-start zero-std groups"},
    ),
    "samples that do not hold it": (
        spoil("weak", "probability", prompts(0.001).probability, "before"),
        {
            *("base", "predicted samples", "predicted zero-std groups"),
            *("cold-start zero-std groups", "pass@k, weak"),
        },
    ),
    "a cold policy that samples it": (
        spoil("cold", "probability", prompts(0.5).probability, "after"),
        {"pass@k, cold"},
    ),
    "a cold start that samples it": (
        spoil("cold", "probability", prompts(0.01).probability, "before"),
        {"pass@k, cold"},
    ),
    "a learned reward that leads to the truth": (
        spoil("learned", "accuracy_carry", 0.9),
        {"learned reward"},
    ),
    "a learned reward that does not rise": (spoil("learned", "reward", 1.0), {"learned reward"}),
    "a hole that is not found": (
        spoil(["within-10", "within-10-anchored"], "accuracy", 0.95),
        {"within 10"},
    ),
    "a hole that pays nothing": (spoil("within-10", "reward", 0.9), {"within 10"}),
    "a hole that is found after all": (
        spoil(["without-hundreds", "without-hundreds-anchored"], "accuracy", 0.9),
        {"no hundreds"},
    ),
    "an anchor that helps": (
        spoil("within-10-anchored", "accuracy", 0.9),
        {"anchor against a hole"},
    ),
    "a weak start that needs its baseline": (
        spoil("weak-none", "accuracy_carry", 0.5),
        {"baseline, weak"},
    ),
    "variants that are all the same": (
        spoil(FIG7_SMALL, "accuracy_carry", 0.5),
        {"baseline, small q"},
    ),
    "a batch baseline that stands still": (spoil("cold-batch", "kl", 0.1), {"baseline, cold"}),
    "a group baseline that drifts": (spoil("cold-group", "kl", 2.0), {"baseline, cold"}),
    "a cold start that learns by no baseline": (
        spoil("cold-none", "accuracy_carry", 0.5),
        {"baseline, cold"},
    ),
    "pairs that agree less than they should": (
        spoil("groups-of-2", "frac_reward_zero_std", 0.3),
        {"group size, zero-std groups"},
    ),
    "a size that does not learn": (
        spoil("groups-of-32", "accuracy_carry", 0.5),
        {"group size, speed"},
    ),
    "learning without a verdict": (spoil("noise-50", "accuracy_carry", 0.5), {"noisy verifier"}),
    "noise that is not borne": (spoil("noise-40", "accuracy_carry", 0.5), {"noisy verifier"}),
    "an anchor that costs something": (spoil("beta-050", "accuracy", 0.97), {"anchor, accuracy"}),
    "an anchor that does not hold": (spoil("beta-050", "kl", 1.0), {"anchor, KL"}),
}


def row_of(claim: str, runs: Mapping[str, Runs]) -> dict[str, str]:
    """The row of one claim."""
    [name] = [n for n, question in QUESTIONS.items() if CLAIMS[claim] in question.claims]
    rows = decided(name, QUESTIONS[name], runs, "")
    return {row["claim"]: row for row in rows}[claim]


def test_every_claim_can_come_true() -> None:
    assert verdicts(good_runs()) == AS_CLAIMED


@pytest.mark.parametrize("case", SPOILED)
def test_what_is_spoiled_fails_its_claims_and_no_other(case: str) -> None:
    edit, failing = SPOILED[case]
    runs = good_runs()
    edit(runs)
    bad = {name: VERDICTS[claim.source][1] for name, claim in CLAIMS.items()}
    assert verdicts(runs) == AS_CLAIMED | {name: bad[name] for name in failing}


def test_every_claim_fails_in_some_case() -> None:
    assert set().union(*(failing for _, failing in SPOILED.values())) == set(CLAIMS)


def test_claims_have_names_of_their_own() -> None:
    assert len(CLAIMS) == sum(len(question.claims) for question in QUESTIONS.values())


def test_the_chapter_s_claims_are_those_of_the_chapter_s_questions() -> None:
    of_chapter = [
        claim.name
        for question in QUESTIONS.values()
        if question.of_chapter
        for claim in question.claims
        if claim.source == "chapter"
    ]
    assert sorted(of_chapter) == sorted(
        ["base", "overturn", "fast", "stable", "cold", "zero-signal", "size", "time"]
    )
    for claim in CLAIMS.values():
        assert bool(claim.chapter) == (claim.source == "chapter"), claim.name


def test_the_size_is_counted() -> None:
    runs = good_runs()
    spoil(["weak", "long", "cold"], "parameters", 120_000, "sft")(runs)
    assert verdicts(runs)["size"] == REPRODUCED
    spoil(["weak", "long", "cold"], "parameters", 133_000, "sft")(runs)
    assert verdicts(runs)["size"] == NOT_REPRODUCED


@pytest.mark.parametrize(
    ("extra", "verdict", "observed"),
    [(0, REPRODUCED, "at most 40 minutes"), (31, NOT_REPRODUCED, "more than 40 minutes")],
)
def test_shared_training_is_counted_once(extra: float, verdict: str, observed: str) -> None:
    """Six GRPO jobs of 390 s and three SFT jobs of 10 s, which weak and long share: 2,370 s."""
    runs = runs_of("cost")
    for name, run in runs.items():
        took = dict.fromkeys(SEEDS, 0.0 if name == "cold" else 390.0)
        sft = dict.fromkeys(SEEDS, 0.0 if name == "cold" else 10.0)
        runs[name] = replace(run, grpo_seconds=took, sft_seconds=sft)
    runs["weak"].grpo_seconds[42] += extra
    row = row_of("time", runs)
    assert (row["verdict"], row["observed"]) == (verdict, observed)


def test_a_single_seed_has_its_share_of_the_minutes() -> None:
    runs = only(runs_of("cost"), [42])
    runs["weak"] = replace(runs["weak"], grpo_seconds={42: 14 * 60.0})
    row = row_of("time", runs)
    assert (row["verdict"], row["observed"]) == (NOT_REPRODUCED, "more than 13 minutes")


def test_one_seed_is_enough() -> None:
    assert verdicts(only(good_runs(), [43])) == AS_CLAIMED


def test_of_a_single_seed_the_mean_s_bound_asks_nothing() -> None:
    runs = only(good_runs(), [43])
    spoil("weak", "accuracy", 0.95, seeds=[43])(runs)
    spoil("weak", "accuracy_carry", rise(0.02, 1.0, 20), seeds=[43])(runs)
    assert verdicts(runs) == AS_CLAIMED


def test_what_was_run_otherwise_is_not_judged() -> None:
    assert verdicts(good_runs(), "sft.steps is 3, not 1200") == dict.fromkeys(
        CLAIMS, NOT_APPLICABLE
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_claim_saw_is_said_in_whole_words(name: str) -> None:
    for row in decided(name, QUESTIONS[name], runs_of(name), ""):
        assert row["observed"] and not re.search(r"\bnan\b|\binf\b|-0\.0+\b", row["observed"])
        assert row["rule"] and row["statement"] and row["question"] == name
        assert not row["statement"].endswith(".") and not row["observed"].endswith(".")
        assert row["verdict"] in (REPRODUCED, AS_EXPECTED, CONTRADICTED)


def test_a_run_that_never_gets_there_is_said_to() -> None:
    runs = runs_of("fig8_group_size")
    spoil("groups-of-4", "accuracy_carry", 0.0)(runs)
    row = row_of("group size, speed", runs)
    assert "G = 4: never, never, never, G = 8: 15, 15, 15" in row["observed"]
    assert row["verdict"] == NOT_AS_EXPECTED


def test_the_theory_s_numbers_of_a_perfect_imitator_are_said() -> None:
    rows = decided("predictions", QUESTIONS["predictions"], runs_of("predictions"), "")
    observed = {row["claim"]: row["observed"] for row in rows}
    assert observed["predicted samples"].endswith("perfect imitator 0.512")
    assert observed["predicted zero-std groups"].endswith("perfect imitator 0.343")
    assert observed["predicted KL"].endswith("perfect imitator 0.84")


# The figures


def labels(figure: Figure) -> list[str]:
    """What the legend says."""
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@functools.cache
def good_figure(name: str) -> Figure:
    """A figure of good runs, to look at."""
    return draw(name, runs_of(name))


def draw(name: str, runs: Mapping[str, Runs]) -> Figure:
    plot = QUESTIONS[name].draw
    assert plot
    with look():
        return plot(runs)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_draws_three_seeds(name: str, tmp_path: Path) -> None:
    figure = good_figure(name)
    assert figure.get_suptitle().endswith("(3 seeds)")
    assert "mean" in figure.legends[0].get_title().get_text()
    assert labels(figure)
    for axes in figure.axes:
        lines = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
        assert any(np.isfinite(line).any() for line in lines), "an empty panel"
    save(figure, tmp_path / "figure.pdf", name, {}, [])  # lays it out
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.parametrize("name", DRAWN)
def test_a_legend_tells_everything_once(name: str) -> None:
    figure = good_figure(name)
    looks: dict[str, tuple[object, ...]] = {}
    for axes in figure.axes:
        in_panel = []
        for line in axes.lines:
            label = str(line.get_label())
            if not label.startswith("_"):
                seen = (to_hex(line.get_color()), line.get_linestyle(), line.get_marker())
                assert looks.setdefault(label, seen) == seen, "words for two looks"
                in_panel.append(seen)
        assert len(set(in_panel)) == len(in_panel), "two curves of a panel that look alike"
    assert sorted(labels(figure)) == sorted(looks)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_draws_a_single_seed(name: str) -> None:
    figure = draw(name, only(runs_of(name), [43]))
    assert figure.get_suptitle().endswith("(1 seed)")
    assert figure.legends[0].get_title().get_text() == "one seed"


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_draws_runs_that_learned_nothing(name: str, tmp_path: Path) -> None:
    runs = runs_of(name)
    for experiment, run in runs.items():
        for table in ("metrics", "sft"):
            columns = [c for c in getattr(run, table)[42].columns if c != "iteration"]
            runs[experiment] = changed(runs[experiment], table, dict.fromkeys(columns, 0.0))
    save(draw(name, runs), tmp_path / "figure.pdf", name, {}, [])


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_draws_a_single_iteration(name: str) -> None:
    runs = {
        key: make_runs(run.q, GrpoSettings(**{**vars(run.settings), "iterations": 1}))
        for key, run in runs_of(name).items()
    }
    figure = draw(name, runs)
    for axes in figure.axes:
        for line in axes.lines:
            assert line.get_marker() != "None" or line.get_linestyle() == ":", "not to be seen"


def test_figures_have_numbers_of_their_own() -> None:
    numbers = [re.match(r"fig(\d+)_", name) for name in DRAWN]
    assert sorted(int(match[1]) for match in numbers if match) == list(range(1, len(DRAWN) + 1))
    assert all(numbers)
    for name in QUESTIONS.keys() - set(DRAWN):
        assert not name.startswith("fig")


def test_figure_1_says_where_it_starts() -> None:
    figure = good_figure("fig1_rlvr_overturns")
    [axes] = figure.axes
    assert figure.get_suptitle() == "Verifiable reward overturns a systematic error (3 seeds)"
    assert axes.get_ylim() == (-0.05, 1.05)
    assert [line.get_linestyle() for line in axes.lines] == ["-", ":", "-", ":"]
    np.testing.assert_allclose(np.asarray(axes.lines[1].get_ydata()), 0.3125)
    np.testing.assert_allclose(np.asarray(axes.lines[3].get_ydata()), 0.025)
    assert labels(figure) == [
        "GRPO, overall",
        "SFT, overall: 0.312",
        "GRPO, carry prompts",
        "SFT, carry prompts: 0.025",
    ]


def test_figure_2_has_an_axis_for_the_kl() -> None:
    figure = good_figure("fig2_unhackable_reward")
    left, right = figure.axes
    assert figure.get_suptitle() == "β = 0, 600 iterations: nothing collapses (3 seeds)"
    assert left.get_ylim() == (0.25, 1.05)
    assert "nats" in right.get_ylabel()
    low, high = right.get_ylim()
    assert low < right.dataLim.ymin and right.dataLim.ymax < high
    assert right.spines["right"].get_visible() and not left.spines["right"].get_visible()
    nothing = runs_of("fig2_unhackable_reward")
    spoil("long", "kl", 0.0)(nothing)
    assert draw("fig2_unhackable_reward", nothing).axes[1].get_ylim() == (-0.05, 1)


def test_figure_3_compares_two_starts() -> None:
    figure = good_figure("fig3_cold_start")
    assert figure.get_suptitle() == "Cold start: all-same groups carry no gradient (3 seeds)"
    assert labels(figure) == ["Weak start", "Cold start"]
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "Greedy accuracy",
        "Fraction of zero-std groups",
    ]


def test_seeds_that_differ_are_not_drawn_in_one_figure() -> None:
    runs = runs_of("fig3_cold_start")
    runs["cold"] = only(runs, [42, 43])["cold"]
    with pytest.raises(ValueError, match=r"seeds \[42, 43, 44\] with seeds \[42, 43\]"):
        draw("fig3_cold_start", runs)


def test_what_never_got_there_is_left_out_of_the_speeds() -> None:
    runs = runs_of("fig4_cold_start_data")
    spoil_one("weak", "accuracy_carry", 0.0)(runs)
    speeds = np.asarray(draw("fig4_cold_start_data", runs).axes[1].lines[0].get_ydata())
    assert np.isnan(speeds[-1]), "the mean of a run that never gets there is not known"
    assert np.isfinite(speeds[-2])


def test_longer_training_is_drawn_at_its_own_q() -> None:
    left = good_figure("fig4_cold_start_data").axes[0]
    [longer] = [line for line in left.lines if line.get_label() == "after 1500 iterations"]
    assert list(np.asarray(longer.get_xdata())) == [1, 2, 3, 4]
    ticks = [tick.get_text() for tick in left.get_xticklabels()]
    assert ticks == ["0", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3"]


@pytest.mark.parametrize(
    ("name", "panel", "ticks"),
    [
        ("fig8_group_size", 0, ["2", "4", "8", "16", "32"]),
        ("fig9_noisy_verifier", 1, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ("fig10_anchor", 1, ["0", "0.02", "0.1", "0.5"]),
    ],
)
def test_sweeps_are_in_the_order_of_what_they_vary(name: str, panel: int, ticks: list[str]) -> None:
    backwards = dict(reversed(list(runs_of(name).items())))
    axes = draw(name, backwards).axes[panel]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ticks
    assert len(axes.lines[0].get_xdata()) == len(ticks)  # type: ignore[arg-type]


def test_a_perfect_policys_kl_is_drawn() -> None:
    middle = good_figure("fig10_anchor").axes[1]
    expected = 0.6975 * np.log(1 / 0.3)
    assert any(np.allclose(np.asarray(line.get_ydata()), expected) for line in middle.lines)


def test_pass_at_k_draws_both_models_exactly() -> None:
    figure = good_figure("fig5_pass_at_k")
    assert [axes.get_title() for axes in figure.axes] == ["weak", "cold"]
    assert labels(figure) == ["SFT", "after GRPO"]
    sft, _ = figure.axes[0].lines
    k = np.asarray(sft.get_xdata(), dtype=float)
    assert list(k) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    np.testing.assert_allclose(np.asarray(sft.get_ydata()), 1 - 0.7**k)


def test_a_learned_reward_has_an_axis_of_its_own() -> None:
    figure = good_figure("fig6_reward_is_the_objective")
    own = figure.axes[-1]
    assert len(figure.axes) == 9 and own.spines["right"].get_visible()
    assert own.get_ylim()[1] > 5 > 1.05 == figure.axes[1].get_ylim()[1]
    assert [axes.get_title() for axes in figure.axes[:4]] == [
        *("The verifier", "Learned from the teacher (log-odds)"),
        *("Anything within 10", "No hundreds digit"),
    ]


# The words


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("difference", ["", "sft.steps is 3, not 1200"])
def test_captions_are_valid_with_their_outcomes(name: str, difference: str) -> None:
    question = QUESTIONS[name]
    rows = decided(name, question, runs_of(name), difference)
    text = caption(question.caption, SEEDS, rows)
    for words in (question.caption, text):
        assert "system-message" not in publish_parts(words, writer="html")["body"]
    html = publish_parts(text, writer="html")["body"]
    assert html.count("<li>") == len(question.claims)
    assert "(seeds 42, 43, 44)" in html
    for row in rows:
        assert f"<em>{row['verdict'].capitalize()}</em>" in html


def test_a_caption_is_no_template_and_refers_to_nothing() -> None:
    claim = {"statement": "A |b| of {{ c }}", "verdict": "as expected", "observed": "{% d %}"}
    text = caption("**What to see.**", [1], [claim])
    assert "{" not in text and "|" not in text
    assert "system-message" not in publish_parts(text, writer="html")["body"]


# The declarations


def test_every_experiment_is_one_that_the_configuration_knows() -> None:
    study = read_study({"questions": "all"}, QUESTIONS)
    assert study.questions == list(QUESTIONS)
    assert len(running(study, QUESTIONS)) == 44
    assert set(running(study, QUESTIONS)) == set(study.experiments)
    assert study.own == []


def test_the_chapter_s_questions_need_three_experiments() -> None:
    study = read_study({}, QUESTIONS)
    chapter = ["fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start"]
    assert sorted(study.questions) == sorted([*chapter, "predictions", "cost"])
    assert sorted(running(study, QUESTIONS)) == ["cold", "long", "weak"]
    settings = {
        name: (study.experiments[name].teacher_correctness, study.experiments[name].grpo)
        for name in ("weak", "long", "cold")
    }
    assert settings == {
        "weak": (0.3, GrpoSettings()),
        "long": (0.3, GrpoSettings(iterations=600)),
        "cold": (0.0, GrpoSettings()),
    }


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_draws_only_what_others_declare(name: str) -> None:
    question = QUESTIONS[name]
    others = {e for other in QUESTIONS if other != name for e in QUESTIONS[other].experiments}
    assert set(question.draws) <= others
    assert len(set(question.names)) == len(question.names)


def test_the_experiments_of_a_sweep_are_called_as_what_they_vary() -> None:
    study = read_study({}, QUESTIONS)
    for name, one in study.experiments.items():
        if name.startswith("noise-"):
            assert round(100 * one.grpo.reward_noise) == int(name[-2:])
        if name.startswith("beta-"):
            assert round(100 * one.grpo.beta) == int(name[-3:])
        if name.startswith("groups-of-"):
            assert one.grpo.num_generations == int(name.removeprefix("groups-of-"))
            assert one.grpo.num_generations * one.grpo.num_prompts == 256
        if name.endswith("-anchored"):
            free = name.removesuffix("-anchored").replace("verifier", "weak")
            assert one.grpo.beta == 0.1 and study.experiments[free].grpo.beta == 0
            assert one.grpo.reward == study.experiments[free].grpo.reward


IMPORTS = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(f"workflow.questions.{name}")
    assert not {"torch", "matplotlib"} & sys.modules.keys(), name
"""


def test_reading_the_questions_loads_neither_torch_nor_matplotlib() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS, *QUESTIONS], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_s_file_publishes_it_when_it_is_run(name: str) -> None:
    tree = ast.parse((ROOT / f"workflow/questions/{name}.py").read_text(encoding="utf-8"))
    assert ast.unparse(tree.body[-1]) == (
        "if __name__ == '__main__':\n    publish(QUESTION, snakemake)"
    )
