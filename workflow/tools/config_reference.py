"""Print config/README.md, made from the schema: `python -m workflow.tools.config_reference`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SCHEMA = Path(__file__).parents[1] / "schemas/config.schema.yaml"

HEAD = """\
# The configuration

Made from [the schema](../workflow/schemas/config.schema.yaml) by `make config-reference`; a test
keeps the two in step.

`config/config.yaml` is the chapter's study, and `config/extensions.yaml` is what `snakemake
extensions` runs beyond it. For a study of your own write a file with the keys that differ and lay
it over those:

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

| key | type | default | bounds | effect |
| --- | --- | --- | --- | --- |
"""

TYPES = {
    "integer": "whole number",
    "number": "number",
    "array": "list",
    "object": "mapping",
    "string": "text",
    "boolean": "true or false",
}


def rows(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """One table row for each key, depth first."""
    for key, inner in schema["properties"].items():
        name = f"{path}{key}"
        kind = inner.get("type", "one of " + ", ".join(map(str, inner.get("enum", []))))
        default = inner.get("default", "")
        if isinstance(default, bool):
            default = str(default).lower()
        text = " ".join(inner["description"].split())
        yield (
            f"| `{name}` | {TYPES.get(kind, kind)} | {f'`{default}`' if default != '' else ''} "
            f"| {bounds(inner)} | {text} |"
        )
        if "properties" in inner:
            yield from rows(inner, f"{name}.")
        if name == "experiments":
            settings = inner["additionalProperties"]["properties"]
            own = {
                key: settings[key]
                for key in settings
                if key not in schema["properties"]["grpo"]["properties"]
            }
            yield from rows({"properties": own}, "experiments.NAME.")
        if name == "curves":
            yield from rows(inner["additionalProperties"], "curves.NAME.")


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
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    print(HEAD + "\n".join(rows(schema)))
