# SPDX-License-Identifier: Apache-2.0
"""The routes of messages with the layer as a document for the terminal."""

from collections.abc import Iterator, Sequence

from nearpeak.document.model import (
    Block,
    Column,
    Document,
    Notice,
    Row,
    Rows,
    Section,
    Table,
    Value,
)
from nearpeak.numbers import number, size
from nearpeak.observations.ways import Leg, Step, Ways, alike


def present(ways: Ways) -> Document:
    """A table for each pair of memories, and the settings that decide."""
    settings = " ".join(f"{name}={value}" for name, value in ways.settings.items())
    subject = f"{ways.library} {ways.version}"
    return Document(
        title=f"Routes of messages with {subject}",
        heading="Which way do messages go?",
        byline=[subject, ways.host],
        sections=[
            *(Section(f"{leg.words.capitalize()}, {leg.path}", [_table(leg)]) for leg in ways.legs),
            Section("", list(_notices(ways))),
        ],
        conclusion=f"{subject} on {ways.host}, decided by (docs/layer.md): {settings}",
    )


def _table(leg: Leg) -> Table:
    over = "" if leg.buffers == "D,D" else "mean of there and back"
    columns = [
        Column("way", "Way", figure=False),
        Column("time", "Time", "µs", over=over, figure=False),
    ]
    rows = [Rows("", list(map(_row, alike(leg.steps))))]
    return Table("", "", "Size", columns, rows, heads=True)


def _row(group: Sequence[Step]) -> Row:
    values = {
        "way": Value(group[0].way or "not told", "text"),
        "time": Value(_range([number(step.latency_us) for step in group]), "text"),
    }
    return Row(_range([size(step.size_bytes) for step in group]), values)


def _range(figures: Sequence[str]) -> str:
    """`8 B to 64 B`."""
    return " to ".join([figures[0], *figures[1:][-1:]])


def _notices(ways: Ways) -> Iterator[Block]:
    for failure in ways.failed:
        yield Notice(f"Failed: {failure}", tone="bad")
    if ways.no_kernel:
        yield Notice(f"No kernel copies: {ways.no_kernel}", tone="note")
    for rank, most in ways.kernel_bytes.items():
        yield Notice(
            f"Measured meanwhile: of what rank {rank} sends between devices a kernel copies up to"
            f" {size(most)}, the copy engine what is longer."
        )
