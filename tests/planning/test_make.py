# SPDX-License-Identifier: Apache-2.0
"""Plans: blocks, their order, and how a budget makes them smaller."""

from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching import mps
from nearpeak.launching.command_lines import Tools, path_environment
from nearpeak.launching.describe import Variant
from nearpeak.libraries.families import natives
from nearpeak.libraries.library import CommandLine, Contender, Settings
from nearpeak.planning.commands import make_command
from nearpeak.planning.estimate import guess_cost
from nearpeak.planning.fit import GOAL_LAUNCHES, expected_seconds
from nearpeak.planning.make import PlanContext, make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan, Template
from nearpeak.planning.summary import summary
from nearpeak.planning.templates import Eligibility
from nearpeak.planning.usual import SIZES
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule, Traffic, X

NAMES = {"latency", "bw", "bibw", "mbw_mr"}
TOOLS = Tools(
    command_line=lambda _, launch: CommandLine(argv=launch.program, env=launch.env),
    mpi_program=lambda _: Path("nearpeak-mpi"),
    native_program=lambda: Path("nearpeak-native"),
)


def latency(**axes: str) -> Variant:
    axes = {"calls": "blocking", "reuse": "fixed", **axes}
    return Variant(benchmark="latency", axes=axes)


def seconds(plan: Plan, blocks: int) -> float:
    """Of so many blocks, the pilot among them, with what is kept of a budget."""
    first, later = expected_seconds(plan)
    return (2 * first + (blocks - 2) * later) / 0.9


SOLVER = Benchmark(
    "solver",
    [Metric("solver", "us", "lower")],
    RankRule("at least", 1),
    family="app",
    smallest=1,
    x=X("side", "cells", [64, 256]),
)


def solver_plan(standins: ModuleType, paths: list[Path], **options: Any) -> Plan:
    """Of an application beside messages."""
    variants = [latency(), Variant(benchmark="solver", axes={})]
    return make_plan(
        Options(**options),
        [standins.contender("a")],
        variants,
        paths,
        [*standins.BENCHMARKS, SOLVER],
    )


def test_an_application_has_launches_and_sizes_of_its_own(standins: ModuleType) -> None:
    pair = standins.data_path()
    alone = msgspec.structs.replace(pair, id="host x1", ends=pair.ends[:1])
    network = standins.data_path("host-host tcp-loopback", "network")
    plan = solver_plan(standins, [pair, alone, network], sizes=[8, 1024])
    mine = [launch for launch in plan.launches if plan.application(launch)]
    assert [template.path for template in mine] == [
        pair.id,
        "host x1",
    ]  # the library's own transport
    assert all(plan.sizes_in(template, template.groups[0]) == [64, 256] for template in mine)
    others = [
        launch for launch in plan.launches if launch.role == "mpi" and not plan.application(launch)
    ]
    assert all(plan.sizes_in(other, other.groups[0]) == [8, 1024] for other in others)
    [planned] = [launch for launch in plan.block(0) if launch.path == "host x1"]
    words = make_command(plan, planned, TOOLS).argv
    assert words[words.index("--sizes") + 1] == "64,256"
    assert words[words.index("--memory-limit") + 1] == "2G"
    assert "problems:   solver of 64, 256 cells" in summary(plan)


def test_an_application_is_measured_on_any_named_path_between_memories_that_are_alike(
    standins: ModuleType,
) -> None:
    network = standins.data_path("host-host tcp-loopback", "network")
    mixed = standins.gpu_path("host-gpu near")
    named = [msgspec.structs.replace(path, named=True) for path in (network, mixed)]
    plan = solver_plan(standins, named, sizes=[8])
    assert [launch.path for launch in plan.launches if plan.application(launch)] == [network.id]


def test_the_sizes_of_a_problem_can_be_chosen(standins: ModuleType) -> None:
    plan = solver_plan(standins, [standins.data_path()], problem_sizes=["solver=1K,4K"])
    assert plan.problem_sizes == {"solver": [1024, 4096]}
    for wrong in ("solver", "latency=8", "solver=x"):
        with pytest.raises(UserError):
            solver_plan(standins, [standins.data_path()], problem_sizes=[wrong])


