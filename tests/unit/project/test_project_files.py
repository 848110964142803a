"""The files that readers, editors and catalogs expect beside the code."""

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[3]

PERSON_OR_GROUP = {
    "anyOf": [{"required": ["name"]}, {"required": ["family-names", "given-names"]}],
    "additionalProperties": {"type": "string"},
}
CITATION: dict[str, Any] = {
    "required": ["cff-version", "message", "title", "authors"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": {"type": "string", "minLength": 1},
        "title": {"type": "string", "minLength": 1},
        "type": {"enum": ["software", "dataset"]},
        "version": {"type": ["string", "number"]},
        "license": {"type": "string"},
        "abstract": {"type": "string"},
        "keywords": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "authors": {"type": "array", "minItems": 1, "items": PERSON_OR_GROUP},
        "references": {
            "type": "array",
            "items": {
                "required": ["type", "title", "authors"],
                "properties": {"authors": {"type": "array", "items": PERSON_OR_GROUP}},
            },
        },
    },
    "additionalProperties": False,
}
"""What this project uses of the Citation File Format 1.2.0."""


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_citation_is_one() -> None:
    citation = read("CITATION.cff")
    jsonschema.validate(citation, CITATION)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


def test_the_hooks_are_the_makefiles() -> None:
    [repository] = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        make, target = hook["entry"].split()
        assert make == "make" and target in make_targets()


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/claims.md"])
def test_documents_name_only_targets_that_there_are(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= make_targets()


def test_the_catalog_is_told_the_truth() -> None:
    usage = read(".snakemake-workflow-catalog.yml")["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert not usage["mandatory-flags"]["flags"]


def test_conda_gets_the_pins_of_the_lock_file() -> None:
    environment = read("environment.yaml")
    *_, pip = environment["dependencies"]
    assert pip == {"pip": ["-r requirements.lock"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert environment["name"] == project["name"]


def test_issue_forms_are_whole() -> None:
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) == 3
    for path in forms:
        form = read(str(path.relative_to(ROOT)))
        assert form["name"] and form["description"]
        for field in form["body"]:
            assert field["type"] in {"input", "textarea"} and field["attributes"]["label"]
        assert len({field["id"] for field in form["body"]}) == len(form["body"])
