# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike, told once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearpeak.identity import Place, Who
from nearpeak.results.model import Failure
from nearpeak.study.state import GIVEN_UP

NUMBERS = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Alike:
    """Launches of one library in one place that ended in the same way."""

    first: Failure
    launches: list[int]
    benchmarks: list[str]  # that they were to measure
    message: str  # the first one's, and that no further one was tried


def alike(failures: Sequence[Failure]) -> list[Alike]:
    """The failures by library, place, status and message, which may differ in its numbers."""
    found: dict[tuple[Who, Place, str, str], list[Failure]] = {}
    for failure in failures:
        words, _, _ = failure.message.partition(GIVEN_UP)
        key = (failure.who, failure.place, failure.status, NUMBERS.sub("#", words))
        found.setdefault(key, []).append(failure)
    return [_alike(each) for each in found.values()]


def _alike(each: list[Failure]) -> Alike:
    words, _, _ = each[0].message.partition(GIVEN_UP)
    ends = [mark + rest for _, mark, rest in (one.message.partition(GIVEN_UP) for one in each)]
    return Alike(
        first=each[0],
        launches=[one.launch for one in each],
        benchmarks=list(dict.fromkeys(name for one in each for name in one.benchmarks)),
        message=words + max(ends, key=len),
    )