def test_a_benchmark_without_any_of_the_sizes_is_bad_input(standins: ModuleType) -> None:
    bw = Variant(benchmark="bw", axes=latency().axes)
    with pytest.raises(UserError, match="bw has sizes from 1, and 0 has none of them"):
        standins.plan_for(latency(), bw, sizes=[0])


def test_every_block_holds_every_launch_and_a_ceiling_of_each_path(standins: ModuleType) -> None:
    plan = standins.plan_for(seed=3)
    assert plan.looks == [6, 9, 12]
    assert plan.sizes == SIZES
    # 2 libraries on 2 paths, and 3 ceilings
    assert len(set(plan.launches)) == len(plan.launches) == 7
    assert sum(launch.role == "ceiling" for launch in plan.launches) == 3
    blocks = [plan.block(number) for number in range(12)]
    assert all(launch.block == number for number, block in enumerate(blocks) for launch in block)
    orders = [[launch.template for launch in block] for block in blocks]
    assert all(sorted(order) == list(range(7)) for order in orders)
    assert len({tuple(order) for order in orders}) > 6  # in orders of their own
    assert len({launch.seed for block in blocks for launch in block}) == 12 * 7
    for launch in plan.block(2):
        template = plan.launches[launch.template]
        fields = Template.__struct_fields__
        assert all(getattr(launch, name) == getattr(template, name) for name in fields)


def test_the_seed_repeats_the_order(standins: ModuleType) -> None:
    assert standins.plan_for(seed=3).block(7) == standins.plan_for(seed=3).block(7)
    assert standins.plan_for(seed=3).block(7) != standins.plan_for(seed=4).block(7)
    assert standins.plan_for().seed != standins.plan_for().seed


def test_the_order_of_a_seed_stays_what_it_was(standins: ModuleType) -> None:
    """Else a study that is resumed by a later nearpeak would run some launches twice."""
    assert [launch.template for launch in standins.plan_for(seed=3).block(1)] == [
        1,
        6,
        4,
        0,
        5,
        2,
        3,
    ]


def test_all_launches_of_a_block_have_one_order_of_benchmarks(standins: ModuleType) -> None:
    plan = standins.plan_for(of("latency"), of("bw"), of("bibw"), seed=3)
    orders = set()
    for number in range(12):
        order = plan.order(number)
        orders.add(tuple(order))
        for launch in plan.block(number):
            if launch.path != "host-memory node0":
                names = [plan.variants[index].benchmark for index in launch.variants]
                assert (names or asked_of(make_command(plan, launch, TOOLS).argv)) == order
    assert len(orders) > 3


def test_a_plan_is_the_same_once_written(standins: ModuleType) -> None:
    plan = standins.plan_for(seed=3)
    text = msgspec.json.encode(plan, enc_hook=str)
    again = msgspec.json.decode(text, type=Plan, dec_hook=lambda kind, text: kind(text))
    assert again == plan
    assert {launch.template for launch in again.block(1)} == set(range(7))
    assert hash(again.launches[0]) == hash(plan.launches[0])


def test_each_reuse_has_its_own_ceiling(standins: ModuleType) -> None:
    plan = standins.plan_for(latency(), latency(reuse="rotating"))
    axes = [
        (launch.path, group.axes["reuse"])
        for launch in plan.launches
        if launch.role == "ceiling"
        for group in launch.groups
    ]
    assert sorted(axes) == [
        ("host-host same-numa", "fixed"),
        ("host-host same-numa", "rotating"),
        ("host-host tcp-loopback", "fixed"),
        ("host-host tcp-loopback", "rotating"),
        ("host-memory node0", "fixed"),
    ]


def test_two_contenders_cannot_share_a_name(standins: ModuleType) -> None:
    twice = [standins.contender("a"), standins.contender("a")]
    with pytest.raises(UserError, match="two contenders are called 'a'"):
        make_plan(Options(), twice, [latency()], [standins.data_path()], standins.BENCHMARKS)


