# SPDX-License-Identifier: Apache-2.0
"""What is required of a study as JUnit XML: a test case for each requirement and library."""

from collections.abc import Sequence

from nearpeak.report import junit
from nearpeak.report.junit import Outcome
from nearpeak.results.faults import faults
from nearpeak.results.requirements import Judgement
from nearpeak.results.results import Results


def to_junit(results: Results, judged: Sequence[Judgement]) -> str:
    """The file, whole: a suite for how the launches ended, then one for each path."""
    wrong = "; ".join(faults(results))
    launches = Outcome("nearpeak", "all launches ended well", failure=wrong, kind="launches")
    paths = dict.fromkeys(one.requirement.path for one in judged)
    return junit.to_junit(
        "nearpeak report",
        [
            ("launches", [launches]),
            *(
                (path, [_test(one) for one in judged if one.requirement.path == path])
                for path in paths
            ),
        ],
    )


def _test(one: Judgement) -> Outcome:
    who, name = one.who.label, one.requirement.text
    if one.met:
        return Outcome(who, name, said=one.words)
    return Outcome(who, name, failure=one.words, kind="requirement")
