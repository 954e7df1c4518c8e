# SPDX-License-Identifier: Apache-2.0
"""The table of collective operations by NCCL or RCCL at its best, and by the MPI libraries."""

from collections.abc import Iterator, Sequence

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, number, size
from nearpeak.results.names import axes_words
from nearpeak.results.references import WAYS
from nearpeak.results.results import (
    AgainstReference,
    OperationReference,
    OperationVariant,
    Results,
)


def table(results: Results) -> Table:
    """A row for each operation and size, by path; no rows without NCCL or RCCL."""
    who = list(dict.fromkeys(one.who for record in results.references for one in record.libraries))
    by_path = grouped(results.references, lambda record: (record.place.path, record.who.label))
    return Table(
        title="GPU communication libraries at their best.",
        caption=(
            "The fastest way that was measured of each collective operation is the reference: how"
            " NCCL is called, and how its buffers are registered. Of several calls between two"
            " waits the time is that of one of them. Alone: every call is waited for, with"
            " buffers that are not registered. An MPI library has the fastest of its own ways,"
            " and below it its time over that of the reference, the median of the ratios within"
            " single blocks. A blocking call of MPI waits for every operation."
        ),
        head="Operation",
        columns=[
            Column("size", "Size"),
            Column("best", "Reference", "µs"),
            Column("way", "How", figure=False, long=True),
            Column("alone", "Alone", "µs"),
            *(Column(owner.label, owner.label, "µs") for owner in who),
        ],
        groups=[
            Rows(f"{path}, {library}", list(map(_row, records)))
            for (path, library), records in by_path.items()
        ],
    )


def _row(record: OperationReference) -> Row:
    case = record.best.case
    values = {
        "size": Value(size(case.x), "text"),
        "best": Value(record.best.value, ci95=record.best.ci95),
        "way": Value("; ".join(_way(record.best)), "text"),
        **{one.who.label: _against(one) for one in record.libraries},
    }
    if alone := _alone(record.variants):
        values["alone"] = Value(alone.value, ci95=alone.ci95)
    others = {name: value for name, value in case.axes.items() if name not in WAYS}
    return Row(case.figure, values, detail=", ".join([case.buffers, *axes_words(others)]))


def _way(variant: OperationVariant) -> Iterator[str]:
    """`calls=graph`, `register=symmetric`, `one of 20 calls`."""
    axes = variant.case.axes
    yield from axes_words({name: axes[name] for name in WAYS if name in axes})
    if variant.operations > 1:
        yield f"one of {count(variant.operations, 'call')}"


def _alone(variants: Sequence[OperationVariant]) -> OperationVariant | None:
    """The variant that waits for every call, with buffers as the driver allocates them."""
    return next(
        (one for one in variants if one.operations == 1 and "register" not in one.case.axes), None
    )


def _against(one: AgainstReference) -> Value:
    if one.ratio is None:
        return Value(one.value)
    return Value(one.value, notes=(f"{number(one.ratio.value)}x",))