def test_the_seconds_of_trials_are_taken_from_the_budget(standins: ModuleType) -> None:
    whole = standins.plan_for()
    budget = seconds(whole, GOAL_LAUNCHES) * 1.01
    assert standins.plan_for(budget_seconds=budget).sizes == SIZES
    tight = make_plan(
        Options(budget_seconds=budget),
        whole.contenders,
        whole.variants,
        whole.paths,
        standins.BENCHMARKS,
        PlanContext(trial_seconds=budget / 3),
    )
    assert len(tight.sizes) < len(SIZES)
    assert tight.budget_seconds == budget
    assert any(
        line.startswith("trials: ") and "before the first block" in line for line in summary(tight)
    )


def test_what_the_user_fixed_stays(standins: ModuleType) -> None:
    plan = standins.plan_for(budget_seconds=1.0, slot_ms=77, sizes=[1, 2, 4], launches=8)
    assert (plan.slot_ms, plan.slot_fixed) == (77, True)
    assert (plan.sizes, plan.looks) == ([1, 2, 4], [8])


def test_a_path_is_measured_with_the_buffers_that_fit_it(standins: ModuleType) -> None:
    paths = [
        standins.data_path(),
        standins.gpu_path(),
        standins.gpu_path("host-gpu near"),
    ]
    variants = [
        msgspec.structs.replace(latency(), buffers=name) for name in ("H,H", "D,D", "M,M", "P,D")
    ]
    plan = make_plan(
        Options(launches=2), [standins.contender()], variants, paths, standins.BENCHMARKS
    )
    assert sorted((launch.path, launch.role, *buffers_of(launch)) for launch in plan.launches) == [
        ("gpu-gpu nvlink", "ceiling", "D,D"),  # one for both kinds of a GPU's memory
        ("gpu-gpu nvlink", "mpi", "D,D", "M,M"),
        ("host-gpu near", "ceiling", "H,D"),
        ("host-gpu near", "mpi", "P,D"),
        ("host-host same-numa", "ceiling", "H,H"),
        ("host-host same-numa", "mpi", "H,H"),
    ]


def test_nccl_is_launched_between_gpus_of_one_host_that_are_two(standins: ModuleType) -> None:
    library = msgspec.structs.replace(
        standins.library("nccl"), family="nccl", libmpi=Path("/nccl/libnccl.so.2")
    )
    contenders = [Contender(library=library, settings=Settings(env={"NCCL_ALGO": "Ring"}))]
    paths = [standins.data_path(), standins.gpu_path(), standins.gpu_path("host-gpu near")]
    one_gpu = standins.gpu_path("gpu-gpu same-gpu")
    ends = tuple(msgspec.structs.replace(end, gpu="GPU-0") for end in one_gpu.ends)
    paths.append(msgspec.structs.replace(one_gpu, ends=ends))
    variants = [
        msgspec.structs.replace(latency(), buffers=buffers) for buffers in ("H,H", "D,D", "M,M")
    ]
    other = {**variants[1].axes, "calls": "nonblocking"}
    variants.append(msgspec.structs.replace(variants[1], axes=other))
    plan = make_plan(Options(launches=2), contenders, variants, paths, standins.BENCHMARKS)
    launched = [launch for launch in plan.block(0) if launch.role == "mpi"]
    assert [(launch.path, *buffers_of(launch)) for launch in launched] == [
        ("gpu-gpu nvlink", "D,D", "D,D")
    ]
    [line] = [make_command(plan, launch, TOOLS) for launch in launched]
    where = ["--cpus", "0,1", "--devices", "GPU-0,GPU-1", "--buffers", "D,D"]
    start = ["nccl", *where, "--library", "/nccl/libnccl.so.2", "latency"]
    parts = parts_of(line.argv)
    assert all(part[: len(start)] == start for part in parts)
    assert line.env["NCCL_ALGO"] == "Ring"
    # What is as it always is need not be said, and NCCL may lack the axis.
    assert sorted("--calls" in part for part in parts) == [False, True]
    assert "--staging" not in line.argv
    assert any("NCCL is measured only between ranks of one host" in line for line in summary(plan))


