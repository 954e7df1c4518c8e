# SPDX-License-Identifier: Apache-2.0
"""The requirements of nodes as JUnit XML."""

from nearpeak.document import junit
from nearpeak.document.junit import Outcome
from nearpeak.nodes.found import Found
from nearpeak.report.nodes import words


def to_junit(results: Found) -> str:
    """Returns the whole file: test cases for launches, data, nodes, links and each requirement."""
    who = results.library
    slow = words.conclusion(results)
    judged = bool(results.verdicts) or (results.told_apart and results.tests > 0)
    tests = [
        Outcome(who, "all launches ended well", failure=words.unfinished(results), kind="launches"),
        Outcome(
            who,
            "all data was right",
            failure=words.wrong(results),
            kind="data",
            details="\n".join(results.wrong),
        ),
        Outcome(
            who,
            "no node and no link is slow",
            failure=slow if results.verdicts else "",
            kind="slow",
            skipped="" if judged else slow,
        ),
    ]
    tests += [
        junit.required(
            who, requirement.requirement, words.required(results, requirement), met=requirement.met
        )
        for requirement in results.requirements
    ]
    return junit.to_junit("nearpeak report", [("nodes", tests)])
