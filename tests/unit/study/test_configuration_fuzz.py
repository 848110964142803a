"""Configurations that nobody meant: each is read, or refused in a sentence that names the key.

The mutations come from the project's own defaults and schema, so that a new key is tried, too.
"""

import copy
import datetime
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.study.stub_questions import QUESTIONS
from workflow.lib.study.config_files import refuse_misread
from workflow.lib.study.configuration import (
    SCHEMA,
    ConfigError,
    Study,
    read_study,
    running,
    shorten,
)
from workflow.lib.study.layout import format_q
from workflow.lib.study.settings import Config, Grpo

ROOT = Path(__file__).parents[3]
CONFIG: dict[str, Any] = {
    **asdict(Config()),
    # The project's own configuration has none of these.
    "questions": ["fig3_cold_start", "fig10_anchor"],
    "experiments": {
        **{
            name: dict(own) for asks in QUESTIONS.values() for name, own in asks.experiments.items()
        },
        "mine": {**asdict(Grpo()), "teacher_correctness": 0.1},
    },
    "curves": {"mine": {"metrics": ["kl"], "experiments": ["weak"], "title": "Mine"}},
}

Place = tuple[Any, ...]
Edit = tuple[str, Place, Any]


def paths(value: Any, path: Place = ()) -> Iterator[Place]:
    """Every place in a configuration, the root aside."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from paths(inner, (*path, key))


def value_at(path: Place) -> Any:
    value: Any = CONFIG
    for key in path:
        value = value[key]
    return value


def limits(schema: Any) -> Iterator[float]:
    """Every bound that the schema sets, and what lies just beyond."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key.lower().endswith(("minimum", "maximum")):
                yield from (value, value - 1, value + 1, math.nextafter(value, math.inf))
                yield math.nextafter(value, -math.inf)
            yield from limits(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from limits(value)


PATHS = sorted(paths(CONFIG), key=str)
LIMITS = sorted(set(limits(SCHEMA)))

TEXT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            *("", " ", "null", "1", "3e-3", "0.1", "²", "٣", "1_000", "x" * 5000, "9" * 5000),
            *("../../etc/passwd", "/etc/x", "a/b", "$(touch x)", "`touch x`", "; rm -rf ."),
            *("{wildcards.seed}", "{0}", "%s", "a\nb", "a\u2028b", "\ud800", "weiß", "Weak", "a b"),
            *("weak\x00", "prompts", "__use_yte__", "seeds", "experiments", "nan", "inf"),
        ]
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**30, -(10**400), 2**63, 2**32 - 1, 2**32]),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 1.0, 64.0]),
    st.sampled_from(LIMITS),
    TEXT,
    st.dates(),
    st.binary(max_size=4),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(TEXT, SCALARS), inner, max_size=3)
    ),
    max_leaves=8,
)
SECTIONS = [[path for path in PATHS if path[0] == section] for section in CONFIG]
PLACES = st.sampled_from(SECTIONS).flatmap(st.sampled_from)
NUMBERS = st.sampled_from([path for path in PATHS if isinstance(value_at(path), int | float)])
EDITS = st.one_of(
    st.tuples(st.just("put"), NUMBERS, st.one_of(st.sampled_from(LIMITS), st.integers(0, 300))),
    st.tuples(st.just("put"), PLACES, st.one_of(SCALARS, JUNK)),
    st.tuples(st.sampled_from(["rename", "add"]), PLACES, TEXT),
    st.tuples(st.sampled_from(["drop", "twice", "wrap", "quote", "nest"]), PLACES, st.none()),
)


def edit(config: Any, kind: str, path: Place, junk: Any) -> list[str]:
    """Change one place of a configuration; what a message about it may name."""
    parent = config
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    named = [str(part) for part in path if isinstance(part, str)]
    match kind:
        case "put":
            parent[key] = junk
        case "drop":
            del parent[key]
        case "rename" if isinstance(parent, dict):
            parent[junk] = parent.pop(key)
            named += [shorten(junk), junk] if junk.strip() else [shorten(junk)]
        case "add" if isinstance(parent, dict):
            parent[junk] = copy.deepcopy(parent[key])
            named += [shorten(junk), junk] if junk.strip() else [shorten(junk)]
        case "twice" if isinstance(parent, list):
            parent.append(parent[key])
        case "wrap":
            parent[key] = [parent[key]]
        case "quote":
            parent[key] = str(parent[key])
        case "nest":
            parent[key] = {key: parent[key]}
    return named


def check_read_or_refused(config: Any, named: list[str]) -> None:
    try:
        study = read_study(config, QUESTIONS)
    except ConfigError as error:
        message = str(error)
        assert len(message.splitlines()) <= 3
        assert len(message) < 1500
        message.encode("utf-8")  # can be printed
        assert any(name in message for name in named), message
    else:
        check_sound(study)