def test_gpus_have_more_in_flight_than_the_host_in_every_budget(standins: ModuleType) -> None:
    paths = [standins.data_path(), standins.gpu_path()]
    variants = [latency(), msgspec.structs.replace(latency(), buffers="D,D")]

    def in_flight(**options: int) -> dict[str, set[str]]:
        plan = make_plan(
            Options(**options), [standins.contender()], variants, paths, standins.BENCHMARKS
        )
        given: dict[str, set[str]] = {}
        for launch in plan.block(0):
            words = make_command(plan, launch, TOOLS).argv
            [buffers] = buffers_of(launch)
            given.setdefault(buffers, set()).add(words[words.index("--in-flight") + 1])
        return given

    assert in_flight() == {"H,H": {"64M"}, "D,D": {"256M"}}
    assert in_flight(budget_seconds=60) == {"H,H": {"64M"}, "D,D": {"256M"}}
    assert in_flight(in_flight_bytes=2**20) == {"H,H": {"1M"}, "D,D": {"1M"}}


def test_launches_on_gpus_keep_out_of_other_daemons_of_mps(standins: ModuleType) -> None:
    paths = [
        standins.data_path(),
        standins.gpu_path(),
        standins.gpu_path("gpu-gpu same-gpu mps", mps=True),
    ]
    variants = [latency(), msgspec.structs.replace(latency(), buffers="D,D")]
    plan = make_plan(Options(), [standins.contender()], variants, paths, standins.BENCHMARKS)
    given = {
        (*buffers_of(launch), str(make_command(plan, launch, TOOLS).env))
        for launch in plan.block(0)
    }
    assert given == {
        ("H,H", "{}"),
        ("D,D", str(mps.environment(mps=False))),
        ("D,D", str(mps.environment(mps=True))),
    }
    assert len(given) == 3


def test_gpus_of_two_hosts_are_numbered_as_by_nvml(standins: ModuleType) -> None:
    path = standins.gpu_path("gpu-gpu two-nodes")
    first, second = path.ends
    far = msgspec.structs.replace(second, host="far")
    across = msgspec.structs.replace(path, ends=(first, far))
    assert "CUDA_DEVICE_ORDER" not in path_environment(path)
    assert path_environment(across)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_contenders_are_measured_where_they_run(standins: ModuleType) -> None:
    contenders = [standins.contender("a"), standins.contender("b")]
    staged = latency(staging="pinned")
    plan = make_plan(
        Options(launches=2),
        contenders,
        [latency(), staged],
        [standins.data_path()],
        standins.BENCHMARKS,
        PlanContext(
            Eligibility(lambda who, variant: (who.library.name == "a") == (variant == staged))
        ),
    )
    launched = {
        (launch.contender, *launch.variants) for launch in plan.launches if launch.role == "mpi"
    }
    assert launched == {(0, 1), (1, 0)}


def test_a_launch_measures_what_can_be_measured_together(standins: ModuleType) -> None:
    def variant(benchmark: str, buffers: str = "D,D", **axes: str) -> Variant:
        return msgspec.structs.replace(latency(**axes), benchmark=benchmark, buffers=buffers)

    variants = [
        variant("latency"),
        variant("bw"),
        variant("latency", calls="nonblocking"),  # the same benchmark again
        variant("bibw"),
        variant("bw", reuse="rotating"),
        variant("bw", buffers="M,M"),
    ]
    plan = make_plan(
        Options(launches=2),
        [standins.contender()],
        variants,
        [standins.gpu_path()],
        standins.BENCHMARKS,
    )
    [launch] = [launch for launch in plan.launches if launch.variants]
    assert [group.variants for group in launch.groups] == [(0, 1, 3), (2,), (4,), (5,)]
    [planned] = [other for other in plan.block(0) if other.role == "mpi"]
    parts = parts_of(make_command(plan, planned, TOOLS).argv)
    assert [option(part, "--buffers") for part in parts] == list(buffers_of(planned))
    names = [[variants[number].benchmark for number in group.variants] for group in planned.groups]
    assert [[word for word in part if word in NAMES] for part in parts] == names
    rotating = [group.axes["reuse"] == "rotating" for group in planned.groups]
    assert ["rotating" in part for part in parts] == rotating


