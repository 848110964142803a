"""Print config/README.md, made from the settings: `python -m workflow.tools.config_reference`."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from workflow.lib.study.configuration import make_schema
from workflow.lib.study.settings import Config

SCHEMA = make_schema(described=True)

HEAD = """\
# The configuration

Made from [the settings](../workflow/lib/study/settings.py) by `make config-reference`; a test
keeps the two in step.

Every key has a default, so a file names only what differs: `config/config.yaml` is the chapter's
study. For a study of your own write a file and lay it over that one:

    snakemake --cores 4 --resources gpu=1 --configfile my_study.yaml

Lists are replaced, mappings are merged, and an experiment set to `null` is dropped. For example:

```yaml
seeds: [1, 2, 3, 4, 5]
experiments:
  small-groups:
    teacher_correctness: 0.3
    num_generations: 2
    num_prompts: 128
```

The settings of an experiment are the defaults below, changed by `grpo`, then by the question that
has the experiment, then by `experiments`.

| key | type | default | bounds | effect |
| --- | --- | --- | --- | --- |
"""

TYPES = {
    "integer": "whole number",
    "number": "number",
    "array": "list",
    "object": "mapping",
    "string": "text",
}


def rows(schema: dict[str, Any], defaults: object = None, path: str = "") -> Iterator[str]:
    """One table row for each key, depth first."""
    for key, inner in schema["properties"].items():
        default = getattr(defaults, key, "")
        shown = "" if is_dataclass(default) or default == "" else f"`{default}`"
        text = " ".join(inner["description"].split())
        yield f"| `{path}{key}` | {kind(inner)} | {shown} | {bounds(inner)} | {text} |"
        if "properties" in inner:
            yield from rows(inner, default, f"{path}{key}.")
        if key in ("experiments", "curves") and not path:
            yield from rows(own_keys(inner["additionalProperties"]), path=f"{key}.NAME.")


def own_keys(schema: dict[str, Any]) -> dict[str, Any]:
    """The keys of an experiment or a figure that are not those of `grpo`."""
    grpo = SCHEMA["properties"]["grpo"]["properties"]
    keys = {key: inner for key, inner in schema["properties"].items() if key not in grpo}
    return {"properties": keys}


def kind(schema: dict[str, Any]) -> str:
    """The type of a value, as a reader writes it."""
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    types = schema["type"]
    return " or ".join(TYPES[name] for name in ([types] if isinstance(types, str) else types))


def bounds(schema: dict[str, Any]) -> str:
    """The bounds of a number, or of a list's numbers, as a reader writes them."""
    schema = schema.get("items", schema)
    words = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
    }
    return ", ".join(f"{sign} {schema[key]}" for key, sign in words.items() if key in schema)


if __name__ == "__main__":
    print(HEAD + "\n".join(rows(SCHEMA, Config())))
