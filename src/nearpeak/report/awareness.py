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
    operations = list(dict.fromkeys(answer.operation for answer in results.awareness))
    kinds = list(dict.fromkeys(answer.buffers for answer in results.awareness))
    tried = sorted(
        {(tried.buffers, tried.operation) for tried in results.awareness},
        key=lambda pair: (kinds.index(pair[0]), operations.index(pair[1])),
    )
    rows: dict[str, dict[str, Value]] = {}
    for answer in results.awareness:
        row = rows.setdefault(Who(answer.library, answer.settings).label, {})
        row[_key(answer.buffers, answer.operation)] = _value(answer)
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
