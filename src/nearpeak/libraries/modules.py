# SPDX-License-Identifier: Apache-2.0
"""MPI libraries that a cluster offers through `module` (Lmod or Environment Modules)."""

import os
import re
import subprocess
from pathlib import Path

LIMIT_SECONDS = 60.0

# Modules that are worth loading to look for an MPI. A filter for speed: the libraries in them are
# identified afterwards. OpenHPC has `openmpi4`, Spack `intel-oneapi-mpi`, NVIDIA's HPC SDK
# `nvhpc-hpcx`.
WORTH_A_LOOK = re.compile(
    r"^(open|intel-?|intel-oneapi-|i-?|spectrum-|platform-|cray-|nvhpc-open)?mpi\d*([-_./]|$)"
    r"|^(cray-)?mpich|^mvapich|^impi|^(nvhpc-)?hpcx",
    re.IGNORECASE,
)
# Marks behind a name in listings: `(default)`, `(L,D)`, `(default:v4)`, `<aL>`.
_MARKS = re.compile(r"(\s*(\([^()\s]*\)|<[^<>]*>))+\s*$")
START_FILES = ("/etc/profile.d/modules.sh", "/etc/profile.d/lmod.sh", "/etc/profile.d/z00_lmod.sh")


def available() -> list[str]:
    """The names of the modules that look like an MPI, sorted; none where there is no `module`."""
    listing = _bash("module -t avail 2>&1")
    return sorted(name for name in parse_avail(listing) if WORTH_A_LOOK.search(name))


def parse_avail(text: str) -> list[str]:
    """The module names in the output of `module -t avail`, in its order."""
    names = []
    for line in text.splitlines():
        name = _MARKS.sub("", line).strip()
        if name and not name.endswith((":", "/")) and " " not in name:
            names.append(name)
    return list(dict.fromkeys(names))


def environment_of(name: str) -> dict[str, str]:
    """The variables that loading a module sets or changes; none if it cannot be loaded."""
    before = _variables(_bash("env -0"))
    after = _variables(_bash('module load "$1" >/dev/null 2>&1 && env -0', name))
    return {key: value for key, value in after.items() if before.get(key) != value}


def _variables(text: str) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _bash(script: str, *arguments: str) -> str:
    """The output of a fixed script that may use `module`; empty where there is no such command."""
    if "BASH_FUNC_module%%" in os.environ:
        shell = ["bash", "-c"]  # inherits the function
    elif any(Path(file).exists() for file in START_FILES):
        shell = ["bash", "-l", "-c"]
    else:
        return ""
    try:
        done = subprocess.run(
            [*shell, script, "bash", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
