# SPDX-License-Identifier: Apache-2.0
"""Remarks of outputs on the machine and the route."""

import pytest

from nearpeak.observations.clues import clues_of
from nearpeak.observations.printed import lines_of

LOG = "n1:11:12 [0] NCCL INFO"
A = ((8, 0), (1 << 20, 1))  # sizes, each with the number of an algorithm


def test_ranks_name_their_gpus_and_hosts() -> None:
    lines = lines_of(
        "#  Rank  0 Group  0 Pid   11 on  n1 device  0 [0x0a] NVIDIA H100 80GB HBM3\n"
        "#   Rank  1 Pid   12 on  n2 device  0 [0000:0a:00] NVIDIA H100 80GB HBM3\n"
    )
    clues = clues_of(lines, "nccl-tests")
    assert (clues.gpus, clues.hosts) == (("NVIDIA H100 80GB HBM3",) * 2, 2)


@pytest.mark.parametrize(
    ("buses", "hosts"),
    [
        (("0000:18:00", "0000:18:00"), 2),
        (("0000:18:00", "0000:20:00"), 1),
        (("0x18", "0x18"), 1),  # of two PCIe domains, as the numbers of the devices differ
    ],
)
def test_a_gpu_that_is_listed_twice_is_one_of_two_hosts_of_one_name(
    buses: tuple[str, str], hosts: int
) -> None:
    text = "\n".join(
        f"#  Rank  {rank} Group  0 Pid  1{rank} on ubuntu device  {rank} [{bus}] NVIDIA A40"
        for rank, bus in enumerate(buses)
    )
    assert clues_of(lines_of(text), "nccl-tests").hosts == hosts


def test_a_short_bus_id_that_is_listed_twice_tells_no_number_of_hosts() -> None:
    """It has no domain: each process of a cloud's host may have device 0 with bus 0."""
    line = "#  Rank  0 Group  0 Pid   11 on ubuntu device  0 [0x00] NVIDIA A40"
    assert clues_of([line, line], "nccl-tests").hosts is None


def test_a_host_without_a_name_is_none() -> None:
    lines = lines_of("#  Rank  0 Group  0 Pid   11 on     device  0 [0x0a] A40\n")
    assert clues_of(lines, "nccl-tests").hosts is None


def test_a_list_of_devices_counts_each_once() -> None:
    lines = lines_of("Device 0: NVIDIA A40 (00000000:0a:00)\nDevice 1: NVIDIA A40\n" * 2)
    clues = clues_of(lines, "nvbandwidth")
    assert (clues.gpus, clues.hosts) == (("NVIDIA A40",) * 2, 1)


def test_perftest_names_the_gpu_that_it_picked() -> None:
    lines = lines_of("[pid = 3, dev = 0] device name = [NVIDIA A30]\n")
    assert clues_of(lines, "perftest").gpus == ("NVIDIA A30",)


@pytest.mark.parametrize(
    ("title", "gpu", "program"),
    [
        ("RDMA_Write BW Test", "", "ib_write_bw"),
        ("RDMA_Read BW Test", "device name = [NVIDIA A30]", "ib_read_bw --use_cuda=0"),
        ("Send Latency Test", "", "ib_send_lat"),
        ("RDMA_Write Bidirectional BW Test", "", "ib_write_bw -b"),
    ],
)
def test_perftest_names_its_program(title: str, gpu: str, program: str) -> None:
    lines = lines_of(f"{gpu}\n                    {title}\n")
    assert clues_of(lines, "perftest").program == program


@pytest.mark.parametrize(
    ("line", "route"),
    [
        (f"{LOG} Channel 00/0 : 0[a] -> 1[b] via P2P/direct pointer", "P2P"),
        (f"{LOG} Channel 00/0 : 0[a] -> 1[b] via SHM/direct/direct", "SHM"),
        (f"{LOG} Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0", "NET/Socket"),
        (f"{LOG} Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA", "NET/IB"),
    ],
)
def test_a_log_names_routes(line: str, route: str) -> None:
    assert clues_of(lines_of(line), "nccl-tests").routes == {route}


