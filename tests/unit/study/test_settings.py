"""The settings: described and bounded, and in step with the code that they choose."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml

from workflow.lib.study.configuration import make_schema
from workflow.lib.study.settings import Config, GrpoSettings
from workflow.lib.task.rewards import RULES
from workflow.lib.training.advantages import ADVANTAGES

ROOT = Path(__file__).parents[3]
SCHEMA = make_schema(described=True)


def keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of a configuration with its schema."""
    for key, inner in schema.get("properties", {}).items():
        yield f"{path}{key}", inner
        yield from keys(inner, f"{path}{key}.")
        if path == "" and isinstance(inner.get("additionalProperties"), dict):
            yield from keys(inner["additionalProperties"], f"{key}.*.")


def test_every_key_is_described_and_every_number_bounded() -> None:
    named = dict(keys(SCHEMA))
    assert {"seeds", "grpo.beta", "experiments.*.beta", "curves.*.metrics"} <= named.keys()
    for name, schema in named.items():
        as_in_grpo = name.replace("experiments.*", "grpo")
        assert named.get(as_in_grpo, schema).get("description"), f"{name} has no description"
        number = schema.get("items", schema)
        if number.get("type") in ("integer", "number"):
            assert "maximum" in number or "exclusiveMaximum" in number, name
            assert "minimum" in number or "exclusiveMinimum" in number, name


def test_an_experiment_has_the_keys_and_bounds_of_grpo() -> None:
    named = {key: {**schema, "description": ""} for key, schema in keys(SCHEMA)}
    grpo = {key for key in named if key.startswith("grpo.")}
    for key in grpo:
        assert named[key] == named[key.replace("grpo", "experiments.*")]
    experiment = {key for key in named if key.startswith("experiments.*.")}
    assert len(experiment) == len(grpo) + 1


def test_every_choice_has_its_function() -> None:
    types = get_type_hints(GrpoSettings)
    assert list(get_args(types["reward"])) == [*RULES, "learned"]
    assert list(get_args(types["advantage"])) == list(ADVANTAGES)


def test_a_number_has_a_default_of_its_type() -> None:
    """The configuration makes values the type of the default: 1 would make 0.5 a whole number."""
    for name, default in flat(asdict(Config())):
        kind = dict(keys(SCHEMA))[name].get("type")
        if kind in ("integer", "number"):
            assert type(default) is (int if kind == "integer" else float), name


def flat(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        yield f"{path}{key}", value
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}.")


def test_no_default_stands_in_the_config_file() -> None:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert config == {"questions": Config().questions}, "a mapping has to hold something"


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("settings", ["pydantic", "torch", "numpy", "pandas", "jsonschema"]),
        ("configuration", ["torch", "matplotlib"]),
    ],
)
def test_what_is_imported_early_imports_nothing_slow(module: str, without: list[str]) -> None:
    program = f"import sys, workflow.lib.study.{module}; print(set({without}) & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
