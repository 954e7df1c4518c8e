# SPDX-License-Identifier: Apache-2.0
"""A library of a bundle is measured as its makers ship it: a launch opens all of it that a launch
of the full install opens."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_launches import LIMIT

from nearpeak import folders
from nearpeak.bundle import make, trim
from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank

# A call of a file that succeeded; the folder that a relative name begins at stands before it.
CALL = re.compile(r'\w+\((?:\w+<(?P<at>[^>]*)>, )?"(?P<name>[^"]+)".* = (?!-1 )')
STRACE = ["strace", "--seccomp-bpf", "-f"]  # which stops at calls of files alone
LAUNCHES = {
    "through memory": (["latency", "allreduce", "--sizes", "8,1M"], False),
    "over TCP": (["latency", "allreduce", "--sizes", "8"], True),
}


def opened(
    library: Library, program: Path, words: list[str], network: bool, logs: Path
) -> set[str]:
    """The files in the cache's mpi/ that a launch opens, runs or looks at."""
    cpus = sorted(os.sched_getaffinity(0))
    launch = Launch(
        program=[str(program), *words, "--slot-ms", "1"],
        ranks=[Rank(cpus=[cpus[0]]), Rank(cpus=[cpus[-1]])],
        network_only=network,
    )
    line = command_line(library, launch)
    logs.mkdir()
    # One file for each process, so that no call is told in two pieces.
    words = ["-ff", "-y", "-s", "4096", "-e", "trace=%file", "-o", f"{logs}/of"]
    done = subprocess.run(
        [*STRACE, *words, *line.argv],
        env={**os.environ, **line.env},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    home = folders.cache() / "mpi"
    found = set()
    for log in logs.iterdir():
        for call in filter(None, map(CALL.match, log.read_text(errors="replace").splitlines())):
            file = Path(os.path.normpath(Path(call["at"] or "/", call["name"])))
            if file.is_relative_to(home) and file.is_file():
                found.add(str(file.relative_to(home)))
    return found


def cannot_trace() -> str:
    """Why strace cannot be used here; "": it can."""
    if not shutil.which("strace"):
        return "strace is not here"
    done = subprocess.run([*STRACE, "-o", os.devnull, "true"], capture_output=True, check=False)
    return "strace may not trace here" if done.returncode else ""


@pytest.mark.parametrize("name", ["openmpi", "openmpi-cuda", "mpich", "intel"])
def test_a_launch_opens_what_it_opens_of_the_full_install(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[str], Library]
) -> None:
    if why := cannot_trace():
        pytest.skip(why)
    full = installed(name)
    program = build_mpi(full)
    of_full = {
        what: opened(full, program, words, network, tmp_path / f"full {what}")
        for what, (words, network) in LAUNCHES.items()
    }
    bundled = tmp_path / "cache"
    for prefix in {entry.prefix for entry in make.closure([name])}:
        trim.copy(prefix, bundled / "mpi" / prefix.name, imb=False)
    monkeypatch.setenv("NEARPEAK_CACHE", str(bundled))
    copy = resolve(name)
    assert copy.prefix.is_relative_to(bundled)
    for what, (words, network) in LAUNCHES.items():
        of_copy = opened(copy, program, words, network, tmp_path / f"copy {what}")
        assert len(of_full[what]) > 3, "a launch opens at least its launcher and its libraries"
        assert sorted(of_full[what] - of_copy) == [], what
