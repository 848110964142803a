"""The configuration: what it means, and what is said where it is wrong."""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.study.stub_questions import QUESTIONS, stub
from workflow.lib.study.configuration import (
    ConfigError,
    difference,
    read_study,
    running,
)
from workflow.lib.study.layout import format_q
from workflow.lib.study.settings import Config, GrpoSettings, RewardModelSettings, SftSettings

ROOT = Path(__file__).parents[3]
CHAPTER = read_study({}, QUESTIONS)
CONFIG: dict[str, Any] = {
    **asdict(Config()),
    "experiments": {"weak": {"teacher_correctness": 0.3}, "cold": {"teacher_correctness": 0.0}},
}
"""The chapter's study with every section and key that a test may change."""


def test_an_empty_configuration_is_the_chapters_study() -> None:
    study = CHAPTER
    assert (study.seeds, study.device) == ([42, 43, 44], "auto")
    assert (study.sft, study.reward_model) == (SftSettings(), RewardModelSettings())
    assert study.sft == SftSettings(steps=1200, batch_size=256, learning_rate=0.003)
    assert study.eval_prompts == 2048
    assert study.questions == ["fig1_rlvr_overturns", "fig2_unhackable_reward", "fig3_cold_start"]
    assert running(study, QUESTIONS) == ["weak", "long", "cold"]
    q_and_iterations = {
        name: (study.experiments[name].teacher_correctness, study.experiments[name].grpo.iterations)
        for name in running(study, QUESTIONS)
    }
    assert q_and_iterations == {"weak": (0.3, 300), "long": (0.3, 600), "cold": (0.0, 300)}
    for name in ("weak", "long", "cold"):
        grpo = study.experiments[name].grpo
        assert grpo == GrpoSettings(iterations=grpo.iterations)
    assert (study.own, study.curves) == ([], {})


def test_the_projects_own_configuration_is_the_chapters_study() -> None:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert read_study(config, QUESTIONS) == CHAPTER
    assert read_study(CONFIG, QUESTIONS) == CHAPTER


def test_a_setting_is_the_default_then_grpos_then_the_questions_then_the_experiments() -> None:
    config = {
        "grpo": {"iterations": 7, "beta": 1, "eval_every": 2.0},
        "evaluation": {"num_prompts": 128},
        "experiments": {
            "long": {"beta": 0.25},
            "mine": {"teacher_correctness": 1, "num_generations": 4},
        },
    }
    study = read_study(config, QUESTIONS)
    common = GrpoSettings(iterations=7, beta=1.0, eval_every=2, eval_prompts=128)
    assert study.experiments["weak"].grpo == common
    assert study.experiments["long"].grpo == replace(common, iterations=600, beta=0.25)
    assert study.experiments["mine"].grpo == replace(common, num_generations=4)
    assert study.own == ["mine"]
    whole, broken = study.experiments["weak"].grpo.eval_every, study.experiments["weak"].grpo.beta
    assert (type(whole), type(broken)) == (int, float)
    assert isinstance(study.experiments["mine"].teacher_correctness, float)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("chapter", list(QUESTIONS)[:3]),
        ("all", list(QUESTIONS)),
        ([], []),
        (["fig10_anchor", "fig1_rlvr_overturns"], ["fig1_rlvr_overturns", "fig10_anchor"]),
    ],
)
def test_questions_are_asked_in_their_own_order(asked: str | list[str], names: list[str]) -> None:
    assert read_study({"questions": asked}, QUESTIONS).questions == names


def test_what_runs_is_asked_then_own_then_drawn() -> None:
    config = {
        "questions": ["fig10_anchor", "fig2_unhackable_reward"],
        "experiments": {"mine": {"teacher_correctness": 0}, "beta-050": {"beta": 0.6}},
        "curves": {"sweep": {"metrics": ["kl"], "experiments": ["noise-20", "mine", "long"]}},
    }
    study = read_study(config, QUESTIONS)
    assert running(study, QUESTIONS) == ["long", "beta-050", "learned", "mine", "noise-20"]
    assert set(study.experiments) == {"weak", "cold", *running(study, QUESTIONS)}
    assert running(read_study({"questions": []}, QUESTIONS), QUESTIONS) == []


