# SPDX-License-Identifier: Apache-2.0
"""Plans: blocks, their order, and how a budget makes them smaller."""

from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.libraries.families import natives
from nearpeak.libraries.model import CommandLine, Settings
from nearpeak.study import mps
from nearpeak.study.commands import Tools, make_command, path_environment
from nearpeak.study.estimate import Estimate, guess_seconds, key_of
from nearpeak.study.model import Contender, Plan, Variant
from nearpeak.study.options import Options
from nearpeak.study.plan import SIZES, make_plan, summary

TOOLS = Tools(
    command_line=lambda _, launch: CommandLine(argv=launch.program, env=launch.env),
    mpi_program=lambda _: Path("nearpeak-mpi"),
    native_program=lambda: Path("nearpeak-native"),
)


def latency(**axes: str) -> Variant:
    axes = {"calls": "blocking", "reuse": "fixed", **axes}
    return Variant(benchmark="latency", axes=axes)


def plan_for(standins: ModuleType, *variants: Variant, **options: Any) -> Plan:
    paths = [
        standins.data_path(),
        standins.data_path("host-host tcp-loopback", "network"),
        standins.data_path("host-memory node0", "local"),
    ]
    contenders = [standins.contender("a"), standins.contender("b")]
    return make_plan(
        Options(**options), contenders, variants or [latency()], paths, standins.BENCHMARKS
    )


def seconds(plan: Plan, blocks: int) -> float:
    return Estimate(plan).seconds([one for one in plan.launches if one.block < blocks])


def test_every_block_holds_every_launch_and_a_ceiling_of_each_path(standins: ModuleType) -> None:
    plan = plan_for(standins, seed=3)
    assert plan.looks == [6, 9, 12]
    assert plan.sizes == SIZES
    assert [one.launch for one in plan.launches] == list(range(len(plan.launches)))
    blocks = [[one for one in plan.launches if one.block == block] for block in range(12)]
    keys = [[key_of(one) for one in block] for block in blocks]
    # 2 libraries on 2 paths, and 3 ceilings
    assert all(len(set(block)) == len(block) == 7 for block in keys)
    assert all(set(block) == set(keys[0]) for block in keys)
    assert len({tuple(block) for block in keys}) > 6  # in orders of their own
    assert sum(one.role == "ceiling" for one in blocks[0]) == 3


def test_the_seed_repeats_the_order(standins: ModuleType) -> None:
    assert plan_for(standins, seed=3).launches == plan_for(standins, seed=3).launches
    assert plan_for(standins, seed=3).launches != plan_for(standins, seed=4).launches
    assert plan_for(standins).seed != plan_for(standins).seed


