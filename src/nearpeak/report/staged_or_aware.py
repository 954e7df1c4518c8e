# SPDX-License-Identifier: Apache-2.0
"""Device buffers given to a library, beside copies through host memory in the application."""

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.grouping import grouped
from nearpeak.numbers import size
from nearpeak.results import names
from nearpeak.results.results import AwareAgainstStaged, Results, StagedOrAware

_FROM = "from"


def table(results: Results) -> Table:
    """By path, a row for each library and curve: the size from which device buffers are faster, and
    how many times as fast they are at each size."""
    compared = results.staged_or_aware
    sizes = sorted({point.x for record in compared for point in record.sizes})
    by_path = grouped(compared, lambda record: record.place.path)
    return Table(
        title="Device buffers or copies.",
        caption=(
            "How many times as fast a message is when the library gets the device buffers, as when"
            " the application copies them through host memory and sends that. Below 1, the copies"
            " are faster. The copies use pinned or pageable memory, whichever is faster, and"
            " messages of the same library if it was measured so. Median of the ratios within"
            " single blocks."
        ),
        head="Library",
        columns=[
            Column(_FROM, "faster from", figure=False),
            *(Column(str(x), size(x), "times") for x in sizes),
        ],
        groups=[Rows(path, list(map(_row, records))) for path, records in by_path.items()],
    )


def sentences(results: Results) -> list[str]:
    """`intel on gpu-gpu nvlink, latency D,D: device buffers are faster from 4 KiB on.`, for each
    library, path and curve."""
    return [f"{_subject(record)}: {_answer(record)}." for record in results.staged_or_aware]


def _subject(record: StagedOrAware) -> str:
    return f"{record.who.label} on {record.place.path}, {names.case(record.curve)}"


def _answer(record: StagedOrAware) -> str:
    smallest, largest = record.sizes[0].x, record.sizes[-1].x
    if record.aware_from is None:
        return f"copies by the application are not slower at {size(largest)}"
    if record.aware_from == smallest:
        return "device buffers are faster at every size measured"
    return f"device buffers are faster from {size(record.aware_from)} on"


def _row(record: StagedOrAware) -> Row:
    start = "never" if record.aware_from is None else size(record.aware_from)
    cells = {str(point.x): _value(point) for point in record.sizes}
    label = f"{record.who.label}, {names.case(record.curve)}"
    return Row(label, {_FROM: Value(start, "text"), **cells})


def _value(point: AwareAgainstStaged) -> Value:
    faster = point.faster
    return Value(
        faster.value,
        ci95=faster.ci95,
        range=faster.range,
        few="blocks",
        detail=f"{point.staging}, {point.carrier.label}",
    )
