# SPDX-License-Identifier: Apache-2.0
"""MPICH, asked by its mpivars, which lists the control variables of MPI_T."""

import re

from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer, output_of

VARIABLE = re.compile(r"^\t(MPIR_CVAR_\w+) *=(.*?)\tSCOPE_", re.MULTILINE)
# The description of a variable whose values are words. Its value is printed as the word's number.
WORDS = re.compile(r"^\w+ +- ", re.MULTILINE)


def ask(library: Library) -> Answer:
    """Its control variables. CannotIdentify."""
    return parse(output_of("mpivars", [], library))


def parse(text: str) -> Answer:
    """Parses the output of mpivars: each variable with its value, then lines that describe it."""
    matches = list(VARIABLE.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return Answer(
        {
            match[1]: "" if WORDS.search(text, match.end(), end) else match[2]
            for match, end in zip(matches, ends, strict=True)
        }
    )
