"""The last words of a run: where the results are, whether the claims hold, and what to do next."""

from collections.abc import Mapping, Sequence

from workflow.lib.report.pages import verdict_counts
from workflow.lib.study import layout
from workflow.lib.study.question import NOT_AS_EXPECTED, NOT_REPRODUCED


def summary(claims: Sequence[Mapping[str, str]], options: str = "") -> str:
    """A few short lines.

    Args:
        claims: the rows of the table of claims.
        options: what names the study on the command line, such as `--configfile mine.yaml`.
    """
    failed = [claim for claim in claims if claim["verdict"] in (NOT_REPRODUCED, NOT_AS_EXPECTED)]
    report = f"snakemake --report report.html {options}" if options else "make report"
    return "\n".join(
        [
            "",
            f"Figures:  {layout.RESULTS}/figures",
            f"Curves:   {layout.EXPLORE['page']}, for a browser",
            f"Claims:   {layout.CLAIMS['table']}",
            f"          {verdict_counts(claims)}",
            *(f"          {claim['verdict']}: {claim['statement']}" for claim in failed),
            f"Next:     {report} (all this on one page)",
        ]
    )
