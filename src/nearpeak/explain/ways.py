# SPDX-License-Identifier: Apache-2.0
"""The route of messages of each size through the layer, by its report."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearpeak.errors import UserError
from nearpeak.launching.single import Single
from nearpeak.launching.single_launch import LaunchFailed, Measured, measure
from nearpeak.observations.ways import Leg, Step, Ways

# Each in a separate power of two, as the layer counts.
SIZES = [8, 64, *(1 << power for power in (7, 10, 12, 14, 15, 16, 17, 18, 19, 20, 22, 24))]
REPORT = {"NEARPEAK_LAYER_REPORT": "2"}
SAMPLING = ("--slot-ms", "20")
# As preload/layer/world/routes.cpp and preload/layer/protocol/handshake.cpp write them.
_LINE = re.compile(
    r"nearpeak layer: rank (?P<rank>\d+): (?P<end>sent from|received into|received from) a device,"
    r" at most (?P<bytes>\d+) bytes: (?P<ways>.+)"
)
_WAY = re.compile(r"(\d+) ([a-z, ]+)")
_SET = re.compile(r"nearpeak layer: set: (.+)")
_FOUND = re.compile(r"(?:\(up to|,) (\d+) bytes from rank (\d+)")
_NO_KERNEL = re.compile(r"nearpeak layer: rank \d+: sent .+ of datatypes: (.+)")


@dataclass(frozen=True)
class _Direction:
    words: str
    # The ranks and ends whose counts are added. A receiver in host memory does not see messages
    # through host memory.
    counted: tuple[tuple[int, str], ...]


_THERE = _Direction("from a device to a device", ((1, "received into"),))
_BACK = _Direction("back, from rank 1 to rank 0", ((0, "received into"),))
_DIRECTIONS = {
    "D,D": [_THERE, _BACK],
    "H,D": [
        _Direction("from the host to a device", ((1, "received into"),)),
        _Direction("from a device to the host", ((0, "received from"), (1, "sent from"))),
    ],
}
BUFFERS = tuple(_DIRECTIONS)


@dataclass(frozen=True)
class Report:
    """The report of the layer in one launch."""

    settings: dict[str, str]
    kernel_bytes: dict[int, int]
    no_kernel: str
    # By rank, end ("sent from") and the largest size in bytes: the messages of each route.
    counts: dict[tuple[int, str, int], Counter[str]]

    def way(self, direction: _Direction, size: int) -> str:
        """The route of most messages of a size; "" without any."""
        ways: Counter[str] = Counter()
        for rank, end in direction.counted:
            ways += self.counts.get((rank, end, size), Counter())
        return ways.most_common(1)[0][0] if ways else ""

    def ways(self, direction: _Direction, cases: Sequence[Measured]) -> list[str]:
        """The route at the size of each case."""
        return [self.way(direction, case.case.size_bytes) for case in cases]


def parse_report(output: str) -> Report:
    """Parses the lines of the layer's report in the output of a launch."""
    counts: dict[tuple[int, str, int], Counter[str]] = {}
    for line in _LINE.finditer(output):
        ways = counts.setdefault((int(line["rank"]), line["end"], int(line["bytes"])), Counter())
        for times, way in _WAY.findall(line["ways"]):
            ways[way] += int(times)
    settings = _SET.search(output)
    reason = _NO_KERNEL.search(output)
    return Report(
        settings=dict(re.findall(r"(\w+)=(\S+)", settings[1])) if settings else {},
        kernel_bytes={int(rank): int(most) for most, rank in _FOUND.findall(output)},
        no_kernel=reason[1] if reason else "",
        counts=counts,
    )


def explain(chosen: Sequence[Single], sizes: Sequence[int], tell: Callable[[str], None]) -> Ways:
    """Launches each of `chosen`: a benchmark of one message with one library, between BUFFERS.

    UserError if the layer is off; LaunchFailed if none has a figure.
    """
    legs: list[Leg] = []
    settings: dict[str, str] = {}
    kernel_bytes: dict[int, int] = {}
    failed: list[str] = []
    no_kernel = ""
    for single in chosen:
        tell(f"{single.benchmark.name} {single.buffers} on {single.path.id}: {single.path.summary}")
        try:
            cases = _cases(single, sizes, first=not legs)
        except LaunchFailed as error:
            failed.append(f"{single.buffers}: {error}")
            continue
        report = parse_report(cases[0].said)
        if not report.settings:
            raise UserError(_reason_off(cases[0].said))
        settings = report.settings
        kernel_bytes.update(report.kernel_bytes)
        no_kernel = no_kernel or report.no_kernel
        ways = {
            direction: report.ways(direction, cases) for direction in _DIRECTIONS[single.buffers]
        }
        if ways.get(_BACK) == ways.get(_THERE):
            ways.pop(_BACK, None)
        for direction, names in ways.items():
            steps = [
                Step(case.case.size_bytes, name, case.value)
                for case, name in zip(cases, names, strict=True)
            ]
            legs.append(Leg(direction.words, single.buffers, single.path.id, steps))
    if not legs:
        raise LaunchFailed("; ".join(failed))
    return Ways(
        library=chosen[0].library.name,
        version=chosen[0].library.version,
        host=chosen[0].machine.hostname,
        settings=settings,
        kernel_bytes=kernel_bytes,
        no_kernel=no_kernel,
        legs=legs,
        failed=failed,
    )


def _cases(chosen: Single, sizes: Sequence[int], *, first: bool) -> list[Measured]:
    with chosen.mps():
        if first:  # the layer compiles its kernels meanwhile, and keeps them for the next launch
            measure(chosen, ["--sizes", str(sizes[0]), *SAMPLING])
        return measure(chosen, ["--sizes", ",".join(map(str, sizes)), *SAMPLING], REPORT)


def _reason_off(output: str) -> str:
    """The error message, with the line of the layer if it printed one."""
    line = re.search(r"^nearpeak layer: (.+)$", output, re.MULTILINE)
    reason = line[1] if line else "unset NEARPEAK_LAYER, if it is off by that"
    return f"the layer says nothing of its messages: {reason}"
