"""The study that a configuration describes, or one sentence on what is wrong with it."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jsonschema

from workflow.lib.grpo_settings import GrpoSettings
from workflow.lib.sft_settings import SftSettings

FIGURE_EXPERIMENTS = {
    "fig1_rlvr_overturns": ("weak",),
    "fig2_unhackable_reward": ("long",),
    "fig3_cold_start": ("weak", "cold"),
}
"""The experiments that each figure draws."""

TYPES = {
    "array": "a list",
    "object": "a mapping",
    "integer": "a whole number",
    "number": "a number",
}
"""JSON schema's types in a reader's words."""


class ConfigError(ValueError):
    """A configuration that cannot be run; its text names the key, the value and what is right."""


@dataclass(frozen=True)
class Experiment:
    """One GRPO experiment: what it starts from, and its settings."""

    teacher_correctness: float
    grpo: GrpoSettings


@dataclass(frozen=True)
class Study:
    """A validated configuration."""

    seeds: list[int]
    device: str
    sft: SftSettings
    eval_prompts: int
    experiments: dict[str, Experiment]
    figures: list[str]


def read_study(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Study:
    """The study that `config` describes.

    Raises:
        ConfigError: where a key is unknown, missing or out of bounds, or settings do not agree.
    """
    _check_schema(config, schema)
    num_prompts = int(config["evaluation"]["num_prompts"])
    experiments = {
        name: _experiment(name, config["grpo"], overrides, num_prompts)
        for name, overrides in config["experiments"].items()
        if overrides is not None
    }
    for figure in config["figures"]:
        for name in FIGURE_EXPERIMENTS[figure]:
            if name not in experiments:
                raise ConfigError(
                    f"figures: {figure} draws the experiment '{name}', which 'experiments' lacks: "
                    f"add it there, or take {figure} out of 'figures'."
                )
    return Study(
        seeds=[int(seed) for seed in config["seeds"]],
        device=config["device"],
        sft=SftSettings(**_whole_numbers(config["sft"], SftSettings)),
        eval_prompts=num_prompts,
        experiments=experiments,
        figures=list(config["figures"]),
    )


def format_q(q: float) -> str:
    """The one spelling of a teacher correctness in paths and names: 0.3, 1, 0, 1e-05."""
    return repr(float(q) + 0.0).removesuffix(".0")


def _experiment(
    name: str, defaults: Mapping[str, Any], overrides: Mapping[str, Any], eval_prompts: int
) -> Experiment:
    settings = {**defaults, **overrides}
    q = float(settings.pop("teacher_correctness"))
    grpo = GrpoSettings(eval_prompts=eval_prompts, **_whole_numbers(settings, GrpoSettings))
    completions = grpo.num_prompts * grpo.num_generations
    if completions % grpo.minibatch_size:
        raise ConfigError(
            f"experiments.{name}: minibatch_size {grpo.minibatch_size} does not divide the "
            f"{completions} completions of a rollout (num_prompts {grpo.num_prompts} × "
            f"num_generations {grpo.num_generations}): choose one that does."
        )
    return Experiment(teacher_correctness=q, grpo=grpo)


def _whole_numbers(values: Mapping[str, Any], settings: type) -> dict[str, Any]:
    """The values as their fields' own types: YAML may write an integer 300.0, and a float 1."""
    types = settings.__annotations__
    return {key: types[key](value) for key, value in values.items()}


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    _check_keys(config, "")
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(config))
    if error is not None:
        raise ConfigError(_explain(error))


