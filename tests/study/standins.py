# SPDX-License-Identifier: Apache-2.0
"""A small plan whose launches are stand-ins, so that the study is tested without any MPI."""

import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from made_libraries import made_library

from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Description, Variant
from nearpeak.launching.describe import describe as ask
from nearpeak.launching.fingerprints import Fingerprint
from nearpeak.libraries.library import CommandLine, Contender, Launch, Library, Settings
from nearpeak.planning.make import make_plan
from nearpeak.planning.options import Options
from nearpeak.planning.plan import Plan
from nearpeak.study.history import History
from nearpeak.study.journal import StudyJournal, read_records
from nearpeak.study.records import AmendmentRecord, LaunchEndRecord, Record, StudyEndRecord
from nearpeak.study.run import StudyRun
from nearpeak.study.seal import FILES
from nearpeak.study.sessions import begin
from nearpeak.terms.path import DataPath, Endpoint

FAKE = Path(__file__).with_name("fake_program.py")
# It once for all launches: Python compiles the program that it runs anew each time.
COMPILED = py_compile.compile(str(FAKE), doraise=True)
DESCRIPTION = subprocess.run(
    [sys.executable, FAKE, "--describe"], check=True, capture_output=True
).stdout
BENCHMARKS = msgspec.json.decode(DESCRIPTION, type=Description).benchmarks
LATENCY = Variant(benchmark="latency", axes={"calls": "blocking", "reuse": "fixed"})


def data_path(path_id: str = "host-host same-numa", transport: str = "memory") -> DataPath:
    ends = tuple(Endpoint(memory="host", cpus=[cpu], numa_node=0) for cpu in (0, 1))
    return DataPath(id=path_id, summary="", transport=transport, ends=(ends[0], ends[1]))


def host_path(*hosts: str) -> DataPath:
    """Between two hosts."""
    path = data_path("host-host two-nodes", "network")
    ends = [
        msgspec.structs.replace(end, host=host) for end, host in zip(path.ends, hosts, strict=True)
    ]
    return msgspec.structs.replace(path, ends=tuple(ends))


def gpu_path(
    path_id: str = "gpu-gpu nvlink", *, mps: bool = False, device: str | None = None
) -> DataPath:
    """Between two GPUs, or from the host to one, whose rank there holds `device`."""
    ends = [
        Endpoint(memory="gpu", cpus=[cpu], numa_node=0, gpu=f"GPU-{cpu}")
        if path_id.startswith("gpu-gpu") or cpu == 1
        else Endpoint(memory="host", cpus=[cpu], numa_node=0, device=device)
        for cpu in (0, 1)
    ]
    return DataPath(id=path_id, summary="", transport="memory", ends=(ends[0], ends[1]), mps=mps)


def wide_path(ranks: int, *, gpus: bool = False) -> DataPath:
    """With more than two ends."""
    ends = tuple(
        Endpoint(
            memory="gpu" if gpus else "host",
            cpus=[cpu],
            numa_node=0,
            gpu=f"GPU-{cpu}" if gpus else None,
        )
        for cpu in range(ranks)
    )
    name = f"{'gpu' if gpus else 'host'}-all {ranks}"
    return DataPath(id=name, summary="", transport="memory", ends=ends)


def library(name: str = "fake") -> Library:
    return made_library(name, family="fake", version="1", version_text="Fake 1")


def contender(name: str = "fake", mode: str = "") -> Contender:
    return Contender(library=library(name), settings=Settings(env={"NEARPEAK_FAKE": mode}))


def fake_command_line(_library: Library, launch: Launch) -> CommandLine:
    cpus = ";".join(",".join(map(str, rank.cpus)) for rank in launch.ranks)
    hosts = ";".join(rank.host or "h" for rank in launch.ranks)
    places = {"NEARPEAK_FAKE_CPUS": cpus, "NEARPEAK_FAKE_HOSTS": hosts}
    program, *words = launch.program
    return CommandLine(
        argv=[sys.executable, "-S", COMPILED if program == str(FAKE) else program, *words],
        env={**launch.settings.env, **launch.env, **places},
    )


def describe(program: Path, env: dict[str, str], mode: str | None = None) -> Description:
    """What a program says of itself; the stand-in, that says the same to all, is not asked."""
    if program == FAKE:
        return msgspec.json.decode(DESCRIPTION, type=Description)
    return ask(program, env, mode)


def make_tools(folder: Path) -> Tools:
    native = folder / "fake-native"
    native.write_text(f'#!/bin/sh\nexec {sys.executable} -S {COMPILED} "$@"\n')
    native.chmod(0o755)
    return Tools(
        command_line=fake_command_line,
        mpi_program=lambda _library: FAKE,
        native_program=lambda: native,
    )


def small_plan(
    *contenders: Contender,
    launches: int = 2,
    paths: tuple[DataPath, ...] = (data_path(),),
    limit: float = 20.0,
    buffers: str = "H,H",
    benchmarks: tuple[str, ...] = ("latency",),
) -> Plan:
    options = Options(
        launches=launches, sizes=[8, 100], slot_ms=1, seed=5, launch_limit_seconds=limit
    )
    variants = [
        Variant(
            benchmark=benchmark,
            axes={"calls": "blocking", "reuse": "fixed"},
            buffers=buffers,
        )
        for benchmark in benchmarks
    ]
    return make_plan(options, contenders or [contender()], variants, paths, BENCHMARKS)


def plan_for(*variants: Variant, **options: Any) -> Plan:
    """Of two contenders on a path, over TCP, and of local memory; by default of latency."""
    paths = [
        data_path(),
        data_path("host-host tcp-loopback", "network"),
        data_path("host-memory node0", "local"),
    ]
    contenders = [contender("a"), contender("b")]
    return make_plan(Options(**options), contenders, variants or [LATENCY], paths, BENCHMARKS)


class Quiet:
    """Progress that keeps quiet."""

    def begin(self, *_: object) -> None: ...

    def tick(self) -> None: ...

    def end(self, *_: object) -> None: ...

    def leave_out(self, *_: object) -> None: ...


def fingerprint(driver: str = "1") -> Fingerprint:
    """That of an invented machine."""
    return Fingerprint(
        machine={"host": "h"},
        driver={"nvidia": driver},
        library={"fake version": "1"},
        build={},
        environment={},
    )


class Study:
    """A study folder that can be run, and run again."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder = folder
        self.tools = tools
        folder.mkdir(exist_ok=True)

    def run(
        self,
        plan: Plan,
        progress: object = None,
        amendment: AmendmentRecord | None = None,
        seconds: float | None = None,
    ) -> StudyEndRecord:
        for name in FILES:  # whose digests are recorded
            (self.folder / name).touch()
        journal = StudyJournal(self.folder)
        history = History(self.folder, plan)
        session = begin(self.folder, fingerprint(), history.session)
        told = progress or Quiet()
        try:
            return StudyRun(
                self.folder, plan, journal, self.tools, told, session, history, amendment, seconds
            ).run()
        finally:
            journal.close()

    def records(self) -> list[Record]:
        return list(read_records(self.folder))

    def ends(self) -> list[LaunchEndRecord]:
        return [record for record in self.records() if isinstance(record, LaunchEndRecord)]
