# SPDX-License-Identifier: Apache-2.0
"""Commands to run next are those of the tool, and of its library."""

import pytest
from made_tables import MIB, appraised, imb_ping_pong, osu

DIP = [(4096, 2.0), (8192, 9.0), (16384, 11.0), (MIB, 150.0)]
UCX = """ucx_perftest -t tag_bw -m cuda -s 65536 other
+--------------+-----------------------------+---------------------+-----------------------+
|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
| # iterations | typical | average | overall |  average |  overall |   average |   overall |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
           100     0.000    90.000    90.000   9000.00    9000.00       10000       10000
"""


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (imb_ping_pong(DIP), "mpirun -n 2 env I_MPI_DEBUG=5 IMB-MPI1 PingPong"),
        (
            "mpirun -mca pml ucx IMB-MPI1\n" + imb_ping_pong(DIP),
            "mpirun -n 2 env UCX_PROTO_INFO=y IMB-MPI1 PingPong",
        ),
        (osu("Latency", DIP), "mpirun -n 2 env UCX_PROTO_INFO=y osu_latency"),
        (
            "export I_MPI_FABRICS=ofi\n" + osu("Latency", DIP),
            "mpirun -n 2 env I_MPI_DEBUG=5 osu_latency",
        ),
        (imb_ping_pong([(4096, 2.0), (MIB, 90.0)]), "mpirun -n 2 IMB-MPI1 Uniband"),
        (UCX, "ucx_perftest -t tag_bw -m cuda -s 67108864 OTHER_HOST"),
    ],
)
def test_the_next_command_is_of_the_tool_and_its_library(text: str, command: str) -> None:
    assert appraised(text).command == command
