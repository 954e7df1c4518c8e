# SPDX-License-Identifier: Apache-2.0
"""docs/reference/exit-statuses.md."""

from collections.abc import Iterator

from nearpeak.cli.document.beginning import first
from nearpeak.markdown import table
from nearpeak.terms.exit_statuses import PROGRAMS, STATUSES

BEGINNING = """The exit status of each command, and of the measuring programs. With status 2, one
line on standard error says what to do. Status 1 of any command also means that the disk is full or
gone, or that nobody reads the output. Ctrl-C ends any command with status 130, and another signal N
with 128 + N."""


def page() -> str:
    """The complete page."""
    header = ("Command", "Status", "Meaning")
    return first("Exit statuses", "exit-statuses", BEGINNING) + f"\n{table(header, _rows())}"


def _rows() -> Iterator[tuple[str, str, str]]:
    commands = {f"`nearpeak {name}`": statuses for name, statuses in STATUSES.items()}
    for command, statuses in {**commands, "`nearpeak-mpi`, `nearpeak-native`": PROGRAMS}.items():
        for status, meaning in statuses.items():
            text = meaning.removeprefix("if ").removeprefix("for ")
            yield command, status, text or "the command did its work"
