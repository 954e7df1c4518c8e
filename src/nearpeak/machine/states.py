# SPDX-License-Identifier: Apache-2.0
"""The clocks of CPUs and GPUs, and what holds them down, at one moment."""

import msgspec


class CpuState(msgspec.Struct, kw_only=True, frozen=True):
    """One logical CPU. What the kernel does not show is null; counts are since it started."""

    cpu: int
    khz: int | None = None  # its frequency now
    governor: str | None = None
    core_throttles: int | None = None  # times that its core was too hot
    package_throttles: int | None = None  # times that its package was
    stolen_seconds: float | None = None  # that a hypervisor gave to others


class GpuState(msgspec.Struct, kw_only=True, frozen=True):
    """One GPU. What its driver does not tell is null."""

    gpu: str  # its uuid
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    slowed: list[str] | None = None  # what keeps its clocks below the highest; none: nothing
    errors: dict[str, int] = {}  # counts by kind: of its memory (ECC) and its NVLinks


class State(msgspec.Struct, kw_only=True, frozen=True):
    """One host: some of its CPUs, and some of its GPUs."""

    cpus: list[CpuState] = []
    load: float | None = None  # processes that run or wait, mean of the last minute
    gpus: list[GpuState] = []
