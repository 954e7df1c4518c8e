# SPDX-License-Identifier: Apache-2.0
"""Which operations each library does with each kind of GPU buffers, as a table."""

from nearpeak.report.sections import Column, Row, Rows, Table, Tone, Value
from nearpeak.results.results import Results
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

_TONES: dict[str, Tone] = {GOOD: "good", NOT_TRIED: ""}


def table(results: Results) -> Table:
    """A row for each library with its settings; what was not tried is empty."""
    operations = list(dict.fromkeys(one.operation for one in results.awareness))
    kinds = list(dict.fromkeys(one.buffers for one in results.awareness))
    tried = sorted(
        {(one.buffers, one.operation) for one in results.awareness},
        key=lambda pair: (kinds.index(pair[0]), operations.index(pair[1])),
    )
    rows: dict[str, dict[str, Value]] = {}
    for one in results.awareness:
        row = rows.setdefault(Who(one.library, one.settings).label, {})
        row[_key(one.buffers, one.operation)] = _value(one)
    return Table(
        title="What each library does with GPU buffers.",
        caption=(
            "✓: the operation works, and its data is right. ok alone: it works in a job of its own,"
            " but not after other operations in one job. Buffers of each rank: H host, P pinned,"
            " D device, M managed."
        ),
        head="Library",
        columns=[
            Column(_key(buffers, operation), operation, over=buffers, figure=False)
            for buffers, operation in tried
        ],
        groups=[Rows("", [Row(who, values) for who, values in rows.items()])] if rows else [],
        compact=True,
    )


def _key(buffers: str, operation: str) -> str:
    return f"{buffers} {operation}"


def _value(one: Awareness) -> Value:
    hover = one.message or one.status
    if one.tried:
        hover += f" (tried {one.tried[:10]})"
    if one.after_others:
        return Value("ok alone", "text", tone="note", hover=hover)
    return Value(
        "✓" if one.status == GOOD else one.status,
        "text",
        tone=_TONES.get(one.status, "bad"),
        hover=hover,
    )
