# SPDX-License-Identifier: Apache-2.0
"""One-sided operations over every window and synchronisation, and what goes wrong in them."""

from pathlib import Path
from typing import Any

import pytest

PUTS = ["put_latency", "put_bw", "put_bibw"]
GETS = ["get_latency", "get_bw"]
SUMS = ["acc_latency", "get_acc_latency"]
ONE_NUMBER = ["fop_latency", "cas_latency"]
ALL = [*PUTS, *GETS, *SUMS, *ONE_NUMBER]
WINDOWS = ["allocated", "created", "dynamic", "shared"]
SYNCS = ["flush", "flush_local", "lock", "lock_all", "fence", "pscw"]
QUICK = ("--slot-ms", "1", "--least-samples", "3", "--window", "8")
SMALL = ("--sizes", "1004", *QUICK)

EVERY = pytest.mark.parametrize("measured_library", ["openmpi", "mpich", "intel"], indirect=True)
# What is not about the library.
ONE = pytest.mark.parametrize("measured_library", ["mpich"], indirect=True)


def each(names: list[str], *words: str) -> list[str]:
    """Each benchmark with these options of its own."""
    return [word for name in names for word in (name, *words)]


@ONE
@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("win", WINDOWS)
def test_every_operation_over_every_window_and_synchronisation(
    launcher: Any, win: str, sync: str
) -> None:
    done = launcher.run(*each(ALL, "--win", win, "--sync", sync), *SMALL)
    assert done.measured() == set(ALL)
    axes = {(record["axes"]["win"], record["axes"]["sync"]) for record in done.of("samples")}
    assert axes == {(win, sync)}


@EVERY
def test_every_library_has_every_window_and_synchronisation(launcher: Any) -> None:
    # Each operation comes to each of them, no two of a launch to the same.
    for turn in range(len(SYNCS)):
        words = []
        for place, name in enumerate(ALL, start=turn):
            win, sync = WINDOWS[place % len(WINDOWS)], SYNCS[place % len(SYNCS)]
            words += each([name], "--win", win, "--sync", sync)
        assert launcher.run(*words, *SMALL).measured() == set(ALL)


@ONE
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


@ONE
def test_the_axes_are_those_that_are_tested(launcher: Any) -> None:
    for name in ALL:
        assert launcher.axis(name, "win") == WINDOWS
        assert launcher.axis(name, "sync") == SYNCS


@ONE
def test_metrics_and_sizes(launcher: Any) -> None:
    done = launcher.run(*ALL, "--sizes", "1,8,300000", *QUICK)
    assert done.measured() == set(ALL)
    seen = {
        (record["benchmark"], record["unit"], record["size_bytes"]) for record in done.of("samples")
    }
    rates = [name for name in ALL if name.endswith("bw")]
    for name in (*PUTS, *GETS):
        unit = "GB/s" if name in rates else "us"
        assert {(name, unit, size) for size in (1, 8, 300000)} <= seen
    assert {metric for metric in seen if metric[0] in SUMS} == {
        (name, "us", size) for name in SUMS for size in (8, 300000)
    }
    assert {metric for metric in seen if metric[0] in ONE_NUMBER} == {
        (name, "us", 0) for name in ONE_NUMBER
    }


@EVERY
def test_rotating_buffers_at_an_offset_that_are_written_before(launcher: Any) -> None:
    words = ("--sizes", "100000", "--reuse", "rotating", "--offset", "16", *QUICK)
    read, writing = ["get_latency", "get_bw"], ["put_bibw", "acc_latency", "cas_latency"]
    assert launcher.run(*read, *words).measured() == set(read)
    assert launcher.run(*writing, "--touch", "sender", *words).measured() == set(writing)


@ONE
def test_a_place_that_stays_as_it_was_is_one_of_many_that_rotate(
    launcher: Any, faulty: Path
) -> None:
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "once", "NEARPEAK_FAULTY_BYTES": "100000"}
    names = ["acc_latency", "get_acc_latency"]
    done = launcher.run(*names, "--sizes", "100000", "--reuse", "rotating", *QUICK, env=env)
    assert done.code == 3, done.err
    assert [(problem["benchmark"], problem["status"]) for problem in done.of("problem")] == [
        (name, "wrong data") for name in names
    ]


