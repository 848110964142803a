"""The study that a configuration describes, or one sentence on what is wrong with it."""

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import jsonschema

from workflow.lib.study.grpo_settings import GrpoSettings
from workflow.lib.study.metrics import Row
from workflow.lib.study.sft_settings import SftSettings

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
    "string": "text",
    "boolean": "true or false",
}
"""JSON schema's types in a reader's words."""

MAX_DEPTH = 8
"""More levels than any key has. YAML can nest without end: by a list that holds itself."""

MAX_BITS = 4096
"""Of a whole number; Python prints none of many thousands of digits."""

NAME = re.compile(r"[\w-]{1,40}", re.ASCII)
"""Keys that a message shows as they are."""


class ConfigError(ValueError):
    """A configuration that cannot be run; its text names the key, the value and what is right."""


@dataclass(frozen=True)
class Experiment:
    """One GRPO experiment: what it starts from, and its settings."""

    teacher_correctness: float
    grpo: GrpoSettings
    save_policy: bool = False
    """Whether its final policy is kept."""


@dataclass(frozen=True)
class CurvesFigure:
    """A figure that draws metrics of experiments against the iteration."""

    metrics: list[str]
    experiments: list[str]
    title: str


@dataclass(frozen=True)
class Extensions:
    """What `snakemake extensions` runs."""

    reward_model: SftSettings
    pass_at_k: dict[str, int]
    """`num_prompts` carry prompts with `num_samples` samples each."""
    experiments: dict[str, Experiment]
    figures: dict[str, list[str]]
    """The experiments that each figure draws; they may be the study's own."""


@dataclass(frozen=True)
class Study:
    """A validated configuration."""

    seeds: list[int]
    device: str
    sft: SftSettings
    eval_prompts: int
    experiments: dict[str, Experiment]
    figures: list[str]
    curves: dict[str, CurvesFigure]
    extensions: Extensions

    def experiment(self, name: str) -> Experiment:
        """An experiment of the study or of its extensions."""
        return self.experiments.get(name) or self.extensions.experiments[name]


def read_study(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Study:
    """The study that `config` describes.

    Raises:
        ConfigError: where a key is unknown, missing or out of bounds, or settings do not agree.
    """
    _check_schema(config, schema)
    experiments = _experiments("experiments", config, config["experiments"])
    if not experiments:
        raise ConfigError("experiments: all are null: there must be at least 1 of them.")
    extensions = _extensions(config, experiments)
    known = [*experiments, *extensions.experiments]
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
        eval_prompts=int(config["evaluation"]["num_prompts"]),
        experiments=experiments,
        figures=list(config["figures"]),
        curves={
            name: _curves(name, figure, known)
            for name, figure in config.get("curves", {}).items()
            if figure is not None
        },
        extensions=extensions,
    )


def format_q(q: float) -> str:
    """The one spelling of a teacher correctness in paths and names: 0.3, 1, 0, 1e-05."""
    return repr(float(q) + 0.0).removesuffix(".0")


def _experiments(
    where: str, config: Mapping[str, Any], experiments: Mapping[str, Any]
) -> dict[str, Experiment]:
    return {
        name: _experiment(f"{where}.{name}", config, overrides)
        for name, overrides in experiments.items()
        if overrides is not None
    }


def _experiment(where: str, config: Mapping[str, Any], overrides: Mapping[str, Any]) -> Experiment:
    settings = {**config["grpo"], **overrides}
    q = float(settings.pop("teacher_correctness"))
    save_policy = settings.pop("save_policy", False)
    settings["eval_prompts"] = config["evaluation"]["num_prompts"]
    grpo = GrpoSettings(**_whole_numbers(settings, GrpoSettings))
    completions = grpo.num_prompts * grpo.num_generations
    if grpo.reward == "learned" and grpo.reward_noise > 0:
        raise ConfigError(
            f"{where}: reward_noise flips verdicts, and a learned reward gives none: "
            "take reward_noise 0, or another reward."
        )
    if completions % grpo.minibatch_size:
        raise ConfigError(
            f"{where}: minibatch_size {grpo.minibatch_size} does not divide the "
            f"{completions} completions of a rollout (num_prompts {grpo.num_prompts} × "
            f"num_generations {grpo.num_generations}): choose one that does."
        )
    return Experiment(teacher_correctness=q, grpo=grpo, save_policy=save_policy)


