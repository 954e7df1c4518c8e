# SPDX-License-Identifier: Apache-2.0
"""Slowdown factors of operations in GPU memory compared with host memory."""

from collections import defaultdict

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import count, number, size
from nearpeak.report.families import named, sample_sizes
from nearpeak.results.results import InGpuMemory, Results, SlowerInGpuMemory
from nearpeak.terms.identity import Curve, Place, Who


def table(results: Results) -> Table:
    """By path, a row for the median of all operations, then one for each operation."""
    shown = _shown(results)
    by_path = grouped(shown, lambda record: (record.place.path, record.host))
    who = list(dict.fromkeys(record.who for record in shown))
    sizes = sorted({record.x for record in shown})
    return Table(
        title="GPU memory beside host memory.",
        caption=(
            "How many times slower an operation is with all buffers in GPU memory than with all in"
            " host memory on the path beside it: how many times as long it takes, or as low its"
            " rate is. Below 1, it is faster in GPU memory. Median of the ratios within single"
            " blocks."
        ),
        head="Operation",
        columns=[
            Column(_key(owner, x), size(x), "times", over=owner.label)
            for owner in who
            for x in sizes
        ],
        groups=[
            Rows(f"{path}, beside {host}", _rows(mine)) for (path, host), mine in by_path.items()
        ],
        folded="GPU memory beside host memory: every operation",
    )


def sentences(results: Results) -> list[str]:
    """`intel on gpu-gpu same-gpu beside host-host same-numa: at 8 B 37.2 times slower, the median
    of 22 operations (14.3 put_latency to 57.0 reduce); ...`, for each library and path."""
    texts: dict[tuple[Who, Place, str], list[str]] = defaultdict(list)
    for record in _shown(results):
        if len(record.operations) > 1:
            texts[record.who, record.place, record.host].append(_text(record))
    return [
        f"{who.label} on {place.path} beside {host}: {'; '.join(fragments)}."
        for (who, place, host), fragments in texts.items()
    ]


def _rows(records: list[InGpuMemory]) -> list[Row]:
    everything: dict[str, Value] = {}
    rows: dict[Curve, dict[str, Value]] = defaultdict(dict)
    for record in records:
        key = _key(record.who, record.x)
        everything[key] = Value(record.slower, detail=f"of {len(record.operations)}")
        for operation in record.operations:
            rows[operation.case.curve][key] = _value(operation)
    first = Row("median of all", everything)
    return [first, *(Row(named(curve, list(rows)), rows[curve]) for curve in sorted(rows))]


def _value(operation: SlowerInGpuMemory) -> Value:
    slower = operation.slower
    return Value(slower.value, ci95=slower.ci95, range=slower.range, few="blocks")


def _text(record: InGpuMemory) -> str:
    curves = [operation.case.curve for operation in record.operations]
    most, *_, least = (
        f"{number(operation.slower.value)} {named(operation.case, curves)}"
        for operation in record.operations
    )
    return (
        f"at {size(record.x)} {number(record.slower)} times slower, the median of"
        f" {count(len(record.operations), 'operation')} ({least} to {most})"
    )


def _shown(results: Results) -> list[InGpuMemory]:
    """The records at a small, a medium and a large size."""
    sizes = sample_sizes(record.x for record in results.gpu_memory)
    return [record for record in results.gpu_memory if record.x in sizes]


def _key(who: Who, x: int) -> str:
    return f"{who.label} {x}"
