# SPDX-License-Identifier: Apache-2.0
"""One-sided operations over every window and synchronisation, and what goes wrong in them."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_library, measured_with, one_library, with_options

PUTS = ["put_latency", "put_bw", "put_bibw"]
GETS = ["get_latency", "get_bw"]
SUMS = ["acc_latency", "get_acc_latency"]
ONE_NUMBER = ["fop_latency", "cas_latency"]
ALL = [*PUTS, *GETS, *SUMS, *ONE_NUMBER]
WINDOWS = ["allocated", "created", "dynamic", "shared"]
SYNCS = ["flush", "flush_local", "lock", "lock_all", "fence", "pscw"]
FEW = ("--least-samples", "3", "--window", "8")
QUICK = (*FEW, "--slot-ms", "0.1")
EVERY_BUFFER = (*FEW, "--slot-ms", "1")  # which takes turns
SMALL = ("--sizes", "1004", *QUICK)


@one_library
def test_every_operation_over_every_window_and_synchronisation(launcher: Any) -> None:
    ways = list(itertools.product(WINDOWS, SYNCS))
    lines = [with_options(ALL, "--win", win, "--sync", sync) for win, sync in ways]
    for way, done in zip(ways, launcher.run_each(lines, *SMALL), strict=True):
        assert done.measured() == set(ALL), way
        axes = {(record["axes"]["win"], record["axes"]["sync"]) for record in done.of("samples")}
        assert axes == {way}


@measured_with("openmpi", "intel")
def test_every_library_has_every_window_and_synchronisation(launcher: Any) -> None:
    # Each operation comes to each of them, no two of a line to the same.
    lines = []
    for turn in range(len(SYNCS)):
        line: list[str] = []
        for place, name in enumerate(ALL, start=turn):
            win, sync = WINDOWS[place % len(WINDOWS)], SYNCS[place % len(SYNCS)]
            line += with_options([name], "--win", win, "--sync", sync)
        lines.append(line)
    for line, done in zip(lines, launcher.run_each(lines, *SMALL), strict=True):
        assert done.measured() == set(ALL), line


@one_library
@pytest.mark.parametrize(("buffers", "mib"), [("H", 11), ("D", 5)])
def test_what_ranks_write_and_look_at_is_memory_too(
    launcher: Any, faulty: Path, tmp_path: Path, buffers: str, mib: int
) -> None:
    """Of 1 MiB each rank has three buffers, where these are, and two more of the host's memory."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemAvailable: {1024 * mib} kB\n")
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_MEMINFO": str(meminfo)}
    words = ("--win", "created", "--buffers", buffers, "--sizes", "1M", *QUICK)
    done = launcher.run("acc_latency", *words, fake="reachable=1", env=env)
    assert done.code == 0, done.err
    [skipped] = done.of("problem")
    assert skipped["message"].startswith("the buffers of all ranks of a host are ")


@one_library
def test_the_axes_are_those_that_are_tested(launcher: Any) -> None:
    for name in ALL:
        assert launcher.axis(name, "win") == WINDOWS
        assert launcher.axis(name, "sync") == SYNCS


@one_library
def test_metrics_and_sizes(launcher: Any) -> None:
    done = launcher.run(*ALL, "--sizes", "1,8,70000", *QUICK)
    assert done.measured() == set(ALL)
    seen = {
        (record["benchmark"], record["unit"], record["size_bytes"]) for record in done.of("samples")
    }
    rates = [name for name in ALL if name.endswith("bw")]
    for name in (*PUTS, *GETS):
        unit = "GB/s" if name in rates else "us"
        assert {(name, unit, size) for size in (1, 8, 70000)} <= seen
    assert {metric for metric in seen if metric[0] in SUMS} == {
        (name, "us", size) for name in SUMS for size in (8, 70000)
    }
    assert {metric for metric in seen if metric[0] in ONE_NUMBER} == {
        (name, "us", 0) for name in ONE_NUMBER
    }


@every_library
def test_every_kind_of_buffers(launcher: Any) -> None:
    """Those that rotate, are at an offset and are written before, and those that are on devices."""
    rotating = ("--sizes", "70000", "--reuse", "rotating", "--offset", "16", *EVERY_BUFFER)
    devices = ("--buffers", "D,D", *SMALL)
    lines = {
        ("get_latency", "get_bw"): rotating,
        ("put_bibw", "acc_latency", "cas_latency"): ("--touch", "sender", *rotating),
        tuple(with_options(ALL, "--win", "created")): devices,
        tuple(with_options(ALL, "--win", "dynamic")): devices,
    }
    whole = [(*names, *words) for names, words in lines.items()]
    parts = launcher.run_each(whole, fake="reachable=1")
    for names, done in zip(lines, parts, strict=True):
        assert done.measured() == set(ALL).intersection(names), names


@one_library
def test_a_place_that_stays_as_it_was_is_one_of_many_that_rotate(
    launcher: Any, faulty: Path
) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "once", "NEARPEAK_FAULTY_BYTES": "100000"}
    names = ["acc_latency", "get_acc_latency"]
    done = launcher.run(*names, "--sizes", "100000", "--reuse", "rotating", *EVERY_BUFFER, env=env)
    assert done.code == 3, done.err
    assert [(problem["benchmark"], problem["status"]) for problem in done.of("problem")] == [
        (name, "wrong data") for name in names
    ]


