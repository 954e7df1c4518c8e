# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Which benchmark measures a call of an application, and how common that makes a case."""

from pathlib import Path

import msgspec
import pytest
from made_trace import entry, trace

from nearpeak.errors import UserError
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.identity import Case
from nearpeak.trace.measured import read_trace, weights

LATENCY = Benchmark(
    "latency", [Metric("", "us", "lower")], RankRule("exactly", 2), ceiling="measured", default=True
)
ALLREDUCE = Benchmark("allreduce", [Metric("", "us", "lower")], RankRule("at least", 2))


def case(benchmark: str, size: int, buffers: str = "H,H") -> Case:
    return Case(benchmark=benchmark, metric="", buffers=buffers, x=size, axes={})


def test_the_calls_of_an_application_are_the_weights() -> None:
    weigh = weights(
        trace(
            entry("MPI_Send", 4096, calls=7, peer="same host"),
            entry("MPI_Recv", 4096, calls=7, peer="same host"),
            entry("MPI_Send", 4096, calls=5, peer="other host"),
            entry("MPI_Send", 64, calls=3, peer="same host", memory="device"),
            entry("MPI_Allreduce", 8, calls=2),
        ),
        [LATENCY, ALLREDUCE],
    )
    assert weigh(LATENCY, case("latency", 4096)) == 7
    assert weigh(LATENCY, case("latency", 5000)) == 7
    assert weigh(LATENCY, case("latency", 8192)) == 0
    assert weigh(LATENCY, case("latency", 4096, "D,D")) == 0
    assert weigh(LATENCY, case("latency", 64, "D,D")) == 3
    assert weigh(ALLREDUCE, case("allreduce", 8)) == 2


def test_a_file_that_is_no_trace_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(msgspec.json.encode(trace(entry("MPI_Bcast", 8))))
    assert read_trace(file).entries[0].operation == "MPI_Bcast"
    with pytest.raises(UserError, match=r"nothing\.json: No such file or directory"):
        read_trace(tmp_path / "nothing.json")
    for text in (b"{}", b"\xff", b"", b'{"z":' + 100_000 * b"["):
        file.write_bytes(text)
        with pytest.raises(UserError, match="give what `nearpeak trace -o FILE -- COMMAND` wrote"):
            read_trace(file)
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(trace(), schema=1)))
    with pytest.raises(UserError, match="schema 1, this nearpeak reads schema"):
        read_trace(file)
