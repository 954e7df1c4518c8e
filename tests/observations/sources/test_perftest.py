# SPDX-License-Identifier: Apache-2.0
"""Output of perftest 26.04, written by hand as its source prints."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.observations.observed import Observation
from nearpeak.observations.printed import read
from nearpeak.observations.sources.perftest import TOOL

FILES = Path(__file__).with_name("perftest")
RATES = (FILES / "write_bw.txt").read_text()
TIMES = (FILES / "send_lat.txt").read_text()
JSON = (FILES / "write_bw.json").read_text()
MIB = 1048576e-9  # GB


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def first(file: Path) -> Observation:
    return load(file).observed[0]


def scope(file: Path) -> str:
    [library] = load(file).libraries
    return library.scope


def test_rates_are_of_mebibytes() -> None:
    """Whatever the heading calls them, but for --report_gbits."""
    found = load(FILES / "write_bw.txt").observed
    assert [each.case.x for each in found] == [2, 65536, 8388608]
    assert found[-1].summary.median == pytest.approx(23550.5 * MIB)
    assert {(each.case.benchmark, each.unit, each.window) for each in found} == {
        ("bw", "GB/s", 128)
    }
    assert found[0].launch.who.label == "perftest@write"
    [library] = load(FILES / "write_bw.txt").libraries
    assert not library.mpi
    assert "the mean of one run" in library.scope
    assert "through mlx5_0" in library.scope


@pytest.mark.parametrize(
    ("unit", "expected"), [("MB", 8.5 * MIB), ("MiB", 8.5 * MIB), ("Gb", 8.5 / 8)]
)
def test_units_are_those_of_the_heading(written: Path, unit: str, expected: float) -> None:
    written.write_text(RATES.replace("MiB/sec", f"{unit}/sec"))
    assert first(written).summary.median == pytest.approx(expected)


def test_a_latency_is_the_typical_one() -> None:
    found = first(FILES / "send_lat.txt")
    assert (found.case.benchmark, found.case.x, found.unit) == ("latency", 2, "us")
    summary = found.summary
    assert (summary.median, summary.minimum, summary.count) == (1.02, 0.98, 1000)
    assert "each latency is the median of one run, half of each time there and back" in scope(
        FILES / "send_lat.txt"
    )


def test_a_read_is_timed_as_a_whole(written: Path) -> None:
    written.write_text(TIMES.replace("Send", "RDMA_Read"))
    assert first(written).case.benchmark == "get_latency"
    assert "of a whole read" in scope(written)


def test_a_run_of_a_duration_has_means(written: Path) -> None:
    head = TIMES[: TIMES.index(" #bytes")]
    table = " #bytes        #iterations       t_avg[usec]    tps average\n"
    written.write_text(f"{head}{table} 2       989898            1.05        952380.00\n")
    assert first(written).summary.median == 1.05
    assert "each latency is the mean of one run" in scope(written)


@pytest.mark.parametrize(
    ("title", "benchmark", "who"),
    [
        ("Send BW Test", "bw", "perftest@send"),
        ("Send Post List BW Test", "bw", "perftest@send"),
        ("RDMA_Read BW Test", "bw", "perftest@read"),
        ("RDMA_Write Bidirectional BW Test", "bibw", "perftest@write"),
    ],
)
def test_the_title_says_what_it_is(written: Path, title: str, benchmark: str, who: str) -> None:
    written.write_text(RATES.replace("RDMA_Write BW Test", title))
    found = first(written)
    assert (found.case.benchmark, found.launch.who.label) == (benchmark, who)
    assert (found.window is None) == ("Read" in title)  # another limit holds for these


def test_several_queue_pairs_are_other_settings(written: Path) -> None:
    written.write_text(RATES.replace("qps   : 1", "qps   : 4").replace(": RC", ": UC"))
    found = first(written)
    assert (found.launch.who.settings, found.window) == ("write-q4", 512)
    assert "connected as UC" in scope(written)


@pytest.mark.parametrize(
    "line",
    [
        "initializing CUDA",
        "allocated GPU buffer of a 131072 address at 0x7f for type device",
        " Use ROCm memory : ON",
    ],
)
def test_memory_of_a_gpu_is_known_by_what_is_said_of_it(written: Path, line: str) -> None:
    assert "host memory; the other's are taken so" in scope(FILES / "write_bw.txt")
    written.write_text(f"{line}\n{RATES}")
    assert first(written).case.buffers == "D,D"
    assert "were in a GPU; the other's are taken to be" in scope(written)


def changed(**more: Any) -> str:
    whole = json.loads(JSON)
    whole["results"] |= more
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("rate", "expected"), [(23100.25, 23100.25 * MIB), (193.78, 193.78 / 8)]
)  # fmt: skip
def test_of_json_the_rate_of_messages_tells_the_unit(
    written: Path, rate: float, expected: float
) -> None:
    written.write_text(changed(BW_average=rate))
    assert TOOL.titles(read(written))
    found = first(written)
    assert found.summary.median == pytest.approx(expected)
    assert (found.case.x, found.window, found.launch.who.settings) == (65536, 128, "write")


def test_json_of_times(written: Path) -> None:
    whole = json.loads(JSON)
    whole["test_info"] |= {"test": "Send_Latency_Test", "TX_depth": 1, "cuda_device": 0}
    whole["results"] = {"MsgSize": 8, "n_iterations": 1000, "t_min": 0.9, "t_typical": 1.5}
    written.write_text(json.dumps(whole))
    found = first(written)
    assert (found.case.benchmark, found.case.buffers) == ("latency", "D,D")
    assert (found.summary.median, found.summary.minimum) == (1.5, 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RATES.replace("RDMA_Write BW", "Atomic CMP_AND_SWAP BW"), "is of 'Atomic CMP_AND_SWAP BW"),
        (RATES.replace("RDMA_Write", "RDMA_Write_imm"), "RDMA_Write_imm BW Test', which is not re"),
        (RATES + RATES, "is of 2 runs, RDMA_Write BW Test in line 2 and RDMA_W"),
        (RATES[: RATES.index(" 65536")] + " 65536    5000             23", "is not a whole row"),
        (RATES[: RATES.index(" 65536")] + " 65536    5000", "line 22: .* is not a whole row"),
        (RATES[: RATES.index(" 2  ")], "holds no figures: give the whole output"),
        (RATES + RATES[RATES.index(" #bytes") :], "holds several tables: run it without --report"),
        (
            RATES.replace("23100.25", "-23100.25"),
            r"line 22: BW average\[MiB/sec\] is -23100.25, and",
        ),
        (
            TIMES.replace("  1.02 ", " -1.02 "),
            r"t_typical\[usec\] is -1.02, and nothing is below 0",
        ),
        (
            RATES + RATES[RATES.index(" 65536") : RATES.index(" 8388608")],
            "has 2 figures of 65536 bytes, as runs that do not end .* without --run_infinitely",
        ),
        (
            changed(BW_average=-193.78, MsgRate=-0.36),
            "BW_average is -193.78, and nothing is below 0",
        ),
        (TIMES.replace("[usec]", "[cycles]"), "has times in cycles: run it without --output-cy"),
        (JSON[:-20], r"is not the whole JSON of perftest \("),
        (changed(MsgRate=0.001), "does not say in which unit its rate is"),
        (JSON.replace("BW_average", "bw"), "has no 'BW_average' among its results: run it without"),
        (JSON.replace("RDMA_Write_BW", "Atomic_BW"), "is of 'Atomic_BW_Test', which is not read"),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert TOOL.titles(read(written))
    with pytest.raises(UserError, match=message):
        load(written)


@pytest.mark.parametrize(
    "trimmed",
    [
        lambda text: "\n".join(line.strip() for line in text.splitlines()),
        lambda text: "\n".join(" ".join(line.split()) for line in text.splitlines()),
        lambda text: "\n".join(f"        {line}" for line in text.splitlines()),
        lambda text: text.replace("\t", "    ").replace(" : ", ": "),
    ],
)
def test_the_heading_is_read_with_any_margin(written: Path, trimmed: Callable[[str], str]) -> None:
    text = RATES.replace("qps   : 1", "qps   : 4").replace(": RC", ": UC")
    written.write_text(trimmed(f"{text} Use ROCm memory : ON\n"))
    found = first(written)
    assert (found.launch.who.settings, found.window, found.case.buffers) == ("write-q4", 512, "D,D")
    assert "through mlx5_0, connected as UC" in scope(written)


def test_queue_pairs_of_old_versions(written: Path) -> None:
    written.write_text(RATES.replace("Number of qps   : 1", "Number of qp's running 2"))
    assert first(written).launch.who.settings == "write-q2"


def other_end(text: str) -> str:
    """What the server prints: its addresses are the client's, the other way round."""
    turned = text.replace("local", "<>").replace("remote", "local").replace("<>", "remote")
    return f"\n* Waiting for client to connect... *\n{turned}"


