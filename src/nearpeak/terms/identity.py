# SPDX-License-Identifier: Apache-2.0
"""Who was measured, where, and in what: one type each, used as keys wherever figures are kept.

All are frozen, ordered and hashable. What a path or an axis is stands in them as data: nobody
reads it out of a name.
"""

from collections.abc import Mapping
from typing import Literal, NoReturn

import msgspec


class Axes(dict[str, str]):
    """A value for each axis; never changed once made, in the order of the names."""

    def __init__(self, values: Mapping[str, str] = {}, **named: str) -> None:
        super().__init__(sorted({**values, **named}.items()))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the axes of a key are never changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __lt__(self, other: "Axes") -> bool:
        return tuple(self.items()) < tuple(other.items())

    def __le__(self, other: "Axes") -> bool:
        return tuple(self.items()) <= tuple(other.items())

    def __gt__(self, other: "Axes") -> bool:
        return tuple(self.items()) > tuple(other.items())

    def __ge__(self, other: "Axes") -> bool:
        return tuple(self.items()) >= tuple(other.items())


class Who(msgspec.Struct, frozen=True, order=True):
    """A library with one of its settings. A ceiling has neither (`CEILING`)."""

    library: str
    settings: str = "default"

    @property
    def label(self) -> str:
        """`openmpi`; `openmpi@dmabuf-off` where the settings are not the default; `ceiling`."""
        if not self.library:
            return "ceiling"
        return self.library if self.settings == "default" else f"{self.library}@{self.settings}"


CEILING = Who("", "")  # no library: what a path carries without one


# Which GPU the rank with the host's memory holds, where the other end is a GPU's: none, one of its
# own, or the GPU of the other end. "": there is no such rank, or nobody says.
HostDevice = Literal["", "none", "own", "same"]
HELD = {"none": "no GPU", "own": "a GPU of its own", "same": "the same GPU, time-sliced"}


class Place(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """Between which memories data moves, in words that are the same on every machine."""

    path: str  # its id
    # "memory": MPI's own choice inside a node; "network": network forced; "local": no MPI;
    # "unknown": whoever measured it does not say
    transport: str = "memory"
    ends: tuple[str, ...] = ("host", "host")  # of each rank, whose memory: "host" or "gpu"
    hosts: int = 1  # how many the ranks are spread over; 0: not known
    shared: bool = False  # several ranks share a GPU,
    mps: bool = False  # through a daemon of NVIDIA's MPS
    host_device: HostDevice = ""
    # The id of the path that differs from it in that daemon alone, in `host_device`, or in
    # `gpu_support`.
    variant_of: str = ""
    pair: tuple[str, ...] = ()  # the names of both ends, where it is one of all pairs of its kind

    @property
    def held(self) -> str:
        """Which GPU the rank with the host's memory holds, in words; "" where there is no such
        rank, or nobody says."""
        if not self.host_device:
            return ""
        return f"the host's rank holds {HELD[self.host_device]}"

    @property
    def gpu_support(self) -> bool:
        """Whether the library's support of GPUs is on, though all memory is the host's."""
        return bool(self.variant_of) and set(self.ends) == {"host"}

    @property
    def kind(self) -> str:
        """`host-host`, `host-gpu`, `gpu-gpu`: the memories of its first rank and its last."""
        return f"{self.ends[0]}-{self.ends[-1]}"

    @property
    def in_host_memory(self) -> bool:
        """Whether data moves through memory of a host alone, by whatever MPI chooses."""
        return self.transport == "memory" and set(self.ends) == {"host"}


class Curve(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """One metric of a benchmark, with its buffers and axes: what is measured over the x axis."""

    benchmark: str
    metric: str
    buffers: str  # of the first half of the ranks, and of the second: "H,D"
    axes: dict[str, str]  # always `Axes`; declared as what msgspec knows

    def __post_init__(self) -> None:
        if type(self.axes) is not Axes:
            msgspec.structs.force_setattr(self, "axes", Axes(self.axes))

    @property
    def figure(self) -> str:
        """`bw`, `mbw_mr mr`: what it is called without its buffers and axes."""
        same = self.benchmark == self.metric
        return self.benchmark if same else f"{self.benchmark} {self.metric}"

    def at(self, x: int) -> "Case":
        """Its case at one x."""
        return Case(**msgspec.structs.asdict(self), x=x)


class Case(Curve, kw_only=True, frozen=True, order=True):
    """One point of a curve. What `x` is, the benchmark says of itself: bytes of a message."""

    x: int

    @property
    def curve(self) -> Curve:
        """All but x."""
        return Curve(
            benchmark=self.benchmark, metric=self.metric, buffers=self.buffers, axes=self.axes
        )