def check_sound(study: Study) -> None:
    """Nothing of it can leave its place in a path, or mean something to a shell."""
    assert study.seeds
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in study.seeds)
    for name, experiment in study.experiments.items():
        assert re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name)
        assert re.fullmatch(r"[0-9.e-]+", format_q(experiment.teacher_correctness))
        for value in vars(experiment.grpo).values():
            assert isinstance(value, str) or math.isfinite(value)
    for name in running(study, QUESTIONS):
        grpo = study.experiments[name].grpo
        assert grpo.num_prompts * grpo.num_generations % grpo.minibatch_size == 0
    figures = [*study.questions, *study.curves]
    assert all(re.fullmatch(r"[a-z0-9_-]{1,40}", figure) for figure in figures)
    assert all(figure.title.isprintable() for figure in study.curves.values())


@settings(max_examples=400)
@given(change=EDITS)
def test_one_mutation_is_read_or_refused_by_name(change: Edit) -> None:
    config = copy.deepcopy(CONFIG)
    check_read_or_refused(config, edit(config, *change))


@settings(max_examples=100)
@given(changes=st.lists(EDITS, min_size=2, max_size=6))
def test_many_mutations_are_read_or_refused_by_name(changes: list[Edit]) -> None:
    config = copy.deepcopy(CONFIG)
    named = []
    for change in changes:
        try:
            named += edit(config, *change)
        except (KeyError, IndexError, TypeError):  # an earlier one took the place away
            continue
    check_read_or_refused(config, named)


def test_the_unmutated_configuration_is_read() -> None:
    check_sound(read_study(CONFIG, QUESTIONS))


def holds_itself(config: dict[str, Any]) -> None:
    config["seeds"].append(config["seeds"])


def deep(config: dict[str, Any]) -> None:
    inner: Any = 1
    for _ in range(500):
        inner = [inner]
    config["seeds"] = inner


def swollen(config: dict[str, Any]) -> None:
    """A thousand million numbers, of few lists: each holds the one before ten times."""
    inner: Any = [1]
    for _ in range(9):
        inner = [inner] * 10
    config["seeds"] = inner


@pytest.mark.parametrize("edit", [holds_itself, deep, swollen])
def test_no_nesting_hangs_or_overflows(edit: Callable[[dict[str, Any]], None]) -> None:
    config = copy.deepcopy(CONFIG)
    edit(config)
    with pytest.raises(ConfigError, match=r"seeds.*nested"):
        read_study(config, QUESTIONS)


REPEATED = {
    "seeds: [1]\nseeds: [2]\n": ["'seeds'", "line 1", "line 2"],
    "grpo:\n  beta: 1\n  iterations: 2\n  beta: 3\n": ["'beta'", "line 2", "line 4"],
    "experiments: {weak: {beta: 1}, weak: {beta: 2}}": ["'weak'", "line 1"],
    '{"seeds": [1],\n "seeds": [2]}': ["'seeds'", "line 1", "line 2"],
    "a: [{b: 1, b: 2}]": ["'b'"],
    "'seeds': 1\n\"seeds\": 2": ["'seeds'"],
}


@pytest.mark.parametrize("text", REPEATED)
def test_a_key_that_stands_there_twice_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        refuse_misread(tmp_path / "mine.yaml")
    for part in ["mine.yaml: the key", *REPEATED[text]]:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seeds: [1, 1]\ngrpo: {beta: 1}\nsft: {steps: 1}",
        "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}",
        "a: &a [*a]",
        "[1, 2]",
        '{"a":\t1}',
    ],
)
def test_what_stands_there_once_is_not(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    refuse_misread(tmp_path / "mine.yaml")


@given(text=st.text(max_size=80), where=st.integers(0, 40), change=EDITS)
def test_no_text_breaks_the_search_for_repeated_keys(
    text: str, where: int, change: Edit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = (ROOT / "config/config.yaml").read_text().splitlines(keepends=True)
    lines.insert(where, text)
    file = tmp_path_factory.getbasetemp() / "mine.yaml"
    file.write_text("".join(lines), encoding="utf-8")
    try:
        refuse_misread(file)
    except ConfigError as error:
        assert "stands in line" in str(error) and len(str(error).splitlines()) == 1


def test_a_number_too_long_to_print_is_refused() -> None:
    """As YAML reads a hexadecimal one of 5,000 digits; also as a key."""
    for config in ({**CONFIG, "seeds": [16**5000]}, {**CONFIG, "seeds": {16**5000: 1}}):
        with pytest.raises(ConfigError, match=r"seeds.*(too large|not text)"):
            read_study(config, QUESTIONS)


def test_dates_are_no_numbers() -> None:
    config = {**CONFIG, "seeds": [datetime.date(2026, 1, 1)]}
    with pytest.raises(ConfigError, match=r"seeds\.0: .*2026.* is not a whole number"):
        read_study(config, QUESTIONS)
