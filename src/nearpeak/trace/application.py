# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI library of a command, and the ABI by which its program is linked with one."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries import discover, standard_abi
from nearpeak.libraries.build import own_header
from nearpeak.libraries.discover import SONAME
from nearpeak.libraries.families import all_families, is_native, recognise
from nearpeak.libraries.identify import CannotIdentify, version_text
from nearpeak.libraries.library import Library

LIMIT_SECONDS = 20.0
ELF = b"\x7fELF"


def application_library(
    command: Sequence[str], named: str | None, asking: str, *, by_standard_abi: bool = False
) -> Library:
    """The library of a command, by the ABI that its programs are built for.

    It is the one that the user has `named`, or that of library_of. The standard ABI is taken if
    the user says so, or the first program that is linked with MPI is linked with it. UserError if
    the library does not have it, and as discover.resolve and library_of.
    """
    library = discover.resolve(named) if named else library_of(command, asking)
    if library.abi == standard_abi.NAME or is_native(library):
        return library
    by_standard_abi = by_standard_abi or (named is not None and _is_linked_by_it(command))
    return standard_abi.by_it(library) if by_standard_abi else library


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
    for line in _loaded(program):
        if match := re.match(r"\s*\S+ => (/\S+)", line):
            return Path(match[1])
    return None


def _is_linked_by_it(command: Sequence[str]) -> bool:
    """True if the first program in a command that is linked with MPI has the standard ABI."""
    for program in filter(None, map(shutil.which, command)):
        if lines := _loaded(program):
            return bool(standard_abi.SONAME.fullmatch(lines[0].split()[0]))
    return False


def _loaded(program: str) -> list[str]:
    """Asks the loader for the MPI libraries of a program: its lines; none if it is unreadable."""
    try:
        with Path(program).open("rb") as file:
            if file.read(4) != ELF:
                return []
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
        return []
    names = (SONAME, standard_abi.SONAME)
    return [
        line
        for line in output.splitlines()
        if any(name.fullmatch(line.partition(" => ")[0].strip()) for name in names)
    ]


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
            abi=standard_abi.NAME if standard_abi.SONAME.fullmatch(libmpi.name) else family.abi,
            prefix=prefix,
            origin="given",
            libmpi=libmpi,
        )
        for prefix in libmpi.parents[1:4]
    ]
    return next((library for library in libraries if own_header(library)), libraries[0])
