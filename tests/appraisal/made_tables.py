# SPDX-License-Identifier: Apache-2.0
"""Made tables of other tools, and the verdicts on them. Every figure is made up."""

from collections.abc import Sequence
from pathlib import Path

from nearpeak.appraisal.judge import appraise
from nearpeak.appraisal.known import Hardware, named
from nearpeak.findings.build import results_of
from nearpeak.observations.load import load_printed
from nearpeak.observations.observed import Observations
from nearpeak.observations.printed import Printed, lines_of
from nearpeak.results.results import Appraisal, Results

MIB = 1 << 20
H100, A100_CARD = "NVIDIA H100 80GB HBM3", "NVIDIA A100 80GB PCIe"
Point = tuple[int, float]  # a size, and a figure


def read(text: str) -> tuple[Results, Observations]:
    """The results of an output, and its observations."""
    printed = Printed(Path("made.txt"), "made.txt", "2026-01-01", lines_of(text), "", "")
    observations = load_printed(printed)
    return results_of(observations), observations


def appraisals(text: str, machine: str = "") -> list[Appraisal]:
    """The verdicts on an output."""
    return appraise(*read(text), named(machine) if machine else Hardware())


def appraised(text: str, machine: str = "") -> Appraisal:
    """The first verdict on an output."""
    return appraisals(text, machine)[0]


def rules(appraisal: Appraisal) -> list[str]:
    """The rules of its reasons, the likeliest first."""
    return [reason.rule for reason in appraisal.reasons]


def nccl(
    gpu: str,
    points: Sequence[Point],
    *,
    hosts: int = 1,
    per_host: int = 8,
    operation: str = "all_reduce",
    log: str = "",
    iterations: int = 20,
) -> str:
    """Output of nccl-tests. `points`: sizes, each with its time in us."""
    ranks = [(host, device) for host in range(hosts) for device in range(per_host)]
    devices = [
        f"#  Rank {rank} Group  0 Pid 1 on node{host} device {device} [0x{device:02x}] {gpu}"
        for rank, (host, device) in enumerate(ranks)
    ]
    combined = "sum" if "reduce" in operation else "none"
    rows = [
        f"{size} {size // 4} float {combined} -1 {us} 1.00 1.00 0 {us} 1.00 1.00 0"
        for size, us in points
    ]
    return "\n".join(
        [
            f"# Collective test starting: {operation}_perf",
            f"# nThread 1 nGpus 1 minBytes 8 maxBytes 8 warmup iters: 5 iters: {iterations}",
            *devices,
            log,
            "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
            *rows,
            "# Out of bounds values : 0 OK",
        ]
    )


def bus_us(size: int, gbs: float, ranks: int) -> Point:
    """The time of an allreduce with a bus bandwidth."""
    return size, round(size * 2 * (ranks - 1) / ranks / gbs / 1e3, 2)


def osu(test: str, points: Sequence[Point], buffers: str = "") -> str:
    """Output of OMB. `points`: sizes, each with its figure; `buffers`: `DD`."""
    names = {"H": "HOST (H)", "D": "DEVICE (D)"}
    memory = (
        [f"# Send Buffer on {names[a]} and Receive Buffer on {names[b]}" for a, b in [buffers]]
        if buffers
        else []
    )
    column = "Latency (us)" if test == "Latency" else "Bandwidth (MB/s)"
    rows = [f"{size} {value:.2f}" for size, value in points]
    return "\n".join([f"# OSU MPI {test} Test v5.7", *memory, f"# Size {column}", *rows])


def perftest(points: Sequence[Point], lids: Sequence[str] = ("0x01", "0x02"), gpu: str = "") -> str:
    """Output of ib_write_bw. `points`: sizes, each with its rate in MiB/s."""
    memory = [f"initializing CUDA\n[pid = 1, dev = 0] device name = [{gpu}]"] if gpu else []
    ends = zip(("local", "remote"), lids, strict=True)
    rows = [f" {size} 5000 {mib:.2f} {mib:.2f} 1.000000" for size, mib in points]
    return "\n".join(
        [
            *memory,
            "                    RDMA_Write BW Test",
            " Dual-port       : OFF          Device         : mlx5_0",
            " Number of qps   : 1            Transport type : IB",
            " Connection type : RC           Using SRQ      : OFF",
            " TX depth        : 128",
            *(f" {end} address: LID {lid} QPN 0x01 PSN 0x1" for end, lid in ends),
            "-" * 40,
            " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]",
            *rows,
            "-" * 40,
        ]
    )


def nvbandwidth(gpu: str, testcase: str, rows: Sequence[Sequence[str]]) -> str:
    """Output of nvbandwidth, of one testcase. `rows`: of its matrix."""
    columns = range(len(rows[0]))
    devices = [f"Device {number}: {gpu} (00000000:{number + 16:02x}:00)" for number in columns]
    matrix = [f" {number} {' '.join(row)}" for number, row in enumerate(rows)]
    return "\n".join(
        [
            "nvbandwidth Version: v0.8",
            *devices,
            f"Running {testcase}.",
            "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
            f"    {' '.join(map(str, columns))}",
            *matrix,
            f"SUM {testcase} 1.00",
        ]
    )


def imb_ping_pong(points: Sequence[Point]) -> str:
    """Output of IMB's PingPong. `points`: sizes, each with its time in us."""
    rows = [f"{size} 1000 {us:.2f} {size / us:.2f}" for size, us in points]
    return "\n".join(
        [
            "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part",
            "# Benchmarking PingPong",
            "# #processes = 2",
            "#bytes #repetitions t[usec] Mbytes/sec",
            *rows,
            "# All processes entering MPI_Finalize",
        ]
    )