def test_groups_are_in_another_order_in_each_block_and_in_one_in_all_its_launches(
    standins: ModuleType,
) -> None:
    variants = [of("latency", reuse=reuse) for reuse in ("fixed", "single", "rotating")]
    plan = standins.plan_for(*variants, seed=3)
    orders = set()
    for number in range(12):
        mine = {
            tuple(group.axes["reuse"] for group in launch.groups)
            for launch in plan.block(number)
            if len(launch.groups) > 1
        }
        assert len(mine) == 1
        orders |= mine
    assert len(orders) > 3


def test_what_is_not_safe_behind_others_has_a_launch_of_its_own(standins: ModuleType) -> None:
    variants = [of("latency"), of("bw"), of("bibw")]
    plan = make_plan(
        Options(launches=2),
        [standins.contender("a"), standins.contender("b")],
        variants,
        [standins.data_path()],
        standins.BENCHMARKS,
        PlanContext(
            Eligibility(
                alone=lambda who, variant: (who.library.name, variant.benchmark) == ("a", "bw")
            )
        ),
    )
    launched = {
        (launch.contender, *launch.variants) for launch in plan.launches if launch.role == "mpi"
    }
    assert launched == {(0, 0, 2), (0, 1), (1, 0, 1, 2)}


def test_both_ways_between_unlike_memories_share_a_launch(standins: ModuleType) -> None:
    variants = [of("bw", "H,D"), of("bw", "D,H")]
    near = standins.gpu_path("host-gpu near")
    plan = make_plan(ASKED, [standins.contender()], variants, [near], standins.BENCHMARKS)
    assert sorted(launch.role for launch in plan.launches) == ["ceiling", "mpi"]
    for launch in plan.block(0):
        parts = parts_of(make_command(plan, launch, TOOLS).argv)
        # The ranks of a library stay where they are; a ceiling has others.
        there = {option(part, "--buffers"): "--reversed" in part for part in parts}
        assert there == {"H,D": False, "D,H": launch.role == "mpi"}
        if launch.role == "ceiling":
            cpus = [option(part, "--cpus").split(",") for part in parts]
            assert cpus[0] == cpus[1][::-1]


def test_between_hosts_rank_0_stays_on_the_first(standins: ModuleType) -> None:
    variants = [of("bw", "H,D"), of("bw", "D,H")]
    near = standins.gpu_path("host-gpu two-nodes")
    ends = tuple(
        msgspec.structs.replace(end, host=host)
        for end, host in zip(near.ends, ("a", "b"), strict=True)
    )
    far = msgspec.structs.replace(near, ends=ends)
    plan = make_plan(ASKED, [standins.contender()], variants, [far], standins.BENCHMARKS)
    assert [buffers_of(launch) for launch in plan.launches] == [("H,D",), ("D,H",)]
    assert not any(
        "--reversed" in make_command(plan, launch, TOOLS).argv for launch in plan.block(0)
    )


def test_threads_in_mpi_have_a_launch_of_their_own(standins: ModuleType) -> None:
    variants = [of("latency"), of("latency_mt"), of("bw"), of("latency_mt", calls="nonblocking")]
    known = {benchmark.name: benchmark for benchmark in standins.BENCHMARKS}
    threads = msgspec.structs.replace(known["latency"], name="latency_mt", threads=True)
    plan = make_plan(
        Options(launches=2),
        [standins.contender()],
        variants,
        [standins.data_path()],
        [*standins.BENCHMARKS, threads],
    )
    groups = sorted(launch.variants for launch in plan.launches if launch.variants)
    assert groups == [(0, 2), (1, 3)]


ASKED = Options(benchmarks=["all of them"])


def of(benchmark: str, buffers: str = "H,H", **axes: str) -> Variant:
    return msgspec.structs.replace(latency(**axes), benchmark=benchmark, buffers=buffers)


def asked_of(words: list[str]) -> list[str]:
    return words[words.index("--metrics") + 1].split(",")


def parts_of(words: list[str]) -> list[list[str]]:
    """The command lines that a + parts."""
    return [text.split() for text in " ".join(words[1:]).split(" + ")]


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def buffers_of(launch: Template) -> tuple[str, ...]:
    return tuple(group.buffers for group in launch.groups)


def launched(plan: Plan) -> list[tuple[str, str, list[str]]]:
    """Of a block: path, role, and the benchmarks; those of a ceiling by its command line."""
    found = []
    for launch in plan.block(0):
        words = make_command(plan, launch, TOOLS).argv
        names = [plan.variants[number].benchmark for number in launch.variants]
        found.append((launch.path, launch.role, sorted(names or asked_of(words))))
    return sorted(found)


def test_paths_of_many_ranks_are_for_benchmarks_that_run_on_so_many(standins: ModuleType) -> None:
    variants = [of("latency"), of("allreduce"), of("mbw_mr")]
    paths = [standins.data_path(), standins.wide_path(4), standins.wide_path(3)]
    plan = make_plan(ASKED, [standins.contender()], variants, paths, standins.BENCHMARKS)
    assert launched(plan) == [
        ("host-all 3", "mpi", ["allreduce"]),  # and no ceiling
        ("host-all 4", "ceiling", ["mbw_mr"]),
        ("host-all 4", "mpi", ["allreduce", "mbw_mr"]),
        ("host-host same-numa", "ceiling", ["latency", "mbw_mr"]),
        ("host-host same-numa", "mpi", ["allreduce", "latency", "mbw_mr"]),
    ]
    ceiling = next(
        launch for launch in plan.block(0) if launch.path == "host-all 4" and not launch.variants
    )
    assert " ".join(make_command(plan, ceiling, TOOLS).argv).startswith(
        "nearpeak-native pair --cpus 0,1,2,3 --reuse fixed --touch none --metrics mbw_mr --sizes"
    )


def bounded(standins: ModuleType, **traffic: int) -> list[Benchmark]:
    """Those of the programs, of which allreduce has a bound."""
    return [
        msgspec.structs.replace(benchmark, ceiling="bound", traffic=Traffic(**traffic))
        if benchmark.name == "allreduce"
        else benchmark
        for benchmark in standins.BENCHMARKS
    ]


def test_the_ceilings_that_a_bound_follows_from_are_measured(standins: ModuleType) -> None:
    paths = [
        standins.data_path(),
        standins.data_path("host-memory node0", "local"),
        standins.gpu_path(),
        standins.gpu_path("host-gpu near"),
        standins.wide_path(4),
        standins.wide_path(3),
        standins.wide_path(4, gpus=True),
    ]
    known = bounded(standins, once=2, by_ranks=-2)
    variants = [of("allreduce", buffers) for buffers in ("H,H", "D,D", "H,D")]
    plan = make_plan(ASKED, [standins.contender()], variants, paths, known)
    assert [benchmark.name for benchmark in plan.benchmarks] == [
        "allreduce",
        "bw",
        "latency",
        "mbw_mr",
    ]
    found = sorted(
        (launch.path, group.buffers, sorted(set(asked_of(part)) & NAMES))
        for launch in plan.block(0)
        if launch.role == "ceiling" and launch.path != "host-memory node0"
        for group, part in zip(
            launch.groups, parts_of(make_command(plan, launch, TOOLS).argv), strict=True
        )
    )
    assert found == [
        ("gpu-gpu nvlink", "D,D", ["bw", "latency"]),
        ("host-all 4", "H,H", ["mbw_mr"]),
        # Both ways, as a bound is of the faster one; a message's time is no bound of either.
        ("host-gpu near", "D,H", ["bw"]),
        ("host-gpu near", "H,D", ["bw"]),
        ("host-host same-numa", "H,H", ["bw", "latency"]),
    ]
    assert plan.plateaus.keys() == {"gpu-gpu nvlink"}


def test_what_moves_no_data_needs_the_time_of_a_message_of_the_host(standins: ModuleType) -> None:
    paths = [standins.data_path(), standins.gpu_path(), standins.wide_path(4)]
    variants = [of("allreduce"), of("allreduce", "D,D")]
    plan = make_plan(ASKED, [standins.contender()], variants, paths, bounded(standins))
    assert [entry for entry in launched(plan) if entry[1] == "ceiling"] == [
        ("host-host same-numa", "ceiling", ["latency"])
    ]
    assert plan.plateaus == {}


