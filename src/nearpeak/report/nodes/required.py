# SPDX-License-Identifier: Apache-2.0
"""What is expected of nodes, as JUnit XML."""

from nearpeak.nodes.found import Found
from nearpeak.report import junit
from nearpeak.report.junit import Outcome
from nearpeak.report.nodes import words


def to_junit(found: Found) -> str:
    """The file, whole: test cases for launches, data, nodes and links, and each requirement."""
    who = found.library
    slow = words.conclusion(found)
    judged = bool(found.verdicts) or (found.told_apart and found.tests > 0)
    tests = [
        Outcome(who, "all launches ended well", failure=words.unfinished(found), kind="launches"),
        Outcome(
            who,
            "all data was right",
            failure=words.wrong(found),
            kind="data",
            details="\n".join(found.wrong),
        ),
        Outcome(
            who,
            "no node and no link is slow",
            failure=slow if found.verdicts else "",
            kind="slow",
            skipped="" if judged else slow,
        ),
    ]
    tests += [
        junit.required(who, each.requirement, words.required(found, each), met=each.met)
        for each in found.requirements
    ]
    return junit.to_junit("nearpeak report", [("nodes", tests)])
