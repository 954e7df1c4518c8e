# SPDX-License-Identifier: Apache-2.0
"""The table of measurements that a study left out for lack of time."""

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import count, listed
from nearpeak.report.families import title
from nearpeak.results.results import Results
from nearpeak.terms.benchmarks import FAMILIES
from nearpeak.terms.left_out import LeftOut, LeftOutKind
from nearpeak.terms.sizes import format_seconds

MOST_NAMED = 4  # in a sentence
KINDS: list[LeftOutKind] = ["benchmark", "family", "staging", "path", "library", "memory"]


def texts(results: Results) -> list[str]:
    """`left out for lack of time: bibw, collective operations and 7 more`, in fewer words each
    time, the last ones `left out: bibw and 8 more` and `9 left out`; none if everything was
    measured. Benchmarks come first, then families, which more readers look for than a path."""
    parts = sorted(results.left_out, key=_order)
    many = len(parts)
    if not many:
        return []
    shown = [
        listed([*map(_name, parts[:most]), *([f"{many - most} more"] if many > most else [])])
        for most in range(min(many, MOST_NAMED), 0, -1)
    ]
    reasoned = [f"left out for lack of time: {names}" for names in shown]
    return [*reasoned, f"left out: {shown[-1]}", f"{many} left out"]


def _order(left: LeftOut) -> tuple[int, int]:
    family = FAMILIES.index(left.name) if left.kind == "family" and left.name in FAMILIES else 0
    return KINDS.index(left.kind), family


def _name(left: LeftOut) -> str:
    """`collective operations`, `bibw`, `gpu-gpu same-gpu mps`."""
    return title(left.name).lower() if left.kind == "family" else left.label


def table(results: Results) -> Table:
    """The rows are in the order of leaving out; none if everything was measured."""
    rows = [
        Row(
            left.label,
            {
                "why": Value(left.why, "text"),
                "budget": Value(format_seconds(left.budget_seconds), "text"),
                "when": Value(_when(left), "text"),
            },
        )
        for left in results.left_out
    ]
    full_budget = max((left.whole_seconds for left in results.left_out), default=0.0)
    # Budgets estimated from measured blocks are better than the guess before the start.
    measured_budget = max(
        (left.budget_seconds for left in results.left_out if left.after_blocks), default=0.0
    )
    all_of_it = f"--budget {format_seconds(full_budget)}"
    if measured_budget:
        all_of_it = f"more than --budget {format_seconds(max(full_budget, measured_budget))}"
    return Table(
        title="Left out, so that the budget holds enough launches of all else.",
        caption=(
            "Budget: the --budget with which it would be measured, guessed before the start or"
            " estimated from the blocks measured by then. What --benchmarks or --paths name is"
            " always measured." + (f" All of it: {all_of_it}." if full_budget else "")
        ),
        head="What",
        columns=[
            Column("budget", "Budget", figure=False),
            Column("when", "Left out", figure=False),
            Column("why", "Why", figure=False, long=True),
        ],
        groups=[Rows("", rows)] if rows else [],
        compact=True,
    )


def _when(left: LeftOut) -> str:
    if left.after_blocks == 0:
        return "before the start"
    return f"after {count(left.after_blocks, 'block')}"
