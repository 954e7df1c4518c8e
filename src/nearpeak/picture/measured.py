# SPDX-License-Identifier: Apache-2.0
"""The measured rows that are drawn on a machine: figures of its paths."""

from dataclasses import dataclass, replace

from nearpeak.machine.machine import Machine
from nearpeak.numbers import alike, number, percent, size, unit
from nearpeak.picture.shapes import joined
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.terms.ratings import FAIR, GOOD, TIED

STATES = {"near": GOOD, "half": FAIR, "far": float("-inf")}


@dataclass(frozen=True)
class Measured:
    """One direction of a path at its largest message; the directions of a path share a letter."""

    letter: str
    path: DataPath
    name: str  # the path's id, or "host-memory" for several memories
    ends: str  # "GPU 0 to GPU 1", "inside NUMA node 0"
    size_bytes: int
    unit: str
    ceiling: float | None
    who: str | None  # the best library, as it is called in the tables
    value: float | None  # what it reaches
    fraction: float | None  # of the ceiling, paired in blocks
    why: str  # there is no library; empty where there is
    highest: float | None = None  # of several memories: the highest ceiling, the lowest is above
    spread: str = ""  # of the fraction, in percent: its interval, or its range
    confirmed: bool = True  # whether the fraction has an interval
    tied: bool = False  # whether other libraries may be as good
    back: "Measured | None" = None  # the other direction, on a badge of both

    @property
    def state(self) -> str:
        """`near`, `half` or `far` from the ceiling; `alone` without a library or a ceiling."""
        if self.fraction is None:
            return "alone"
        return next(state for state, least in STATES.items() if self.fraction >= least)

    @property
    def worse(self) -> "Measured":
        """The direction that is further from its ceiling."""
        if self.back is None or self.back.fraction is None or self.fraction is None:
            return self
        return min(self, self.back, key=lambda row: row.fraction or 0.0)

    @property
    def divides(self) -> bool:
        """True unless the share differs from the ratio of the two rates that stand with it."""
        if not self.fraction or not self.value or not self.ceiling:
            return True
        return alike(self.value / self.ceiling, self.fraction)

    @property
    def badge(self) -> str:
        """`A 97 %`; `D 13, 23 %` of two directions."""
        rows = filter(None, [self, self.back])
        shares = [f"{100 * row.fraction:.0f}" for row in rows if row.fraction is not None]
        return f"{self.letter} {', '.join(shares)} %" if shares else self.letter

    @property
    def sentences(self) -> str:
        """A line for each direction."""
        return "\n".join(row.sentence for row in (self, self.back) if row)

    @property
    def share(self) -> str:
        """`97.4 %`; "" without one."""
        return "" if self.fraction is None else f"{percent(self.fraction)} %"

    @property
    def figures(self) -> str:
        """`intel 353 of 362 GB/s`; without the ceiling where its median is on the other side of the
        library's than in most blocks, as the share says."""
        return self._figures("")

    @property
    def figures_at_size(self) -> str:
        """`intel 353 of 362 GB/s at 16 MiB`."""
        return self._figures(f" at {size(self.size_bytes)}")

    def _figures(self, suffix: str) -> str:
        shown, who = f"{unit(self.unit)}{suffix}", f"{self.who}{TIED if self.tied else ''}"
        if self.who is None:
            return f"ceiling {self._ceiling} {shown}, {self.why}"
        if self.ceiling is None:
            return f"{who} {number(self.value)} {shown}, no ceiling"
        above = self.value is not None and self.value > self.ceiling
        if self.fraction is not None and above != (self.fraction > 1):
            return f"{who} {number(self.value)} {shown}"
        return f"{who} {number(self.value)} of {number(self.ceiling)} {shown}"

    @property
    def sentence(self) -> str:
        """The whole row in one line."""
        label = f"{self.name}, {self.ends}, {size(self.size_bytes)}"
        share = " ".join(filter(None, [self.share, self.spread]))
        return f"{label}: {self.figures}" + (f" ({share})" if share else "")

    @property
    def _ceiling(self) -> str:
        low, high = number(self.ceiling), number(self.highest)
        return low if self.highest is None or low == high else f"{low} to {high}"


def summed(rows: list[Measured]) -> list[Measured]:
    """The rows with all memories in one, if these have the same size and unit."""
    local = [row for row in rows if row.path.is_local]
    if len(local) < 2 or len({(row.size_bytes, row.unit) for row in local}) > 1:
        return rows
    ceilings = [row.ceiling for row in local if row.ceiling is not None]
    nodes = [node for row in local if (node := row.path.ends[1].numa_node) is not None]
    combined = replace(
        local[0],
        name="host-memory",
        ends=f"inside nodes {joined(nodes)}",
        ceiling=min(ceilings),
        highest=max(ceilings),
    )
    return [*(row for row in rows if row not in local), combined]


def is_drawn(path: DataPath) -> bool:
    """True if the picture can show a path: two ends at known places, memory by its own cores."""
    if not path.is_pair or not path.located:
        return False
    return not path.is_local or path.ends[0].numa_node == path.ends[1].numa_node


def ends_words(machine: Machine, path: DataPath, turned: bool) -> str:
    """The parts of the machine that the ends are in, the sender first."""
    names = [end_name(machine, end) for end in path.ends]
    if path.between_hosts:
        return f"{names[0]} {'from' if turned else 'to'} the second host"
    if path.shares_gpu or (names[0] == names[1] and path.place.kind == "host-host"):
        return f"inside {names[0]}"
    first, second = reversed(names) if turned else names
    return f"{first} to {second}"


def end_name(machine: Machine, end: Endpoint) -> str:
    """`GPU 1`, `NUMA node 0`."""
    if end.gpu is None:
        return f"NUMA node {end.numa_node}"
    indices = {gpu.uuid: str(gpu.index) for gpu in machine.gpus}
    return f"GPU {indices.get(end.gpu, end.gpu if end.host else '?')}"
