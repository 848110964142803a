"""The configuration: what it means, and what is said where it is wrong."""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from workflow.lib.study.configuration import ConfigError, format_q, read_study
from workflow.lib.study.grpo_settings import GrpoSettings
from workflow.lib.study.sft_settings import SftSettings

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
CONFIG = {
    key: value
    for file in ("config.yaml", "extensions.yaml")
    for key, value in yaml.safe_load((ROOT / "config" / file).read_text()).items()
}


def test_the_config_is_the_chapters_study() -> None:
    study = read_study(CONFIG, SCHEMA)
    assert study.seeds == [42, 43, 44]
    assert study.sft == SftSettings()
    assert study.eval_prompts == 2048
    q_and_iterations = {
        name: (experiment.teacher_correctness, experiment.grpo.iterations)
        for name, experiment in study.experiments.items()
    }
    assert q_and_iterations == {"weak": (0.3, 300), "long": (0.3, 600), "cold": (0.0, 300)}
    for experiment in study.experiments.values():
        assert experiment.grpo == GrpoSettings(iterations=experiment.grpo.iterations)
    assert study.curves == {}


def test_schema_defaults_are_those_of_the_config_and_of_the_settings() -> None:
    sections = SCHEMA["properties"]
    for name in ("seeds", "device", "figures"):
        assert sections[name]["default"] == CONFIG[name]
    for name in ("sft", "grpo", "evaluation"):
        defaults = {key: value["default"] for key, value in sections[name]["properties"].items()}
        assert defaults == CONFIG[name]
    extensions = sections["extensions"]["properties"]
    for name in ("reward_model", "pass_at_k"):
        defaults = {key: value["default"] for key, value in extensions[name]["properties"].items()}
        assert defaults == CONFIG["extensions"][name]
    assert CONFIG["sft"] == asdict(SftSettings())
    assert {**CONFIG["grpo"], "eval_prompts": 2048} == asdict(GrpoSettings())


def test_every_key_is_described_and_bounded() -> None:
    def walk(schema: dict[str, Any], path: str) -> None:
        for key, inner in schema.get("properties", {}).items():
            assert inner.get("description"), f"{path}.{key} has no description"
            if inner.get("type") in ("integer", "number"):
                assert "maximum" in inner or "exclusiveMaximum" in inner, f"{path}.{key}"
                assert "minimum" in inner or "exclusiveMinimum" in inner, f"{path}.{key}"
            walk(inner, f"{path}.{key}")

    walk(SCHEMA, "")
    walk(SCHEMA["properties"]["experiments"]["additionalProperties"], "experiments.*")


def test_experiments_override_and_can_be_dropped() -> None:
    config = copy.deepcopy(CONFIG)
    config["experiments"]["mine"] = {"teacher_correctness": 0.1, "num_generations": 4, "beta": 1}
    config["experiments"]["cold"] = None
    config["figures"] = ["fig1_rlvr_overturns"]
    study = read_study(config, SCHEMA)
    assert list(study.experiments) == ["weak", "long", "mine"]
    assert study.experiments["mine"].grpo == GrpoSettings(num_generations=4, beta=1.0)
    assert isinstance(study.experiments["mine"].grpo.beta, float)


def test_extensions_draw_experiments_of_both_lists_and_nothing_that_was_dropped() -> None:
    config = copy.deepcopy(CONFIG)
    study = read_study(config, SCHEMA)
    assert study.extensions.figures["fig10_anchor"][0] == "long"
    assert study.experiment("long").grpo.iterations == 600
    assert study.experiment("beta-050").grpo.beta == 0.5
    config["experiments"]["long"] = None
    config["extensions"]["experiments"]["beta-050"] = None
    config["figures"] = ["fig1_rlvr_overturns"]
    study = read_study(config, SCHEMA)
    assert study.extensions.figures["fig10_anchor"] == ["beta-002", "beta-010"]
    config["extensions"]["experiments"] |= {"beta-002": None, "beta-010": None}
    assert "fig10_anchor" not in read_study(config, SCHEMA).extensions.figures


