# SPDX-License-Identifier: Apache-2.0
"""The library that is measured is the launcher's own, or the program measures nothing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from mpi_launches import LIMIT

from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.launch import environment
from nearpeak.libraries.library import Library

WORDS = ["latency", "--sizes", "8", "--slot-ms", "1"]


def run(*line: str, **env: str) -> subprocess.CompletedProcess[str]:
    bare = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return subprocess.run(
        line, env={**bare, **env}, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def test_a_launcher_of_another_installation_is_refused(
    tmp_path: Path, installed: Callable[[str], Library]
) -> None:
    """Its library has the same name and the same interface: the launch would go well."""
    mpich = installed("mpich")
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    for name in ("mpiexec.hydra", "hydra_pmi_proxy"):
        shutil.copy2(mpich.prefix / "bin" / name, tmp_path / "bin" / name)
    other = tmp_path / "lib/libmpi.so.12"
    other.write_text("another library")
    line = [str(tmp_path / "bin/mpiexec.hydra"), "-n", "2", str(build_mpi(mpich)), *WORDS]
    done = run(*line)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert f"brings {other}, but {mpich.libmpi} is loaded (MPICH Version:" in done.stderr
    assert f"set LD_LIBRARY_PATH={tmp_path / 'lib'} to measure that one" in done.stderr
    chosen = run(*line, LD_LIBRARY_PATH=environment(mpich)["LD_LIBRARY_PATH"])
    assert chosen.returncode == 0, chosen.stderr


def test_ranks_that_are_alone_to_the_library_are_refused(
    installed: Callable[[str], Library],
) -> None:
    """As those of another library's launcher are, each a job of its own."""
    openmpi = installed("openmpi")
    program = str(build_mpi(openmpi))
    for rank, lines in ((0, 1), (1, 0)):
        done = run(
            *(program, "jacobi2d", "--sizes", "33"),
            **environment(openmpi),
            PMI_RANK=str(rank),
            PMI_SIZE="2",
        )
        assert done.returncode == 2, done.stderr
        said = [line for line in done.stderr.splitlines() if line.startswith("nearpeak-mpi: ")]
        assert len(said) == lines
        assert all("several ranks, and each is alone to Open MPI v" in line for line in said)
        assert "GB/s" not in done.stdout
