# SPDX-License-Identifier: Apache-2.0
"""Ceilings over RDMA adapters: which launches are planned, how they are started, what they mean."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.findings.build import build_results
from nearpeak.launching.command_lines import Tools, with_token
from nearpeak.launching.describe import Variant
from nearpeak.libraries.build import build_native
from nearpeak.libraries.families import is_ceiling, natives
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import CommandLine, Contender, Launch, Settings
from nearpeak.machine.discover import discover
from nearpeak.planning.commands import make_command, wanted_place
from nearpeak.planning.estimate import guess_cost
from nearpeak.planning.make import PlanContext, make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan, PlannedLaunch
from nearpeak.planning.summary import summary
from nearpeak.results.results import Results
from nearpeak.study.folder import create
from nearpeak.terms.path import DataPath, Endpoint


def two_hosts(memories: str, adapter: str | None = "mlx5_0:1") -> DataPath:
    """Between host a and host b; `memories` is `host-gpu` and the like."""
    end, other = (
        Endpoint(
            memory=memory,
            cpus=[cpu],
            numa_node=0,
            gpu="3" if memory == "gpu" else None,
            host=host,
        )
        for cpu, memory, host in zip((0, 1), memories.split("-"), "ab", strict=True)
    )
    return DataPath(
        id=f"{memories} two-nodes",
        summary="",
        transport="network",
        ends=(end, other),
        adapter=adapter,
    )


def loopback() -> DataPath:
    """Through the adapter of this host and back."""
    uuid = "GPU-00000000-0000-0000-0000-000000000001"
    ends = (Endpoint(memory="gpu", cpus=[cpu], numa_node=0, gpu=uuid) for cpu in (0, 1))
    return DataPath(
        id="gpu-gpu nic-loopback",
        summary="",
        transport="network",
        ends=tuple(ends),
        adapter="mlx5_0:1",
        named=True,
    )


def variant(buffers: str, reuse: str = "fixed", metric: str = "latency") -> Variant:
    return Variant(benchmark=metric, axes={"reuse": reuse}, buffers=buffers)


def plan_of(
    standins: ModuleType, paths: list[DataPath], variants: list[Variant], perftest: bool = True
) -> Plan:
    options = Options(launches=2, sizes=[8, 100], seed=5)
    return make_plan(
        options,
        [standins.contender()],
        variants,
        paths,
        standins.BENCHMARKS,
        PlanContext(perftest=perftest),
    )


def studied(standins: ModuleType, folder: Path, plan: Plan) -> Results:
    """The results of a study in which every program is a stand-in that says 1.1 us."""
    create(folder / "study", discover(), plan).close()
    tools = replace(standins.make_tools(folder), native_program=lambda: standins.FAKE)
    study = standins.Study(folder / "study", tools)
    assert study.run(plan).status == "complete"
    assert {(end.status, end.message) for end in study.ends()} == {("ok", "")}
    return build_results(folder / "study")


def ceilings(plan: Plan) -> list[PlannedLaunch]:
    return [launch for launch in plan.block(0) if launch.role == "ceiling"]


def planned(plan: Plan) -> list[tuple[str, str, str | None]]:
    return sorted(
        ((ceiling.path, ceiling.groups[0].buffers, ceiling.adapter) for ceiling in ceilings(plan)),
        key=lambda launch: str(launch),
    )


def test_two_hosts_have_a_ceiling_over_tcp_and_one_over_their_adapter(standins: ModuleType) -> None:
    plan = plan_of(standins, [two_hosts("host-host")], [variant("H,H")])
    assert planned(plan) == [
        ("host-host two-nodes", "H,H", "mlx5_0:1"),
        ("host-host two-nodes", "H,H", None),
    ]
    tcp, verbs = sorted(ceilings(plan), key=lambda ceiling: ceiling.adapter or "")
    assert tcp.template != verbs.template
    assert guess_cost(plan, verbs).seconds(20, 11) > guess_cost(plan, tcp).seconds(20, 11)


def test_gpus_of_two_hosts_have_that_over_the_adapter_alone(standins: ModuleType) -> None:
    paths = [two_hosts("gpu-gpu"), two_hosts("host-gpu")]
    variants = [variant(buffers) for buffers in ("D,D", "M,M", "H,D", "D,H")]
    assert planned(plan_of(standins, paths, variants)) == [
        ("gpu-gpu two-nodes", "D,D", "mlx5_0:1"),
        ("host-gpu two-nodes", "D,H", "mlx5_0:1"),
        ("host-gpu two-nodes", "H,D", "mlx5_0:1"),
    ]
    assert planned(plan_of(standins, paths, variants, perftest=False)) == []


def test_no_adapter_or_no_perftest_or_one_host_means_no_such_ceiling(standins: ModuleType) -> None:
    tcp = [("host-host two-nodes", "H,H", None)]
    unknown = plan_of(standins, [two_hosts("host-host", adapter=None)], [variant("H,H")])
    assert planned(unknown) == tcp
    assert not any("RDMA" in line for line in summary(unknown))
    missing = plan_of(standins, [two_hosts("host-host")], [variant("H,H")], perftest=False)
    assert planned(missing) == tcp
    (note,) = [line for line in summary(missing) if "RDMA" in line]
    assert "mlx5_0:1: ib_write_lat is not on PATH; install the package perftest" in note
    near = plan_of(standins, [standins.data_path()], [variant("H,H")])
    assert [adapter for _, _, adapter in planned(near)] == [None]


def test_rotating_buffers_are_not_what_perftest_measures(standins: ModuleType) -> None:
    plan = plan_of(standins, [two_hosts("gpu-gpu")], [variant("D,D", "rotating")])
    assert planned(plan) == []
    both = plan_of(standins, [two_hosts("host-host")], [variant("H,H"), variant("H,H", "rotating")])
    over_adapter = [ceiling for ceiling in ceilings(both) if ceiling.adapter]
    assert [launch.groups[0].axes for launch in over_adapter] == [
        {"reuse": "fixed", "touch": "none"}
    ]


@pytest.mark.parametrize(
    ("memories", "buffers", "hosts", "words"),
    [
        ("host-host", "H,H", "ab", "--buffers H,H --reuse"),
        ("gpu-gpu", "D,D", "ab", "--buffers D,D --devices 3,3 --reuse"),
        ("host-gpu", "H,D", "ab", "--buffers H,D --devices -,3 --reuse"),
        ("host-gpu", "D,H", "ba", "--buffers D,H --devices 3,- --reuse"),
    ],
)
def test_the_command_line(
    standins: ModuleType, memories: str, buffers: str, hosts: str, words: str
) -> None:
    launches: list[Launch] = []

    def command_line(_: Any, launch: Launch) -> CommandLine:
        launches.append(launch)
        return CommandLine(argv=launch.program, env={})

    tools = Tools(
        command_line=command_line,
        mpi_program=lambda _: Path("nearpeak-mpi"),
        native_program=lambda: Path("nearpeak-native"),
    )
    variants = [variant(buffers), variant(buffers, metric="bw")]
    plan = plan_of(standins, [two_hosts(memories)], variants)
    verbs = next(ceiling for ceiling in ceilings(plan) if ceiling.adapter)
    line = " ".join(make_command(plan, verbs, tools).argv)
    assert line.startswith(f"nearpeak-native verbs --peer {hosts[0]} --port 2")
    assert (
        f"--adapter mlx5_0:1 {words} fixed --touch none --metrics latency,bw --sizes 8,100 " in line
    )
    assert [rank.host for rank in launches[0].ranks] == list(hosts)
    assert wanted_place(plan, verbs, verbs.groups[0]).devices == [None, None]


def test_a_study_takes_the_better_of_both_ceilings(standins: ModuleType, tmp_path: Path) -> None:
    """Both ceilings are there, and have fractions."""
    paths = [two_hosts("host-host"), two_hosts("gpu-gpu")]
    plan = plan_of(standins, paths, [variant("H,H"), variant("D,D")])
    results = studied(standins, tmp_path, plan)
    methods = {
        (ceiling.place.path, ceiling.case.buffers): set(ceiling.methods)
        for ceiling in results.ceilings
    }
    assert methods == {
        ("host-host two-nodes", "H,H"): {"tcp", "verbs"},
        ("gpu-gpu two-nodes", "D,D"): {"verbs"},
    }
    assert {cell.place.path for cell in results.cells} == {path.id for path in paths}
    assert all(cell.fraction is not None for cell in results.cells)


def test_an_older_plan_has_no_adapters(standins: ModuleType) -> None:
    plan = plan_of(standins, [two_hosts("host-host")], [variant("H,H")])
    old = msgspec.json.decode(msgspec.json.encode(plan, enc_hook=str))
    del old["perftest"]
    for launch in old["launches"]:
        del launch["adapter"]
    for path in old["paths"]:
        del path["adapter"]
    again = msgspec.convert(old, Plan, dec_hook=lambda kind, text: kind(text))
    assert not again.perftest
    assert {launch.adapter for launch in again.launches} == {None}


def test_a_loopback_has_the_ceiling_of_perftest_alone(standins: ModuleType) -> None:
    variants = [variant("D,D"), variant("D,D", metric="bw"), variant("H,H")]
    path = loopback()
    assert planned(plan_of(standins, [path, standins.data_path()], variants)) == [
        ("gpu-gpu nic-loopback", "D,D", "mlx5_0:1"),
        (standins.data_path().id, "H,H", None),
    ]
    plan = plan_of(standins, [path, standins.data_path()], variants)
    assert {launch.path for launch in plan.block(0) if launch.role == "mpi"} == {
        standins.data_path().id
    }
    without = plan_of(standins, [path, standins.data_path()], variants, perftest=False)
    assert [name for name, _, _ in planned(without)] == [standins.data_path().id]
    assert any("RDMA" in line for line in summary(without))


def test_the_command_line_of_a_loopback(standins: ModuleType) -> None:
    launches: list[Launch] = []

    def command_line(_: Any, launch: Launch) -> CommandLine:
        launches.append(launch)
        return CommandLine(argv=launch.program, env=launch.env)

    tools = Tools(
        command_line=command_line,
        mpi_program=lambda _: Path("nearpeak-mpi"),
        native_program=lambda: Path("nearpeak-native"),
    )
    variants = [variant("D,D"), variant("H,H")]
    plan = plan_of(standins, [loopback(), standins.data_path()], variants)
    ceiling = next(launch for launch in ceilings(plan) if launch.adapter)
    words = " ".join(make_command(plan, ceiling, tools).argv)
    uuid = loopback().ends[0].gpu
    assert words.startswith("nearpeak-native verbs --peer 127.0.0.1 --port 2")
    assert f"--adapter mlx5_0:1 --buffers D,D --devices {uuid},{uuid} " in words
    assert " --metrics latency " in words  # and none that a GPU alone has
    assert [rank.host for rank in launches[0].ranks] == [None, None]
    # The GPUs are perftest's: nearpeak-native holds none.
    assert wanted_place(plan, ceiling, ceiling.groups[0]).devices == [None, None]


def test_a_study_with_a_loopback(standins: ModuleType, tmp_path: Path) -> None:
    paths = [loopback(), standins.data_path()]
    plan = plan_of(standins, paths, [variant("D,D"), variant("H,H")])
    results = studied(standins, tmp_path, plan)
    mine = [ceiling for ceiling in results.ceilings if ceiling.place.path == paths[0].id]
    assert [(ceiling.case.x, set(ceiling.methods)) for ceiling in mine] == [
        (8, {"verbs"}),
        (100, {"verbs"}),
    ]
    assert {cell.place.path for cell in results.cells} == {paths[1].id}


def test_a_loopback_needs_the_launcher_of_a_library(standins: ModuleType) -> None:
    (native,) = [library for library in natives().values() if is_ceiling(library)]
    plan = make_plan(
        Options(launches=2, sizes=[8], seed=5),
        [Contender(library=native, settings=Settings())],
        [variant("D,D"), variant("H,H")],
        [loopback(), standins.data_path()],
        standins.BENCHMARKS,
        PlanContext(perftest=True),
    )
    assert loopback().id not in {launch.path for launch in plan.block(0)}
    assert any("name an MPI library" in line for line in summary(plan))


def test_a_launcher_starts_both_ends_of_a_loopback(
    fake_perftest: Path, installed: Any, standins: ModuleType, tmp_path: Path
) -> None:
    """The whole launch, with stand-ins for perftest's programs on PATH."""
    log, jsonl = tmp_path / "log", tmp_path / "verbs.jsonl"
    tools = Tools(
        command_line=command_line,
        mpi_program=lambda _: Path("nearpeak-mpi"),
        native_program=build_native,
    )
    contender = Contender(library=installed("mpich"), settings=Settings())
    plan = make_plan(
        Options(launches=2, sizes=[8, 4096], seed=5),
        [contender],
        [variant("D,D"), variant("D,D", metric="bw"), variant("H,H")],
        [loopback(), standins.data_path()],
        standins.BENCHMARKS,
        PlanContext(perftest=True),
    )
    ceiling = next(launch for launch in ceilings(plan) if launch.adapter)
    line = make_command(plan, ceiling, tools, jsonl)
    env = with_token(line.env) | {
        "PATH": f"{fake_perftest}:{os.environ['PATH']}",
        "FAKE_PERFTEST_LOG": str(log),
    }
    done = subprocess.run(
        line.argv, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(text) for text in jsonl.read_text(encoding="utf-8").splitlines()]
    cases = [record for record in records if record["record"] == "samples"]
    assert {(case["metric"], case["size_bytes"]) for case in cases} == {
        (metric, size) for metric in ("latency", "bw") for size in (8, 4096)
    }
    started = [text for text in log.read_text(encoding="utf-8").splitlines() if " -s " in text]
    assert len(started) > len(cases)
    for text in started:
        assert " -d mlx5_0 -i 1 " in text
        assert " --use_cuda=0 --use_cuda_dmabuf" in text
        assert text.endswith(f" # sees {loopback().ends[0].gpu}")
    assert any(" 127.0.0.1" in text for text in started)
