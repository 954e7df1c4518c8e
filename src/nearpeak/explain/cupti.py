# SPDX-License-Identifier: Apache-2.0
"""Finds CUPTI, NVIDIA's profiling interface, on this machine."""

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
    """The newest CUPTI library that the driver supports; the file of `VARIABLE` if that is set.

    `newest`: the CUDA version of the driver ("12.8"; None: not known). None without a library.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    most = int(newest.partition(".")[0]) if newest else sys.maxsize
    files: dict[int, Path] = {}
    for folder in places() if folders is None else folders:
        for file in sorted(folder.glob("libcupti.so.*")):
            if (match := _FILE.fullmatch(file.name)) and int(match[1]) <= most:
                files.setdefault(int(match[1]), file)
    return files[max(files)] if files else None


def places() -> list[Path]:
    """Folders to search: LD_LIBRARY_PATH, CUDA toolkits and Python packages."""
    roots = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    anywhere = Path("/")
    roots += [folder for name in TOOLKITS for folder in sorted(anywhere.glob(name[1:]))]
    for entry in sys.path:
        if entry.endswith("-packages"):
            roots += [folder for name in WHEELS for folder in sorted(Path(entry).glob(name))]
    return roots
