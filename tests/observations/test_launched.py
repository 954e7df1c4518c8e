# SPDX-License-Identifier: Apache-2.0
"""Ranks and hosts of command lines."""

import pytest

from nearpeak.observations.launched import Started, started


@pytest.mark.parametrize(
    ("line", "ranks", "hosts"),
    [
        ("$ srun -N1 -n2 --mpi=pmix ./osu_bw D D", 2, 1),
        ("$ srun -n2 -N2 /opt/omb/libexec/osu_bw H H", 2, 2),
        ("srun --nodes=2 --ntasks-per-node=4 ./osu_alltoall -d cuda", 8, 2),
        ("srun -N 2 ./osu_latency", 2, 2),
        ("srun -n 8 --ntasks-per-node 4 ./osu_allreduce", 8, 2),
        ("srun -N 1-2 -n 2 ./osu_bw", 2, None),
        ("srun -n 2 ./osu_bw", 2, None),
        ("flux run -N 2 -n 2 osu_bw", 2, 2),
        ("mpirun -host a,a -np 2 ./osu_bw D D", 2, 1),
        ("mpirun -np 2 -H a,b ./osu_bw", 2, 2),
        ("mpirun -np 2 -H a:8,b:8 ./osu_bw", 2, 1),
        ("mpirun -np 16 -H a:8,b:8 build/all_reduce_perf -b 8 -e 8G -g 1", 16, 2),
        ("mpirun -np 2 --host a,b --map-by node ./osu_bw", 2, 2),
        ("mpirun -np 4 -H a,b ./osu_allreduce", 4, None),
        ("mpirun -n 2 --map-by ppr:1:node ./osu_bw", 2, 2),
        ("mpirun -n 2 --map-by ppr:2:node ./osu_bw", 2, 1),
        ("mpirun -n 2 --map-by ppr:1:socket ./osu_bw", 2, None),
        ("mpiexec -n 2 -ppn 1 -hosts a,b IMB-MPI1 PingPong", 2, 2),
        ("mpiexec -n 2 -hosts a,b IMB-MPI1 PingPong", 2, None),
        ("mpiexec.hydra -n 2 -hosts a ./osu_bw", 2, 1),
        ("mpirun -np 300 -N 1 --hostfile hosts build/all_reduce_perf -e 8G -g 8", 2400, 300),
        ("mpirun -np 2 ./osu_bw -m :67108864 D D", 2, None),
        ("./build/all_reduce_perf -b 8 -e 1G -g 2 -t 4", 8, 1),
        ("./build/all_reduce_perf -b 8 -e 1G", None, None),
        ("modify the line with `srun` in the file and change all_reduce_perf", None, None),
        ("srun -N2 -n2 hostname", None, None),
        # Not a name of a host.
        ("mpirun -np 2 -H $HOSTS ./osu_bw", 2, None),
        ("mpirun -np 2 -H <first>,<second> ./osu_bw", 2, None),
        ("mpirun -np 2 -H gpu[1-2] ./osu_bw", 2, None),
        ("mpirun -np 2 -H gpu-n1,gpu-n2 ./osu_bw", 2, 2),
        # One rank does not communicate: others were started elsewhere.
        ("mpirun -np 1 -host a ./osu_bw : -np 1 -host b ./osu_bw", None, None),
        ("mpirun -np 1 -host a ./osu_bw", None, None),
        ("mpirun -np 2 -host a ./osu_bw : -np 2 -host b ./osu_bw", None, None),
    ],
)
def test_a_command_line_says_where_ranks_are(
    line: str, ranks: int | None, hosts: int | None
) -> None:
    assert started([line]) == Started(ranks, hosts)


def test_a_line_may_go_on_behind_a_backslash() -> None:
    assert started(["srun \\", "-N1 \\", "-n2 ./osu_bw"]) == Started(2, 1)


def test_lines_that_differ_say_only_what_they_agree_in() -> None:
    assert started(["srun -N1 -n2 ./osu_bw", "srun -N2 -n2 ./osu_bw"]) == Started(2, None)