@ONE
def test_who_is_read_cannot_write_before(launcher: Any) -> None:
    done = launcher.run(*GETS, "--touch", "sender", *SMALL)
    assert done.code == 0, done.err
    assert not done.of("samples")
    assert {problem["benchmark"] for problem in done.of("problem")} == set(GETS)
    assert "--touch sender" in done.of("problem")[0]["message"]


@EVERY
def test_sums_of_every_type_of_c(launcher: Any) -> None:
    # Not half and bfloat16: MPICH 5.0.2 adds up their bits as integers, and is told so.
    for kind in launcher.axis("acc_latency", "type")[:4]:
        done = launcher.run(*each(SUMS, "--type", kind), "--sizes", "1000", *QUICK)
        assert done.measured() == set(SUMS)
        assert {case["axes"]["type"] for case in done.of("samples")} == {kind}


@EVERY
def test_buffers_that_are_on_devices(launcher: Any) -> None:
    for win in ("created", "dynamic"):
        words = (*each(ALL, "--win", win), "--buffers", "D,D", *SMALL)
        assert launcher.run(*words, fake="reachable=1").measured() == set(ALL)


@ONE
@pytest.mark.parametrize(
    ("buffers", "win"), [("H", "allocated"), ("D,D", "created"), ("H,D", "created")]
)
def test_the_default_window_takes_the_buffers(launcher: Any, buffers: str, win: str) -> None:
    done = launcher.run(*ALL, "--buffers", buffers, *SMALL, fake="reachable=1")
    assert done.measured() == set(ALL)
    assert {record["axes"]["win"] for record in done.of("samples")} == {win}


@ONE
@pytest.mark.parametrize("win", ["allocated", "shared"])
@pytest.mark.parametrize("buffers", ["H,D", "M,M"])
def test_a_librarys_own_memory_is_on_no_device(launcher: Any, win: str, buffers: str) -> None:
    words = (*each(ALL, "--win", win), "--buffers", buffers, *SMALL)
    done = launcher.run(*words, fake="reachable=1")
    assert done.code == 0, done.err
    assert {problem["benchmark"] for problem in done.of("problem")} == set(ALL)
    reasons = {problem["message"] for problem in done.of("problem")}
    assert reasons == {
        f"the memory of a window that is {win} is the library's own, on the host: "
        "give --buffers H, or --win created"
    }


@ONE
def test_more_than_two_ranks_are_bad_input(launcher: Any) -> None:
    done = launcher.run("put_latency", *SMALL, ranks=3)
    assert done.code == 2
    [line] = done.lines()
    assert "put_latency runs on 2 ranks, not on 3" in line


# Which ranks see it first: put_bibw is both ways, what is fetched is wrong at the origin.
FIRST_WRONG = {
    **dict.fromkeys(ALL, 0),
    **dict.fromkeys(["put_latency", "put_bw", "acc_latency"], 1),
}
FAULTS = {
    "dropped": ALL,
    "late": ALL,
    "wrong": PUTS,
    "moved": [*PUTS, *GETS],
    "gap": [*PUTS, *GETS, *SUMS],
    "twice": [*SUMS, *ONE_NUMBER],
    "careless": ["cas_latency"],
}


@ONE
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("sync", ["flush", "fence"])
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, fault: str, sync: str) -> None:
    for size, group in (("1004", [*PUTS, *GETS, *SUMS]), ("8", ONE_NUMBER)):
        names = [name for name in FAULTS[fault] if name in group]
        if not names:
            continue
        env = {
            "LD_PRELOAD": str(faulty),
            "NEARPEAK_FAULT": fault,
            "NEARPEAK_FAULTY_BYTES": size,
        }
        words = each(names, "--sync", sync)
        done = launcher.run(*words, "--sizes", "1004,2000", *QUICK, env=env)
        assert done.code == 3, (done.out, done.err)
        wrong = [(problem["benchmark"], problem["rank"]) for problem in done.of("problem")]
        rank = {"careless": {"cas_latency": 1}}.get(fault, FIRST_WRONG)
        assert wrong == [(name, rank[name]) for name in names]
        # What is right is still measured.
        right = [(record["benchmark"], record["size_bytes"]) for record in done.of("samples")]
        assert right == [(name, 2000) for name in names if name not in ONE_NUMBER]
