# SPDX-License-Identifier: Apache-2.0
"""The standard ABI of MPI 5, by which one program runs with every library that has it.

A library has it in a file next to the one of its own ABI. The programs that measure are built for
the latter; only what is preloaded into applications (build.build_layer, build_trace) is built for
both.
"""

import re
from pathlib import Path

import msgspec

from nearpeak.errors import UserError
from nearpeak.libraries.library import Library

NAME = "standard"  # in Library.abi
SONAME = re.compile(r"libmpi_abi\.so\.\d+")
HEADER = "mpi_abi.h"
HEADER_MARK = "MPI_ABI_VERSION"  # a word that only this header has
LENDER = "mpich"  # of the catalogue: has the header, which other libraries may come without


def file_of(library: Library) -> Path | None:
    """Finds a library's file of the standard ABI, by its SONAME; None without one."""
    folders = [library.libmpi.parent, library.prefix / "lib", library.prefix / "lib64"]
    files = (file for folder in folders for file in sorted(folder.glob("libmpi_abi.so.*")))
    return next((file for file in files if SONAME.fullmatch(file.name) and file.exists()), None)


def by_it(library: Library) -> Library:
    """Returns a library as programs of the standard ABI have it. UserError if it has none."""
    file = file_of(library)
    if file is None:
        raise UserError(
            f"{library.name} in {library.prefix} does not have the standard ABI (libmpi_abi.so):"
            " name a library with --mpi that has it, like mpich, or leave out --standard-abi if"
            " the application is built for the library's own ABI"
        )
    return msgspec.structs.replace(library, abi=NAME, libmpi=file)
