# SPDX-License-Identifier: Apache-2.0
"""What is expected of nodes, as JUnit XML."""

from nearpeak.nodes.found import Found
from nearpeak.report import junit
from nearpeak.report.junit import Outcome
from nearpeak.report.nodes import words


def to_junit(found: Found) -> str:
    """The file, whole: test cases for launches, data, nodes and links, and each requirement."""
    who = found.library
    unfinished = "" if found.complete else found.failed or "not all launches were run"
    slow = words.conclusion(found)
    judged = bool(found.verdicts) or (found.told_apart and found.tests > 0)
    tests = [
        Outcome(who, "all launches ended well", failure=unfinished, kind="launches"),
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
    for required in found.requirements:
        text = words.required(found, required)
        failure, said = ("", text) if required.met else (text, "")
        tests.append(
            Outcome(who, required.requirement, failure=failure, kind="requirement", said=said)
        )
    return junit.to_junit("nearpeak report", [("nodes", tests)])
