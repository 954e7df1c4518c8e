# SPDX-License-Identifier: Apache-2.0
"""Real launches of rounds of pairs of ranks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

QUICK = ("--slot-ms", "1", "--least-samples", "3", "--window", "2", "--large", "64K")


def rounds(folder: Path, *lines: str) -> list[str]:
    file = folder / "rounds"
    file.write_text("".join(f"{line}\n" for line in lines))
    return ["--rounds", str(file)]


def test_every_pair_of_every_round_is_measured(launcher: Any, tmp_path: Path) -> None:
    done = launcher.run("pairs", *rounds(tmp_path, "0-3 1-2", "0-1", "2-0"), *QUICK, ranks=4)
    assert done.code == 0, done.err
    assert not done.of("problem")
    [environment] = done.of("environment")
    assert [rank["rank"] for rank in environment["ranks"]] == [0, 1, 2, 3]
    found = done.of("pairs")
    assert [record["round"] for record in found] == [0, 1, 2]
    pairs = [list(zip(record["first"], record["second"], strict=True)) for record in found]
    assert pairs == [[(0, 3), (1, 2)], [(0, 1)], [(0, 2)]]
    for record in found:
        assert (record["small_bytes"], record["large_bytes"]) == (8, 65536)
        for values in (record["latency_us"], record["bandwidth_gbs"]):
            assert len(values) == len(record["first"])
            assert all(value > 0 for value in values)


@one_library
def test_wrong_data_is_told_of_its_pair_alone(
    launcher: Any, compile_shim: Callable[[str], Path], tmp_path: Path
) -> None:
    """The second rank of each pair receives what it had before; the message of latency is right."""
    env = {
        "LD_PRELOAD": str(compile_shim("faulty_pt2pt")),
        "NEARPEAK_FAULT": "dropped",
        "NEARPEAK_FAULTY_BYTES": "1004",
        "NEARPEAK_FAULTY_RANK": "1",
    }
    words = ["pairs", *rounds(tmp_path, "0-1"), *QUICK[:-1], "1004"]
    done = launcher.run(*words, env=env)
    assert done.code == 3, (done.out, done.err)
    [problem] = done.of("problem")
    assert (problem["status"], problem["size_bytes"]) == ("wrong data", 1004)
    assert (problem["sender"], problem["rank"]) == (0, 1)
    [record] = done.of("pairs")
    assert record["first"] == record["latency_us"] == []


@one_library
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0-2", "'0-2' of --rounds is no pair of the 2 ranks: write like 0-3"),
        ("0-x", "'0-x' of --rounds is no pair of the 2 ranks"),
        ("0", "'0' of --rounds is no pair: write like 0-3"),
        ("0-0", "'0-0' of --rounds: a rank has one partner in a round"),
        ("0-1 1-0", "'1-0' of --rounds: a rank has one partner in a round"),
        ("D,D 0-1", "--rounds has buffers D,D, and --buffers none that need a device: give"),
        ("D,D,D 0-1", "--buffers D,D,D does not fit 2 ranks"),
    ],
)
def test_a_line_that_is_no_round_is_bad_input(
    launcher: Any, tmp_path: Path, line: str, message: str
) -> None:
    done = launcher.run("pairs", *rounds(tmp_path, line), *QUICK)
    assert done.code == 2
    assert len(done.lines()) == 1
    assert message in done.lines()[0]


def test_what_is_no_launch_of_pairs_is_bad_input(launcher: Any, tmp_path: Path) -> None:
    done = launcher.run("pairs", "--rounds", str(tmp_path / "none"), *QUICK)
    assert done.code == 2
    assert done.lines() == [
        f"nearpeak-mpi: --rounds {tmp_path / 'none'} cannot be read: give a file"
    ]
    named = ["pairs", *rounds(tmp_path, "0-1")]
    for words, said in (
        (("latency",), "pairs are measured in a launch of their own"),
        (("--large", "0"), "--large 0 has no bandwidth: give a size from 1 byte"),
        (("--buffers", "Q"), "unknown kind of buffer 'Q'"),
        (("--buffers", "H,D,D"), "--buffers H,D,D does not fit 2 ranks"),
    ):
        told = launcher.ask("--check", *named, *words)
        assert told.returncode == 2
        [line] = told.stderr.splitlines()
        assert line.startswith(f"nearpeak-mpi: {said}")


@pytest.mark.parametrize("buffers", ["D", "H,D", "H,D+D,H"])
def test_buffers_of_pairs_are_in_devices(launcher: Any, tmp_path: Path, buffers: str) -> None:
    words = ["pairs", *rounds(tmp_path, "0-1", "D,D 0-1", "D,H 1-0"), *QUICK]
    done = launcher.run(*words, "--buffers", buffers, "--devices", "0,1", fake="reachable=1")
    assert done.code == 0, done.err
    assert not done.of("problem")
    [environment] = done.of("environment")
    assert len({rank["device"]["uuid"] for rank in environment["ranks"]}) == 2
    found = done.of("pairs")
    assert len(found) == 3
    assert all(record["latency_us"][0] > 0 and record["bandwidth_gbs"][0] > 0 for record in found)


@one_library
@pytest.mark.parametrize(("line", "wrong"), [("D,D", True), ("H,D", True), ("D,H", False)])
def test_a_wrong_byte_in_a_device_is_reported(
    launcher: Any, tmp_path: Path, line: str, wrong: bool
) -> None:
    """Every copy to rank 1's device has a wrong byte, and so has what it sends from there."""
    words = ["pairs", *rounds(tmp_path, f"{line} 0-1"), *QUICK, "--buffers", "D"]
    done = launcher.run(*words, fake="reachable=1", rank_1="reachable=1,corrupt=1")
    assert done.code == (3 if wrong else 0), (done.out, done.err)
    assert {problem["rank"] for problem in done.of("problem")} == ({0, 1} if wrong else set())
    [record] = done.of("pairs")
    assert len(record["first"]) == (0 if wrong else 1)


@one_library
def test_each_rank_has_its_adapter(launcher: Any, tmp_path: Path) -> None:
    words = ["pairs", *rounds(tmp_path, "0-1"), *QUICK, "--adapters"]
    for adapters, variable in (("eth7,eth8", "eth7"), ("-,eth8", None)):
        [environment] = launcher.run(*words, adapters).of("environment")
        assert environment["env"].get("UCX_NET_DEVICES") == variable


@one_library
def test_an_adapter_that_a_host_lacks_is_named(launcher: Any, tmp_path: Path) -> None:
    words = ["pairs", *rounds(tmp_path, "0-1"), *QUICK, "--adapters", "-,none_0:1"]
    done = launcher.run(*words)
    assert done.code == 2, done.out
    assert done.err.startswith("nearpeak-mpi: rank 1: there is no adapter none_0:1")
    assert done.err.strip().endswith(": give another to --adapters")
