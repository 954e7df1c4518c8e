# SPDX-License-Identifier: Apache-2.0
"""The requirements of a study: a table for the page, and JUnit XML for CI."""

from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.numbers import count
from nearpeak.results.faults import faults
from nearpeak.results.results import Judgement, Results


def table(results: Results) -> Table:
    """A row for each requirement and library; no rows if nothing is required."""
    judged = results.requirements
    met = sum(judgement.met for judgement in judged)
    rows = [
        Row(
            judgement.requirement,
            {
                "who": Value(judgement.who.label, "text"),
                "how": Value(judgement.words, "text", tone="good" if judgement.met else "bad"),
            },
        )
        for judgement in judged
    ]
    return Table(
        title="Requirements.",
        caption=f"{met} of {count(len(judged), 'requirement')} met.",
        head="Required",
        columns=[
            Column("who", "of", figure=False),
            Column("how", "how it stands", figure=False, long=True),
        ],
        groups=[Rows("", rows)] if rows else [],
        compact=True,
    )


def to_junit(results: Results) -> str:
    """Returns the whole file: a suite about failed launches, then one for each path, with a test
    case for each requirement and library."""
    wrong = "; ".join(faults(results))
    launches = Outcome("nearpeak", "all launches ended well", failure=wrong, kind="launches")
    by_path: dict[str, list[Outcome]] = {}
    for judgement in results.requirements:
        by_path.setdefault(judgement.path, []).append(_test(judgement))
    return junit.to_junit("nearpeak report", [("launches", [launches]), *by_path.items()])


def _test(judgement: Judgement) -> Outcome:
    who, name = judgement.who.label, judgement.requirement
    return junit.required(who, name, judgement.words, met=judgement.met)
