# SPDX-License-Identifier: Apache-2.0
"""Which way messages of each length go with the layer, by its own report."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from nearpeak.errors import UserError
from nearpeak.study.single import Single
from nearpeak.study.single_launch import measure

# Each in a power of two of its own, as the layer counts.
SIZES = [8, 64, *(1 << power for power in (7, 10, 12, 14, 15, 16, 17, 18, 19, 20, 22, 24))]
REPORT = {"NEARPEAK_LAYER_REPORT": "2"}
SAMPLING = ("--slot-ms", "20")
# As in layer/ways.cpp and layer/begin.cpp.
_LINE = re.compile(
    r"nearpeak layer: rank (?P<rank>\d+): (?P<end>sent from|received into|received from) a device,"
    r" at most (?P<bytes>\d+) bytes: (?P<ways>.+)"
)
_SET = re.compile(r"nearpeak layer: set: (.+)")
_FOUND = re.compile(r"(?:\(up to|,) (\d+) bytes from rank (\d+)")


class Step(msgspec.Struct, frozen=True):
    """Messages of a size."""

    size_bytes: int
    way: str  # "" where the layer says nothing of them
    latency_us: float  # of `nearpeak-mpi latency`: half of there and back


class Leg(msgspec.Struct, frozen=True):
    """Messages from one memory into another."""

    words: str  # "from a device to a device"
    buffers: str  # of the launch; of H,D the time is the mean of both directions
    path: str
    steps: list[Step]


class Ways(msgspec.Struct, frozen=True):
    """What was found of a library."""

    library: str
    version: str
    host: str
    settings: dict[str, str]  # of the layer, those that decide
    # By rank of the sender: up to how many bytes a kernel copies between devices, where it was
    # measured.
    kernel_bytes: dict[int, int]
    legs: list[Leg]


@dataclass(frozen=True)
class _Asked:
    words: str
    sender: int
    receiver: int
    end: str  # the receiver's


_ASKED = {
    "D,D": [_Asked("from a device to a device", 0, 1, "received into")],
    "H,D": [
        _Asked("from the host to a device", 0, 1, "received into"),
        _Asked("from a device to the host", 1, 0, "received from"),
    ],
}
BUFFERS = tuple(_ASKED)


class Told(msgspec.Struct, frozen=True):
    """What the layer has said in one launch."""

    settings: dict[str, str]
    kernel_bytes: dict[int, int]
    # By rank, end ("sent from") and the bytes at most: how many messages went each way.
    counts: dict[tuple[int, str, int], dict[str, int]]

    def way(self, asked: _Asked, size: int) -> str:
        """That of most messages: the receiver says it, of those through host memory into such
        memory the sender alone."""
        ways = self.counts.get((asked.receiver, asked.end, size)) or self.counts.get(
            (asked.sender, "sent from", size), {}
        )
        return max(ways, key=lambda way: ways[way], default="")


def told(said: str) -> Told:
    """Reads the lines of the layer's report in the output of a launch."""
    counts = {}
    for line in _LINE.finditer(said):
        ways = {}
        for way in line["ways"].split("; "):
            times, _, words = way.partition(" ")
            ways[words] = int(times)
        counts[int(line["rank"]), line["end"], int(line["bytes"])] = ways
    settings = _SET.search(said)
    return Told(
        settings=dict(word.split("=", 1) for word in settings[1].split()) if settings else {},
        kernel_bytes={int(rank): int(most) for most, rank in _FOUND.findall(said)},
        counts=counts,
    )


def explain(chosen: Sequence[Single], sizes: Sequence[int], tell: Callable[[str], None]) -> Ways:
    """Launches each, `latency` between BUFFERS: one library, one machine. UserError where the layer
    is not on; LaunchFailed."""
    legs: list[Leg] = []
    settings: dict[str, str] = {}
    kernel_bytes: dict[int, int] = {}
    listed = ",".join(map(str, sizes))
    for each in chosen:
        tell(f"{each.benchmark.name} {each.buffers} on {each.path.id}: {each.path.summary}")
        with each.mps():
            cases = measure(each, ["--sizes", listed, *SAMPLING], REPORT)
        found = told(cases[0].said)
        if not found.settings:
            raise UserError(_why_off(cases[0].said))
        settings = found.settings
        kernel_bytes.update(found.kernel_bytes)
        for asked in _ASKED[each.buffers]:
            steps = [
                Step(case.case.size_bytes, found.way(asked, case.case.size_bytes), case.value)
                for case in cases
            ]
            legs.append(Leg(asked.words, each.buffers, each.path.id, steps))
    return Ways(
        library=chosen[0].library.name,
        version=chosen[0].library.version,
        host=chosen[0].machine.hostname,
        settings=settings,
        kernel_bytes=kernel_bytes,
        legs=legs,
    )


def _why_off(said: str) -> str:
    """The layer's own line, if it has said one."""
    line = re.search(r"^nearpeak layer: (.+)$", said, re.MULTILINE)
    return f"the layer says nothing of its messages{': ' + line[1] if line else ''}"


def alike(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps in their order, in groups that go the same way."""
    groups: list[list[Step]] = []
    for step in steps:
        if groups and groups[-1][-1].way == step.way:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups
