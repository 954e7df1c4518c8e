# SPDX-License-Identifier: Apache-2.0
"""What records say of what is left: the same cases count as in the results."""

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.launching.program_records import (
    CaseRecord,
    EnvironmentRecord,
    ProblemRecord,
    SamplesRecord,
)
from nearpeak.planning.commands import wanted_place
from nearpeak.planning.fit import spare
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Group, Plan, PlannedLaunch, Spare
from nearpeak.study.recording import Recording
from nearpeak.study.records import (
    LaunchEndRecord,
    LeftOutRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
)
from nearpeak.study.schedule import Schedule
from nearpeak.study.spares import to_leave_out
from nearpeak.study.templates import launch_record
from nearpeak.terms.identity import Who

CASE: dict[str, Any] = {
    "benchmark": "latency",
    "buffers": "H,H",
    "axes": {"calls": "blocking", "reuse": "fixed"},
    "method": None,
}


@pytest.fixture
def plan(standins: ModuleType) -> Plan:
    made: Plan = standins.small_plan(launches=6)
    return made


class Fed(Schedule):
    """A schedule that follows the records that it is fed with, from the first session on."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.records: list[Record] = []
        self._recording = Recording(plan, self)
        self.session()

    def session(self) -> None:
        """A session begins."""
        number = len(self._recording.sessions)
        fingerprint = Fingerprint(machine={}, driver={}, library={}, build={}, environment={})
        self.feed(
            SessionRecord(session=number, started="now", nearpeak="0", fingerprint=fingerprint)
        )

    def feed(self, record: Record) -> None:
        self.records.append(record)
        self._recording.take(record)


def place(state: Fed, planned: PlannedLaunch, group: Group) -> None:
    """The ranks of a group are where they are to be."""
    wanted = wanted_place(state.plan, planned, group)
    ranks = [{"rank": rank, "host": "h", "cpus": cpus} for rank, cpus in enumerate(wanted.cpus)]
    nothing: dict[str, Any] = {"program": "", "version": "", "library_version": None}
    state.feed(EnvironmentRecord(launch=0, ranks=ranks, clock={}, env={}, **nothing))


def library(plan: Plan, block: int) -> PlannedLaunch:
    return next(launch for launch in plan.block(block) if launch.role == "mpi")


def feed(
    state: Fed,
    planned: PlannedLaunch,
    status: Any,
    value: float,
    wrong: int | None = None,
    session: int = 0,
) -> None:
    """A launch of both sizes, one of which may have brought wrong data after all."""
    state.feed(launch_record(state.plan, planned, 0, "line", "now", session))
    place(state, planned, planned.groups[0])
    for size in state.plan.sizes:
        state.feed(
            SamplesRecord(
                launch=0, metric="latency", size_bytes=size, unit="us",
                better="lower", samples=[value], batch=1, kept_every=1, iterations=1,
                warmup_iterations=1, first_use_us=1.0, window=1, seconds=0.1, **CASE,
            )
        )  # fmt: skip
    if wrong is not None:
        state.feed(
            ProblemRecord(launch=0, size_bytes=wrong, status="wrong data", message="", **CASE)
        )
    state.feed(
        LaunchEndRecord(launch=0, status=status, exit_status=0, seconds=1.0, message="", log=None)
    )


def counted(state: Fed) -> list[int]:
    """Launch medians of each cell."""
    return [len(cell.medians) for cell in state.cells()]


@pytest.mark.parametrize(
    ("status", "wrong", "expected"),
    [
        ("ok", None, [1, 1]),
        ("crashed", None, [1, 1]),  # what was verified before counts
        ("failed", None, []),
        ("wrong data", 8, [1]),
        ("wrong data", None, []),  # nobody knows in which case
        ("interrupted", None, []),  # it runs again
    ],
)
def test_what_results_reject_does_not_count(
    plan: Plan, status: str, wrong: int | None, expected: list[int]
) -> None:
    state = Fed(plan)
    feed(state, library(plan, 0), status, 1.0, wrong)
    assert counted(state) == expected


def test_a_launch_that_ended_is_not_left(plan: Plan) -> None:
    state = Fed(plan)
    planned = library(plan, 0)
    assert planned in state.remaining(0)
    feed(state, planned, "ok", 1.0)
    assert planned not in state.remaining(0)
    assert len(state.remaining(0)) == len(plan.launches) - 1


def test_one_that_was_interrupted_is(plan: Plan) -> None:
    state = Fed(plan)
    feed(state, library(plan, 0), "interrupted", 1.0)
    assert library(plan, 0) in state.remaining(0)


def feed_some(
    state: Fed,
    planned: PlannedLaunch,
    crashes_in: str = "",
    values: Mapping[str, float] = {},
    cache_line_ns: float | None = None,
    seconds: float = 1.0,
) -> None:
    """A launch that ends with the first case of a benchmark, or well."""
    state.feed(launch_record(state.plan, planned, 0, "line", "now", 0))
    status: Any = "ok"
    for group in planned.groups:
        place(state, planned, group)
        for number in group.variants:
            benchmark = state.plan.benchmark(state.plan.variants[number])
            case = {**CASE, "benchmark": benchmark.name}
            plain = {name: case[name] for name in ("benchmark", "buffers", "axes")}
            state.feed(CaseRecord(launch=0, size_bytes=8, **plain))
            if benchmark.name == crashes_in:
                status = "crashed"
                break
            value = values.get(benchmark.name, 1.0)
            for size in state.plan.sizes:
                state.feed(
                    SamplesRecord(
                        launch=0, metric=benchmark.main.name, size_bytes=size,
                        unit=benchmark.main.unit, better=benchmark.main.better, samples=[value],
                        batch=1, kept_every=1, iterations=1, warmup_iterations=1, first_use_us=1.0,
                        window=1, seconds=0.1, cache_line_ns=[cache_line_ns], **case,
                    )
                )  # fmt: skip
        if status != "ok":
            break
    end = {"exit_status": 0, "seconds": seconds, "message": "", "log": None}
    state.feed(LaunchEndRecord(launch=0, status=status, **end))


def left(state: Fed, block: int) -> PlannedLaunch:
    """The library's launch of a block."""
    return next(launch for launch in state.remaining(block) if launch.role == "mpi")


