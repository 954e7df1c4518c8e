# SPDX-License-Identifier: Apache-2.0
"""Intel MPI, asked by impi_info."""

import re

from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer, names_in, output_of

ROW = re.compile(r"^ *\| (I_MPI_\w+) *\| *(.*?) *\|", re.MULTILINE)
NAME = re.compile(r"^(I_MPI_\w+) *$", re.MULTILINE)
UNSET = ("not defined", "-1")  # it chooses by itself


def ask(library: Library) -> Answer:
    """Its variables: -a lists most names, -e the known values; a few names are only in its file.

    CannotIdentify.
    """
    output = output_of("impi_info", ["-a"], library) + output_of("impi_info", ["-e"], library)
    return Answer({**names_in(library.libmpi, "I_MPI_").values, **parse(output).values})


def parse(text: str) -> Answer:
    """Parses rows like `| I_MPI_FABRICS | shm:ofi | MPI_CHAR |`, and lines with only a name."""
    rows = {name: "" if value in UNSET else value for name, value in ROW.findall(text)}
    return Answer({**dict.fromkeys(NAME.findall(text), ""), **rows})