@one_library
def test_who_is_read_cannot_write_before(launcher: Any) -> None:
    done = launcher.run(*GETS, "--touch", "sender", *SMALL)
    assert done.code == 0, done.err
    assert not done.of("samples")
    assert {problem["benchmark"] for problem in done.of("problem")} == set(GETS)
    assert "--touch sender" in done.of("problem")[0]["message"]


@every_library
def test_sums_of_every_type_of_c(launcher: Any) -> None:
    # Not half and bfloat16: MPICH 5.0.2 adds up their bits as integers, and is told so.
    kinds = launcher.axis("acc_latency", "type")[:4]
    lines = [with_options(SUMS, "--type", kind) for kind in kinds]
    for kind, done in zip(kinds, launcher.run_each(lines, "--sizes", "1000", *QUICK), strict=True):
        assert done.measured() == set(SUMS), kind
        assert {case["axes"]["type"] for case in done.of("samples")} == {kind}


@one_library
def test_the_default_window_takes_the_buffers(launcher: Any) -> None:
    windows = {"H": "allocated", "D,D": "created", "H,D": "created"}
    lines = [(*ALL, "--buffers", buffers) for buffers in windows]
    parts = launcher.run_each(lines, *SMALL, fake="reachable=1")
    for (buffers, win), done in zip(windows.items(), parts, strict=True):
        assert done.measured() == set(ALL), buffers
        assert {record["axes"]["win"] for record in done.of("samples")} == {win}, buffers


@one_library
def test_a_librarys_own_memory_is_on_no_device(launcher: Any) -> None:
    ways = list(itertools.product(["allocated", "shared"], ["H,D", "M,M"]))
    lines = [(*with_options(ALL, "--win", win), "--buffers", buffers) for win, buffers in ways]
    parts = launcher.run_each(lines, *SMALL, fake="reachable=1")
    for (win, buffers), done in zip(ways, parts, strict=True):
        assert {problem["benchmark"] for problem in done.of("problem")} == set(ALL), (win, buffers)
        reasons = {problem["message"] for problem in done.of("problem")}
        assert reasons == {
            f"the memory of a window that is {win} is the library's own, on the host: "
            "give --buffers H, or --win created"
        }


@one_library
def test_more_than_two_ranks_are_bad_input(launcher: Any) -> None:
    done = launcher.run("put_latency", *SMALL, ranks=3)
    assert done.code == 2
    [line] = done.lines()
    assert "put_latency runs on 2 ranks, not on 3" in line


# Which ranks see it first: put_bibw is both ways, what is fetched is wrong at the origin.
FIRST_WRONG = {
    **dict.fromkeys([*PUTS, *GETS, *SUMS], 0),
    **dict.fromkeys(["put_latency", "put_bw", "acc_latency"], 1),
}
# With each the size of what has it, and which operations can.
FAULTS = {
    "dropped": (1004, [*PUTS, *GETS, *SUMS]),
    "late": (1008, [*PUTS, *GETS, *SUMS]),
    "wrong": (1012, PUTS),
    "moved": (1016, [*PUTS, *GETS]),
    "gap": (1020, [*PUTS, *GETS, *SUMS]),
    "twice": (1024, SUMS),
}
RIGHT = 2000
NUMBER_FAULTS = {
    "dropped": ONE_NUMBER,
    "late": ONE_NUMBER,
    "twice": ONE_NUMBER,
    "careless": ["cas_latency"],
}


def wrong_ones(done: Any) -> list[tuple[str, int, int]]:
    """What was wrong of which size, and on which rank."""
    return [
        (problem["benchmark"], problem["size_bytes"], problem["rank"])
        for problem in done.of("problem")
    ]


@one_library
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path) -> None:
    env = {
        "LD_PRELOAD": str(faulty),
        "NEARPEAK_FAULT": ",".join(FAULTS),
        "NEARPEAK_FAULTY_BYTES": ",".join(str(size) for size, _ in FAULTS.values()),
    }
    ways = [
        (sync, names, [size for size, have in FAULTS.values() if names[0] in have])
        for sync in ("flush", "fence")
        for names in (PUTS, GETS, SUMS)
    ]
    lines = [
        [*with_options(names, "--sync", sync), "--sizes", ",".join(map(str, [*sizes, RIGHT]))]
        for sync, names, sizes in ways
    ]
    parts = launcher.run_each(lines, *QUICK, code=3, env=env)
    for (sync, names, sizes), done in zip(ways, parts, strict=True):
        expected = [(name, size, FIRST_WRONG[name]) for name in names for size in sizes]
        assert wrong_ones(done) == expected, (sync, names)
        # What is right is still measured.
        right = [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")]
        assert right == [(name, RIGHT) for name in names], (sync, names)


@one_library
@pytest.mark.parametrize("fault", NUMBER_FAULTS)
def test_operations_on_a_number_that_go_wrong_are_caught(
    launcher: Any, faulty: Path, fault: str
) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": fault, "NEARPEAK_FAULTY_BYTES": "8"}
    names, syncs = NUMBER_FAULTS[fault], ("flush", "fence")
    rank = 1 if fault == "careless" else 0  # who sees it first
    lines = [with_options(names, "--sync", sync) for sync in syncs]
    for sync, done in zip(syncs, launcher.run_each(lines, *QUICK, code=3, env=env), strict=True):
        assert wrong_ones(done) == [(name, 0, rank) for name in names], sync
        assert not done.of("samples"), sync
