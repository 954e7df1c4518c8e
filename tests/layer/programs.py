# SPDX-License-Identifier: Apache-2.0
"""The programs beside this file: their cases, and how they are compiled.

Tests import it by its name: `from layer_programs import compiled` (tests/conftest.py).
"""

import re
import subprocess
from pathlib import Path

from nearpeak.libraries import standard_abi
from nearpeak.libraries.build import compiler, kit_for
from nearpeak.libraries.library import Library

HERE = Path(__file__).parent

# Starts a program with numbers of processes of its own, also without root.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
CONTAINER_OF_USERS = (*CONTAINER, "--user", "--map-root-user", "--ipc", "--uts")
# MPICH does not run between containers as shipped: UCX's shared memory and its own copies go by the
# numbers of processes.
MPICH_IN_CONTAINERS = {"MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}


def cases_of(name: str) -> list[str]:
    """Those of NAME.cpp, in the order of the source."""
    return re.findall(r'\{"(\w+)", \w+\}', (HERE / f"{name}.cpp").read_text())


def compiled(library: Library, name: str, folder: Path, *, linked: bool = True) -> Path:
    """NAME.cpp for a library, in a folder of the library's own; `linked` with it."""
    kit = kit_for(library)
    program = folder / name
    defined = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    if library.abi == standard_abi.NAME:
        defined.append("-DMPI_ABI")  # as mpicc_abi, to MPICH's mpi.h
    flags = ["-std=c++17", "-O0", f"-I{kit.header.parent}", *defined]  # the least to compile
    link = [*([str(kit.library)] if linked else []), "-Wl,--allow-shlib-undefined", "-ldl"]
    source = HERE / f"{name}.cpp"
    subprocess.run([*compiler(), *flags, str(source), "-o", str(program), *link], check=True)
    return program
