"""The configuration: what it means, and what is said where it is wrong."""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from workflow.lib.grpo_settings import GrpoSettings
from workflow.lib.sft_settings import SftSettings
from workflow.lib.study import ConfigError, format_q, read_study

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())


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


def test_schema_defaults_are_those_of_the_config_and_of_the_settings() -> None:
    sections = SCHEMA["properties"]
    for name in ("seeds", "device", "figures"):
        assert sections[name]["default"] == CONFIG[name]
    for name in ("sft", "grpo", "evaluation"):
        defaults = {key: value["default"] for key, value in sections[name]["properties"].items()}
        assert defaults == CONFIG[name]
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


BAD = [
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
