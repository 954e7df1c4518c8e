# SPDX-License-Identifier: Apache-2.0
"""The versions of PMIx, by which ranks find each other, on the two sides: launcher and ranks.

Users report crashes and ranks that are alone where the two differ: openpmix/prrte#1982 (4.2 and
5.0), open-mpi/ompi#7979 (one on LD_LIBRARY_PATH), openpmix/openpmix#556 (of different majors).
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from nearpeak.asking import answer_of
from nearpeak.files import is_file
from nearpeak.machine import allocation
from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.patient import Patient, ok, warn

NAME = "libpmix.so.2"
FOLDERS = ("lib", "lib64", "lib/openmpi")  # of an MPI library, below its prefix
SERVER = "PMIX_VERSION"  # a server sets it for its ranks
SECONDS = 10
ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.PMIx_Get_version.restype = ctypes.c_char_p
print(library.PMIx_Get_version().decode())
"""


class Side(NamedTuple):
    """One side's PMIx: where it is, and its version as major and minor."""

    where: str
    version: tuple[int, int]

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.version))} ({self.where})"


def pmix_checks(patient: Patient) -> Iterator[Diagnosis]:
    """Compare the versions of PMIx of ranks, launcher and server, as far as they are known."""
    if not patient.tree.live:
        return
    launcher = _beside_mpirun(patient.environment)
    ranks = _on_library_path(patient.environment) or launcher
    if ranks is None:
        return
    if launcher and launcher.version != ranks.version:
        yield warn(
            "pmix",
            f"ranks load PMIx {ranks}, and mpirun is of PMIx {launcher}: it may crash, or each "
            "rank be alone",
            f"take {Path(ranks.where).parent} out of LD_LIBRARY_PATH, or load one MPI module alone",
        )
    server, majors = _servers(patient.environment)
    if majors and ranks.version[0] not in majors:
        servers = ", ".join(map(str, majors))
        yield warn(
            "pmix",
            f"ranks load PMIx {ranks}, and {server} has PMIx {servers}: started by it MPI_Init may "
            "fail, or each rank be alone",
            "start ranks by the mpirun of their own library, or load an MPI that was built with "
            f"PMIx {servers}",
        )
    elif majors and (launcher is None or launcher.version == ranks.version):
        yield ok("pmix", f"ranks load PMIx {ranks}, which {server} has, too")


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor of the first version in a text; None without one."""
    version = re.search(r"(\d+)\.(\d+)", text)
    return (int(version[1]), int(version[2])) if version else None


def _on_library_path(environment: Mapping[str, str]) -> Side | None:
    """Find the library that the loader takes from LD_LIBRARY_PATH."""
    folders = filter(None, environment.get("LD_LIBRARY_PATH", "").split(":"))
    return _first(Path(folder) for folder in folders)


def _beside_mpirun(environment: Mapping[str, str]) -> Side | None:
    """Find the library in the prefix of the first mpirun on PATH."""
    program = shutil.which("mpirun", path=environment.get("PATH", ""))
    if program is None:
        return None
    prefix = Path(os.path.realpath(program)).parent.parent
    return _first(prefix / folder for folder in FOLDERS)


def _first(folders: Iterator[Path]) -> Side | None:
    file = next(filter(is_file, (folder / NAME for folder in folders)), None)
    version = file and _ask(file)
    return Side(str(file), version) if version else None


def _ask(file: Path) -> tuple[int, int] | None:
    """Ask a library for its version, in a process that loads nothing else."""
    return version_of(answer_of([sys.executable, "-c", ASK, str(file)], SECONDS))


def _servers(environment: Mapping[str, str]) -> tuple[str, list[int]]:
    """Name the server of ranks and its major versions of PMIx; none where they are not known.

    The server is that of the step that this process is in, else Slurm's within a job.
    """
    if version := version_of(environment.get(SERVER, "")):
        return f"the server of this step ({SERVER})", [version[0]]
    srun = shutil.which("srun", path=environment.get("PATH", ""))
    if srun is None or not environment.get("SLURM_JOB_ID"):
        return "", []
    kinds = (re.fullmatch(r"pmix_v(\d+)", kind) for kind in allocation.mpi_types(Path(srun)))
    return "srun", sorted({int(kind[1]) for kind in kinds if kind})
