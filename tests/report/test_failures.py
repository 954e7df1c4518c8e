# SPDX-License-Identifier: Apache-2.0
"""Launches that failed alike are told once."""

from nearpeak.identity import Place, Who
from nearpeak.report.failures import alike
from nearpeak.results.model import Failure


def failure(launch: int, message: str, **other: object) -> Failure:
    fields: dict[str, object] = {
        "who": Who("mpich"),
        "place": Place(path="host-host same-numa"),
        "benchmarks": ["latency"],
        "status": "crashed",
        **other,
    }
    return Failure(launch=launch, session=0, message=message, command="by hand", log=None, **fields)  # type: ignore[arg-type]


def test_messages_that_differ_in_numbers_are_alike() -> None:
    found = alike(
        [
            failure(3, "ended by SIGSEGV: pid 17 at 0x7ffe"),
            failure(5, "ended by SIGSEGV: pid 4 at 0xabc", benchmarks=["bw", "latency"]),
            failure(9, "ended by SIGSEGV: pid 8 at 0x1; given up after 3 failures in a row"),
        ]
    )
    (one,) = found
    assert one.first.launch == 3
    assert one.launches == [3, 5, 9]
    assert one.benchmarks == ["latency", "bw"]
    assert one.message == ("ended by SIGSEGV: pid 17 at 0x7ffe; given up after 3 failures in a row")


def test_others_are_not() -> None:
    found = alike(
        [
            failure(1, "ended by SIGSEGV"),
            failure(2, "ended by SIGABRT"),
            failure(3, "ended by SIGSEGV", who=Who("intel")),
            failure(4, "ended by SIGSEGV", place=Place(path="gpu-gpu nvlink")),
            failure(5, "ended by SIGSEGV", status="hung"),
        ]
    )
    assert [one.launches for one in found] == [[1], [2], [3], [4], [5]]