def mixed(one: str, other: str) -> str:
    pairs = zip(one.splitlines(), other.splitlines()[2:], strict=True)
    return "".join(f"{first}\n{second}\n" for first, second in pairs)


@pytest.mark.parametrize("text", [RATES, TIMES, RATES.replace("BW Test", "Bidirectional BW Test")])
def test_server_and_client_in_one_file_are_one_run(written: Path, text: str) -> None:
    written.write_text(text)
    alone = [each.summary.median for each in load(written).observed]
    other = other_end(text)
    for both in (text + other, other + text, mixed(text, other), mixed(text, other) + "\n"):
        written.write_text(both)
        [launch] = {id(each.launch): each.launch for each in load(written).observed}.values()
        assert launch.status == "ok"
        assert [each.summary.median for each in load(written).observed] == alone


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RATES + other_end(RATES).replace("23100.25", "23100.26"), "of 65536 bytes differ: give"),
        ("initializing CUDA\n" + RATES + other_end(RATES), "one alone had its buffers in a GPU"),
        (RATES + other_end(RATES).replace("0x3a2f1c", "0x3a2f1d"), "is of 2 runs, RDMA_Write BW"),
        (RATES + other_end(RATES).replace("RDMA_Write", "RDMA_Read"), "is of 2 runs, RDMA_Write"),
    ],
)
def test_ends_that_do_not_fit_are_refused(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    with pytest.raises(UserError, match=message):
        load(written)


def test_buffers_of_both_ends_may_be_in_gpus(written: Path) -> None:
    gpu = "initializing CUDA\n"
    written.write_text(gpu + RATES + gpu + other_end(RATES))
    assert {each.case.buffers for each in load(written).observed} == {"D,D"}
