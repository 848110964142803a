"""The study that a configuration describes, or one sentence on what is wrong with it."""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

import jsonschema
import yaml
from pydantic import TypeAdapter

from workflow.lib.study.metrics import Row
from workflow.lib.study.question import Question
from workflow.lib.study.settings import (
    Config,
    CurvesFigure,
    Described,
    Evaluation,
    GrpoSettings,
    RewardModelSettings,
    SftSettings,
)

TYPES = {
    "array": "a list",
    "object": "a mapping",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
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


@dataclass(frozen=True)
class Study:
    """A validated configuration."""

    seeds: list[int]
    device: str
    sft: SftSettings
    reward_model: RewardModelSettings
    eval_prompts: int
    questions: list[str]
    """Names of those that are asked."""
    experiments: dict[str, Experiment]
    """All that are known, whether or not they run."""
    own: list[str]
    """Names of the experiments that no question declares."""
    curves: dict[str, CurvesFigure]


def read_study(config: Mapping[str, Any], questions: Mapping[str, Question]) -> Study:
    """The study that `config` describes; what it leaves out is as in the chapter.

    Raises:
        ConfigError: where a key is unknown or out of bounds, or settings do not agree.
        ValueError: where two questions declare one experiment with different settings.
    """
    _check_schema(config)
    whole = {**vars(Config()), **config}
    declared = _declared(questions)
    given: Mapping[str, Any] = whole["experiments"]
    dropped = [name for name, overrides in given.items() if overrides is None]
    for name in dropped:
        if name not in declared:
            hint = _close(name, declared) or "give it settings, or remove it."
            raise ConfigError(
                f"experiments.{name}: null drops an experiment of a question, and none declares "
                f"this one: {hint}"
            )
    evaluation = _settings(Evaluation, config.get("evaluation", {}))
    common = {**config.get("grpo", {}), "eval_prompts": evaluation.num_prompts}
    experiments = {
        name: _experiment(
            name, {**common, **declared.get(name, {}), **given.get(name, {})}, declared
        )
        for name in {**declared, **given}
        if name not in dropped
    }
    study = Study(
        seeds=[int(seed) for seed in whole["seeds"]],
        device=whole["device"],
        sft=_settings(SftSettings, config.get("sft", {})),
        reward_model=_settings(RewardModelSettings, config.get("reward_model", {})),
        eval_prompts=evaluation.num_prompts,
        questions=_asked(whole["questions"], questions),
        experiments=experiments,
        own=[name for name in given if name not in declared],
        curves={
            name: _curves(name, figure, list(experiments))
            for name, figure in whole["curves"].items()
            if figure is not None
        },
    )
    for question in study.questions:
        for name in questions[question].names:
            if name in dropped:
                raise ConfigError(
                    f"questions: {question} draws the experiment '{name}', which 'experiments' "
                    f"sets to null: remove that, or list the questions without {question}."
                )
    for name in running(study, questions):
        _check_agreement(name, experiments[name].grpo)
    return study


def running(study: Study, questions: Mapping[str, Question]) -> list[str]:
    """The experiments that run: of the questions asked, the study's own, and those in curves."""
    asked = [name for question in study.questions for name in questions[question].names]
    drawn = [name for figure in study.curves.values() for name in figure.experiments]
    return list(dict.fromkeys([*asked, *study.own, *drawn]))


def difference(study: Study, chapter: Study, names: Iterable[str]) -> str:
    """The first setting behind experiments that is not the chapter's, in words; '' if none."""
    names = list(names)
    for name in names:
        if name not in study.experiments:
            return f"the study has no experiment '{name}'"
    ours = _settings_behind(study, names)
    for key, value in _settings_behind(chapter, names).items():
        if ours[key] != value:
            return f"{key} is {ours[key]}, not {value}"
    return ""


def _settings_behind(study: Study, names: Sequence[str]) -> dict[str, Any]:
    """All that decides the results of experiments, named as in a configuration."""
    experiments = {name: study.experiments[name] for name in names}
    sections: dict[str, Any] = {"sft": study.sft, "evaluation": Evaluation(study.eval_prompts)}
    behind: dict[str, Any] = {}
    for name, experiment in experiments.items():
        behind[f"{name}.teacher_correctness"] = experiment.teacher_correctness
        sections[name] = experiment.grpo
    # Last: a study without it differs in a reward before.
    if any(experiment.grpo.reward == "learned" for experiment in experiments.values()):
        sections["reward_model"] = study.reward_model
    for where, section in sections.items():
        behind |= {f"{where}.{key}": value for key, value in asdict(section).items()}
    return behind


def _declared(questions: Mapping[str, Question]) -> dict[str, Mapping[str, Any]]:
    """Every question's experiments by name."""
    declared: dict[str, Mapping[str, Any]] = {}
    owners: dict[str, str] = {}
    for question, asks in questions.items():
        for name, overrides in asks.experiments.items():
            if declared.setdefault(name, overrides) != overrides:
                raise ValueError(
                    f"{owners[name]} and {question} declare the experiment '{name}' with "
                    "different settings"
                )
            owners.setdefault(name, question)
    return declared


def _asked(asked: str | list[str], questions: Mapping[str, Question]) -> list[str]:
    """The names of the questions asked, in the order of `questions`."""
    if asked == "all":
        return list(questions)
    if asked == "chapter":
        return [name for name, question in questions.items() if question.of_chapter]
    if isinstance(asked, str):
        example = difflib.get_close_matches(asked, questions, n=1) or list(questions)[:1]
        raise ConfigError(
            f"questions: {shorten(asked)} must be chapter, all, or a list of names such as "
            f"[{', '.join(example)}]."
        )
    for name in asked:
        if name not in questions:
            raise ConfigError(
                f"questions: there is no question {shorten(name)}: {_hint(name, questions)}"
            )
    return [name for name in questions if name in asked]


def _experiment(
    name: str, settings: Mapping[str, Any], declared: Mapping[str, Mapping[str, Any]]
) -> Experiment:
    if "teacher_correctness" not in settings:
        close = _close(name, declared)
        raise ConfigError(
            f"experiments.{name}: the key 'teacher_correctness' is missing"
            f"{f': {close}' if close else '.'}"
        )
    grpo = {key: value for key, value in settings.items() if key != "teacher_correctness"}
    return Experiment(
        teacher_correctness=float(settings["teacher_correctness"]),
        grpo=_settings(GrpoSettings, grpo),
    )


def _check_agreement(name: str, grpo: GrpoSettings) -> None:
    """Raise ConfigError where settings that are right alone do not fit together."""
    completions = grpo.num_prompts * grpo.num_generations
    if grpo.reward == "learned" and grpo.reward_noise > 0:
        raise ConfigError(
            f"experiments.{name}: reward_noise flips verdicts, and a learned reward gives none: "
            "take reward_noise 0, or another reward."
        )
    if completions % grpo.minibatch_size:
        raise ConfigError(
            f"experiments.{name}: minibatch_size {grpo.minibatch_size} does not divide the "
            f"{completions} completions of a rollout (num_prompts {grpo.num_prompts} × "
            f"num_generations {grpo.num_generations}): choose one that does."
        )


def _curves(name: str, figure: Mapping[str, Any], experiments: list[str]) -> CurvesFigure:
    iteration, *known = [field.name for field in fields(Row)]
    for metric in figure["metrics"]:
        if metric == iteration:
            raise ConfigError(
                f"curves.{name}.metrics: '{iteration}' is the x axis already: remove it."
            )
        if metric not in known:
            raise ConfigError(
                f"curves.{name}.metrics: {shorten(metric)} is an unknown metric: "
                f"{_hint(metric, known)}"
            )
    for experiment in figure["experiments"]:
        if experiment not in experiments:
            raise ConfigError(
                f"curves.{name}.experiments: there is no experiment {shorten(experiment)}: "
                f"{_hint(experiment, experiments)}"
            )
    if name.startswith("fig") and name[3:4].isdigit():
        raise ConfigError(
            f"curves.{name}: names like fig1 are kept for the questions' figures: choose another."
        )
    title = figure.get("title", name)
    if not title.isprintable():
        raise ConfigError(f"curves.{name}.title: {shorten(title)} cannot be printed as it is.")
    return CurvesFigure(
        metrics=list(figure["metrics"]), experiments=list(figure["experiments"]), title=title
    )


def _hint(word: str, known: Iterable[str]) -> str:
    return _close(word, known) or f"known are {', '.join(known)}."


def _close(word: str, known: Iterable[str]) -> str:
    """The known word that is like this one, as a question, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{close[0]}'?" if close else ""


Settings = TypeVar("Settings")


def _settings(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of the types of their defaults: YAML may write a whole number 300.0, a float 1."""
    return kind(**{key: type(getattr(kind, key))(value) for key, value in values.items()})


def make_schema(described: bool) -> dict[str, Any]:
    """The JSON schema of a configuration, made from the classes of its settings.

    Args:
        described: with descriptions; to find them in the source takes longer than all else.
    """
    Described.__pydantic_config__["use_attribute_docstrings"] = described
    raw = TypeAdapter(Config).json_schema()
    schema = _simplified(raw, raw["$defs"])
    sections = schema["properties"]
    for named in (sections["experiments"], sections["curves"]):
        named["propertyNames"] = {"pattern": r"^[a-z][a-z0-9_-]{0,39}(?!\n)$"}
    # An experiment of a question has its teacher_correctness from there.
    del sections["experiments"]["additionalProperties"]["required"]
    return schema


def _simplified(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema in which one rule alone forbids a value, so that a message can name that rule.

    References are replaced by what they refer to, and unions by a list of types; a choice needs no
    type. No list of a configuration may hold a value twice, which no type says.
    """
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].removeprefix("#/$defs/")], **schema}
    if "anyOf" in schema:
        either = [_simplified(inner, definitions) for inner in schema["anyOf"]]
        types = [inner["type"] for inner in either]
        schema = {**schema, **{k: v for inner in either for k, v in inner.items()}, "type": types}
    simple = {
        key: _simplified(inner, definitions)
        for key, inner in schema.items()
        if key not in ("$ref", "$defs", "anyOf")
    }
    if "enum" in simple:
        simple.pop("type", None)
    if "items" in simple:
        simple["uniqueItems"] = True
    return simple


SCHEMA = make_schema(described=False)
"""The schema that configurations are held against."""

GONE = {
    "figures": (
        "is called 'questions' now: chapter, all, or a list of names such as [fig1_rlvr_overturns]."
    ),
    "extensions": (
        "use 'questions: all'; changes to their experiments go to 'experiments' now, and "
        "reward_model to 'reward_model'."
    ),
    "save_policy": "every run keeps its final policy now: remove the key.",
}
"""What became of the keys that a configuration had before."""


def _check_schema(config: Mapping[str, Any]) -> None:
    _check_keys(config, [])
    errors = jsonschema.Draft202012Validator(SCHEMA).iter_errors(config)
    error = jsonschema.exceptions.best_match(errors)
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
            if unknown in GONE:
                return f"{_where([*error.absolute_path, unknown])}: {GONE[unknown]}"
            return f"{where}unknown key {shorten(unknown)}: {_hint(unknown, known)}"
        case "required":
            missing = next(key for key in limit if key not in instance)
            return f"{where}the key '{missing}' is missing."
        case "type":
            types = [limit] if isinstance(limit, str) else limit
            wanted = " or ".join(TYPES[name] for name in types if name in TYPES)
            return f"{where}{value} is not {wanted}{_number_as_text(error.instance)}."
        case "enum":
            return f"{where}{value} must be one of {', '.join(map(str, limit))}."
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
            return f"{where}{shorten(twice)} is listed twice."
        case "minItems":
            return f"{where}there must be at least {limit} of them."
        case "maxItems":
            return f"{where}there can be at most {limit} of them."
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"{where}{value} must have {bound} {limit} characters."
        case "pattern" | "propertyNames":
            return (
                f"{where}{value} is no name for an experiment or a figure: "
                "take small letters, digits, '_' and '-', a letter first, at most 40."
            )
        case _:
            return f"{where}{error.message}"


def _number_as_text(value: Any) -> str:
    """A hint for text that was meant as a number."""
    if not isinstance(value, str) or not re.fullmatch(r"[-+.,eE0-9]{1,20}", value):
        return ""
    try:
        number = float(value.replace(",", "."))
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    whole = re.fullmatch("[-+]?[0-9]+", value)
    written = yaml.safe_dump(int(value) if whole else number).split()[0]
    if written == value:
        return f" but text: write {value} without quotes, in a file (`--config` makes it text)"
    return f" but text: YAML takes it for a number if it is written {written}"


def shorten(value: Any, length: int = 60) -> str:
    """A value as a message shows it: on one line, and not longer than a reader wants."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"{type(value).__name__}(…)"
    return text if len(text) <= length else f"{text[: length - 1]}…"