def test_the_ceiling_in_the_place_of_a_library_measures_no_bound(standins: ModuleType) -> None:
    ceiling = Contender(library=natives()["ceiling"], settings=Settings())
    paths, known = [standins.data_path()], bounded(standins, once=1)
    plan = make_plan(ASKED, [ceiling], [of("allreduce"), of("bw")], paths, known)
    assert [entry for entry in launched(plan) if entry[1] == "mpi"] == [
        ("host-host same-numa", "mpi", ["bw"])
    ]


def test_gpus_of_many_ranks_have_no_ceiling(standins: ModuleType) -> None:
    variants = [of("mbw_mr", "D,D"), of("allreduce", "D,D")]
    path = standins.wide_path(4, gpus=True)
    plan = make_plan(ASKED, [standins.contender()], variants, [path], standins.BENCHMARKS)
    assert launched(plan) == [("gpu-all 4", "mpi", ["allreduce", "mbw_mr"])]
    (planned,) = plan.block(0)
    line = " ".join(make_command(plan, planned, TOOLS).argv)
    assert "--buffers D,D --devices GPU-0,GPU-1,GPU-2,GPU-3" in line


def test_what_touched_a_message_has_its_own_ceiling(standins: ModuleType) -> None:
    plan = standins.plan_for(latency(), latency(touch="sender"))
    touched = [
        [group.axes["touch"] for group in launch.groups]
        for launch in plan.launches
        if launch.path != "host-memory node0"
    ]
    assert touched == [["none", "sender"]] * 2 * 3


def test_the_ceiling_in_the_place_of_a_library(standins: ModuleType) -> None:
    ceiling = Contender(library=natives()["ceiling"], settings=Settings())
    variants = [
        *(of("latency"), of("latency", reuse="rotating"), of("latency", calls="nonblocking")),
        *(of("allreduce"), of("bw", "D,D"), of("bw", "M,M"), of("bw", "D,D", staging="pinned")),
    ]
    paths = [
        standins.data_path(),
        standins.data_path("host-host tcp-loopback", "network"),
        standins.gpu_path(),
    ]
    plan = make_plan(Options(), [ceiling], variants, paths, standins.BENCHMARKS)
    launches = [launch for launch in plan.block(0) if launch.role == "mpi"]
    lines = [
        " ".join(part).partition(" --sizes")[0]
        for launch in launches
        for part in parts_of(make_command(plan, launch, TOOLS).argv)
    ]
    host = "--metrics latency --as-library --reuse"
    assert len(launches) == 3
    assert sorted(lines) == [
        "gpu --cpus 0,1 --buffers D,D --devices GPU-0,GPU-1 --metrics bw"
        " --as-library --reuse fixed --touch none",
        f"pair --cpus 0,1 {host} fixed --touch none",
        f"pair --cpus 0,1 {host} rotating --touch none",
        f"tcp --cpus 0,1 --address 127.0.0.1 {host} fixed --touch none",
        f"tcp --cpus 0,1 --address 127.0.0.1 {host} rotating --touch none",
    ]


def test_the_ceiling_in_the_place_of_a_library_takes_as_long_as_a_ceiling(
    standins: ModuleType,
) -> None:
    ceiling = Contender(library=natives()["ceiling"], settings=Settings())
    plan = standins.small_plan(ceiling)
    costs = {launch.role: guess_cost(plan, launch) for launch in plan.launches}
    assert costs["mpi"] == costs["ceiling"]


def test_every_study_has_the_plateau_of_its_paths(standins: ModuleType) -> None:
    plan = standins.plan_for(of("bw"), sizes=[8, 1024])
    assert plan.plateaus == {
        "host-host same-numa": 64 << 20,
        "host-host tcp-loopback": 16 << 20,
    }
    assert "16M,64M too for the rates of ceilings" in "\n".join(summary(plan))
    assert standins.plan_for(of("bw")).plateaus == {}  # whose sizes reach it
    assert standins.plan_for(latency(), sizes=[8]).plateaus == {}  # which has no rates
    small = standins.plan_for(of("bw"), budget_seconds=1)
    assert max(small.sizes) == 1 << 24
    assert small.plateaus["host-host same-numa"] == 64 << 20


