# SPDX-License-Identifier: Apache-2.0
"""Command lines that answers tell a reader to run."""

import shlex

from nearpeak.terms.identity import Case, Place
from nearpeak.terms.sizes import format_bytes


def explaining(who: str, place: Place, case: Case) -> str:
    """The command of `nearpeak explain` for a case of a library."""
    return _of_case("explain", who, place, case)


def running(who: str, place: Place, case: Case) -> str:
    """The command of `nearpeak run` for a case of a library: one launch."""
    return _of_case("run", who, place, case)


def _of_case(command: str, who: str, place: Place, case: Case) -> str:
    line = ["nearpeak", command, case.benchmark, "--mpi", who, "--path", place.path]
    return shlex.join([*line, "--buffers", case.buffers, "--sizes", format_bytes(case.x)])
