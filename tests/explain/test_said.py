# SPDX-License-Identifier: Apache-2.0
"""What libraries say of themselves. The words of UCX are those of version 1.22."""

from nearpeak.explain.said import protocols, understood

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
    said = understood(8, {"I_MPI_DEBUG": "10"}, text)
    assert said.asked == "I_MPI_DEBUG=10"
    assert said.lines == ["[0] MPI startup(): library kind: release"]
    assert said.protocols == []
