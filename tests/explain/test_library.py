# SPDX-License-Identifier: Apache-2.0
"""The library that is loaded into ranks, in a program without MPI
(preload/tests/explain/fake_program.cpp)."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nearpeak.explain.budget import counters, windows
from nearpeak.explain.events import COPY, DRIVER_CALL, EVENT, HOST_CALL, MARK, SAMPLE, ProcessTrace
from nearpeak.explain.launches import gather
from nearpeak.libraries.build import build_explain, compiler, preloaded_sources

Look = Callable[..., ProcessTrace]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = preloaded_sources() / "tests" / "explain" / "fake_program.cpp"
    made = tmp_path_factory.mktemp("program") / "program"
    flags = ["-std=c++20", "-O1", "-pthread", "-fno-builtin", "-rdynamic"]
    subprocess.run([*compiler(), *flags, source, "-o", made, "-ldl"], check=True)
    return made


@pytest.fixture
def look(program: Path, fake_cupti: Path, tmp_path: Path) -> Look:
    """What the program did, which has said nothing."""

    def run(*words: str, events: int = 1 << 20) -> ProcessTrace:
        env = {
            **os.environ,
            "LD_PRELOAD": str(build_explain()),
            "NEARPEAK_EXPLAIN": str(tmp_path),
            "NEARPEAK_EXPLAIN_BYTES": str(events * EVENT.itemsize),
            "NEARPEAK_CUPTI_LIBRARY": str(fake_cupti),
        }
        done = subprocess.run(
            [program, *words], env=env, capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == ("", "")
        [seen] = gather(tmp_path)
        return seen

    return run


def called(seen: ProcessTrace) -> Counter[str]:
    there = np.isin(seen.kind, (HOST_CALL, DRIVER_CALL))
    return Counter(seen.names[number] for number in seen.name[there])


def test_calls_that_wait_are_not_ended_early(look: Look) -> None:
    seen = look("waits")
    assert (seen.kind == SAMPLE).sum() > 0
    assert called(seen)["sleep"] == 1
    [call] = np.flatnonzero(
        (seen.kind == HOST_CALL) & (np.array(seen.names)[seen.name] == "usleep")
    )
    during = (seen.begin > seen.begin[call]) & (seen.begin <= seen.end[call])
    assert not (during & (seen.kind == SAMPLE)).any()


def test_every_other_sample_is_looked_at_and_the_kernels_counts_are_of_the_rest(look: Look) -> None:
    seen = look("works", "20")
    marks = seen.begin[seen.kind == MARK]
    at = seen.begin[seen.kind == SAMPLE]
    assert ((at > marks[0]) & (at < marks[1])).sum() > 10
    assert not ((at > marks[2]) & (at < marks[3])).any()
    counted = counters(seen)
    assert counted is not None
    assert counted.user_us + counted.system_us > 0


def test_what_warms_up_takes_no_room(look: Look) -> None:
    """It may wait for a rank that is slow to prepare."""
    seen = look("warms", "5000", events=1 << 12)
    assert called(seen)["sched_yield"] == 0
    assert seen.lost == 0
    assert counters(seen) is not None


def test_a_forked_process_is_another(look: Look) -> None:
    assert called(look("forks"))["open"] == 0


def test_writing_down_events_is_no_page_fault_of_the_rank(look: Look) -> None:
    """100,000 events are 781 pages."""
    seen = look("yields", "100000")
    assert called(seen)["sched_yield"] == 200_000
    counted = counters(seen)
    assert counted is not None
    assert counted.minor_faults < 100


def test_what_it_takes_to_see_a_call_is_known_whatever_other_threads_do(look: Look) -> None:
    seen = look("beside", "1")
    assert called(seen)["memcpy"] > 0
    assert seen.host_call_ns > 0
    assert called(seen)["sched_yield"] == 0


def test_waiting_for_another_thread_has_a_name_of_its_own(look: Look) -> None:
    assert called(look("futex"))["futex"] == 2


def within(seen: ProcessTrace, kind: int) -> list[int]:
    """How many of these began in each message that is looked at."""
    [looked_at] = windows([seen])
    begins = seen.begin[seen.kind == kind]
    return [
        int(((begins >= begin) & (begins < end)).sum())
        for begin, end in zip(looked_at.begin, looked_at.end, strict=True)
    ]


def test_copies_of_the_device_find_a_place_behind_any_number_of_calls(look: Look) -> None:
    seen = look("moves", "500", events=1 << 12)
    assert seen.lost > 0
    assert (seen.kind == COPY).sum() == 1000
    assert sum(within(seen, DRIVER_CALL)) > 100
    assert within(seen, COPY) == within(seen, DRIVER_CALL)


def test_where_copies_are_lost_messages_end_with_the_last_whole_one(look: Look) -> None:
    seen = look("moves", "40", "20", events=1 << 12)
    assert (seen.kind == COPY).sum() == 1 << 10
    assert seen.lost == 1600 - (1 << 10)
    assert set(within(seen, COPY)) == {0, 20}  # none in what ends the first sample
    assert [20 * calls for calls in within(seen, DRIVER_CALL)] == within(seen, COPY)


@pytest.mark.parametrize("name", ["cuMemcpyDtoA_v2", "cuMemcpyAtoD_v2", "cuMemcpyHtoA_v2"])
def test_an_offset_is_not_told_as_bytes(look: Look, name: str) -> None:
    seen = look("calls", name)
    of_driver = seen.kind == DRIVER_CALL
    assert set(seen.bytes[of_driver]) == {4096}


def test_the_programs_own_calls_are_told_apart_with_what_the_device_does_for_them(
    look: Look,
) -> None:
    seen = look("own")
    for kind in (DRIVER_CALL, COPY):
        assert seen.own[seen.kind == kind].tolist() == [False, True] * 2
    assert seen.bytes[(seen.kind == COPY) & seen.own].tolist() == [64, 64]
    assert seen.own[np.array(seen.names)[seen.name] == "sched_yield"].tolist() == [True, True]
    assert not seen.own[seen.kind == MARK].any()
    assert (seen.dropped, seen.ended) == (0, True)


def test_records_of_the_device_that_are_lost_are_known(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_FAKE_CUPTI", "dropped=7")
    assert look("own").dropped == 7


def test_a_process_that_does_not_end_as_programs_do_is_known(look: Look) -> None:
    seen = look("leaves")
    assert not seen.ended
    assert (seen.kind == DRIVER_CALL).sum() == 2
    assert (seen.kind == COPY).sum() == 0


def test_reading_the_clock_for_an_event_is_nothing_that_a_rank_is_at(look: Look) -> None:
    seen = look("copies", "300000")
    words = Counter(seen.names[number] for number in seen.name[seen.kind == SAMPLE])
    assert words.total() > 0
    assert [name for name in words if "vdso" in name or "clock_gettime" in name] == []
    assert "syscall, libc.so.6" not in words  # the second of two within one reading
