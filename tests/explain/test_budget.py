# SPDX-License-Identifier: Apache-2.0
"""Where the time of messages went, of events written down by hand."""

from typing import Any

import numpy as np
import pytest

from nearpeak.explain.budget import activity, budget, counters, lanes, windows
from nearpeak.explain.events import COUNTER
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
    assert found.accounted == pytest.approx(1 - 1 / 8)
    assert found.parts[0].name == "cuMemcpyAsync"


def test_calls_within_a_call_are_part_of_it(did: Any) -> None:
    ranks = [
        did.seen(
            0, [*did.sample(0, 4), did.call("cuMemHostRegister", 0, 3), did.call("mlock", 1, 2)]
        )
    ]
    [looked_at] = windows(ranks)
    assert shares(budget(activity(ranks), looked_at, None)) == {(0, "cuMemHostRegister"): 3.0}


def test_what_other_threads_wait_for_holds_nothing_up(did: Any) -> None:
    others = [did.call("poll", 0, 100, thread=1), did.call("memcpy", 1, 2, thread=2)]
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
    assert found.accounted == pytest.approx(1 - 6 / (10 - 2 - 1))


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