def test_null_drops_the_experiment_of_a_question_that_is_not_asked() -> None:
    config = {"questions": ["fig1_rlvr_overturns"], "experiments": {"cold": None}}
    study = read_study(config, QUESTIONS)
    assert "cold" not in study.experiments and study.own == []


def test_questions_that_disagree_on_an_experiment_are_a_programming_error() -> None:
    other = {**QUESTIONS, "fig11_other": stub({"weak": {"teacher_correctness": 0.4}})}
    with pytest.raises(ValueError, match="fig1_rlvr_overturns and fig11_other") as caught:
        read_study({}, other)
    assert not isinstance(caught.value, ConfigError)
    read_study({}, {**QUESTIONS, "fig11_other": stub({"weak": {"teacher_correctness": 0.3}})})


def test_a_figure_of_the_configurations_own() -> None:
    config = copy.deepcopy(CONFIG)
    put_curves(experiments=["weak", "noise-20"])(config)
    put("curves/dropped", None)(config)
    curves = read_study(config, QUESTIONS).curves
    assert list(curves) == ["mine"]
    assert (curves["mine"].title, curves["mine"].metrics) == ("mine", ["kl"])


@pytest.mark.parametrize(
    ("config", "names", "said"),
    [
        ({}, ["weak", "long", "learned"], ""),
        ({"seeds": [1], "device": "cpu", "questions": "all"}, ["weak"], ""),
        ({"experiments": {"long": {"iterations": 8}}}, ["weak"], ""),
        ({"experiments": {"long": {"iterations": 8}}}, ["long"], "long.iterations is 8, not 600"),
        ({"sft": {"steps": 30}}, ["weak"], "sft.steps is 30, not 1200"),
        (
            {"evaluation": {"num_prompts": 128}},
            ["weak"],
            "evaluation.num_prompts is 128, not 2048",
        ),
        ({"reward_model": {"steps": 9}}, ["weak"], ""),
        ({"reward_model": {"steps": 9}}, ["learned"], "reward_model.steps is 9, not 1600"),
        (
            {"experiments": {"weak": {"teacher_correctness": 0.1}}},
            ["weak"],
            "weak.teacher_correctness is 0.1, not 0.3",
        ),
        (
            {"experiments": {"learned": {"reward": "verifier"}}},
            ["learned"],
            "learned.reward is verifier, not learned",
        ),
        (
            {"experiments": {"weak": {"reward": "learned"}}},
            ["weak"],
            "weak.reward is learned, not verifier",
        ),
        (
            {"questions": ["fig2_unhackable_reward"], "experiments": {"cold": None}},
            ["weak", "cold"],
            "the study has no experiment 'cold'",
        ),
    ],
)
def test_where_a_study_differs_from_the_chapter(
    config: dict[str, Any], names: list[str], said: str
) -> None:
    assert difference(read_study(config, QUESTIONS), CHAPTER, names) == said


@pytest.mark.parametrize(
    ("q", "text"), [(0.3, "0.3"), (0.30, "0.3"), (0, "0"), (-0.0, "0"), (1, "1"), (1e-5, "1e-05")]
)
def test_a_teacher_correctness_has_one_spelling(q: float, text: str) -> None:
    assert format_q(q) == text


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """An edit that sets one key."""

    def edit(config: dict[str, Any]) -> None:
        *parents, key = path.split("/")
        for parent in parents:
            config = config[parent]
        config[key] = value

    return edit


