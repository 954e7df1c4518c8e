# SPDX-License-Identifier: Apache-2.0
"""What libraries say of themselves. The words of UCX are those of version 1.22, those of NCCL as
the sources of 2.28.9 and 2.30.7 write them."""

from nearpeak.explain.library_output import parse_output, protocols

FIRST = """\
[1795612994.976846] [vm:1550 :0]   +-------+--------------+------------------------+-------------+
[1795612994.976846] [vm:1550 :0]   | ucp_context_0 intra-node cfg#2                               |
[1795612994.976846] [vm:1550 :0]   | tagged message by ucp_tag_send*(multi) from host memory       |
[1795612994.976846] [vm:1550 :0]   +-------+--------------+------------------------+-------------+
[1795612994.976846] [vm:1550 :0]   | Count |    Range     |      Description       |   Config    |
[1795612994.976846] [vm:1550 :0]   +-------+--------------+------------------------+-------------+
[1795612994.976846] [vm:1550 :0]   |     0 |            0 | no data fetch          |             |
[1795612994.976846] [vm:1550 :0]   |    61 |        0..92 | eager short            | sysv/memory |
"""
OTHER = """\
[1795612994.976961] [vm:1551 :0]   | rendezvous data send(fast-completion|multi) from cuda to host |
"""
LAST = """\
[1795612994.976846] [vm:1550 :0]   |     0 |     93..8248 | eager copy-in copy-out | sysv/memory |
[1795612994.976846] [vm:1550 :0]   |    13 |      256K..inf | (?) zero-copy read   | cma/memory  |
[1795612994.976961] [vm:1551 :0]   | 26482 | 0..inf | fragmented copy-in copy-out | sysv/memory |
"""
TEXT = FIRST + OTHER + LAST


def at(size_bytes: int) -> list[str]:
    return list(protocols(TEXT.splitlines(), size_bytes))


def test_protocols_of_a_size_are_those_that_were_used() -> None:
    fragmented = (
        "rendezvous data send(fast-completion|multi) from cuda to host:"
        " fragmented copy-in copy-out, sysv/memory"
    )
    send = "tagged message by ucp_tag_send*(multi) from host memory"
    assert at(8) == [f"{send}: eager short, sysv/memory", fragmented]
    assert at(1000) == [fragmented]  # that table says that none was sent so
    assert at(1 << 20) == [f"{send}: (?) zero-copy read, cma/memory", fragmented]


def test_other_words_are_shown_as_they_are() -> None:
    text = "# our table\n8  1.02  1.01\n[0] MPI startup(): library kind: release\n\n"
    said = parse_output(8, {"I_MPI_DEBUG": "10"}, text)
    assert said.asked == "I_MPI_DEBUG=10"
    assert said.lines == ["[0] MPI startup(): library kind: release"]
    assert said.protocols == []


NCCL = """\
h:9:9 [0] NCCL INFO NCCL_ALGO set by environment to RING
h:9:12 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
h:9:12 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
h:9:12 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
h:10:13 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct
h:9:12 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA
h:9:12 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
h:9:12 [0] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels
h:9:9 [0] NCCL INFO AllReduce: 4 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}
[10:00:00] h:9:9 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
h:9:9 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={2..17}
h:9:9 [0] NCCL INFO AllGather [Copy Engine]: 64 Bytes -> cudaMemcpy
AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
"""


def test_operations_of_nccl_are_those_of_the_size_and_its_ways_those_of_all() -> None:
    ways = [
        "rank 0 to rank 1: P2P/CUMEM, 2 channels",
        "rank 1 to rank 0: SHM/direct/direct, 1 channel",
        "rank 0 to rank 2: NET/IB/0/GDRDMA, 1 channel",
    ]

    def of(size_bytes: int) -> list[str]:
        return list(protocols(NCCL.splitlines(), size_bytes))

    assert of(8) == ["AllReduce: RING, LL, 1 channel", *ways]
    assert of(1 << 20) == ["AllReduce: NVLS, SIMPLE, 16 channels", *ways]
    assert of(64) == ["AllGather [Copy Engine]: cudaMemcpy", *ways]
    assert of(128) == ways
    assert len(parse_output(8, {}, NCCL).lines) == len(NCCL.splitlines())
