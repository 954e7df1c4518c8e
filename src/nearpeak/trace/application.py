# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI library that a command's program is linked with."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries.build import own_header
from nearpeak.libraries.discover import SONAME
from nearpeak.libraries.families import all_families, recognise
from nearpeak.libraries.identify import CannotIdentify, version_text
from nearpeak.libraries.library import Library

LIMIT_SECONDS = 20.0
ELF = b"\x7fELF"


def library_of(command: Sequence[str], asking: str = "trace") -> Library:
    """The library of the first program in a command that is linked with one. UserError without,
    for the user of `nearpeak ASKING`."""
    if shutil.which(command[0]) is None:
        raise UserError(f"there is no program {command[0]}")
    for word in command:
        program = shutil.which(word)
        libmpi = _linked(program) if program else None
        if libmpi:
            return _described(libmpi)
    raise UserError(
        f"no program in `{' '.join(command)}` is linked with an MPI library that is found: name "
        f"the library that it loads with --mpi, like `nearpeak {asking} --mpi openmpi -- ...`, and "
        "check that its launcher (mpirun) is of that library"
    )


def _linked(program: str) -> Path | None:
    """The MPI library that the loader takes for a program; None also for an unreadable one."""
    try:
        with Path(program).open("rb") as file:
            if file.read(4) != ELF:
                return None
        output = subprocess.run(
            ["ldd", program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_SECONDS,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    for name, file_name in re.findall(r"^\s*(\S+) => (/\S+)", output, re.MULTILINE):
        if SONAME.fullmatch(name):
            return Path(file_name)
    return None


def _described(libmpi: Path) -> Library:
    try:
        text = version_text(libmpi, {})
    except CannotIdentify as error:
        raise UserError(f"{libmpi}, which the program is linked with: {error}") from None
    recognised = recognise(text)
    if recognised is None:
        families = ", ".join(entry.title for entry in all_families().values() if entry.launcher)
        raise UserError(
            f"{libmpi}, which the program is linked with, is of no known family: name a library "
            f"of its ABI with --mpi ({families})"
        )
    family, version = recognised
    libraries = [
        Library(
            name=family.name,
            family=family.name,
            version=version,
            version_text=text,
            abi=family.abi,
            prefix=prefix,
            origin="given",
            libmpi=libmpi,
        )
        for prefix in libmpi.parents[1:4]
    ]
    return next((library for library in libraries if own_header(library)), libraries[0])
