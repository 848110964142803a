"""Keys that a configuration file has twice, of which YAML would take the last without a word."""

from pathlib import Path

import yaml

from workflow.lib.study.configuration import ConfigError, shorten


def refuse_repeated_keys(path: str | Path) -> None:
    """Raise ConfigError where a mapping in a YAML or JSON file has a key twice."""
    try:
        root = yaml.compose(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return  # JSON that is no YAML; what is neither was refused by Snakemake
    nodes, seen = [root], set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                nodes.append(value)
                line = key.start_mark.line + 1
                if isinstance(key, yaml.ScalarNode) and key.value in lines:
                    raise ConfigError(
                        f"{Path(path).name}: the key {shorten(key.value)} stands in line "
                        f"{lines[key.value]} and again in line {line}: which of them counts?"
                    )
                lines[str(key.value)] = line
