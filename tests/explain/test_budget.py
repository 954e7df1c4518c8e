# SPDX-License-Identifier: Apache-2.0
"""Where the time of messages went, of events written down by hand."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from nearpeak.explain.budget import (
    activity,
    budget,
    counters,
    iteration_us,
    lanes,
    slowdowns,
    together,
    usual_share,
    windows,
)
from nearpeak.explain.events import COUNTER, KERNEL
from nearpeak.observations.explained import Budget


def shares(found: Budget) -> dict[tuple[int, str], float]:
    return {(part.rank, part.name): round(part.time_us, 6) for part in found.parts}


def test_shares_and_what_is_not_accounted_for_are_the_whole(did: Any) -> None:
    ranks = [
        did.seen(
            0,
            [*did.sample(0, 10), did.call("cuMemcpyAsync", 0, 6, 4096), did.copy(1, 3, 3, 5, 4096)],
        ),
        did.seen(
            1,
            [
                *did.sample(0, 10),
                did.call("sched_yield", 0, 5),
                did.call("memcpy", 5, 7, 2048),
                did.call("sched_yield", 7, 9),
            ],
        ),
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, ceiling_us=2.0)
    assert shares(found) == {
        (0, "cuMemcpyAsync"): 3.5,  # 0 to 3, and half of 5 to 6, which both ranks share
        (0, "copy, pageable to device"): 2.0,
        (1, "sched_yield"): 2.0,  # 7 to 9
        (1, "memcpy"): 1.5,
    }
    assert found.waiting_us == pytest.approx(2)
    assert found.not_accounted_us == pytest.approx(1)
    assert found.accounted_least == pytest.approx(1 - (1 + 2) / 8)  # nor is what waits
    assert found.accounted_most == found.accounted_least
    assert found.parts[0].name == "cuMemcpyAsync"


def test_a_call_that_goes_on_in_the_next_message_is_counted_by_its_part(did: Any) -> None:
    """Two messages of 4 µs: a wait of 2 µs within, and one of 4 µs of which 1 µs is within."""
    ranks = [
        did.seen(
            0,
            [
                *did.sample(0, 4),
                *did.sample(10, 14),
                did.call("sched_yield", 1, 3),
                did.call("sched_yield", 7, 11),
                did.call("recv", 3.5, 3.75, 64),
            ],
        )
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, None)
    waits, moves = found.parts
    assert (waits.count, waits.mean_us, waits.busy_us) == (0.625, 2.4, 1.5)
    assert (waits.label, moves.label) == ("0.62 x sched_yield", "0.5 x recv of 64 B")


def test_calls_within_a_call_are_part_of_it(did: Any) -> None:
    ranks = [
        did.seen(
            0, [*did.sample(0, 4), did.call("cuMemHostRegister", 0, 3), did.call("mlock", 1, 2)]
        )
    ]
    [looked_at] = windows(ranks)
    assert shares(budget(activity(ranks), looked_at, None)) == {(0, "cuMemHostRegister"): 3.0}


def test_what_other_threads_wait_for_holds_nothing_up(did: Any) -> None:
    others = [
        did.call("poll", 0, 100, thread=1),
        did.call("read", 0, 100, 8, thread=3),
        did.call("ioctl", 0, 100, thread=4),
        did.call("futex", 0, 100, thread=5),
        did.call("cuEventSynchronize", 0, 100, thread=6),
        did.call("memcpy", 1, 2, thread=2),
    ]
    ranks = [did.seen(0, [*did.sample(0, 4), *others])]
    [looked_at] = windows(ranks)
    assert shares(budget(activity(ranks), looked_at, None)) == {(0, "memcpy"): 1.0}


def test_what_it_takes_to_see_a_call_is_told_and_held_against_nobody(did: Any) -> None:
    ranks = [
        did.seen(0, [*did.sample(0, 10), did.call("cuEventRecord", 2, 4)], driver_call_ns=2000)
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, ceiling_us=1.0)
    assert shares(found) == {(0, "cuEventRecord"): 2.0, (0, "the microscope"): 2.0}
    assert found.not_accounted_us == pytest.approx(6)
    assert found.added_us == 0


def test_what_it_takes_to_see_calls_of_libc_is_told_too(did: Any) -> None:
    ranks = [did.seen(0, [*did.sample(0, 10), did.call("memcpy", 2, 4)], host_call_ns=500)]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, None)
    assert shares(found) == {(0, "memcpy"): 2.0, (0, "the microscope"): 0.5}


def test_what_the_microscope_adds_without_telling_may_lie_anywhere(did: Any) -> None:
    """A message takes 5 µs, 10 under it, of which 2 are told: 3 are in the 5 of the call, or in the
    3 of which nothing is known."""
    ranks = [
        did.seen(0, [*did.sample(0, 10), did.call("cuEventRecord", 2, 7)], driver_call_ns=2000)
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, ceiling_us=1.0, slower=2.0)
    assert found.added_us == pytest.approx(3)
    assert found.accounted_least == pytest.approx(1 - 3 / (5 - 1))
    assert found.accounted_most == 1
    assert budget(activity(ranks), looked_at, 5.0, slower=2.0).accounted_least is None
    assert budget(activity(ranks), looked_at, 1.0, slower=0.5).added_us == 0


def test_the_benchmarks_own_work_has_rows_of_its_own(did: Any) -> None:
    """It packs by a kernel that it waits for, and the library waits for a copy of its own."""
    kernel = did.Made(KERNEL, "pack_blocks", 1, 4, own=True)
    waits = did.call("cuStreamSynchronize", 1, 5)
    ranks = [
        did.seen(
            0,
            [
                *did.sample(0, 10),
                kernel,
                waits._replace(own=True),
                did.copy(1, 3, 6, 7, 8),
                did.call("cuStreamSynchronize", 6, 9),
            ],
        )
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, None)
    assert {(part.label, part.own): part.time_us for part in found.parts} == {
        ("kernel pack_blocks, the benchmark's own", True): 3,
        ("cuStreamSynchronize, the benchmark's own", True): 1,
        ("copy, pageable to device of 8 B", False): 1,
        ("cuStreamSynchronize", False): 2,
    }


@pytest.mark.parametrize("cost_ns", [0, 50, 150])
def test_what_it_takes_to_see_a_rank_wait_is_not_known_time(did: Any, cost_ns: int) -> None:
    """Rank 0 works by its own instructions, rank 1 gives its core away every 200 ns."""
    yields = [did.call("sched_yield", at / 5, at / 5 + 0.05) for at in range(50)]
    ranks = [
        did.seen(0, did.sample(0, 10), host_call_ns=cost_ns),
        did.seen(1, [*did.sample(0, 10), *yields], host_call_ns=cost_ns),
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, ceiling_us=1.0)
    assert found.accounted_least == pytest.approx(0)
    assert found.accounted_most == pytest.approx(0)
    assert found.added_us == 0
    assert found.waiting_us + found.not_accounted_us == pytest.approx(10)
    assert all(part.others_us == part.time_us for part in found.parts)
    told = {"50 x sched_yield"} | ({"the tracer, while it waits"} if cost_ns else set())
    assert {part.label for part in found.parts} == told


def test_what_the_microscope_adds_is_shared_by_what_it_takes_to_see_the_calls_of_a_leg(
    did: Any,
) -> None:
    """There 20 µs with nine calls, back 10 µs with one and a wait: of the 10 µs that both take
    longer, 9 are of the way there."""
    calls = [did.call("cuMemcpyAsync", at, at + 0.5) for at in range(1, 10)]
    back = [did.call("cuMemcpyAsync", 22, 22.5), did.call("sched_yield", 23, 29)]
    marks = [*did.sample(0, 30), did.turn(30)]
    ranks = [
        did.seen(0, [*marks, *calls, *back], driver_call_ns=400, host_call_ns=400),
        did.seen(1, [did.turn(20)]),
    ]
    legs = windows(ranks)
    seen = activity(ranks)
    assert slowdowns(seen, legs, 1.5) == pytest.approx([20 / 11, 10 / 9])
    assert slowdowns(seen, legs, 0.9) == [0.9, 0.9]
    assert slowdowns(seen, [], 1.5) == []
    assert slowdowns(seen, legs, 30.0) == [30.0, 30.0]  # more than the way there takes
    unseen = [did.seen(0, marks), ranks[1]]
    assert slowdowns(activity(unseen), windows(unseen), 1.5) == pytest.approx([1.5, 1.5])


def test_between_unlike_memories_both_ways_are_held_against_both_ceilings(did: Any) -> None:
    """Without MPI 5 µs each, at a mean; of 30 µs 10 are known."""
    ranks = [
        did.seen(0, [*did.sample(0, 30), did.turn(30), did.call("memcpy", 2, 12)]),
        did.seen(1, [did.turn(20)]),
    ]
    seen = activity(ranks)
    budgets = [budget(seen, leg, None) for leg in windows(ranks)]
    assert [found.accounted_most for found in budgets] == [None, None]
    found = together(budgets, 5.0, 1.0)
    assert (found.least, found.most) == (0, 0)
    assert together(budgets, 1.0, 1.0).most == pytest.approx(1 - 20 / 28)
    assert together(budgets, None, 1.0).most is None


def test_a_wait_does_not_hide_the_work_of_another_rank(did: Any) -> None:
    """Rank 0 gives its core away throughout, rank 1 copies by its own instructions for three
    quarters of the time."""
    ranks = [
        did.seen(0, [*did.sample(0, 100), did.call("sched_yield", 0, 100), did.at("x, libc", 50)]),
        did.seen(
            1,
            [
                *did.sample(0, 100),
                *(did.at("ucs_memcpy_relaxed, libucs.so.0", at_us) for at_us in range(1, 51)),
                did.call("sched_yield", 75, 100),
                did.at("sched_yield, libc.so.6", 80),
            ],
        ),
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, ceiling_us=1.0)
    assert (found.accounted_least, found.accounted_most) == (0, 0)
    assert [(part.rank, part.time_us, part.others_us) for part in found.parts] == [
        (0, 87.5, 75),
        (1, 12.5, 0),
    ]
    assert [(own.rank, own.name, own.samples, own.share, own.during) for own in found.own] == [
        (1, "ucs_memcpy_relaxed, libucs.so.0", 50, 1, "wait")
    ]


def test_calls_beside_those_of_another_rank_are_told_apart(did: Any) -> None:
    """Two of rank 0's six µs, and of rank 1's four; where rank 1 only waits rank 0 is alone."""
    ranks = [
        did.seen(0, [*did.sample(0, 12), did.call("cuIpcOpenMemHandle_v2", 0, 6)]),
        did.seen(
            1,
            [
                *did.sample(0, 12),
                did.call("sched_yield", 0, 4),
                did.call("cuMemcpyAsync", 4, 8),
                did.call("cuStreamSynchronize", 9, 12),
            ],
        ),
    ]
    [looked_at] = windows(ranks)
    found = {part.name: part for part in budget(activity(ranks), looked_at, None).parts}
    handle, copy = found["cuIpcOpenMemHandle_v2"], found["cuMemcpyAsync"]
    assert (handle.time_us, handle.beside_us) == (5, 1)  # of 2 µs together each has half
    assert (copy.time_us, copy.beside_us) == (3, 1)
    assert found["cuStreamSynchronize"].beside_us == 0
    assert handle.beside == ", 20 % of it beside a call of another rank"
    assert found["cuStreamSynchronize"].beside == ""
    assert found["sched_yield"].beside_us is None


def test_only_what_waits_is_asked_what_others_do(did: Any) -> None:
    ranks = [
        did.seen(
            0, [*did.sample(0, 9), did.call("memcpy", 0, 3), did.call("cuStreamSynchronize", 3, 9)]
        ),
        did.seen(1, [*did.sample(0, 9), did.call("sched_yield", 0, 5)]),
    ]
    [looked_at] = windows(ranks)
    found = {part.name: part for part in budget(activity(ranks), looked_at, None).parts}
    assert found["memcpy"].others_us is None
    assert found["cuStreamSynchronize"].others_us == pytest.approx(4)  # 5 to 9


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cuCtxSynchronize_v2", "sync"),
        ("cuStreamSynchronize_ptsz", "sync"),
        ("cuMemcpyDtoH_v2_ptds", "call"),
        ("futex", "wait"),
        ("recv", "wait"),  # without a byte
        ("ioctl", "call"),
    ],
)
def test_what_a_call_is(did: Any, name: str, kind: str) -> None:
    ranks = [did.seen(0, [*did.sample(0, 4), did.call(name, 0, 1)])]
    [looked_at] = windows(ranks)
    [part] = budget(activity(ranks), looked_at, None).parts
    assert (part.name, part.kind) == (name, kind)


def test_the_microscopes_own_libraries_are_nothing_that_a_rank_is_at(did: Any) -> None:
    names = ("libcupti.so.13", "nearpeak_poll, libnearpeak-explain.so", "spin, libmpi.so")
    ranks = [did.seen(0, [*did.sample(0, 9), *(did.at(name, 2) for name in names)])]
    [looked_at] = windows(ranks)
    [own] = budget(activity(ranks), looked_at, None).own
    assert (own.name, own.share) == ("spin, libmpi.so", 1)


def test_an_iteration_takes_the_median_of_the_samples(did: Any) -> None:
    marks = [*did.sample(0, 8, 4), *did.sample(10, 22, 4), *did.sample(30, 430, 4)]
    assert iteration_us([did.seen(0, marks)]) == pytest.approx(3)
    assert iteration_us([did.seen(1, marks)]) is None


def test_messages_that_are_looked_at_are_held_against_the_samples_of_their_launch(
    did: Any,
) -> None:
    """Four round trips of 6 µs, each a sample that takes 8 µs as a signal came behind its turn."""
    starts = [0, 20, 40, 60]
    ranks = [
        did.seen(0, [e for at in starts for e in (*did.sample(at, at + 8), did.turn(at + 6))]),
        did.seen(1, [did.turn(at + 2) for at in starts]),
    ]
    legs = windows(ranks)
    assert [leg.mean_us for leg in legs] == [2, 4]
    assert usual_share(ranks, legs) == pytest.approx(6 / 8)
    assert usual_share(ranks, []) == 1
    assert usual_share([], []) == 1


def test_messages_there_and_back_are_told_apart(did: Any) -> None:
    """Two round trips in one sample, the way there twice as long as the way back."""
    ranks = [
        did.seen(0, [*did.sample(0, 18, 2), did.turn(9), did.turn(18), did.call("memcpy", 7, 8)]),
        did.seen(
            1,
            [
                *did.sample(0, 18, 2),
                did.turn(6),
                did.turn(15),
                did.call("memcpy", 1, 4),
                did.call("memcpy", 10, 13),
            ],
        ),
    ]
    there, back = windows(ranks)
    assert (there.leg, there.messages, there.mean_us) == ("there", 2, 6)
    assert (back.leg, back.messages, back.mean_us) == ("back", 2, 3)
    seen = activity(ranks)
    assert shares(budget(seen, there, None)) == {(1, "memcpy"): 3.0}
    assert shares(budget(seen, back, None)) == {(0, "memcpy"): 0.5}


def test_samples_say_what_ranks_were_at_where_nothing_went_on(did: Any) -> None:
    ranks = [
        did.seen(
            0,
            [
                *did.sample(0, 10),
                did.call("memcpy", 2, 4),
                *(did.at("spin, libmpi.so", at_us) for at_us in (1, 3, 5, 6)),  # 3: in a copy
                did.at("libmpi.so", 9),
                did.at("spin, libmpi.so", 11),  # after it
            ],
        ),
        did.seen(1, [did.at("main", 5)]),
    ]
    [looked_at] = windows(ranks)
    found = budget(activity(ranks), looked_at, None)
    assert [(own.rank, own.name, own.samples, own.share) for own in found.own] == [
        (0, "spin, libmpi.so", 3, 0.75),
        (0, "libmpi.so", 1, 0.25),
        (1, "main", 1, 1.0),
    ]


def test_iterations_that_begin_together_last_until_the_last_rank_ends(did: Any) -> None:
    ranks = [
        did.seen(0, did.sample(0, 4, together=1)),
        did.seen(1, did.sample(1, 7, together=1)),
    ]
    [looked_at] = windows(ranks)
    assert (looked_at.leg, looked_at.mean_us) == ("iteration", 7)


def test_messages_that_were_held_up_are_left_out(did: Any) -> None:
    """Of eight iterations of 1 µs one took 1 ms."""
    times = [1.0, 1.0, 1.0, 1000.0, 1.0, 1.0, 1.0, 1.0]
    ends = np.cumsum(times)
    marks = [
        mark for end, time in zip(ends, times, strict=True) for mark in did.sample(end - time, end)
    ]
    [looked_at] = windows([did.seen(0, marks)])
    usual = looked_at.usual()
    assert (looked_at.messages, usual.messages) == (8, 7)
    assert usual.mean_us == pytest.approx(1)


def test_of_two_messages_both_are_usual(did: Any) -> None:
    [looked_at] = windows([did.seen(0, [*did.sample(0, 2), *did.sample(2, 9)])])
    assert (looked_at.usual().messages, looked_at.usual().mean_us) == (2, 4.5)


def test_messages_there_without_one_back_are_left_out(did: Any) -> None:
    ranks = [
        did.seen(0, [*did.sample(0, 10), did.turn(10)]),
        did.seen(1, [did.turn(4)]),
    ]
    assert [leg.leg for leg in windows(ranks)] == ["there", "back"]
    ranks[0].lost, ranks[0].known_until = 1, 5000
    assert windows(ranks) == []


def test_messages_after_the_last_event_that_found_a_place_are_left_out(did: Any) -> None:
    ranks = [
        did.seen(0, [*did.sample(0, 2), *did.sample(2, 9)]),
        did.seen(1, [did.call("memcpy", 0, 3)]),
    ]
    ranks[1].lost, ranks[1].known_until = 7, 3000
    [looked_at] = windows(ranks)
    assert (looked_at.messages, looked_at.mean_us) == (1, 2)
    ranks[0].lost, ranks[0].known_until = 1, 1000
    assert windows(ranks) == []


def test_without_a_sample_nothing_is_looked_at(did: Any) -> None:
    assert windows([]) == []
    assert windows([did.seen(0, [did.call("memcpy", 0, 1)])]) == []
    assert windows([did.seen(1, did.sample(0, 1))]) == []  # who leads left nothing


def test_lanes_show_one_message(did: Any) -> None:
    calls = [did.call("memcpy", at / 10, at / 10 + 0.05) for at in range(0, 1000)]
    ranks = [did.seen(0, [*did.sample(0, 1000), *calls, did.copy(1, 3, 200, 500, 64)])]
    [rank, device] = lanes(activity(ranks), 0, 1e6)
    assert (rank.of, device.of) == ("rank", "device")
    assert sum(span.count for span in rank.spans) == 1000
    assert len(rank.spans) < 100
    assert [(span.begin_us, span.end_us) for span in device.spans] == [(200, 500)]


def test_what_the_kernel_counted_is_told_for_an_iteration(did: Any) -> None:
    def counted(values: list[float]) -> list[Any]:
        return [did.Made(COUNTER, number, 0, 0, value) for number, value in enumerate(values, 1)]

    before, after = [10.0, 0, 5, 1, 1000, 2000], [18.0, 0, 5, 2, 3000, 6000]
    found = counters(did.seen(0, [*counted(before), *did.sample(0, 4, 4), *counted(after)]))
    assert found is not None
    assert (found.minor_faults, found.involuntary_switches) == (2, 0.25)
    assert (found.user_us, found.system_us) == (0.5, 1)
    assert counters(did.seen(0, counted(before))) is None


@pytest.mark.parametrize("cut", range(7))
def test_what_the_kernel_counted_of_a_sample_that_was_cut_short_is_left_out(
    did: Any, cut: int
) -> None:
    """Events run out behind the first samples: so many of the next one's counts found a place."""

    def counted(value: float, most: int = 6) -> list[Any]:
        return [did.Made(COUNTER, number, 0, 0, value) for number in range(1, 1 + most)]

    whole = [*counted(1), *did.sample(0, 4), *counted(3), *counted(10), *did.sample(5, 9)]
    third = [*counted(100), *did.sample(10, 14)]
    found = counters(did.seen(0, [*whole, *counted(11), *third, *counted(900, min(cut, 5))]))
    assert found is not None
    assert (found.minor_faults, found.system_us) == (1.5, 0.0015)
    found = counters(did.seen(0, [*whole, *counted(11, cut)]))
    assert found is not None
    assert found.minor_faults == (1.5 if cut == 6 else 2)


@pytest.mark.parametrize("ranks", [2, 64])
def test_what_is_kept_in_memory_grows_with_the_events_and_not_with_the_ranks_too(
    did: Any, ranks: int
) -> None:
    def did_calls(rank: int) -> Any:
        starts = (at / 10 + rank / 1000 for at in range(12_800 // ranks))
        calls = [did.call("memcpy", start, start + 0.05) for start in starts]
        return did.seen(rank, [*did.sample(0, 700), *calls])

    seen = activity([did_calls(rank) for rank in range(ranks)])
    [looked_at] = windows([did.seen(0, did.sample(0, 700))])
    tracemalloc.start()
    try:
        budget(seen, looked_at, None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12_800 * 80 * 8  # bytes: some eighty numbers for each event
