# SPDX-License-Identifier: Apache-2.0
"""The table of the operations that each library does with each kind of GPU buffers."""

from nearpeak.document.model import Column, Row, Rows, Table, Tone, Value
from nearpeak.numbers import count
from nearpeak.results.results import Results
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

TITLE = "What each library does with GPU buffers."
MANY = 12  # from this many operations on, each has a row instead of a column
LONG = 24  # the page folds a table with more rows

_TONES: dict[str, Tone] = {GOOD: "good", NOT_TRIED: ""}


def table(results: Results) -> Table:
    """A row for each library with its settings, or, if there are `MANY` operations, for each
    operation. An operation that was not tried has an empty field."""
    operations = list(dict.fromkeys(answer.operation for answer in results.awareness))
    kinds = list(dict.fromkeys(map(_kind, results.awareness)))
    by_operation = len(operations) >= MANY
    columns: dict[tuple[str, str], None] = {}
    rows: dict[str, dict[str, Value]] = {}
    for answer in sorted(
        results.awareness,
        key=lambda tried: (kinds.index(_kind(tried)), operations.index(tried.operation)),
    ):
        who = Who(answer.library, answer.settings).label
        head, over, title = who, _kind(answer), answer.operation
        if by_operation:
            head, over, title = answer.operation, who, _kind(answer)
        columns[over, title] = None
        rows.setdefault(head, {})[_key(over, title)] = _value(answer)
    over_all = list(dict.fromkeys(over for over, _ in columns))
    return Table(
        title=TITLE,
        caption=(
            "✓: the operation works, and its data is right. ok alone: it works in a job of its own,"
            " but not after other operations in one job. Buffers of each rank: H host, P pinned,"
            " D device, M managed."
            + " Without a GPU: the rank with host memory held none."
            * any(answer.host_device == "none" for answer in results.awareness)
        ),
        head="Operation" if by_operation else "Library",
        columns=[
            Column(_key(over, title), title, over=over, figure=False)
            for over, title in sorted(columns, key=lambda column: over_all.index(column[0]))
        ],
        groups=[Rows("", [Row(head, values) for head, values in rows.items()])] if rows else [],
        folded=f"{TITLE} {count(len(rows), 'operation')}" if len(rows) > LONG else "",
        compact=True,
    )


def _kind(awareness: Awareness) -> str:
    """The buffers, and a note if the rank with host memory held no GPU."""
    return awareness.buffers + (" without a GPU" if awareness.host_device == "none" else "")


def _key(over: str, title: str) -> str:
    return f"{over} {title}"


def _value(awareness: Awareness) -> Value:
    hover = awareness.message or awareness.status
    if awareness.tried:
        hover += f" (tried {awareness.tried[:10]})"
    if awareness.after_others:
        return Value("ok alone", "text", tone="note", hover=hover)
    return Value(
        "✓" if awareness.status == GOOD else awareness.status,
        "text",
        tone=_TONES.get(awareness.status, "bad"),
        hover=hover,
    )