def test_a_figure_of_the_configurations_own() -> None:
    config = copy.deepcopy(CONFIG)
    put_curves(experiments=["weak", "noise-20"])(config)
    put("curves/dropped", None)(config)
    curves = read_study(config, SCHEMA).curves
    assert list(curves) == ["mine"]
    assert (curves["mine"].title, curves["mine"].metrics) == ("mine", ["kl"])


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
    (put_curves(metrics=["kll"]), ["curves.mine.metrics", "'kll'", "did you mean 'kl'?"]),
    (put_curves(metrics=["iteration"]), ["curves.mine.metrics", "'iteration' is no column"]),
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
    (put("experiments/weak/save_policy", "yes"), ["save_policy", "'yes' is not true or false"]),
    (
        put("extensions/figures/fig5_pass_at_k", ["long"]),
        ["fig5_pass_at_k", "'long'", "save_policy: true"],
    ),
    (put("extensions/figures/fig11", ["weak"]), ["extensions.figures", "'fig11'"]),
    (put("extensions/figures/fig10_anchor", ["lon"]), ["fig10_anchor", "did you mean 'long'?"]),
    (
        put("extensions/experiments/weak", {"teacher_correctness": 0.3}),
        ["extensions.experiments.weak", "rename"],
    ),
    (put("seed", [1]), ["'seed'", "did you mean 'seeds'?"]),
    (put("grpo/num_generation", 4), ["grpo", "did you mean 'num_generations'?"]),
    (put("experiments/weak/itrations", 4), ["experiments.weak", "did you mean 'iterations'?"]),
    (put("sft/zzz", 4), ["sft", "'zzz'", "steps, batch_size, learning_rate"]),
    (put("seeds", []), ["seeds", "at least 1"]),
    (put("seeds", 3), ["seeds", "3 is not a list"]),
    (put("seeds", ["3"]), ["seeds.0", "'3' is not a whole number", "quotes"]),
    (put("seeds", [True]), ["seeds.0", "True is not a whole number"]),
    (put("seeds", [3, 4, 3]), ["seeds", "3 stands there twice"]),
    (put("seeds", [-1]), ["seeds.0", "-1", "0"]),
    (put("device", "gpu"), ["device", "'gpu'", "auto, cpu, cuda"]),
    (put("sft", None), ["sft", "None is not a mapping"]),
    (put("sft/steps", 0), ["sft.steps", "0", "1"]),
    (put("sft/steps", 1.5), ["sft.steps", "1.5 is not a whole number"]),
    (put("sft/learning_rate", "3e-3"), ["sft.learning_rate", "'3e-3' is not a number", "3.0e-3"]),
    (put("sft/learning_rate", math.nan), ["sft.learning_rate", "nan"]),
    (put("grpo/epsilon", math.inf), ["grpo.epsilon", "inf"]),
    (put("grpo/num_generations", 1), ["grpo.num_generations", "1", "2"]),
    (put("grpo/minibatch_size", 60), ["minibatch_size 60", "256", "does not divide"]),
    (put("grpo/learning_rate", 0), ["grpo.learning_rate", "0", "more than"]),
    (put("experiments/weak/teacher_correctness", 1.01), ["weak.teacher_correctness", "1.01"]),
    (put("experiments/mine", {}), ["experiments.mine", "'teacher_correctness' is missing"]),
    (put("experiments/Mine", {"teacher_correctness": 0}), ["experiments", "'Mine'"]),
    (put("experiments/cold", None), ["fig3_cold_start", "'cold'"]),
    (put("figures", ["fig9"]), ["figures.0", "'fig9'", "fig1_rlvr_overturns"]),
    (put("seeds", [10**400]), ["seeds.0", "4294967295"]),
]


@pytest.mark.parametrize(("edit", "parts"), BAD)
def test_a_bad_setting_is_named_in_one_short_sentence(
    edit: Callable[[dict[str, Any]], None], parts: list[str]
) -> None:
    config = copy.deepcopy(CONFIG)
    edit(config)
    with pytest.raises(ConfigError) as caught:
        read_study(config, SCHEMA)
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
        read_study(config, SCHEMA)


def test_a_missing_section_is_named() -> None:
    config = copy.deepcopy(CONFIG)
    del config["grpo"]
    with pytest.raises(ConfigError, match="'grpo' is missing"):
        read_study(config, SCHEMA)


def test_a_key_that_is_no_text_is_named() -> None:
    config = copy.deepcopy(CONFIG)
    config["experiments"][3] = {"teacher_correctness": 0.3}
    with pytest.raises(ConfigError, match="experiments: the key 3 is not text"):
        read_study(config, SCHEMA)


@pytest.mark.parametrize(
    "edit",
    [
        put("grpo/num_prompts", 30),
        put("grpo/reward_noise", 0.1),
        put("grpo/reward", "learned"),
        put("grpo/beta", 0.1),
        put("grpo/iterations", 25),
        put("experiments/weak/teacher_correctness", 0.1),
        put("experiments/cold/save_policy", False),
    ],
)
def test_no_study_is_refused_for_the_extensions_that_it_does_not_run(
    edit: Callable[[dict[str, Any]], None],
) -> None:
    config = copy.deepcopy(CONFIG)
    config["grpo"]["minibatch_size"] = 16
    edit(config)
    read_study(config, SCHEMA)
