# SPDX-License-Identifier: Apache-2.0
"""MPICH, asked by its mpivars, which lists the control variables of MPI_T."""

import re

from nearpeak.libraries.library import Library
from nearpeak.libraries.tunables.answer import Answer, output_of

VARIABLE = re.compile(r"^\t(MPIR_CVAR_\w+) *=(.*?)\tSCOPE_", re.MULTILINE)
# What a variable of words is described by. Its value is told as the word's number.
WORDS = re.compile(r"^\w+ +- ", re.MULTILINE)


def ask(library: Library) -> Answer:
    """Its control variables. CannotIdentify."""
    return parse(output_of("mpivars", [], library))


def parse(text: str) -> Answer:
    """What mpivars prints: each variable with its value, then lines that describe it."""
    found = list(VARIABLE.finditer(text))
    ends = [*(one.start() for one in found[1:]), len(text)]
    return Answer(
        {
            one[1]: "" if WORDS.search(text, one.end(), end) else one[2]
            for one, end in zip(found, ends, strict=True)
        }
    )
