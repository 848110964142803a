"""The report's own pages: what a run found and what made it, for any reader.

Numbers and texts go in, HTML comes out; nothing here reads a file.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from workflow.lib.jobs.fingerprint import digest
from workflow.lib.study import layout
from workflow.lib.study.question import (
    AS_EXPECTED,
    CONTRADICTED,
    NOT_APPLICABLE,
    NOT_AS_EXPECTED,
    NOT_REPRODUCED,
    REPRODUCED,
)

COLOURS = {
    REPRODUCED: "#1b7837",
    AS_EXPECTED: "#1b7837",
    NOT_REPRODUCED: "#b2182b",
    NOT_AS_EXPECTED: "#b35806",
    CONTRADICTED: "#b35806",
    NOT_APPLICABLE: "#6b6b6b",
}
"""The colour of each verdict, dark enough for white text on it."""


@dataclass(frozen=True)
class Making:
    """Results that were made in the same way, and how."""

    files: list[str]
    code: list[str]
    """`file@fingerprint`: the script and every module it imports."""
    software: Mapping[str, str]
    machine: Mapping[str, Any]
    settings: Any

    @property
    def script(self) -> str:
        """The `file@fingerprint` of the script itself."""
        return next(entry for entry in self.code if not entry.startswith("workflow/lib/"))


def group_records(records: Iterable[Mapping[str, Any]]) -> list[Making]:
    """The results that jobs recorded, grouped by what made them."""
    groups: dict[str, Making] = {}
    for record in records:
        made_by = {key: record[key] for key in ("code", "software", "machine", "settings")}
        making = groups.setdefault(digest(made_by), Making(files=[], **made_by))
        making.files.extend(record["sha256"])
    return list(groups.values())


def verdict_badge(verdict: str) -> str:
    """A verdict on its colour."""
    colour = COLOURS.get(verdict, COLOURS[NOT_APPLICABLE])
    return (
        f'<span class="verdict" style="background:{colour};color:#fff;padding:.15em .6em;'
        f'border-radius:.8em;font-size:.9em;display:inline-block;line-height:1.3">{escape(verdict)}</span>'
    )


def verdict_counts(claims: Sequence[Mapping[str, str]]) -> str:
    """How many claims got each verdict, in words."""
    counts = Counter(claim["verdict"] for claim in claims)
    ordered = [*(verdict for verdict in COLOURS if verdict in counts), *(counts.keys() - COLOURS)]
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in ordered)


def claims_table(claims: Sequence[Mapping[str, str]], columns: Mapping[str, str]) -> str:
    """The claims as an HTML table.

    Args:
        claims: the rows of claims.csv.
        columns: which of its columns to show, with their headings.
    """
    rows = [
        [
            verdict_badge(claim[column]) if column == "verdict" else escape(claim[column])
            for column in columns
        ]
        for claim in claims
    ]
    return table(list(columns.values()), rows)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of cells that are HTML already; headings are text."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def settings_table(study: Mapping[str, Any]) -> str:
    """A study's settings: one column for each experiment."""
    experiments = study["experiments"]
    columns = [
        flatten({"teacher_correctness": experiment["teacher_correctness"], **experiment["grpo"]})
        for experiment in experiments.values()
    ]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[escape(name), *(escape(column[name]) for column in columns)] for name in names]
    return table(["GRPO", *experiments], rows)


def definitions(values: Mapping[str, Any]) -> str:
    """Names and values as an HTML table without headings."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>\n"
        for name, value in flatten(values).items()
    )
    return f"<table><tbody>\n{rows}</tbody></table>"


def merge(mappings: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Mappings as one, with every value that a name has in any of them."""
    values: dict[str, list[str]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            known = values.setdefault(name, [])
            if str(value) not in known:
                known.append(str(value))
    return {name: ", ".join(known) for name, known in values.items()}


def flatten(value: Any, name: str = "") -> dict[str, str]:
    """Nested settings as text by dotted names; a list of plain values is one of them."""
    if isinstance(value, Mapping):
        parts = [(f"{name}.{key}" if name else str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        parts = [(f"{name}[{index}]", inner) for index, inner in enumerate(value)]
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return {name: text}
    return {key: text for part, inner in parts for key, text in flatten(inner, part).items()}


def provenance(
    makings: Sequence[Making], checksums: Mapping[str, str], sources: Mapping[str, str | None]
) -> str:
    """The body of the page that says what made each result.

    Args:
        makings: the results and how they were made.
        checksums: the SHA-256 of the results, as far as the manifest has them.
        sources: the text of each `file@fingerprint`; None where it was not kept.
    """
    contents = "".join(
        f'<li><a href="#making-{number}">{_title(making)}</a></li>\n'
        for number, making in enumerate(makings, 1)
    )
    files = "".join(f"<li>{_link(entry)}</li>\n" for entry in sources)
    return "\n".join(
        [
            '<nav><div><h2>Results</h2><ul class="contents">',
            contents,
            '</ul></div><div><h2>Source texts</h2><ul class="contents">',
            files,
            "</ul></div></nav>",
            *(_making(number, making, checksums) for number, making in enumerate(makings, 1)),
            "<h2>Source texts</h2>",
            *(_source(entry, text) for entry, text in sources.items()),
        ]
    )


def _title(making: Making) -> str:
    """A few of the results' names, as HTML."""
    files = [file.removeprefix(f"{layout.RESULTS}/") for file in making.files]
    shown = ", ".join(f"<code>{escape(file)}</code>" for file in files[:2])
    return shown if len(files) <= 2 else f"{shown} and {len(files) - 2} more"


def _link(entry: str) -> str:
    """A link to a source text on the same page."""
    file, _, mark = entry.partition("@")
    return (
        f'<a href="#{escape(entry)}"><code>{escape(file)}</code></a> <small>{escape(mark)}</small>'
    )


def _making(number: int, making: Making, checksums: Mapping[str, str]) -> str:
    """One section: the results, and all that decided them."""
    files = [
        [f"<code>{escape(file)}</code>", f"<code>{checksums.get(file, '–')}</code>"]
        for file in making.files
    ]
    modules = "".join(
        f"<li>{_link(entry)}</li>\n" for entry in making.code if entry != making.script
    )
    return f"""
<section id="making-{number}">
<h2>{_title(making)}</h2>
{table(["Result", "SHA-256"], files)}
<div class="columns">
<div><h3>Code <small>{digest(making.code)}</small></h3>
<p>Script: {_link(making.script)}</p>
<p>Modules it imports, directly or not:</p><ul>
{modules}</ul></div>
<div><h3>Settings <small>{digest(making.settings)}</small></h3>
{definitions(making.settings)}</div>
<div><h3>Software</h3>
{definitions(making.software)}
<h3>Machine</h3>
{definitions(making.machine)}</div>
</div>
</section>"""


def _source(entry: str, text: str | None) -> str:
    """One module's text."""
    file, _, mark = entry.partition("@")
    shown = "This text was not kept." if text is None else text
    return (
        f'<section class="source" id="{escape(entry)}"><h3><code>{escape(file)}</code> '
        f"<small>{escape(mark)}</small></h3>\n<pre>{escape(shown)}</pre></section>"
    )


def raw_rst(html: str) -> str:
    """HTML as a block of reStructuredText, in which Snakemake's Jinja finds nothing to fill in."""
    lines = "\n".join(f"   {line}" for line in html.replace("{", "&#123;").splitlines())
    return f".. raw:: html\n\n{lines}"
