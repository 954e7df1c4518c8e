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
    paths = dict.fromkeys(judgement.requirement.path for judgement in judged)
    return junit.to_junit(
        "nearpeak report",
        [
            ("launches", [launches]),
            *(
                (
                    path,
                    [
                        _test(judgement)
                        for judgement in judged
                        if judgement.requirement.path == path
                    ],
                )
                for path in paths
            ),
        ],
    )


def _test(judgement: Judgement) -> Outcome:
    who, name = judgement.who.label, judgement.requirement.text
    if judgement.met:
        return Outcome(who, name, said=judgement.words)
    return Outcome(who, name, failure=judgement.words, kind="requirement")
