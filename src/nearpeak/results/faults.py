# SPDX-License-Identifier: Apache-2.0
"""The faults of a study, a line each: the reasons for exit status 1."""

from collections import Counter

from nearpeak.numbers import count
from nearpeak.results.results import Results
from nearpeak.terms.identity import CEILING


def faults(results: Results) -> list[str]:
    """The endings of each library that failed, and whether anything is left of it."""
    endings: dict[str, Counter[str]] = {}
    for failure in results.failures:
        endings.setdefault(failure.who.label, Counter())[failure.status] += 1
    measured = {cell.who.label for cell in results.cells if cell.median is not None}
    if results.ceilings:
        measured.add(CEILING.label)
    return [
        f"{name}: {_counted(statuses)}" + ("" if name in measured else ", and nothing was measured")
        for name, statuses in endings.items()
    ]


def _counted(statuses: Counter[str]) -> str:
    return ", ".join(
        f"{count(number, 'launch')} {'received wrong data' if status == 'wrong data' else status}"
        for status, number in statuses.items()
    )