@pytest.mark.parametrize(
    ("line", "nics"),
    [
        (f"{LOG} NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eno1:192.0.2.1<0>", 2),
        (f"{LOG} NET/Socket : Using [0]eno1:192.0.2.1<0>", None),
        ("", None),
    ],
)
def test_a_log_counts_nics(line: str, nics: int | None) -> None:
    assert clues_of(lines_of(line), "nccl-tests").nics == nics


@pytest.mark.parametrize(
    ("addresses", "looped"),
    [
        (("LID 0x01 QPN", "LID 0x01 QPN"), True),
        (("LID 0x01 QPN", "LID 0x02 QPN"), False),
        (("LID 0000 QPN\n GID: 00:01", "LID 0000 QPN\n GID: 00:01"), True),
        (("LID 0000 QPN\n GID: 00:01", "LID 0000 QPN\n GID: 00:02"), False),
        (("LID 0000 QPN", "LID 0000 QPN"), False),
    ],
)
def test_a_port_may_be_both_ends(addresses: tuple[str, str], looped: bool) -> None:
    lines = lines_of(f" local address: {addresses[0]}\n remote address: {addresses[1]}\n")
    assert clues_of(lines, "perftest").looped is looped


def test_repetitions_and_debugging_are_named() -> None:
    lines = lines_of("# nThread 1 warmup iters: 5 iters: 20\nUCX was compiled with debug mode\n")
    clues = clues_of(lines, "nccl-tests")
    assert (clues.iterations, clues.debug) == (20, True)


def test_a_server_of_the_same_host_is_one_host() -> None:
    assert clues_of(["Accepted connection from 127.0.0.1:5"], "ucx_perftest").hosts == 1
    assert clues_of(["Accepted connection from 192.0.2.1:5"], "ucx_perftest").hosts is None


def test_a_list_without_all_ranks_says_no_number_of_hosts() -> None:
    line = "#  Rank 71 Group  0 Pid  140 on n18 device  3 [0x01] NVIDIA GB200"
    assert clues_of([line], "nccl-tests").hosts is None
    command = "mpirun -np 72 -N 4 build/all_reduce_perf -e 8G"
    assert clues_of([command, line], "nccl-tests").hosts == 18


@pytest.mark.parametrize(
    ("line", "tool", "hosts"),
    [
        ("$ srun -N1 -n2 ./osu_bw D D", "osu", 1),
        ("mpirun -H a,b -np 2 ./osu_bw", "osu", 2),
        ("mpirun -np 2 ./osu_bw", "osu", None),
        ("srun -N1 ib_write_bw", "perftest", None),
    ],
)
def test_a_command_names_the_hosts(line: str, tool: str, hosts: int | None) -> None:
    assert clues_of([line], tool).hosts == hosts


@pytest.mark.parametrize(
    ("lines", "algorithm"),
    [
        (["mpirun -np 16 -x NCCL_ALGO=RING build/all_reduce_perf"], "ring"),
        (["NCCL_DEBUG=INFO NCCL_ALGO=Tree all_reduce_perf"], "tree"),
        ([f"{LOG} NCCL_ALGO set by environment to Ring"], "ring"),
        ([f"{LOG} AllReduce: 8192 Bytes -> Algo TREE proto LL channel{{Lo..Hi}}={{0..0}}"], "tree"),
        (
            [f"{LOG} AllReduce: {size} Bytes -> Algo {one} proto 2 time 9" for size, one in A],
            "ring",
        ),
        (["NCCL_ALGO=RING all_reduce_perf", "NCCL_ALGO=TREE all_reduce_perf"], ""),
        (["NCCL_ALGO=^RING all_reduce_perf"], ""),
        ([], ""),
    ],
)
def test_a_command_or_a_log_names_the_algorithm(lines: list[str], algorithm: str) -> None:
    assert clues_of(lines, "nccl-tests").algorithm == algorithm


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("mpiexec -genv I_MPI_DEBUG 5 IMB-MPI1", "intel"),
        ("/opt/spack/openmpi-4.0.5/bin/mpirun IMB-MPI1", "ucx"),
        ("mpirun -mca pml ucx ./osu_bw", "ucx"),
        ("#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part", ""),
    ],
)
def test_a_command_names_the_library(line: str, library: str) -> None:
    assert clues_of([line], "imb").library == library
