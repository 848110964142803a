"""The last words of a run: where the results are, whether the claims hold, and what to do next."""

from collections import Counter
from collections.abc import Mapping, Sequence


def summary(claims: Sequence[Mapping[str, str]], extensions: bool, options: str = "") -> str:
    """A few short lines.

    Args:
        claims: the rows of claims.csv.
        extensions: whether the extensions were run, too.
        options: what named the study on the command line, such as `--configfile mine.yaml`.
    """
    counts = Counter(claim["verdict"] for claim in claims)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    failed = [claim["statement"] for claim in claims if claim["verdict"] == "not reproduced"]
    lines = [
        "",
        "Figures:  results/figures",
        "Curves:   results/explore.html, for a browser",
        "Claims:   results/claims.csv",
        f"          {verdicts}",
        *(f"          not reproduced: {statement}" for statement in failed),
    ]
    if extensions:
        lines.append("Beyond:   results/extensions/findings.csv, and explore.html beside it")
    report = f"snakemake --report report.html {options}" if options else "make report"
    lines.append(f"Next:     {report} (all this on one page)")
    return "\n".join(lines)
