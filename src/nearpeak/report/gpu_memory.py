# SPDX-License-Identifier: Apache-2.0
"""How many times slower operations are in GPU memory than in host memory."""

from collections import defaultdict

from nearpeak.numbers import count, number, size
from nearpeak.report.families import named, told_sizes
from nearpeak.report.sections import Column, Row, Rows, Table, Value
from nearpeak.results.results import InGpuMemory, Results, SlowerInGpuMemory
from nearpeak.terms.identity import Curve, Place, Who


def table(results: Results) -> Table:
    """A row for each operation, by path, below one for the median of all."""
    shown = _told(results)
    by_path: dict[tuple[str, str], list[InGpuMemory]] = defaultdict(list)
    for found in shown:
        by_path[found.place.path, found.host].append(found)
    who = list(dict.fromkeys(found.who for found in shown))
    sizes = sorted({found.x for found in shown})
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
    of 22 operations (14.3 put_latency to 57.0 reduce); ...`, of each library and path."""
    found: dict[tuple[Who, Place, str], list[str]] = defaultdict(list)
    for each in _told(results):
        if len(each.operations) > 1:
            found[each.who, each.place, each.host].append(_words(each))
    return [
        f"{who.label} on {place.path} beside {host}: {'; '.join(words)}."
        for (who, place, host), words in found.items()
    ]


def _rows(found: list[InGpuMemory]) -> list[Row]:
    everything: dict[str, Value] = {}
    rows: dict[Curve, dict[str, Value]] = defaultdict(dict)
    for each in found:
        key = _key(each.who, each.x)
        everything[key] = Value(each.slower, detail=f"of {len(each.operations)}")
        for operation in each.operations:
            rows[operation.case.curve][key] = _value(operation)
    first = Row("median of all", everything)
    return [first, *(Row(named(curve, list(rows)), rows[curve]) for curve in sorted(rows))]


def _value(operation: SlowerInGpuMemory) -> Value:
    slower = operation.slower
    return Value(slower.value, ci95=slower.ci95, range=slower.range, few="blocks")


def _words(found: InGpuMemory) -> str:
    curves = [each.case.curve for each in found.operations]
    most, *_, least = (
        f"{number(each.slower.value)} {named(each.case, curves)}" for each in found.operations
    )
    return (
        f"at {size(found.x)} {number(found.slower)} times slower, the median of"
        f" {count(len(found.operations), 'operation')} ({least} to {most})"
    )


def _told(results: Results) -> list[InGpuMemory]:
    """At a small, a medium and a large size."""
    sizes = told_sizes(found.x for found in results.gpu_memory)
    return [found for found in results.gpu_memory if found.x in sizes]


def _key(who: Who, x: int) -> str:
    return f"{who.label} {x}"