def names_of(state: Fed, block: int) -> list[str]:
    """What is left of it, in order."""
    return [state.plan.variants[number].benchmark for number in left(state, block).variants]


THREE = ("latency", "bw", "bibw")


def test_what_a_launch_crashed_in_comes_last_and_takes_nothing_along(standins: ModuleType) -> None:
    state = Fed(standins.small_plan(launches=6, benchmarks=THREE))
    feed_some(state, left(state, 0), crashes_in="bw")
    for block in range(1, 6):
        assert set(names_of(state, block)) == set(THREE)
        assert names_of(state, block)[-1] == "bw"
    # Another one, too: the two take turns at being last.
    feed_some(state, left(state, 1), crashes_in="bibw")
    assert names_of(state, 2)[0] == "latency"
    first = names_of(state, 2)[1]
    feed_some(state, left(state, 2), crashes_in=first)
    assert names_of(state, 3)[-1] == first


def test_what_never_gives_a_sample_is_given_up_and_the_rest_goes_on(standins: ModuleType) -> None:
    state = Fed(standins.small_plan(launches=6, benchmarks=THREE))
    for block in range(3):
        assert "bw" in names_of(state, block)
        feed_some(state, left(state, block), crashes_in="bw")
    assert set(names_of(state, 3)) == {"latency", "bibw"}


def test_what_is_precise_is_left_out_of_its_launch(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9]
    state = Fed(plan)
    for block in range(6):
        for planned in plan.block(block):
            feed_some(state, planned, values={"bw": 1.0 + block})
    assert names_of(state, 6) == ["bw"]
    assert not state.contenders_done(6)
    assert {launch.role for launch in state.remaining(6)} == {"mpi", "ceiling"}


def run_moving(state: Fed, until: int, far: Collection[int]) -> list[list[str]]:
    """Blocks in which latency follows the distance and bw scatters; what each library
    launch measures, block by block."""
    found = []
    for block in range(until):
        found.append(sorted(names_of(state, block)))
        for planned in state.remaining(block):
            distance = 300.0 if block in far else 60.0
            values = {"latency": distance, "bw": 1.0 + block}
            feed_some(state, planned, values=values, cache_line_ns=distance)
    return found


BOTH = ["bw", "latency"]


def test_what_ended_at_one_distance_of_the_cpus_goes_on_once_they_move(
    standins: ModuleType,
) -> None:
    """MPICH's bcast of 1 MiB took 490 us in blocks that all happened to be far, and other cases
    had near ones later: 129 us."""
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9, 12, 18]
    state = Fed(plan)
    found = run_moving(state, 14, far=range(6))
    # Of 8 blocks two are near: a quarter.
    assert found == [BOTH] * 6 + [["bw"]] * 2 + [BOTH] * 6


