# SPDX-License-Identifier: Apache-2.0
"""The page of a traced application: one file that loads nothing and runs no script."""

import shlex
from pathlib import Path

from nearpeak.document import templates
from nearpeak.files import write_whole
from nearpeak.report.traced import drawing, words
from nearpeak.trace.trace import Trace

FOLDED = 16  # most ranks of a table that is not folded

_HERE = Path(__file__).parent


def write_page(trace: Trace, file: Path) -> None:
    """Writes the page. Raises UserError."""
    write_whole(file, render(trace))


def render(trace: Trace) -> str:
    """Returns the whole page."""
    return (
        templates.environment(_HERE)
        .get_template("trace.html.j2")
        .render(
            trace=trace,
            command=shlex.join(trace.command),
            words=words,
            bars=drawing.operations(trace),
            ranks=drawing.ranks(trace.ranks),
            ceilings=trace.by_entry,
            folded=len(trace.ranks) > FOLDED,
            css=templates.css(),
        )
    )
