# SPDX-License-Identifier: Apache-2.0
"""NCCL and RCCL on this machine: their files and versions.

The search covers the loader's folders, those of CUDA, ROCm and NVIDIA's HPC SDK, and the Python
environments of this machine, which often contain NCCL.
"""

import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nearpeak import files
from nearpeak.errors import UserError
from nearpeak.folders import home, searched
from nearpeak.grouping import firsts
from nearpeak.libraries.families import all_families
from nearpeak.libraries.identify import CannotIdentify, ask, may_ask
from nearpeak.libraries.library import Discovery, Library
from nearpeak.owners import of_search_paths

SONAMES = {"nccl": "libnccl.so.2", "rccl": "librccl.so.1"}
PREFIX_VARIABLES = ("NCCL_HOME", "NCCL_ROOT", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH")
ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")  # variables that name an environment of Python
USUAL_FOLDERS = (
    *("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/lib64"),
    *("/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda-*/lib"),
    *("/usr/local/nccl*/lib", "/opt/nccl*/lib", "/opt/nvidia/hpc_sdk/*/*/comm_libs/nccl/lib"),
    *("/opt/rocm/lib", "/opt/rocm-*/lib"),
)
# Below the prefix of an interpreter: the wheels nvidia-nccl-cu*, conda's packages, Debian's folder.
PYTHON_FOLDERS = (
    "lib/python3*/site-packages/nvidia/nccl/lib",
    "lib64/python3*/site-packages/nvidia/nccl/lib",
    "lib/python3*/dist-packages/nvidia/nccl/lib",
    "local/lib/python3*/dist-packages/nvidia/nccl/lib",
    "lib",
)
CHILD = """
version = ctypes.c_int()
if library.ncclGetVersion(ctypes.byref(version)):
    sys.exit("ncclGetVersion failed")
sys.stdout.write(str(version.value))
"""


class MissingError(UserError):
    """There is no such library on this machine."""


def discover() -> Discovery:
    """Every NCCL and RCCL of this machine. The first of a family has its name, others a version."""
    discovery = Discovery()
    owners = of_search_paths(os.environ, (*PREFIX_VARIABLES, *ENVIRONMENTS))
    candidates = [
        (folder / soname, family)
        for family, soname in SONAMES.items()
        for folder in folders()
        if files.is_file(folder / soname)
    ]
    versions: dict[str, set[str]] = {family: set() for family in SONAMES}
    for file, family in firsts(candidates, lambda pair: pair[0].resolve()).values():
        if not may_ask(file, owners, discovery):
            continue
        try:
            library = identified(file, family, "found")
        except CannotIdentify as error:
            discovery.problems.append(f"{file}: {error}")
            continue
        if library.version in versions[family]:
            continue  # a copy
        if versions[family]:
            name = f"{family}-{library.version}"
            library = msgspec.structs.replace(library, name=name)
        versions[family].add(library.version)
        discovery.libraries.append(library)
    return discovery


def is_name(spec: str) -> bool:
    """True for names that a discovered library can have: `nccl`, `rccl`, `nccl-2.27.5`."""
    return spec.partition("-")[0] in SONAMES


def is_file(path: Path) -> bool:
    """True if a path names a file of NCCL or RCCL."""
    return any(path.name.startswith(soname.partition(".")[0]) for soname in SONAMES.values())


def resolve(name: str) -> Library:
    """The library with this name; MissingError with a remedy without one."""
    discovery = discover()
    by_name = {library.name: library for library in reversed(discovery.libraries)}
    if name in by_name:
        return by_name[name]
    family = name.partition("-")[0]
    others = [library.name for library in discovery.libraries if library.family == family]
    details = [f"there is {', '.join(others)}"] if others else []
    details += [problem for problem in discovery.problems if SONAMES[family] in problem]
    raise MissingError(
        f"{'; '.join([f'{name} was not found on this machine', *details])}: "
        f"name its file, like --mpi {family}=/path/to/{SONAMES[family]}"
    )


def at_path(path: Path) -> Library:
    """The library in this file; UserError where it cannot be used."""
    if not path.is_file():
        raise UserError(f"there is no {path}: name the file of NCCL or RCCL")
    family = "rccl" if path.name.startswith("librccl") else "nccl"
    try:
        return identified(path, family, "given")
    except CannotIdentify as error:
        raise UserError(f"{path} cannot be used: {error}") from None


def folders() -> list[Path]:
    """The folders to search, each once, the loader's first."""
    named = searched("LD_LIBRARY_PATH")
    for variable in PREFIX_VARIABLES:
        if prefix := os.environ.get(variable):
            named += [Path(prefix) / "lib", Path(prefix) / "lib64"]
    patterns = [(Path("/"), pattern[1:]) for pattern in USUAL_FOLDERS]
    patterns += itertools.product(_python_prefixes(), PYTHON_FOLDERS)
    for parent, pattern in patterns:
        named += sorted(parent.glob(pattern))
    return [folder for folder in dict.fromkeys(named) if files.is_folder(folder)]


def _python_prefixes() -> Iterator[Path]:
    """The prefixes of the interpreters and environments on this machine."""
    yield Path(sys.prefix)
    for variable in ENVIRONMENTS:
        if prefix := os.environ.get(variable):
            yield Path(prefix)
    for name in ("python3", "python"):
        if interpreter := shutil.which(name):
            yield Path(interpreter).parent.parent
            yield Path(interpreter).resolve().parent.parent
    yield from (Path("/usr"), home() / ".local")


def version_text(file: Path, family: str) -> str:
    """`NCCL 2.28.3, /path/libnccl.so.2`, as nearpeak-native writes it. CannotIdentify."""
    printed = ask(file, CHILD, {})
    if not printed.isdecimal():
        raise CannotIdentify(f"it says that its version is {printed[:80]!r}")
    return f"{all_families()[family].title} {version_words(int(printed))}, {file}"


def version_words(number: int) -> str:
    """`2.28.3` of 22803, `2.8.4` of 2804: NCCL_VERSION of nccl.h."""
    major = 1000 if number < 10000 else 10000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def identified(file: Path, family: str, origin: str) -> Library:
    """The library in a file; CannotIdentify where it does not report its version."""
    text = version_text(file, family)
    version = all_families()[family].version(text)
    assert version is not None
    return Library(
        name=family,
        family=family,
        version=version,
        version_text=text,
        abi="",
        prefix=file.parent,
        origin=origin,
        launcher=Path(),
        libmpi=file,
    )