def test_nothing_ends_before_the_rest_where_cpus_move(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9, 12, 18]
    state = Fed(plan)
    for block in range(9):
        for planned in state.remaining(block):
            far = 300.0 if block % 2 else 60.0
            feed_some(state, planned, values={"bw": 1.0 + block}, cache_line_ns=far)
    assert sorted(names_of(state, 9)) == BOTH


def test_a_few_launches_at_another_distance_change_nothing(standins: ModuleType) -> None:
    """2 of 54 launches on a host with an H200 were near."""
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9, 12]
    state = Fed(plan)
    assert run_moving(state, 10, far=range(9)) == [BOTH] * 6 + [["bw"]] * 4


def test_where_cpus_move_what_is_all_precise_ends(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9]
    state = Fed(plan)
    for block in range(6):
        for planned in state.remaining(block):
            feed_some(state, planned, cache_line_ns=300.0 if block % 2 else 60.0)
    assert state.contenders_done(6)
    assert state.forecast() is None


def test_paths_between_the_same_cpus_go_on_together(standins: ModuleType) -> None:
    """8 of 32 launches are near then: all of four blocks, in which one path is measured alone."""
    near, tcp = standins.data_path(), standins.data_path("host-host tcp-loopback", "network")
    plan = standins.small_plan(launches=6, paths=(near, tcp))
    plan.looks = [6, 9, 12]
    state = Fed(plan)
    paths = []
    for block in range(11):
        paths.append({planned.path for planned in state.remaining(block)})
        for planned in state.remaining(block):
            value = 1.0 if planned.path == near.id else 1.0 + block
            distance = 300.0 if block < 6 else 60.0
            feed_some(state, planned, values={"latency": value}, cache_line_ns=distance)
    assert paths == [{near.id, tcp.id}] * 6 + [{tcp.id}] * 4 + [{near.id, tcp.id}]


def test_a_resumed_study_goes_on_with_what_it_went_on_with(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=("latency", "bw"))
    plan.looks = [6, 9, 12, 18]
    live = Fed(plan)
    run_moving(live, 11, far=range(6))
    again = Schedule(plan)
    recording = Recording(plan, again)
    for record in live.records:
        recording.take(record)
    again.begin_session()
    assert [again.remaining(block) for block in range(12)] == [
        live.remaining(block) for block in range(12)
    ]


def test_where_all_is_precise_time_brings_nothing(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=("latency",))
    plan.looks = [6, 9]
    state = Fed(plan)
    for block in range(6):
        assert block == 0 or state.forecast()
        for planned in plan.block(block):
            feed_some(state, planned)
    assert state.contenders_done(6)
    assert state.forecast() is None


def test_the_blocks_that_a_plan_was_fitted_to_may_take_a_quarter_more(
    standins: ModuleType,
) -> None:
    plan = standins.small_plan(launches=8)
    assert Schedule(plan).may_run(7, 1e9)  # without a budget
    plan.budget_seconds = 100.0
    state = Fed(plan)
    found = [
        (block, state.may_run(block, 120.0), state.may_run(block, 130.0)) for block in (1, 5, 6)
    ]
    assert found == [(1, True, True), (5, True, False), (6, False, False)]
    state.budget_seconds = 110.0  # more was asked for since
    assert not state.may_run(5, 120.0)


def test_a_large_part_left_out_makes_room_for_small_ones_before_it(standins: ModuleType) -> None:
    near, far = standins.data_path(), standins.data_path("host-host two", "memory")
    plan = standins.small_plan(
        standins.contender(), launches=6, benchmarks=THREE, paths=(near, far)
    )
    plan.budget_seconds = 1000.0
    plan.spare = [
        Spare(kind="benchmark", name="bibw", why="so", variants=[2]),
        Spare(kind="path", name=far.id, why="so", paths=[far.id]),
    ]
    state = Fed(plan)
    for planned in state.remaining(0):
        if planned.role == "mpi":
            feed_some(state, planned)
    everything = state.seconds_left(1, 6)
    assert to_leave_out(state, 1, 6, everything) == {}
    assert to_leave_out(state, 1, 6, everything - 0.1) == {0: everything}
    assert list(to_leave_out(state, 1, 6, everything - 4.0)) == [1]
    assert list(to_leave_out(state, 1, 6, 0.0)) == [0, 1]
    assert state.seconds_left(1, 6) == everything  # nothing is left out yet


THREE_PATHS = ("host-host same-numa", "host-host tcp-loopback", "host-host cross-numa")
NEAR, TCP, FAR = THREE_PATHS


