# SPDX-License-Identifier: Apache-2.0
"""The keys of figures: the library (`Who`), the path (`Place`), and the metric (`Curve`, `Case`).

All are frozen, ordered and hashable. They hold the properties of paths and axes as data: nobody
parses a name.
"""

from collections.abc import Mapping
from typing import Literal, NoReturn

import msgspec

from nearpeak.terms.private import FreeText


class Axes(dict[str, str]):
    """A value for each axis, sorted by name; immutable."""

    def __init__(self, values: Mapping[str, str] = {}, **named: str) -> None:
        super().__init__(sorted({**values, **named}.items()))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the axes of a key are never changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _memo: object) -> "Axes":
        return self

    def __lt__(self, other: "Axes") -> bool:
        return tuple(self.items()) < tuple(other.items())

    def __le__(self, other: "Axes") -> bool:
        return tuple(self.items()) <= tuple(other.items())

    def __gt__(self, other: "Axes") -> bool:
        return tuple(self.items()) > tuple(other.items())

    def __ge__(self, other: "Axes") -> bool:
        return tuple(self.items()) >= tuple(other.items())


class Who(msgspec.Struct, frozen=True, order=True):
    """A library with one of its settings. Both are empty for a ceiling."""

    library: FreeText  # its name in the study
    settings: FreeText = "default"  # name of its settings; `default` has none

    @property
    def label(self) -> str:
        """`openmpi`; `openmpi@dmabuf-off` where the settings are not the default; `ceiling`."""
        if not self.library:
            return "ceiling"
        return self.library if self.settings == "default" else f"{self.library}@{self.settings}"


CEILING = Who("", "")  # no library: measured without one


# The GPU that the rank with host memory holds, if the other end is a GPU.
HostDevice = Literal[
    # no such rank, or not known; studies before this field have the meaning of `same` within a host
    "",
    "none",  # no GPU
    "own",  # a GPU of its own
    "same",  # the GPU of the other end, time-sliced
]
HELD = {"none": "no GPU", "own": "a GPU of its own", "same": "the same GPU, time-sliced"}


class Place(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """The memories between which data moves, in words that are the same on every machine. DataPath
    has the details of this machine."""

    path: str  # id of the path
    # `memory`: MPI's own choice inside a host; `network`: network forced; `local`: no MPI;
    # `unknown`: imported, and the file does not say
    transport: str = "memory"
    ends: tuple[str, ...] = ("host", "host")  # memory of each rank: `host` or `gpu`
    hosts: int = 1  # hosts that the ranks are spread over; 0: not known
    shared: bool = False  # several ranks share a GPU
    mps: bool = False  # they share it through a daemon of NVIDIA's MPS
    # GPU that the rank with host memory holds, if the other end is a GPU
    host_device: HostDevice = ""
    # id of the path that differs only in the MPS daemon, in `host_device`, or in GPU support of the
    # library; empty: none
    variant_of: str = ""
    # names of both ends, if it is one of all pairs of its kind; else empty
    pair: tuple[str, ...] = ()

    @property
    def held(self) -> str:
        """The GPU that the rank with host memory holds, in words; "" if none or unknown."""
        if not self.host_device:
            return ""
        return f"the host's rank holds {HELD[self.host_device]}"

    @property
    def gpu_support(self) -> bool:
        """True if the GPU support of the library is on, though all memory is host memory."""
        return bool(self.variant_of) and set(self.ends) == {"host"}

    @property
    def kind(self) -> str:
        """`host-host`, `host-gpu`, `gpu-gpu`: the memories of its first rank and its last."""
        return f"{self.ends[0]}-{self.ends[-1]}"

    @property
    def group(self) -> str:
        """`host-gpu near`, its id; of one of all pairs, `gpu-gpu pairs`."""
        return f"{self.kind} pairs" if self.pair else self.path

    @property
    def in_host_memory(self) -> bool:
        """True if data moves only within host memory, by the transport that MPI chooses."""
        return self.transport == "memory" and set(self.ends) == {"host"}


class Curve(msgspec.Struct, kw_only=True, frozen=True, order=True):
    """One metric of a benchmark, with its buffers and axes, measured over x."""

    # `latency`, `bw`, `bibw`, ...; if only `nearpeak-native` measures it, the mode of that program
    benchmark: str
    metric: str  # one of the benchmark's metrics
    # of the first half of the ranks and of the second, `H,D`: H host, P pinned, D device, M managed
    buffers: str
    # value of each axis of the benchmark; of a ceiling, only axes that it depends on
    axes: dict[str, str]

    def __post_init__(self) -> None:
        if type(self.axes) is not Axes:  # declared as a type that msgspec knows
            msgspec.structs.force_setattr(self, "axes", Axes(self.axes))

    @property
    def figure(self) -> str:
        """The name without buffers and axes: `bw`, `mbw_mr mr`."""
        same = self.benchmark == self.metric
        return self.benchmark if same else f"{self.benchmark} {self.metric}"

    def at(self, x: int) -> "Case":
        """Its case at one x."""
        return Case(**msgspec.structs.asdict(self), x=x)


class Case(Curve, kw_only=True, frozen=True, order=True):
    """One point of a curve."""

    x: int  # as the benchmark defines it: bytes of a message, size of a problem

    @property
    def curve(self) -> Curve:
        """The case without its x."""
        return Curve(
            benchmark=self.benchmark, metric=self.metric, buffers=self.buffers, axes=self.axes
        )
