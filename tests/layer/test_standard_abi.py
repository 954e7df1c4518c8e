# SPDX-License-Identifier: Apache-2.0
"""Programs of the standard ABI of MPI 5, with the layer: one program under each library."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from layer_programs import cases_of, compiled
from mpi_launches import LIMIT

from nearpeak.libraries import catalogue, standard_abi
from nearpeak.libraries.build import build_layer, build_trace
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank
from nearpeak.trace.read import merge, read

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
REPORT = {"NEARPEAK_LAYER_REPORT": "1"}
LONG = {"NEARPEAK_LAYER_LONG": "20000"}
SENT = re.compile(r"rank \d: sent (\d+) by envelope")
DIRECT = re.compile(r"(\d+) collectives directly")
CASES = cases_of("messages")
# Without the layer, too, Intel MPI 2021.19 ends programs of the standard ABI that want errors
# returned; and by both of its ABIs its persistent collectives are wrong.
NOT_OF_INTEL = {"shorter", "truncated", "refused", "at_end", "collectives", "direct"}


@pytest.fixture(scope="session")
def standard(installed: Callable[[str], Library]) -> Callable[[str], Library]:
    """A library as programs of the standard ABI have it; skips without Intel MPI."""

    def library(name: str) -> Library:
        if name == "intel" and not catalogue.entry(name).installed:
            pytest.skip("Intel MPI is not installed")
        return standard_abi.by_it(installed(name))

    return library


@pytest.fixture(scope="session")
def programs(
    standard: Callable[[str], Library], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """A program beside this file, compiled once."""
    folder = tmp_path_factory.mktemp("standard")
    made: dict[str, Path] = {}

    def program(name: str) -> Path:
        if name not in made:
            made[name] = compiled(standard("mpich"), name, folder)
        return made[name]

    return program


@pytest.fixture(scope="session", params=["mpich", "intel"])
def of_standard(
    request: pytest.FixtureRequest,
    standard: Callable[[str], Library],
    programs: Callable[[str], Path],
    application_of: Callable[..., Any],
) -> Callable[[str], Any]:
    """A program, with each library in turn."""
    library = standard(request.param)
    return lambda name: application_of(library, programs(name))


def test_all_messages(of_standard: Callable[[str], Any]) -> None:
    """Each byte of all: blocking and not, probed, persistent; datatypes; collectives."""
    messages = of_standard("messages")
    left_out = NOT_OF_INTEL if messages.library.family == "intel" else set()
    cases = [case for case in CASES if case not in left_out]
    done = messages.run(*cases, env={**REPORT, **LONG})
    assert (done.good(), done.code) == (cases, 0), (done.out, done.err)
    assert min(map(int, SENT.findall(done.err))) > 1000
    assert min(map(int, DIRECT.findall(done.err))) > 0


def test_windows(of_standard: Callable[[str], Any]) -> None:
    cases = ["moved", "gaps", "combined", "locked"]
    done = of_standard("windows").run(*cases)
    assert (done.good(), done.code) == (cases, 0), (done.out, done.err)


def test_what_applications_ask(of_standard: Callable[[str], Any]) -> None:
    """The kinds of memory in the info of communicators, sessions, windows, files, MPI_INFO_ENV."""
    done = of_standard("uses").run("asked")
    assert (done.good(), done.code) == (["asked"], 0), (done.out, done.err)
    done = of_standard("uses").run("asked_without", env={"NEARPEAK_LAYER": "off"})
    assert (done.good(), done.code) == (["asked_without"], 0), (done.out, done.err)


def test_the_layer_of_another_abi(
    of_standard: Callable[[str], Any], installed: Callable[[str], Library]
) -> None:
    """It ends the program with a line, as handles of one ABI are nothing in the other."""
    before = ("env", f"LD_PRELOAD={build_layer(installed('mpich'))}")
    done = of_standard("messages").run("host_alone", before=before)
    assert (done.code, set(done.said())) == (
        2,
        {
            "nearpeak layer: this program has MPI by the standard ABI (libmpi_abi.so), and this "
            "layer is for another one: take that of the standard ABI, by `nearpeak layer "
            "--standard-abi`"
        },
    )


@pytest.mark.parametrize("application", ["mpich", "openmpi"], indirect=True)
def test_the_layer_of_the_standard_abi_before_another_one(
    application: Any, standard: Callable[[str], Library]
) -> None:
    before = ("env", f"LD_PRELOAD={build_layer(standard('mpich'))}")
    done = application.run("host_alone", before=before)
    assert (done.code, set(done.said())) == (
        2,
        {
            "nearpeak layer: it is for the standard ABI (libmpi_abi.so), by which this program "
            "does not have MPI: take that of its library, by `nearpeak layer` without "
            "--standard-abi"
        },
    )


def test_the_command_takes_the_abi_by_which_a_program_is_linked(
    standard: Callable[[str], Library], programs: Callable[[str], Path], fake_cuda: Path
) -> None:
    """With a library that the user names, whose own ABI is another one."""
    library = standard("mpich")
    launch = Launch(program=[str(programs("messages")), "kinds"], ranks=[Rank(cpus=[0])] * 2)
    line = command_line(library, launch)
    variables = {"NEARPEAK_CUDA_LIBRARY": str(fake_cuda), "NEARPEAK_FAKE_CUDA": ""}
    for named in (["--mpi", "mpich"], []):
        command = [NEARPEAK, "layer", "--require", "--report", *named, "--", *line.argv]
        done = subprocess.run(
            command,
            env={**os.environ, **line.env, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "kinds: good\n"), done.stderr
        assert max(map(int, SENT.findall(done.stderr))) > 10


def test_calls_are_counted(of_standard: Callable[[str], Any], tmp_path: Path) -> None:
    """`nearpeak trace` is built for the standard ABI, too."""
    messages = of_standard("messages")
    plain = msgspec.structs.replace(messages.library, layer=False)
    env = {"LD_PRELOAD": str(build_trace(plain)), "NEARPEAK_TRACE": str(tmp_path)}
    done = messages.run("kinds", env=env)
    assert done.good() == ["kinds"], done.err
    entries = merge([read(file) for file in tmp_path.glob("*.trace")])
    counted = {entry.operation for entry in entries}
    assert {"MPI_Send", "MPI_Recv", "MPI_Barrier"} <= counted