def test_each_reuse_has_its_own_ceiling(standins: ModuleType) -> None:
    plan = plan_for(standins, latency(), latency(reuse="rotating"))
    axes = [
        (one.path, one.axes["reuse"])
        for one in plan.launches
        if one.block == 0 and one.role == "ceiling"
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


def test_a_budget_takes_the_slot_first(standins: ModuleType) -> None:
    wide = plan_for(standins, budget_seconds=10 * 3600)
    assert (wide.slot_ms, wide.sizes, wide.looks) == (200, SIZES, [6, 9, 12])
    narrow = plan_for(standins, budget_seconds=seconds(wide, 6) * 0.6)
    assert 50 <= narrow.slot_ms < 200
    assert (narrow.sizes, narrow.looks) == (SIZES, [6, 9, 12])
    assert seconds(narrow, 6) <= narrow.budget_seconds


def test_a_budget_takes_sizes_next_and_launches_last(standins: ModuleType) -> None:
    least = seconds(plan_for(standins, slot_ms=50), 6)
    thin = plan_for(standins, budget_seconds=least)
    assert (thin.slot_ms, thin.looks) == (50, [6, 9, 12])
    assert thin.sizes == [0, *(4**power for power in range(14))]
    few = plan_for(standins, budget_seconds=least * 0.2)
    assert few.slot_ms == 50
    assert few.sizes == [0, *(4 * 16**power for power in range(7))]
    assert 2 <= few.looks[0] < 6
    assert len(few.looks) == 1
    assert few.launches[-1].block == few.looks[0] - 1
    assert "note:       fewer than 6 launches a cell give no 95 % interval" in summary(few)


def test_at_least_two_launches_stay(standins: ModuleType) -> None:
    plan = plan_for(standins, budget_seconds=1.0)
    assert plan.looks == [2]
    assert any("the estimate exceeds the budget" in line for line in summary(plan))


def test_what_the_user_fixed_stays(standins: ModuleType) -> None:
    plan = plan_for(standins, budget_seconds=1.0, slot_ms=77, sizes=[1, 2, 4], launches=8)
    assert (plan.slot_ms, plan.sizes, plan.looks) == (77, [1, 2, 4], [8])


def test_an_estimate_learns_from_what_was_measured(standins: ModuleType) -> None:
    plan = plan_for(standins, seed=3)
    block = [one for one in plan.launches if one.block == 0]
    estimate = Estimate(plan)
    guess = estimate.seconds(block[:1])
    estimate.add(block[0], guess * 2)
    assert estimate.seconds(block[:1]) == pytest.approx(guess * 2)
    # What is still unknown is corrected by as much.
    assert estimate.seconds(block[1:]) == pytest.approx(2 * Estimate(plan).seconds(block[1:]))


def test_a_path_is_measured_with_the_buffers_that_fit_it(standins: ModuleType) -> None:
    paths = [
        standins.data_path(),
        standins.gpu_path(),
        standins.gpu_path("host-gpu near"),
    ]
    variants = [
        msgspec.structs.replace(latency(), buffers=one) for one in ("H,H", "D,D", "M,M", "P,D")
    ]
    plan = make_plan(
        Options(launches=2), [standins.contender()], variants, paths, standins.BENCHMARKS
    )
    block = [one for one in plan.launches if one.block == 0]
    assert sorted((one.path, one.role, one.buffers) for one in block) == [
        ("gpu-gpu nvlink", "ceiling", "D,D"),  # one for both kinds of a GPU's memory
        ("gpu-gpu nvlink", "mpi", "D,D"),
        ("gpu-gpu nvlink", "mpi", "M,M"),
        ("host-gpu near", "ceiling", "H,D"),
        ("host-gpu near", "mpi", "P,D"),
        ("host-host same-numa", "ceiling", "H,H"),
        ("host-host same-numa", "mpi", "H,H"),
    ]


def test_gpus_have_more_in_flight_than_a_budget_leaves_to_the_host(standins: ModuleType) -> None:
    paths = [standins.data_path(), standins.gpu_path()]
    variants = [latency(), msgspec.structs.replace(latency(), buffers="D,D")]

    def in_flight(**options: int) -> dict[str, set[str]]:
        plan = make_plan(
            Options(**options), [standins.contender()], variants, paths, standins.BENCHMARKS
        )
        given: dict[str, set[str]] = {}
        for one in plan.launches:
            words = make_command(plan, one, TOOLS).argv
            given.setdefault(one.buffers, set()).add(words[words.index("--in-flight") + 1])
        return given

    assert in_flight() == {"H,H": {"64M"}, "D,D": {"256M"}}
    assert in_flight(budget_seconds=10) == {"H,H": {"16M"}, "D,D": {"128M"}}
    assert in_flight(in_flight_bytes=2**20) == {"H,H": {"1M"}, "D,D": {"1M"}}


def test_launches_on_gpus_keep_out_of_other_daemons_of_mps(standins: ModuleType) -> None:
    paths = [
        standins.data_path(),
        standins.gpu_path(),
        standins.gpu_path("gpu-gpu same-gpu mps", mps=True),
    ]
    variants = [latency(), msgspec.structs.replace(latency(), buffers="D,D")]
    plan = make_plan(Options(), [standins.contender()], variants, paths, standins.BENCHMARKS)
    given = {(one.buffers, str(make_command(plan, one, TOOLS).env)) for one in plan.launches}
    assert given == {("H,H", "{}"), ("D,D", str(mps.environment(plan.study)))}


def test_gpus_of_two_hosts_are_numbered_as_by_nvml(standins: ModuleType) -> None:
    path = standins.gpu_path("gpu-gpu two-nodes")
    first, second = path.ends
    far = msgspec.structs.replace(second, host="far")
    across = msgspec.structs.replace(path, ends=(first, far))
    assert "CUDA_DEVICE_ORDER" not in path_environment(path, "study")
    assert path_environment(across, "study")["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_contenders_are_measured_where_they_run(standins: ModuleType) -> None:
    contenders = [standins.contender("a"), standins.contender("b")]
    staged = latency(staging="pinned")
    plan = make_plan(
        Options(launches=2),
        contenders,
        [latency(), staged],
        [standins.data_path()],
        standins.BENCHMARKS,
        lambda who, variant: (who.library.name == "a") == (variant == staged),
    )
    launched = {(one.contender, *one.variants) for one in plan.launches if one.role == "mpi"}
    assert launched == {(0, 1), (1, 0)}


def test_a_launch_measures_what_can_be_measured_together(standins: ModuleType) -> None:
    def variant(benchmark: str, buffers: str = "D,D", **axes: str) -> Variant:
        return msgspec.structs.replace(latency(**axes), benchmark=benchmark, buffers=buffers)

    variants = [
        variant("latency"),
        variant("bw"),
        variant("latency", calls="nonblocking"),  # the same benchmark again
        variant("bibw"),
        variant("bw", reuse="rotating"),  # an option of the launch
        variant("bw", buffers="M,M"),
    ]
    plan = make_plan(
        Options(launches=2),
        [standins.contender()],
        variants,
        [standins.gpu_path()],
        standins.BENCHMARKS,
    )
    groups = sorted(one.variants for one in plan.launches if one.block == 0 and one.variants)
    assert groups == [[0, 1, 3], [2], [4], [5]]


def of(benchmark: str, buffers: str = "H,H", **axes: str) -> Variant:
    return msgspec.structs.replace(latency(**axes), benchmark=benchmark, buffers=buffers)


def asked_of(words: list[str]) -> list[str]:
    return words[words.index("--metrics") + 1].split(",")


def launched(plan: Plan) -> list[tuple[str, str, list[str]]]:
    """Of a block: path, role, and the benchmarks; those of a ceiling by its command line."""
    found = []
    for one in plan.launches:
        if one.block == 0:
            words = make_command(plan, one, TOOLS).argv
            names = [plan.variants[number].benchmark for number in one.variants]
            found.append((one.path, one.role, names or asked_of(words)))
    return sorted(found)


def test_paths_of_many_ranks_are_for_benchmarks_that_run_on_so_many(standins: ModuleType) -> None:
    variants = [of("latency"), of("allreduce"), of("mbw_mr")]
    paths = [standins.data_path(), standins.wide_path(4), standins.wide_path(3)]
    plan = make_plan(Options(), [standins.contender()], variants, paths, standins.BENCHMARKS)
    assert launched(plan) == [
        ("host-all 3", "mpi", ["allreduce"]),  # and no ceiling
        ("host-all 4", "ceiling", ["mbw_mr"]),
        ("host-all 4", "mpi", ["allreduce", "mbw_mr"]),
        ("host-host same-numa", "ceiling", ["latency", "mbw_mr"]),
        ("host-host same-numa", "mpi", ["latency", "allreduce", "mbw_mr"]),
    ]
    ceiling = next(one for one in plan.launches if one.path == "host-all 4" and not one.variants)
    assert " ".join(make_command(plan, ceiling, TOOLS).argv).startswith(
        "nearpeak-native pair --cpus 0,1,2,3 --reuse fixed --touch none --metrics mbw_mr --sizes"
    )


def test_gpus_of_many_ranks_have_no_ceiling(standins: ModuleType) -> None:
    variants = [of("mbw_mr", "D,D"), of("allreduce", "D,D")]
    path = standins.wide_path(4, gpus=True)
    plan = make_plan(Options(), [standins.contender()], variants, [path], standins.BENCHMARKS)
    assert launched(plan) == [("gpu-all 4", "mpi", ["mbw_mr", "allreduce"])]
    (planned,) = [one for one in plan.launches if one.block == 0]
    line = " ".join(make_command(plan, planned, TOOLS).argv)
    assert "--buffers D,D --devices GPU-0,GPU-1,GPU-2,GPU-3" in line


def test_what_touched_a_message_has_its_own_ceiling(standins: ModuleType) -> None:
    plan = plan_for(standins, latency(), latency(touch="sender"))
    block = [one for one in plan.launches if one.block == 0]
    touched = {one.axes["touch"] for one in block if one.role == "ceiling" and one.axes}
    assert touched == {"none", "sender"}
    assert sum(one.role == "mpi" for one in block) == 2 * 2 * 2  # a launch for each state


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
    lines = [
        " ".join(make_command(plan, one, TOOLS).argv).partition(" --sizes")[0]
        for one in plan.launches
        if one.block == 0 and one.role == "mpi"
    ]
    host = "--metrics latency --as-library --reuse"
    assert sorted(lines) == [
        "nearpeak-native gpu --cpus 0,1 --buffers D,D --devices GPU-0,GPU-1 --metrics bw"
        " --as-library --reuse fixed --touch none",
        f"nearpeak-native pair --cpus 0,1 {host} fixed --touch none",
        f"nearpeak-native pair --cpus 0,1 {host} rotating --touch none",
        f"nearpeak-native tcp --cpus 0,1 --address 127.0.0.1 {host} fixed --touch none",
        f"nearpeak-native tcp --cpus 0,1 --address 127.0.0.1 {host} rotating --touch none",
    ]


def test_the_ceiling_in_the_place_of_a_library_takes_as_long_as_a_ceiling(
    standins: ModuleType,
) -> None:
    ceiling = Contender(library=natives()["ceiling"], settings=Settings())
    plan = standins.small_plan(ceiling)
    seconds = {one.role: guess_seconds(plan, one) for one in plan.launches}
    assert seconds["mpi"] == seconds["ceiling"]
