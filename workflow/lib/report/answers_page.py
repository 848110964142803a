"""The page that shows what the teacher and the models answer, prompt by prompt."""

from collections.abc import Mapping
from html import escape

import pandas as pd

from workflow.lib.drawing.colours import BLUE, GREY, RED
from workflow.lib.report.pages import table
from workflow.lib.task.arithmetic import no_carry_sum

Answers = Mapping[int, pd.DataFrame]
"""By seed, a row for each prompt, as `answers.answers_table` makes them."""


def answers_body(experiments: Mapping[str, Answers], correctness: Mapping[str, float]) -> str:
    """The body of the page.

    Args:
        experiments: the answers before GRPO and after, by experiment.
        correctness: how often the teacher of each gives the true sum.
    """
    key = "".join(
        f'<span style="background:{colour};width:1em;height:1em;display:inline-block;'
        f'vertical-align:-.12em"></span> {words} &nbsp; '
        for colour, words in [
            (BLUE, "the true sum"),
            (RED, "the sum without its carries"),
            (GREY, "anything else"),
        ]
    )
    sections = [
        f"<h2>{escape(name)}: a teacher who is right with probability {correctness[name]:g}</h2>\n"
        + _table(answers, correctness[name])
        for name, answers in experiments.items()
    ]
    return f"<p>{key}</p>\n" + "\n".join(sections)


def _table(answers: Answers, q: float) -> str:
    first = next(iter(answers.values()))
    rows = []
    for place in range(len(first)):
        a, b = int(first.a[place]), int(first.b[place])
        right, no_carry = a + b, no_carry_sum(a, b)
        teacher = (1.0, 0.0) if right == no_carry else (q, 1 - q)
        cells = [f"{a} + {b}", f"{right:03d}", f"{no_carry:03d}", _bar(*teacher)]
        for model in ("sft", "grpo"):
            share = sum(frame[f"{model}_right"][place] for frame in answers.values())
            error = sum(frame[f"{model}_no_carry"][place] for frame in answers.values())
            shares = (share / len(answers), error / len(answers) * (right != no_carry))
            greedy = " ".join(
                _number(int(frame[f"{model}_greedy"][place]), right) for frame in answers.values()
            )
            cells += [_bar(*shares), greedy]
        rows.append(cells)
    headings = ["Prompt", "Sum", "Without carries", "Teacher"]
    headings += ["SFT: samples", "greedy", "after GRPO: samples", "greedy"]
    return f'<div style="overflow-x:auto">{table(headings, rows)}</div>'


def _number(answer: int, right: int) -> str:
    """A greedy answer, marked where it is wrong."""
    text = "none" if answer < 0 else f"{answer:03d}"
    return text if answer == right else f'<b style="color:{RED}">{text}</b>'


def _bar(right: float, no_carry: float) -> str:
    """How an answer's probability is shared out, as a bar with the true sum's share in words."""
    other = max(0.0, 1 - right - no_carry)
    parts = "".join(
        f'<span style="background:{colour};width:{100 * share:.1f}%"></span>'
        for colour, share in [(BLUE, right), (RED, no_carry), (GREY, other)]
    )
    words = f"right {right:.0%}, without carries {no_carry:.0%}, other {other:.0%}"
    return (
        f'<span title="{words}" style="display:inline-flex;width:7em;height:.9em;'
        f'vertical-align:middle">{parts}</span> {right:.0%}'
    )
