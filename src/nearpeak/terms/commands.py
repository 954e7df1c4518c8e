# SPDX-License-Identifier: Apache-2.0
"""Command lines that answers tell a reader to run."""

import shlex

from nearpeak.terms.identity import Case, Place
from nearpeak.terms.sizes import format_bytes


def explaining(who: str, place: Place, case: Case) -> str:
    """The command of `nearpeak explain` for a case of a library."""
    line = ["nearpeak", "explain", case.benchmark, "--mpi", who, "--path", place.path]
    return shlex.join([*line, "--buffers", case.buffers, "--sizes", format_bytes(case.x)])
