# SPDX-License-Identifier: Apache-2.0
"""The facts of a figure that rules look at, and what a rule says."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from nearpeak.appraisal.figure import LARGE_BYTES, Figure, Point
from nearpeak.appraisal.known import Hardware, measured_ceiling, nominal_pcie_gbs
from nearpeak.appraisal.references import Reference, spans_hosts
from nearpeak.results.results import AppraisalState


@dataclass(frozen=True)
class View:
    """A figure, the hardware that it ran on, and what that sustains."""

    figure: Figure
    hardware: Hardware
    references: list[Reference]  # all that may be

    @cached_property
    def shares(self) -> list[float]:
        """The figure as a share of each reference; of a matrix, its lowest pair."""
        return [self.figure.value / one.gbs for one in self.references]

    @property
    def share(self) -> float | None:
        """The share of the one reference; None where there are several, or none."""
        return self.shares[0] if len(self.shares) == 1 else None

    @property
    def one_way(self) -> float:
        """The rate of one direction."""
        return self.figure.value / (2 if self.figure.both_ways else 1)

    @property
    def large(self) -> list[Point]:
        """The rates of messages that are large enough for one of the path."""
        return [point for point in self.figure.points if point.size_bytes >= LARGE_BYTES]

    @property
    def is_rate(self) -> bool:
        """True if the figure is a rate of large messages."""
        return not self.figure.of_time and self.figure.message_bytes >= LARGE_BYTES

    @property
    def of_nics(self) -> bool:
        """True if the one reference is the rate of the NICs of a host."""
        nics = self.hardware.nics
        if nics is None or len(self.references) != 1:
            return False
        return self.references[0].label.startswith(nics.label)

    @property
    def of_pcie(self) -> bool:
        """True if the one reference is a rate of PCIe."""
        return [one.label[:4] for one in self.references] == ["PCIe"]

    @property
    def most_added(self) -> float:
        """The bus bandwidth of allreduce that no algorithm exceeds, as each GPU or host sends its
        data once: of other operations, and where no link is known, 0."""
        gpu, nics, ranks = self.hardware.gpu, self.hardware.nics, self.figure.ranks
        if self.figure.benchmark != "allreduce" or not ranks:
            return 0.0
        links = [gpu.nvlink or gpu.xgmi or gpu.pcie_gbs] if gpu else []
        crossed = nics and not self.inside and not self.spans
        links += [nics.number * nics.gbs] if crossed and nics else []
        return 2 * (ranks - 1) / ranks * min(links, default=0.0)

    @property
    def inside(self) -> bool:
        """True if all ranks are known to be on one host."""
        return self.figure.hosts == 1

    @property
    def spans(self) -> bool:
        """True if NVLink may join GPUs of several hosts."""
        return spans_hosts(self.figure, self.hardware)

    @property
    def between(self) -> bool:
        """True if ranks are known to be on several hosts."""
        return (self.figure.hosts or 0) > 1 or self.figure.clues.tool == "perftest"


class Effect(Enum):
    """The consequence of a reason for the verdict on a figure."""

    EXPLAINS = "explains a figure that is below"
    LOWERS = "shows that the figure is low, whatever the hardware is"
    REMARKS = "remarks on a figure that is near"
    HIDES = "a figure below says nothing of the path"
    DOUBTS = "no figure says anything of the path"

    def settles(self, state: AppraisalState) -> AppraisalState:
        """The state of a figure with such a reason."""
        if self is Effect.LOWERS:
            return state if state == "near" else "below"
        unseen = self is Effect.DOUBTS or (self is Effect.HIDES and state == "below")
        return "unsure" if unseen else state


@dataclass(frozen=True)
class Reason:
    """A likely reason of a figure, and the command that shows more."""

    text: str  # a sentence
    command: str = ""  # a line for a POSIX shell; empty: none
    effect: Effect = Effect.EXPLAINS
    missing: str = ""  # what the table does not show where the verdict is unsure for it, in words
    certain: bool = False  # the output itself says so

    def shown(self, state: AppraisalState) -> bool:
        """True if it belongs beside a verdict: near what can be only a remark, or a fact, does."""
        remark = self.effect is Effect.REMARKS
        return (remark or self.certain) if state == "near" else not remark


@dataclass(frozen=True)
class Rule:
    """A rule: looks at a figure, and says a reason or nothing."""

    order: int  # the smaller, the earlier it is said
    find: Callable[[View], Reason | None]
    about: str  # what it looks for, for the documents


def pcie_gbs(generation: int) -> float:
    """The rate that 16 lanes of a generation sustain."""
    lanes = measured_ceiling("pcie", None)
    share = lanes.share if lanes and lanes.share else 1.0
    return share * nominal_pcie_gbs(generation)


TOPOLOGY = "nvidia-smi topo -m"
# Variables that make a library name what it does.
NCCL_LOG, UCX_LOG, INTEL_LOG = "NCCL_DEBUG=INFO", "UCX_PROTO_INFO=y", "I_MPI_DEBUG=5"
UCX_MEMORY = {"H": "host", "P": "host", "D": "cuda", "M": "cuda-managed"}
SIZES = "-b 8 -e 8G -f 2"  # of nccl-tests: to where rates end to rise
PROGRAMS = {
    "allreduce": "all_reduce_perf",
    "allgather": "all_gather_perf",
    "bcast": "broadcast_perf",
    "reduce_scatter_block": "reduce_scatter_perf",
}


IMB = {"latency": "PingPong", "bw": "Uniband", "bibw": "Biband"}


def again(view: View, variables: str = "", options: str = "") -> str:
    """A line for a shell that repeats the run with some variables."""
    figure = view.figure
    ranks = figure.ranks or 2
    with_variables = f"env {variables} " if variables else ""
    if figure.clues.tool == "perftest":
        return f"{figure.clues.program or 'ib_write_bw'} {options or '-a'} OTHER_HOST"
    if figure.clues.tool == "ucx_perftest":
        return f"{variables} {_ucx_perftest(figure)} {options} OTHER_HOST".strip().replace(
            "  ", " "
        )
    if figure.clues.tool == "nccl-tests":
        program = f"{PROGRAMS.get(figure.benchmark, f'{figure.benchmark}_perf')} {SIZES}"
        if view.inside:
            return f"{variables} {program} -g {ranks}".lstrip()
        return f"mpirun -n {ranks} --hostfile HOSTS {with_variables}{program}"
    if figure.clues.tool == "imb":
        program = f"{_imb(figure, figure.benchmark)} {options}".rstrip()
    else:
        program = " ".join(filter(None, [f"osu_{figure.benchmark}", options, _osu_buffers(figure)]))
    return f"mpirun -n {ranks} {with_variables}{program}"


def several_in_flight(figure: Figure) -> str:
    """A line that measures the rate of several messages in flight, by the same suite."""
    if figure.clues.tool == "ucx_perftest":
        return f"{_ucx_perftest(figure, rates=True)} -s 4194304 OTHER_HOST"
    program = f"osu_bw {_osu_buffers(figure)}".rstrip()
    return f"mpirun -n 2 {_imb(figure, 'bw') if figure.clues.tool == 'imb' else program}"


def _imb(figure: Figure, benchmark: str) -> str:
    program = "IMB-MPI1" if figure.on_hosts else "IMB-MPI1-GPU"
    return f"{program} {IMB.get(benchmark, benchmark.capitalize())}"


def _ucx_perftest(figure: Figure, rates: bool = False) -> str:
    """The command of its test, without the other host. `rates`: that of rates."""
    api = figure.who.settings
    kind = "bw" if rates or figure.benchmark == "bw" else "lat"
    memories = [UCX_MEMORY[memory] for memory in figure.case.buffers.split(",")]
    memory = "" if figure.on_hosts else f" -m {','.join(dict.fromkeys(memories))}"
    return f"ucx_perftest -t {'ucp_' if api in ('am', 'put') else ''}{api}_{kind}{memory}"


def _osu_buffers(figure: Figure) -> str:
    """The last words of the command of a program of OMB; none for host memory."""
    return "" if figure.on_hosts else figure.case.buffers.replace(",", " ")


def log(view: View) -> str:
    """A line that repeats the run, and has its library name what it does."""
    clues = view.figure.clues
    if clues.tool == "nccl-tests":
        return again(view, NCCL_LOG)
    intel = clues.library == "intel" or (clues.tool == "imb" and not clues.library)
    return again(view, INTEL_LOG if intel else UCX_LOG)
