# SPDX-License-Identifier: Apache-2.0
"""What a study did not measure for want of time, as a table."""

from nearpeak.numbers import count
from nearpeak.report.sections import Column, Row, Rows, Table, Value
from nearpeak.results.results import Results
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.sizes import format_seconds


def table(results: Results) -> Table:
    """In the order in which it was left out; no rows where nothing was."""
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
    whole = max((left.whole_seconds for left in results.left_out), default=0.0)
    # What was measured since says more than the guess of all of it before the start.
    measured = max(
        (left.budget_seconds for left in results.left_out if left.after_blocks), default=0.0
    )
    all_of_it = f"--budget {format_seconds(whole)}"
    if measured:
        all_of_it = f"more than --budget {format_seconds(max(whole, measured))}"
    return Table(
        title="Left out, so that the budget holds enough launches of all else.",
        caption=(
            "Budget: the --budget with which it would be measured, guessed before the start or"
            " estimated from the blocks measured by then. What --benchmarks or --paths name is"
            " always measured." + (f" All of it: {all_of_it}." if whole else "")
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
