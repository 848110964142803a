"""Print docs/architecture.md, made from the pipeline: `python -m workflow.tools.architecture`."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
LIBRARY = "workflow.lib."
PACKAGES = ["task", "jobs", "model", "study", "training", "drawing", "report"]

PAGE = """\
# How it is built

Made from the pipeline by `make architecture`; a test keeps the two in step.

## The steps

Each box is a rule of `workflow/rules`. Behind the rules `plot_fig…` and `check_…` are the files of
`workflow/questions`, behind the others the scripts of `workflow/scripts`. An arrow leads from what
makes a file to what reads it.

```mermaid
{rules}
```

## The modules

The library, `workflow/lib`, has a package for each subject. Imports go down only, and packages on
one line do not know each other; `make lint` checks this (the contracts are in `pyproject.toml`):

    scripts | tools
    questions | lib.report
    lib.drawing | lib.training
    lib.study | lib.model
    lib.task | lib.jobs

`make docs` makes pages of all functions.

| module | what it is | imports |
| --- | --- | --- |
{modules}
"""


def rule_graph() -> str:
    """All rules and what each waits for, for Mermaid: arrows that others imply are left out."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--forceall"),
            *("--rulegraph", "mermaid-js", "--config", "questions=all"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    rules = dict(re.findall(r"(id\d+)\[(\w+)\]", done.stdout))
    after: dict[str, set[str]] = {rule: set() for rule in sorted(rules.values())}
    for first, second in re.findall(r"(id\d+) --> (id\d+)", done.stdout):
        after[rules[first]].add(rules[second])

    def reaches(rule: str, goal: str) -> bool:
        return any(goal == other or reaches(other, goal) for other in after[rule])

    arrows = [
        f"    {rule} --> {other}"
        for rule, others in after.items()
        for other in sorted(others)
        if not any(reaches(between, other) for between in others)
    ]
    return "\n".join(["flowchart TB", *arrows])


def module_rows() -> str:
    """One table row for each module of the library; in a package, the most basic ones first."""
    graph = grimp.build_graph("workflow", cache_dir=None)
    names = sorted(
        name for name in graph.modules if name.startswith(LIBRARY) and not graph.find_children(name)
    )
    imports = {
        name: sorted(graph.find_modules_directly_imported_by(name) & set(names)) for name in names
    }

    @functools.cache
    def depth(name: str) -> int:
        return 1 + max(map(depth, imports[name]), default=0)

    return "\n".join(
        f"| `{name.removeprefix(LIBRARY)}` | {first_sentence(name)} "
        f"| {', '.join(f'`{other.removeprefix(LIBRARY)}`' for other in imports[name])} |"
        for name in sorted(
            names, key=lambda name: (PACKAGES.index(package(name)), depth(name), name)
        )
    )


def package(name: str) -> str:
    """The package of a module of the library."""
    return name.removeprefix(LIBRARY).partition(".")[0]


def first_sentence(name: str) -> str:
    """The first paragraph of a module's docstring."""
    path = ROOT / f"{name.replace('.', '/')}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


if __name__ == "__main__":
    print(PAGE.format(rules=rule_graph(), modules=module_rows()), end="")