def test_ceilings_alone_measure_the_plateau_in_the_first_blocks(standins: ModuleType) -> None:
    plan = standins.plan_for(of("bw"), sizes=[8])
    for block in (0, FEWEST_FOR_INTERVAL - 1, FEWEST_FOR_INTERVAL):
        for launch in plan.block(block):
            words = make_command(plan, launch, TOOLS).argv
            wanted = launch.role == "ceiling" and launch.path in plan.plateaus
            assert ("--plateau" in words) == (wanted and block < FEWEST_FOR_INTERVAL)
            if "--plateau" in words:
                size = {"host-host same-numa": "64M", "host-host tcp-loopback": "16M"}[launch.path]
                assert words[words.index("--plateau") + 1] == size


def test_the_plateau_has_its_cost(standins: ModuleType) -> None:
    plan = standins.plan_for(of("bw"), sizes=[8])
    cost = {number: guess_cost(plan, launch) for number, launch in enumerate(plan.launches)}
    plan.plateaus = {}
    for number, launch in enumerate(plan.launches):
        more = cost[number].per_sample > guess_cost(plan, launch).per_sample
        assert more == (launch.role == "ceiling" and launch.path != "host-memory node0")


def test_what_was_left_to_the_study_is_a_few_sizes_of_what_has_no_measured_ceiling(
    standins: ModuleType,
) -> None:
    paths = [standins.data_path(), standins.wide_path(4), standins.gpu_path("host-gpu near")]
    paths.append(standins.data_path("host-host tcp-loopback", "network"))
    variants = [of("latency"), of("bw"), of("allreduce"), of("allreduce", "H,D")]
    variants.append(of("allreduce", staging="pinned"))
    known = bounded(standins, once=2, by_ranks=-2)
    plan = make_plan(Options(), [standins.contender()], variants, paths, known)
    assert plan.budget_seconds == 780
    assert plan.looks == [6, 9, 12]
    assert plan.few_sizes == [8, 1 << 10, 1 << 15, 1 << 20, 1 << 24]
    found = {}
    for launch in plan.block(0):
        for group, part in zip(
            launch.groups, parts_of(make_command(plan, launch, TOOLS).argv), strict=True
        ):
            named_so = [plan.variants[number].benchmark for number in group.variants]
            found[(launch.path, *sorted(named_so))] = option(part, "--sizes")
            assert option(part, "--memory-limit") == "64M"
    few = "8,1K,32K,1M,16M"
    assert found == {
        ("host-host same-numa",): "0:64M",
        ("host-host same-numa", "bw", "latency"): "0:64M",
        ("host-host same-numa", "allreduce"): few,
        ("host-host tcp-loopback",): "0:64M",
        ("host-host tcp-loopback", "bw", "latency"): "0:64M",
        ("host-all 4",): few,
        ("host-all 4", "allreduce"): few,
    }
    asked = make_plan(ASKED, [standins.contender()], variants, paths, known)
    assert (asked.budget_seconds, asked.few_sizes) == (None, [])
    assert {launch.path for launch in asked.launches} > {path for path, *_ in found}


def test_the_ceilings_of_a_pair_alone(standins: ModuleType) -> None:
    """Those that the bounds of a path of more ends follow from."""
    pair = msgspec.structs.replace(standins.data_path(), ceilings_only=True)
    variants = [of("allreduce"), of("mbw_mr")]
    known = bounded(standins, once=2, by_ranks=-2)
    plan = make_plan(ASKED, [standins.contender()], variants, [pair, standins.wide_path(4)], known)
    assert launched(plan) == [
        ("host-all 4", "ceiling", ["mbw_mr"]),
        ("host-all 4", "mpi", ["allreduce", "mbw_mr"]),
        ("host-host same-numa", "ceiling", ["bw", "latency"]),
    ]
