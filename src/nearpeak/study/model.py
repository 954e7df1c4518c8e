# SPDX-License-Identifier: Apache-2.0
"""plan.json: what a study is going to run. Enough to resume it and to make its report."""

import uuid
from collections.abc import Mapping
from typing import Literal

import msgspec

from nearpeak.libraries.model import Library, Settings
from nearpeak.machine.model import Path
from nearpeak.study.benchmarks import Benchmark, named

# Metrics of `nearpeak-native gpu` that no benchmark of MPI has: facts of a path that its times are
# made of, and no ceilings of anything.
GPU_FACTS = ("device_latency", "flag_latency", "ipc_open")
SCHEMA = 2
Role = Literal["mpi", "ceiling"]
STAGING = "staging"  # the axis of benchmarks that copy device buffers to the host themselves
DIRECT = "none"  # its value where they do not


def new_study() -> str:
    """An id for a study, or for launches that belong to none."""
    return uuid.uuid4().hex


def label(library: str, settings: str) -> str:
    """`openmpi`, or `openmpi@dmabuf-off` when the settings are not the default ones."""
    return library if settings == "default" else f"{library}@{settings}"


def staging(axes: Mapping[str, str]) -> str | None:
    """How the benchmark itself copies through host memory; None: the library gets the buffers.

    Such a cell is a baseline that every user could write, not what the library can do.
    """
    value = axes.get(STAGING, DIRECT)
    return None if value == DIRECT else value


class Variant(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark with a value for each of its axes: what one launch measures."""

    benchmark: str
    axes: dict[str, str]
    buffers: str = "H,H"  # of the first half of the ranks, and of the second


class Contender(msgspec.Struct, kw_only=True, frozen=True):
    """A library with one of its settings."""

    library: Library
    settings: Settings

    @property
    def label(self) -> str:
        """As `label` has it."""
        return label(self.library.name, self.settings.name)


class Awareness(msgspec.Struct, kw_only=True, frozen=True):
    """One operation of a library, tried with one kind of buffers in a job of its own."""

    library: str
    settings: str
    buffers: str  # of each rank: "D,D"
    operation: str  # a benchmark's name, or what has no benchmark yet: "put"
    # "ok", "crashed", "hung", "wrong data", "failed" (did not start), or "not tried" (there was no
    # device, or no memory of it)
    status: str
    message: str  # the evidence
    command: str  # repeats the trial


class PlannedLaunch(msgspec.Struct, kw_only=True, frozen=True):
    """One launch: variants of different benchmarks with the same buffers, in this order.

    A ceiling has no contender and no variants. Between two hosts there are several: over TCP, and
    over an RDMA adapter.
    """

    launch: int
    block: int
    role: Role
    path: str
    contender: int | None  # index into Plan.contenders
    variants: list[int]  # indexes into Plan.variants
    seed: int
    axes: dict[str, str] = {}  # of a ceiling: what it is matched on, "reuse" and "touch"
    buffers: str = "H,H"
    adapter: str | None = None  # of a ceiling: the RDMA adapter that it is measured with


class Plan(msgspec.Struct, kw_only=True):
    """The whole plan; `launches` holds every block up to the last look, in order."""

    schema: int
    study: str  # id
    created: str
    seed: int
    sizes: list[int]
    slot_ms: int
    window: int
    in_flight_bytes: int
    gpu_in_flight_bytes: int  # where a rank has memory of a GPU's driver
    looks: list[int]  # numbers of launches a cell at which precision is judged
    budget_seconds: float | None
    launch_limit_seconds: float
    hosts: list[str]
    remote_shell: str | None
    contenders: list[Contender]
    benchmarks: list[Benchmark]  # what the variants are of
    variants: list[Variant]
    paths: list[Path]
    launches: list[PlannedLaunch]
    awareness: list[Awareness] = []
    perftest: bool = False  # whether its programs are there, for ceilings over RDMA adapters

    def benchmark(self, variant: Variant) -> Benchmark:
        """What a variant is of."""
        return named(self.benchmarks, variant.benchmark)
