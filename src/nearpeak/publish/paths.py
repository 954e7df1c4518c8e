# SPDX-License-Identifier: Apache-2.0
"""Tells which parts of a path many machines have, so that they may stay in a copy."""

import re
from itertools import chain
from pathlib import Path

from nearpeak.libraries import catalogue, launchers
from nearpeak.libraries.families import all_families
from nearpeak.machine.doctor import user_settings_files
from nearpeak.terms.trials import CHECKS

# Names that many machines have: they identify none.
COMMON = {"localhost", "localhost.localdomain", "root", "user", "nobody", "git"}
HOMES = {"home", "users", "Users"}
# Folders at the top of which a system's own are: what is below keeps its name.
_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "usr"}
PUBLIC = {
    *HOMES,
    *COMMON,
    *("tmp", "var", "mnt", "scratch", "work", "data", "shm", "env", "ssh", "nearpeak"),
    *("bin", "sbin", "lib", "lib64", "lib32", "libexec", "include", "share", "etc", "src"),
    *("build", "cache", ".cache", "logs", "cases", "mpi", "bench", ".venv", ".", "..", ""),
    *launchers.programs(),
    # Files with settings: reports name the libraries that read them.
    *chain.from_iterable(file.parts for file in user_settings_files({"HOME": "."}, Path())),
}
# Software that is installed in folders with a version in their name.
_INSTALLED = {
    *catalogue.entries(),
    *all_families(),
    *("ucx", "libucx", "cuda", "nvidia", "hpcx", "rocm", "libfabric"),
}
SOFTWARE = _INSTALLED | PUBLIC
# Nearpeak's own programs and folders, those of its builds, and shared libraries.
_OWN = re.compile(
    r"nearpeak(-(mpi|native|bundle|layer|trace|explain))?|[0-9a-f]{16}-[0-9a-f]{8}"
    r"|nearpeak-(run|launch|start|probe|nodes|trace|explain|mps)-[a-z0-9_]{8}"  # temporary ones
    r"|lib[\w+-]+\.so(\.\d+)*"
    rf"|\S+-[HPDM],[HPDM]-[\w-]+-\d+-({'|'.join(CHECKS)})[\w-]*\.txt"  # cases of conformance
)
_VERSIONED = re.compile(r"(?P<name>[A-Za-z][\w-]*?)-\d+(\.\d+)*")


def public_parts(path: str) -> list[tuple[str, bool]]:
    """The parts of a path, each with True if it may stay, but for the names in it."""
    parts = path.split("/")
    top, *below = parts[1:]
    system = top in _SYSTEM or (top == "var" and below[:1] != ["tmp"])
    everything = path.startswith("/") and (system or not below)
    # What is below the folder of a library holds no secret.
    first = next((number for number, part in enumerate(parts) if _is_installed(part)), len(parts))
    return [
        (part, everything or number >= first or part in SOFTWARE or bool(_OWN.fullmatch(part)))
        for number, part in enumerate(parts)
    ]


def _is_installed(part: str) -> bool:
    """True if it is called like the folder of a known library: `openmpi-5.0.11`."""
    versioned = _VERSIONED.fullmatch(part)
    return versioned is not None and versioned["name"] in _INSTALLED
