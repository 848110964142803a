"""What YAML would take from a configuration file otherwise than it is written there."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from workflow.lib.study.configuration import ConfigError, shorten

MISREAD = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?0[0-7_]+|.*:.*"),
    "tag:yaml.org,2002:float": re.compile(r".*:.*"),
}
"""Numbers of YAML 1.1 in octal, as 010 for 8, and in base 60, as 1:30 for 90."""


def refuse_misread(path: str | Path) -> None:
    """Raise ConfigError where YAML would not take from a file what a reader sees in it.

    That is where a mapping has a key twice, of which YAML takes the last, and where a number is in
    another base than it seems.
    """
    try:
        root = yaml.compose(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return  # JSON that is no YAML; what is neither was refused by Snakemake
    where = Path(path).name
    for node in _nodes(root):
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node, where)
        elif _is_misread(node):
            raise ConfigError(
                f"{where}, line {node.start_mark.line + 1}: YAML takes {shorten(node.value)} "
                f"for {yaml.safe_load(node.value)}: write the number without a zero before it "
                "and without colons."
            )


def _is_misread(node: yaml.Node) -> bool:
    """Whether a value without quotes is a number in another base."""
    return node.tag in MISREAD and bool(MISREAD[node.tag].fullmatch(node.value))


def _nodes(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Every node, each once, though YAML can have a list hold itself."""
    nodes, seen = [root], set()
    while nodes:
        node = nodes.pop(0)
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            nodes += [part for pair in node.value for part in pair]


def _refuse_repeated_keys(node: yaml.MappingNode, where: str) -> None:
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if isinstance(key, yaml.ScalarNode) and key.value in lines:
            raise ConfigError(
                f"{where}: the key {shorten(key.value)} stands in line {lines[key.value]} and "
                f"again in line {line}: which of them counts?"
            )
        lines[str(key.value)] = line
