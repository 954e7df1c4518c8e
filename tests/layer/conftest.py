# SPDX-License-Identifier: Apache-2.0
"""Launches of an application with the layer, on devices of the fake CUDA driver."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from layer_programs import compiled
from mpi_launches import LIMIT, cpus_of, sharing

from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.libraries.preload import command_line


@dataclass
class Ended:
    """What a launch has left."""

    code: int
    out: str
    err: str

    def said(self) -> list[str]:
        """The lines of the layer, those of --report apart."""
        lines = self.err.splitlines()
        return [
            line for line in lines if line.startswith("nearpeak layer: ") and "sent" not in line
        ]

    def good(self) -> list[str]:
        """The cases in which all was as it must be."""
        return [line.partition(":")[0] for line in self.out.splitlines() if line.endswith(": good")]


@dataclass
class Application:
    """One of the programs beside this file, for one library."""

    library: Library  # with the layer
    program: Path
    fake_cuda: Path

    def run(
        self,
        *words: str,
        ranks: int = 2,
        fake: str = "",
        env: Mapping[str, str] | None = None,
        before: tuple[str, ...] = (),
        hosts: Any = None,
    ) -> Ended:
        """`before`: what starts the program on each rank. `hosts`: test hosts, for one each."""
        cpus = cpus_of(ranks)
        variables = {
            "NEARPEAK_CUDA_LIBRARY": str(self.fake_cuda),
            "NEARPEAK_FAKE_CUDA": fake,
            "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
            "NEARPEAK_LAYER_CODE": "fresh",
            **sharing(cpus),
            # Between hosts, by UCX, MPICH 5.0.2 loses messages for MPI_ANY_SOURCE.
            **({"MPIR_CVAR_CH4_NETMOD": "ofi"} if hosts else {}),
            **(env or {}),
        }
        names = hosts.names if hosts else [None] * ranks
        launch = Launch(
            program=[*before, str(self.program), *words],
            ranks=[Rank(cpus=[cpu], host=name) for cpu, name in zip(cpus, names, strict=True)],
            settings=Settings(env=variables),
            gpu=True,
            remote_shell=hosts.remote_shell if hosts else None,
        )
        line = command_line(self.library, launch)
        done = subprocess.run(
            hosts.on(0, line.argv) if hosts else line.argv,
            env={**os.environ, **line.env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


def built(
    library: Library, name: str, folder: Path, fake_cuda: Path, *, linked: bool = True
) -> Application:
    """The program of this name, with the layer."""
    program = compiled(library, name, folder, linked=linked)
    return Application(msgspec.structs.replace(library, layer=True), program, fake_cuda)


@pytest.fixture(scope="session")
def application_of(fake_cuda: Path) -> Callable[[Library, Path], Application]:
    """A program that is compiled already, with the layer of a library."""
    return lambda library, program: Application(
        msgspec.structs.replace(library, layer=True), program, fake_cuda
    )


def fixture_of(program: str, *, name: str = "", linked: bool = True) -> Any:
    """The program, with each library in turn, by its own name or another one."""

    @pytest.fixture(scope="session", params=["openmpi", "mpich"], name=name or program)
    def fixture(
        request: pytest.FixtureRequest,
        installed: Callable[[str], Library],
        fake_cuda: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> Application:
        folder = tmp_path_factory.mktemp(program)
        return built(installed(request.param), program, folder, fake_cuda, linked=linked)

    return fixture


application = fixture_of("messages", name="application")
begun = fixture_of("begun")  # collectives that do not wait
windows = fixture_of("windows")
chunks = fixture_of("chunks")  # maps device memory itself
uses = fixture_of("uses")  # what applications do beside sending
looked_up = fixture_of("looked_up", linked=False)  # not linked with MPI
streams = fixture_of("streams")  # with work in the default stream
sessions = fixture_of("sessions")  # needs no MPI_Init