def after_a_block(
    standins: ModuleType,
    slow: Mapping[tuple[str, str], float],
    paths: Sequence[str] = THREE_PATHS,
    launches: int = 6,
    without: tuple[str, str] | None = None,
    crashed: tuple[str, str] | None = None,
) -> Fed:
    """Of two libraries on three paths, after one block of launches of 1 s; those of some libraries
    on some paths took so many seconds. One library on one path is not measured, or crashed."""
    plan = standins.small_plan(
        standins.contender("alpha"),
        standins.contender("beta"),
        launches=launches,
        paths=tuple(
            standins.data_path(path, "network" if path == TCP else "memory") for path in paths
        ),
    )
    plan.launches = [each for each in plan.launches if (plan.who(each).label, each.path) != without]
    plan.budget_seconds = 1000.0
    plan.spare = spare(plan, Options())
    state = Fed(plan)
    for planned in state.remaining(0):
        which = plan.who(planned).label, planned.path
        crashes_in = "latency" if which == crashed else ""
        feed_some(state, planned, crashes_in, seconds=slow.get(which, 1.0))
    return state


def left_out(state: Fed, seconds: float) -> list[str]:
    """What leaves the next five blocks so many seconds."""
    return [state.plan.spare[number].name for number in to_leave_out(state, 1, 6, seconds)]


def test_a_library_that_is_slow_on_one_path_is_left_out_there_before_anything_else(
    standins: ModuleType,
) -> None:
    """Though it is the path that would stay longest, and the only one: Open MPI's pipelined copies
    between the host and a GPU took a hundred times as long as others."""
    state = after_a_block(standins, {("alpha", NEAR): 100.0})
    everything, slow = state.seconds_left(1, 6), f"alpha on {NEAR}"
    assert left_out(state, everything) == []
    assert left_out(state, everything - 1.0) == [slow]
    others = everything - 5 * 100.0
    assert left_out(state, others) == [slow]
    assert left_out(state, others - 1.0) == [slow, TCP]
    # The slow launch took the room of the rest: that has two launches in any case.
    assert left_out(state, 0.0) == [slow]
    assert left_out(state, -100.0) == [slow, TCP]  # it would have had none; FAR is alpha's last
    [number] = to_leave_out(state, 1, 6, others)
    state.feed(LeftOutRecord(block=1, spare=number, budget_seconds=everything))
    left = {(state.plan.who(launch).label, launch.path) for launch in state.remaining(1)}
    assert left == {(who, path) for who in ("alpha", "beta", "ceiling") for path in THREE_PATHS} - {
        ("alpha", NEAR)
    }
    assert left_out(state, 0.0) == []
    assert left_out(state, -100.0) == [TCP]
    told = state.plan.left_out_later(number, everything, 1)
    assert (told.label, told.who, told.path, told.paths) == (slow, Who("alpha"), NEAR, [])


def test_of_several_slow_ones_the_costliest_go_as_far_as_needed(standins: ModuleType) -> None:
    state = after_a_block(standins, {("alpha", NEAR): 50.0, ("beta", NEAR): 100.0})
    everything = state.seconds_left(1, 6)
    assert left_out(state, everything - 1.0) == [f"beta on {NEAR}"]
    both = [f"beta on {NEAR}", f"alpha on {NEAR}"]
    assert left_out(state, everything - 501.0) == both
    for number in to_leave_out(state, 1, 6, everything - 501.0):
        state.feed(LeftOutRecord(block=1, spare=number, budget_seconds=everything))
    assert {launch.path for launch in state.remaining(1)} == {TCP, FAR}  # nor its ceiling


def test_a_library_that_is_slow_everywhere_stays_on_a_path(standins: ModuleType) -> None:
    state = after_a_block(standins, {("alpha", path): 100.0 for path in (NEAR, TCP)}, (NEAR, TCP))
    others = state.seconds_left(1, 6) - 1000.0
    assert left_out(state, others + 500.0) in ([f"alpha on {NEAR}"], [f"alpha on {TCP}"])
    assert len(left_out(state, others)) == 1


def test_where_no_library_is_much_slower_than_usual_all_is_left_out_in_order(
    standins: ModuleType,
) -> None:
    state = after_a_block(standins, {("alpha", NEAR): 4.0, ("beta", FAR): 3.0})
    assert left_out(state, state.seconds_left(1, 6) - 1.0) == [TCP]
    assert left_out(state, 0.0) == [TCP, FAR]
    # All of them are slow: so is the machine.
    everywhere = {(who, path): 30.0 for who in ("alpha", "beta") for path in THREE_PATHS}
    state = after_a_block(standins, everywhere | {("ceiling", path): 30.0 for path in THREE_PATHS})
    assert left_out(state, 0.0) == [TCP, FAR]
    # So are most of them: how long ceilings take is not what is usual of libraries.
    most = {(who, path): 30.0 for who in ("alpha", "beta") for path in (NEAR, FAR)}
    state = after_a_block(standins, most)
    assert left_out(state, state.seconds_left(1, 6) - 1.0) == [TCP]


