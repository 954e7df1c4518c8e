# SPDX-License-Identifier: Apache-2.0
"""Where CUPTI, NVIDIA's profiling interface, is on this machine."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "NEARPEAK_CUPTI_LIBRARY"
TOOLKITS = (
    "/usr/local/cuda*/targets/*/lib",
    "/usr/local/cuda*/extras/CUPTI/lib64",
    "/opt/cuda*/extras/CUPTI/lib64",
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
)
WHEELS = ("nvidia/cuda_cupti/lib", "nvidia/cu*/lib")  # in a folder of Python packages
_FILE = re.compile(r"libcupti\.so\.(\d+)")


def find(newest: str | None, folders: Iterable[Path] | None = None) -> Path | None:
    """The file of the newest one that a driver which offers CUDA `newest` ("12.8"; None: not known)
    can serve: the variable's where that is set. None where there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    most = int(newest.partition(".")[0]) if newest else sys.maxsize
    found: dict[int, Path] = {}
    for folder in places() if folders is None else folders:
        for file in sorted(folder.glob("libcupti.so.*")):
            if (match := _FILE.fullmatch(file.name)) and int(match[1]) <= most:
                found.setdefault(int(match[1]), file)
    return found[max(found)] if found else None


def places() -> list[Path]:
    """Folders where it may be: of toolkits, of Python packages, and what LD_LIBRARY_PATH names."""
    roots = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    anywhere = Path("/")
    roots += [found for name in TOOLKITS for found in sorted(anywhere.glob(name[1:]))]
    for entry in sys.path:
        if entry.endswith("-packages"):
            roots += [found for name in WHEELS for found in sorted(Path(entry).glob(name))]
    return roots
