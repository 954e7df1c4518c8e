# SPDX-License-Identifier: Apache-2.0
"""The faults of a study, a line each: the reasons for exit status 1."""

from collections import Counter
from collections.abc import Sequence

from nearpeak.grouping import grouped
from nearpeak.numbers import agreeing, count
from nearpeak.results.results import Failure, Results
from nearpeak.terms.identity import CEILING

SAID = {"wrong data": "received wrong data"}  # of a status that is no verb


def faults(results: Results) -> list[str]:
    """The endings of each library that failed, and whether anything is left of it."""
    endings = grouped(results.failures, lambda failure: failure.who.label)
    measured = {cell.who.label for cell in results.cells if cell.median is not None}
    if results.ceilings:
        measured.add(CEILING.label)
    return [
        f"{name} {_counted(failed)}" + ("" if name in measured else ", and nothing was measured")
        for name, failed in endings.items()
    ]


def _counted(failed: Sequence[Failure]) -> str:
    statuses = Counter(failure.status for failure in failed)
    text = ", ".join(
        f"{SAID.get(status, status)} in {count(number, 'launch')}"
        for status, number in statuses.items()
    )
    after = all(failure.lost == 0 for failure in failed)
    return f"{text}, after {agreeing(len(failed), 'its', 'their')} figures" if after else text


def effect(results: Results) -> str:
    """Says if the report is complete in spite of faults: if no launch lost a figure."""
    whole = results.complete and all(failure.lost == 0 for failure in results.failures)
    return "the report is complete, but " if whole else "the report lacks figures: "