def put_curves(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """An edit that adds a figure, good but for the changes."""
    return put("curves/mine", {"metrics": ["kl"], "experiments": ["weak"], **changes})


BAD = [
    (put_curves(title="a\nb"), ["curves.mine.title", "'a\\nb' cannot be printed"]),
    (
        put_curves(metrics=["kll"]),
        ["curves.mine.metrics", "'kll' is an unknown metric", "did you mean 'kl'?"],
    ),
    (put_curves(metrics=["iteration"]), ["curves.mine.metrics", "'iteration' is the x axis"]),
    (put_curves(metrics=[]), ["curves.mine.metrics", "at least 1"]),
    (put_curves(experiments=["weka"]), ["curves.mine.experiments", "did you mean 'weak'?"]),
    (put_curves(experiments=list("abcdefghi")), ["curves.mine.experiments", "at most 8"]),
    (put_curves(title=""), ["curves.mine.title", "at least 1 characters"]),
    (put_curves(colour=1), ["curves.mine", "unknown key 'colour'"]),
    (
        put("curves/fig1_mine", {"metrics": ["kl"], "experiments": ["weak"]}),
        ["curves.fig1_mine", "choose another"],
    ),
    (put("grpo/reward", "verifyer"), ["grpo.reward", "'verifyer'", "verifier, within_10"]),
    (put("grpo/advantage", "mean"), ["grpo.advantage", "'mean'", "group, group_mean"]),
    (put("grpo/reward_noise", 1.5), ["grpo.reward_noise", "1.5", "1"]),
    (
        put("experiments/weak", {"teacher_correctness": 0, "reward": "learned", "reward_noise": 1}),
        ["experiments.weak", "reward_noise", "learned"],
    ),
    (put("experiments/weak/save_policy", True), ["experiments.weak.save_policy", "remove the key"]),
    (
        put("figures", ["fig1_rlvr_overturns"]),
        ["figures", "is called 'questions' now", "[fig1_rlvr_overturns]"],
    ),
    (
        put("extensions", {"reward_model": {"steps": 20}}),
        ["extensions: use 'questions: all'", "'experiments'", "'reward_model'"],
    ),
    (put("seed", [1]), ["'seed'", "did you mean 'seeds'?"]),
    (put("grpo/num_generation", 4), ["grpo", "did you mean 'num_generations'?"]),
    (put("experiments/weak/itrations", 4), ["experiments.weak", "did you mean 'iterations'?"]),
    (put("sft/zzz", 4), ["sft", "'zzz'", "steps, batch_size, learning_rate"]),
    (put("seeds", []), ["seeds", "at least 1"]),
    (put("seeds", 3), ["seeds", "3 is not a list"]),
    (put("seeds", ["3"]), ["seeds.0", "'3' is not a whole number", "quotes"]),
    (put("seeds", [True]), ["seeds.0", "True is not a whole number"]),
    (put("seeds", [3, 4, 3]), ["seeds", "3 is listed twice"]),
    (put("seeds", [-1]), ["seeds.0", "-1", "0"]),
    (put("device", "gpu"), ["device", "'gpu' must be one of auto, cpu, cuda"]),
    (put("sft", None), ["sft", "None is not a mapping"]),
    (put("sft/steps", 0), ["sft.steps", "0", "1"]),
    (put("sft/steps", 1.5), ["sft.steps", "1.5 is not a whole number"]),
    (
        put("sft/learning_rate", "3e-3"),
        ["sft.learning_rate", "'3e-3' is not a number", "written 0.003"],
    ),
    (put("sft/learning_rate", math.nan), ["sft.learning_rate", "nan"]),
    (put("grpo/epsilon", math.inf), ["grpo.epsilon", "inf"]),
    (put("grpo/num_generations", 1), ["grpo.num_generations", "1", "2"]),
    (put("grpo/minibatch_size", 60), ["minibatch_size 60", "256", "does not divide"]),
    (put("grpo/learning_rate", 0), ["grpo.learning_rate", "0", "more than"]),
    (put("experiments/weak/teacher_correctness", 1.01), ["weak.teacher_correctness", "1.01"]),
    (put("experiments/mine", {}), ["experiments.mine", "'teacher_correctness' is missing"]),
    (put("experiments/Mine", {"teacher_correctness": 0}), ["experiments", "'Mine'"]),
    (put("experiments/weka", {"beta": 1}), ["'teacher_correctness' is missing", "mean 'weak'?"]),
    (
        put("experiments/cold", None),
        ["questions: fig3_cold_start draws the experiment 'cold'", "to null", "without fig3"],
    ),
    (
        put("experiments/weak", None),
        ["questions: fig1_rlvr_overturns draws the experiment 'weak'", "sets to null"],
    ),
    (put("experiments/weka", None), ["experiments.weka: null", "did you mean 'weak'?"]),
    (put("experiments/mine", None), ["experiments.mine: null", "give it settings"]),
    (put("questions", ["fig9"]), ["questions: there is no question 'fig9'", "fig9_noisy_verifier"]),
    (put("questions", ["x"]), ["questions", "'x'", "known are fig1_rlvr_overturns, fig2"]),
    (
        put("questions", "fig3_cold_start"),
        ["questions: 'fig3_cold_start' must be chapter, all, or a list", "[fig3_cold_start]"],
    ),
    (put("questions", "everything"), ["questions", "'everything'", "[fig1_rlvr_overturns]"]),
    (put("questions", 3), ["questions: 3 is not a list or text"]),
    (put("questions", [3]), ["questions.0: 3 is not text"]),
    (put("questions", ["fig10_anchor"] * 2), ["questions: 'fig10_anchor' is listed twice"]),
    (put("questions", None), ["questions: None is not a list or text"]),
    (put("reward_model/steps", 0), ["reward_model.steps", "0", "1"]),
    (put("grpo/eval_prompts", 64), ["grpo", "unknown key 'eval_prompts'"]),
    (put("seeds", [10**400]), ["seeds.0", "4294967295"]),
]


@pytest.mark.parametrize(("edit", "parts"), BAD)
def test_a_bad_setting_is_named_in_one_short_sentence(
    edit: Callable[[dict[str, Any]], None], parts: list[str]
) -> None:
    config = copy.deepcopy(CONFIG)
    edit(config)
    with pytest.raises(ConfigError) as caught:
        read_study(config, QUESTIONS)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", "a" * 41, "weiß", "-a", "a b", "$(x)", "weak\n"]
)
def test_an_experiments_name_is_safe_in_a_path(name: str) -> None:
    config = copy.deepcopy(CONFIG)
    config["experiments"][name] = {"teacher_correctness": 0.3}
    with pytest.raises(ConfigError, match="no name for an experiment"):
        read_study(config, QUESTIONS)