def _check_keys(value: Any, path: str) -> None:
    """JSON schema has nothing to say about keys that are not text, nor about NaN."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ConfigError(
                    f"{path or 'config'}: the key {key!r} is not text: put it in quotes."
                )
            _check_keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            _check_keys(inner, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{path}: {value} is not a finite number.")


def _explain(error: jsonschema.ValidationError) -> str:
    """One sentence for a schema violation: where, what, and what would be right."""
    path = ".".join(str(part) for part in error.absolute_path)
    where = f"{path}: " if path else ""
    value = shorten(error.instance)
    instance: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            schema: Any = error.schema
            known = list(schema["properties"])
            unknown = next(key for key in instance if key not in known)
            close = difflib.get_close_matches(unknown, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}."
            return f"{where}unknown key {shorten(unknown)}: {hint}"
        case "required":
            missing = next(key for key in limit if key not in instance)
            return f"{where}the key '{missing}' is missing."
        case "type":
            wanted = [limit] if isinstance(limit, str) else limit
            return f"{where}{value} is not {TYPES[wanted[0]]}{_quoted_number(error.instance)}."
        case "enum":
            return f"{where}{value} is none of {', '.join(map(str, limit))}."
        case "minimum":
            return f"{where}{value} is below the least possible, {limit}."
        case "maximum":
            return f"{where}{value} is above the most possible, {limit}."
        case "exclusiveMinimum":
            return f"{where}{value} must be more than {limit}."
        case "exclusiveMaximum":
            return f"{where}{value} must be less than {limit}."
        case "uniqueItems":
            twice = next(v for i, v in enumerate(instance) if v in instance[:i])
            return f"{where}{shorten(twice)} stands there twice: once is enough."
        case "minItems" | "minProperties":
            return f"{where}there must be at least {limit} of them."
        case "pattern" | "propertyNames":
            return (
                f"{where}{value} is no name for an experiment: "
                "take small letters, digits, '_' and '-', a letter first, at most 40."
            )
        case _:
            return f"{where}{error.message}"


def _quoted_number(value: Any) -> str:
    """A hint for text that was meant as a number."""
    if not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if value.isdigit():
        return f" but text: write {value} without quotes, in a file (`--config` makes it text)"
    mantissa, _, exponent = value.lower().partition("e")
    if exponent and "." not in mantissa and math.isfinite(number):
        return f" but text: YAML wants a point before the exponent, as {mantissa}.0e{exponent}"
    return ""


def shorten(value: Any, length: int = 60) -> str:
    """A value as a message shows it: on one line, and not longer than a reader wants."""
    text = repr(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


CHAPTER_EXPERIMENTS = {
    "weak": Experiment(teacher_correctness=0.3, grpo=GrpoSettings()),
    "long": Experiment(teacher_correctness=0.3, grpo=GrpoSettings(iterations=600)),
    "cold": Experiment(teacher_correctness=0.0, grpo=GrpoSettings()),
}


def deviations(study: Study) -> dict[str, str]:
    """Where the study is not the chapter's: what is different, by kind of result and experiment.

    The kinds are `sft_weak`, `grpo_weak` and so on, as the claims call them. Seeds may differ.
    """
    found: dict[str, str] = {}
    sft = _first_difference("sft", study.sft, SftSettings())
    for name, chapter in CHAPTER_EXPERIMENTS.items():
        experiment = study.experiments.get(name)
        if experiment is None:
            of_sft = of_grpo = f"the study has no experiment '{name}'"
        else:
            of_sft = sft
            q = experiment.teacher_correctness
            if q != chapter.teacher_correctness:
                of_sft = f"teacher_correctness is {q} in {name}, not {chapter.teacher_correctness}"
            of_grpo = of_sft or _first_difference(name, experiment.grpo, chapter.grpo)
            if study.eval_prompts != chapter.grpo.eval_prompts:
                of_sft = of_grpo = f"evaluation.num_prompts is {study.eval_prompts}, not 2048"
        if of_sft:
            found[f"sft_{name}"] = found[f"prompts_{name}"] = of_sft
        if of_grpo:
            found[f"grpo_{name}"] = of_grpo
    if not CHAPTER_EXPERIMENTS.keys() & study.experiments.keys():
        found["size"] = "the study has none of the chapter's experiments"
    if found:
        found["time"] = next(iter(found.values()))
    return found


def _first_difference(where: str, ours: Any, chapters: Any) -> str:
    """The first setting that differs from the chapter's, in words, or nothing."""
    for key, value in asdict(ours).items():
        if value != getattr(chapters, key):
            return f"{where}.{key} is {value}, not {getattr(chapters, key)} as in the chapter"
    return ""