def _extensions(config: Mapping[str, Any], experiments: Mapping[str, Experiment]) -> Extensions:
    section = config["extensions"]
    named = {**config["experiments"], **section["experiments"]}
    dropped = {name for name, overrides in named.items() if overrides is None}
    figures = {
        figure: [name for name in drawn if name not in dropped]
        for figure, drawn in section["figures"].items()
        if not dropped.issuperset(drawn)
    }
    extensions = Extensions(
        reward_model=SftSettings(**_whole_numbers(section["reward_model"], SftSettings)),
        pass_at_k={key: int(value) for key, value in section["pass_at_k"].items()},
        experiments=_experiments("extensions.experiments", config, section["experiments"]),
        figures=figures,
    )
    for name in extensions.experiments:
        if name in experiments:
            raise ConfigError(
                f"extensions.experiments.{name}: 'experiments' has one of that name: rename either."
            )
    known = {**experiments, **extensions.experiments}
    without_policy = {
        name for name, overrides in named.items() if (overrides or {}).get("save_policy") is False
    }
    for figure, drawn in extensions.figures.items():
        if figure == "fig5_pass_at_k":
            drawn[:] = [name for name in drawn if name not in without_policy]
        _check_drawn(f"extensions.figures.{figure}", drawn, list(known))
        for name in drawn:
            if figure == "fig5_pass_at_k" and not known[name].save_policy:
                raise ConfigError(
                    f"extensions.figures.{figure}: it needs the final policy of '{name}': "
                    "give that experiment save_policy: true."
                )
    return extensions


def _curves(name: str, figure: Mapping[str, Any], experiments: list[str]) -> CurvesFigure:
    known = [field.name for field in fields(Row)][1:]
    for metric in figure["metrics"]:
        if metric not in known:
            raise ConfigError(
                f"curves.{name}.metrics: {shorten(metric)} is no column of the metrics: "
                f"{_hint(metric, known)}"
            )
    _check_drawn(f"curves.{name}.experiments", figure["experiments"], experiments)
    if name.startswith("fig") and name[3:4].isdigit():
        raise ConfigError(
            f"curves.{name}: names like fig1 are the study's own figures': choose another."
        )
    title = figure.get("title", name)
    if not title.isprintable():
        raise ConfigError(f"curves.{name}.title: {shorten(title)} cannot be printed as it is.")
    return CurvesFigure(
        metrics=list(figure["metrics"]), experiments=list(figure["experiments"]), title=title
    )


def _check_drawn(where: str, drawn: Iterable[str], experiments: list[str]) -> None:
    for name in drawn:
        if name not in experiments:
            raise ConfigError(
                f"{where}: there is no experiment {shorten(name)}: {_hint(name, experiments)}"
            )


def _hint(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}."


def _whole_numbers(values: Mapping[str, Any], settings: type) -> dict[str, Any]:
    """The values as their fields' own types: YAML may write an integer 300.0, and a float 1."""
    types = settings.__annotations__
    return {key: types[key](value) for key, value in values.items()}


def _check_schema(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    _check_keys(config, [])
    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(config))
    if error is not None:
        raise ConfigError(_explain(error))


def _check_keys(value: Any, path: list[Any]) -> None:
    """What JSON schema says nothing about: keys that are not text, NaN; and what it chokes on."""
    if len(path) > MAX_DEPTH:
        raise ConfigError(f"{_where(path[:2])}: nothing here is nested so deeply.")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ConfigError(
                    f"{_where(path) or 'config'}: the key {shorten(key)} is not text: "
                    "put it in quotes."
                )
            _check_keys(inner, [*path, key])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_keys(inner, [*path, index])
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{_where(path)}: {value} is not a finite number.")
    elif isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ConfigError(f"{_where(path)}: a number of {value.bit_length()} bits is too large.")


def _where(path: Iterable[Any]) -> str:
    """A key with those above it, as a message names it: grpo.beta."""
    names = map(str, path)
    return ".".join(name if NAME.fullmatch(name) else shorten(name) for name in names)


def _explain(error: jsonschema.ValidationError) -> str:
    """One sentence for a schema violation: where, what, and what would be right."""
    path = _where(error.absolute_path)
    where = f"{path}: " if path else ""
    value = shorten(error.instance)
    instance: Any = error.instance
    limit: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            schema: Any = error.schema
            known = list(schema["properties"])
            unknown = next(key for key in instance if key not in known)
            return f"{where}unknown key {shorten(unknown)}: {_hint(unknown, known)}"
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
        case "maxItems":
            return f"{where}there can be at most {limit} of them."
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"{where}{value} must have {bound} {limit} characters."
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
    if re.fullmatch("[0-9]{1,20}", value):
        return f" but text: write {value} without quotes, in a file (`--config` makes it text)"
    mantissa, _, exponent = value.lower().partition("e")
    if re.fullmatch("[0-9]{1,20}", mantissa) and exponent and math.isfinite(number):
        return f" but text: YAML wants a point before the exponent, as {mantissa}.0e{exponent}"
    return ""


def shorten(value: Any, length: int = 60) -> str:
    """A value as a message shows it: on one line, and not longer than a reader wants."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"{type(value).__name__}(…)"
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