def test_a_key_that_is_no_text_is_named() -> None:
    config = copy.deepcopy(CONFIG)
    config["experiments"][3] = {"teacher_correctness": 0.3}
    with pytest.raises(ConfigError, match="experiments: the key 3 is not text"):
        read_study(config, QUESTIONS)


@pytest.mark.parametrize(
    "edit",
    [
        put("grpo/num_prompts", 30),
        put("grpo/reward_noise", 0.1),
        put("grpo/reward", "learned"),
        put("grpo/beta", 0.1),
        put("grpo/iterations", 25),
        put("experiments/weak/teacher_correctness", 0.1),
        put("experiments/beta-050", {"minibatch_size": 60}),
    ],
)
def test_no_study_is_refused_for_questions_that_it_does_not_ask(
    edit: Callable[[dict[str, Any]], None],
) -> None:
    config = copy.deepcopy(CONFIG)
    config["grpo"]["minibatch_size"] = 16
    edit(config)
    read_study(config, QUESTIONS)


@pytest.mark.parametrize(
    "runs",
    [
        {"questions": ["fig9_noisy_verifier"]},
        {"experiments": {"mine": {"teacher_correctness": 0, "reward_noise": 0.2}}},
        {"curves": {"mine": {"metrics": ["kl"], "experiments": ["noise-20"]}}},
    ],
)
def test_settings_have_to_agree_in_every_experiment_that_runs(runs: dict[str, Any]) -> None:
    """All rewards are learned; who flips their verdicts is refused if it runs."""
    learned = {"reward": "learned"}
    experiments = {"noise-20": learned}
    config = {"questions": [], "experiments": experiments, "grpo": learned}
    read_study(config, QUESTIONS)
    config |= {**runs, "experiments": {**experiments, **runs.get("experiments", {})}}
    with pytest.raises(ConfigError, match=r"experiments\.(noise-20|mine): reward_noise"):
        read_study(config, QUESTIONS)
