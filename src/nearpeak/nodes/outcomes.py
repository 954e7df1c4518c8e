# SPDX-License-Identifier: Apache-2.0
"""A run of all pairs of nodes as JUnit XML: what is judged of it."""

from collections.abc import Iterator

from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.nodes import wording
from nearpeak.nodes.found import Found


def to_junit(results: Found) -> str:
    """Returns the whole file: test cases for launches, data, nodes, links and each requirement."""
    return junit.to_junit("nearpeak report", [("nodes", _tests(results))])


def _tests(results: Found) -> Iterator[Outcome]:
    who, slow = results.library, wording.conclusion(results)
    unfinished, wrong = wording.unfinished(results), wording.wrong(results)
    yield Outcome(who, "all launches ended well", unfinished, kind="launches")
    yield Outcome(who, "all data was right", wrong, kind="data", details="\n".join(results.wrong))
    judged = results.verdicts or results.unclear or results.judged
    yield Outcome(
        who,
        "no node and no link is slow",
        failure=slow if results.verdicts or results.unclear else "",
        kind="slow",
        skipped="" if judged else slow,
    )
    for one in results.requirements:
        yield junit.required(who, one.requirement, wording.required(results, one), met=one.met)