def test_a_library_that_crashes_or_hangs_on_a_path_is_not_slow(standins: ModuleType) -> None:
    which = "alpha", NEAR
    state = after_a_block(standins, {which: 100.0}, crashed=which)
    assert left_out(state, state.seconds_left(1, 6) - 1.0) == [TCP]


def test_a_path_goes_before_others_though_it_is_all_of_a_library(standins: ModuleType) -> None:
    state = after_a_block(standins, {}, (NEAR, TCP), without=("beta", NEAR))
    assert left_out(state, state.seconds_left(1, 6) - 1.0) == [TCP]


def test_alternatives_stop_together_whoever_has_which_value(standins: ModuleType) -> None:
    """Two that differ stop when both are precise. Which of two values of a block is whose changes
    nothing: they would otherwise stop where they happen to lie apart."""
    found = []
    for turned in (False, True):
        plan = standins.small_plan(
            standins.contender("alpha"), standins.contender("beta"), launches=6
        )
        plan.looks = [6, 9]
        state = Fed(plan)
        for block in range(6):
            for planned in plan.block(block):
                value = 2.0 if (planned.contender == 1) != (turned and block % 2 == 0) else 1.0
                feed_some(state, planned, values={"latency": value})
        found.append(state.contenders_done(6))
    assert found == [True, True]


def test_a_precise_alternative_goes_on_beside_one_that_is_not(standins: ModuleType) -> None:
    plan = standins.small_plan(standins.contender("alpha"), standins.contender("beta"), launches=6)
    plan.looks = [6, 9]
    state = Fed(plan)
    for block in range(6):
        for planned in plan.block(block):
            value = 10.0 + block if planned.contender == 1 else 1.0
            feed_some(state, planned, values={"latency": value})
    assert {launch.contender for launch in state.remaining(6) if launch.role == "mpi"} == {0, 1}


def test_what_was_left_out_is_no_figure_of_the_study(standins: ModuleType) -> None:
    plan = standins.small_plan(launches=6, benchmarks=THREE)
    plan.spare = [Spare(kind="benchmark", name="bibw", why="so", variants=[2])]
    state = Fed(plan)
    for planned in state.remaining(0):
        feed_some(state, planned)
    measured = len(state.cells())
    state.feed(LeftOutRecord(block=1, spare=0, budget_seconds=100.0))
    assert 0 < len(state.cells()) < measured
    found = state.forecast()
    assert found is not None
    assert found.cells == len(state.cells())


def test_blocks_that_others_follow_lack_nothing(standins: ModuleType) -> None:
    """What another nearpeak judged to be precise then may not be so today: it is not run later."""
    plan = standins.small_plan(launches=6)
    state = Fed(plan)
    feed(state, library(plan, 0), "ok", 1.0)
    assert [launch.role for launch in state.remaining(0)] == ["ceiling"]
    feed(state, library(plan, 1), "ok", 1.0)
    assert state.remaining(0) == []
    assert state.whole_blocks == 1
    # The end of a study follows its last block, but where it was interrupted.
    for status, left in (("interrupted", ["ceiling"]), ("imprecise", [])):
        state.feed(StudyEndRecord(status=status, message=""))
        assert [launch.role for launch in state.remaining(1)] == left
    state.begin_session()
    assert state.remaining(0) == state.remaining(1) == []


def test_a_block_that_was_cut_off_is_measured_again(plan: Plan) -> None:
    """Whatever the budget."""
    plan.budget_seconds = 0.001
    state = Fed(plan)
    for planned in plan.block(0):
        feed(state, planned, "ok", 1.0)
    feed(state, library(plan, 1), "ok", 1.0)
    assert counted(state) == [2, 2]
    state.session()
    assert state.remaining(0) == []
    assert state.remaining(1) == plan.block(1)
    assert state.may_run(1, 1e9)
    for planned in plan.block(1):
        feed(state, planned, "ok", 3.0, session=1)
    assert counted(state) == [2, 2]
    assert {cell.medians[-1].value for cell in state.cells()} == {3.0}
    state.session()
    assert state.remaining(1) == []
