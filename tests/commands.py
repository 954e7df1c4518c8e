# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests of whole commands: on stand-ins for libraries and programs."""

import functools
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.cli.main import main
from nearpeak.errors import UserError
from nearpeak.launching import fingerprints, paths, programs
from nearpeak.libraries import discover, launch, whole
from nearpeak.libraries.families import natives
from nearpeak.machine import discover as machine
from nearpeak.machine import doctor
from nearpeak.planning import contenders
from nearpeak.terms.path import NoPath
from nearpeak.tune import profiles

Nearpeak = Callable[..., tuple[int, str, str]]
SMALL = ("--benchmark", "latency", "--sizes", "8,100", "--paths", "host-host same-numa")
LSTOPO_XML = functools.cache(machine.lstopo_xml)  # the machine stays as it is


@pytest.fixture
def standins(monkeypatch: pytest.MonkeyPatch, standins: ModuleType, tmp_path: Path) -> ModuleType:
    """Stand-ins in place of every library and measuring program."""
    module = standins
    tools = module.make_tools(tmp_path)

    def resolve(spec: str) -> Any:
        if spec in natives():
            return natives()[spec]
        if spec not in ("one", "two"):
            raise UserError(f"unknown MPI library {spec!r}")
        return module.library(spec)

    monkeypatch.setattr(programs, "TOOLS", tools)
    monkeypatch.setattr(programs, "describe", module.describe)
    monkeypatch.setattr(machine, "lstopo_xml", LSTOPO_XML)
    monkeypatch.setattr(doctor, "LOOK_SECONDS", 0.0)
    for user in (launch, programs, fingerprints, whole):
        monkeypatch.setattr(user, "environment", lambda _library: {})
    monkeypatch.setattr(profiles, "needed", lambda _library, **_gpu: {})
    for user in (discover, contenders):
        monkeypatch.setattr(user, "resolve", resolve)
        monkeypatch.setattr(user, "find_libraries", lambda: [module.library("one")])
    found = [
        module.data_path(),
        module.data_path("host-host tcp-loopback", "network"),
        module.wide_path(4),
        module.data_path("host-memory node0", "local"),
    ]
    reasons = [NoPath("host-host cross-numa", "the machine has one NUMA node with cores")]
    monkeypatch.setattr(paths, "discover_paths", lambda *_: (found, reasons))
    monkeypatch.chdir(tmp_path)
    return module


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Nearpeak:
    """`nearpeak WORDS` in this process: its exit status, and what it prints."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nearpeak", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def nearpeak(command: Nearpeak, standins: ModuleType) -> Nearpeak:
    """The same on stand-ins."""
    assert standins
    return command


@pytest.fixture
def begun(nearpeak: Nearpeak, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of one library in two blocks, in ./study; the same for all tests, so that nothing can
    be added to it: its library is where the first one had it."""
    study, kept = tmp_path / "study", tmp_path_factory.getbasetemp() / "begun"
    if not kept.exists():
        assert nearpeak("study", "--mpi", "one", *SMALL, "--launches", "2")[0] == 0
        shutil.copytree(study, kept)
        shutil.rmtree(study)
    shutil.copytree(kept, study)
    return study
