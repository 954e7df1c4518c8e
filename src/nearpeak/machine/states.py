# SPDX-License-Identifier: Apache-2.0
"""Clocks of CPUs and GPUs, and what throttles them, at one moment."""

import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import msgspec

from nearpeak.machine.gpus.nvml import SLOWDOWNS, library_present
from nearpeak.machine.gpus.watch import GpuState, GpuWatch
from nearpeak.machine.sysfs import CPU
from nearpeak.machine.tree import read_tree
from nearpeak.terms.private import FreeText

MOST_CPUS = 16  # read for a state: enough to see throttling, and quick
# Kernels up to 5.16 measure the frequency of an idle CPU for 10 ms when it is read (x86's
# arch_freq_get_on_cpu): no further one is read after this time.
FREQUENCY_SECONDS = 0.005
# Share of a launch's CPU time: what a hypervisor takes beyond it shows in medians.
STOLEN = 0.05
CROWDED = 1.0  # processes of others beyond the cores that ranks leave: they take the ranks' time
# A CPU in /proc/stat (proc_stat(5)), and its eighth number.
STOLEN_TICKS = re.compile(r"^cpu(\d+)(?: +\d+){7} +(\d+)", re.MULTILINE)


class CpuState(msgspec.Struct, kw_only=True, frozen=True):
    """The first CPU of a rank, of 16 ranks at most. Values that the kernel does not show are null;
    counts are since boot."""

    cpu: int  # its number
    khz: int | None = None  # its frequency
    governor: FreeText | None = None  # of its clock
    core_throttles: int | None = None  # times that its core was too hot
    package_throttles: int | None = None  # times that its package was too hot
    stolen_seconds: float | None = None  # time that a hypervisor gave to others


class State(msgspec.Struct, kw_only=True, frozen=True):
    """The clocks of what a launch uses on this host, and what throttles them, at one moment."""

    cpus: list[CpuState] = []  # CPUs of the ranks
    # processes that run or wait, mean of the last minute; null: not known
    load: float | None = None
    gpus: list[GpuState] = []  # GPUs of the ranks


def find_nvml() -> ModuleType | None:
    """The module pynvml where NVIDIA's library is."""
    if not library_present():
        return None
    import pynvml  # slow to import, and most machines without a driver never need it

    return pynvml  # type: ignore[no-any-return]


def overloaded(others: float, cores: int, ranks: int) -> bool:
    """True if `others`, processes that run or wait, take time of the ranks on these cores."""
    return others > max(0, cores - ranks) + CROWDED


def slowdown_reasons(before: State, after: State, seconds: float) -> list[str]:
    """The reasons that slowed a launch of `seconds`, by its host's states before and after it."""
    hot = {"core too hot": "core_throttles", "package too hot": "package_throttles"}
    reasons = [word for word, count in hot.items() if any(_grown(before, after, count))]
    stolen = _grown(before, after, "stolen_seconds")
    if sum(stolen) > STOLEN * seconds * len(stolen):
        reasons.append("CPU time stolen")
    slowed = {word for gpu in [*before.gpus, *after.gpus] for word in gpu.slowed or []}
    reasons += [f"GPU {word}" for word in SLOWDOWNS.values() if word in slowed]
    counted = {gpu.gpu: gpu.errors for gpu in before.gpus}
    kinds = set[str]()
    for gpu in after.gpus:
        earlier = gpu.errors | counted.get(gpu.gpu, {})
        kinds |= {kind for kind, errors in gpu.errors.items() if errors > earlier[kind]}
    return reasons + [f"GPU {kind}" for kind in sorted(kinds)]


def _grown(before: State, after: State, name: str) -> list[float]:
    """The growth of a count, for each CPU that reports it in both states."""
    counts = {cpu.cpu: getattr(cpu, name) for cpu in before.cpus}
    pairs = [(counts.get(cpu.cpu), getattr(cpu, name)) for cpu in after.cpus]
    return [new - old for old, new in pairs if old is not None and new is not None]


class StateReader:
    """Reads states of this host, each in a few ms; in tens where NVLinks count errors apart."""

    def __init__(
        self, root: Path = Path("/"), nvml: Callable[[], ModuleType | None] = find_nvml
    ) -> None:
        self._tree = read_tree(root)
        self._nvml = nvml
        self._watch: GpuWatch | None = None

    def close(self) -> None:
        """Releases the driver of the GPUs."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def read(self, cpus: Iterable[int], gpus: Iterable[str], *, recount: bool = True) -> State:
        """The state of these logical CPUs (of the first 16) and GPUs (uuid, or NVML's index).

        Without `recount`, errors of GPUs that were just counted are not counted again.
        """
        wanted = list(cpus)[:MOST_CPUS]
        stolen = self._stolen()
        until = time.monotonic() + FREQUENCY_SECONDS
        return State(
            cpus=[self._cpu(cpu, stolen.get(cpu), until) for cpu in wanted],
            load=self._load(),
            gpus=[self._gpu(gpu, recount) for gpu in gpus],
        )

    def _cpu(self, cpu: int, stolen: float | None, until: float) -> CpuState:
        folder = f"{CPU}/cpu{cpu}"
        in_time = time.monotonic() < until
        throttles = f"{folder}/thermal_throttle"
        return CpuState(
            cpu=cpu,
            khz=self._tree.integer(f"{folder}/cpufreq/scaling_cur_freq") if in_time else None,
            governor=self._tree.text(f"{folder}/cpufreq/scaling_governor") or None,
            core_throttles=self._tree.integer(f"{throttles}/core_throttle_count"),
            package_throttles=self._tree.integer(f"{throttles}/package_throttle_count"),
            stolen_seconds=stolen,
        )

    def _stolen(self) -> dict[int, float]:
        ticks = os.sysconf("SC_CLK_TCK")
        stolen = STOLEN_TICKS.findall(self._tree.text("proc/stat"))
        return {int(cpu): int(number) / ticks for cpu, number in stolen}

    def _load(self) -> float | None:
        fields = self._tree.text("proc/loadavg").split()
        return float(fields[0]) if fields else None

    def _gpu(self, gpu: str, recount: bool) -> GpuState:
        if self._watch is None:
            self._watch = GpuWatch(self._nvml())
        return self._watch.read(gpu, recount=recount)
