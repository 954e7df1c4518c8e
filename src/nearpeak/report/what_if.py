# SPDX-License-Identifier: Apache-2.0
"""What applications of a study would take with the messages of another library."""

from collections import defaultdict
from collections.abc import Mapping

from nearpeak.errors import UserError, closest
from nearpeak.numbers import unit
from nearpeak.report.applications import problem_size, way
from nearpeak.report.sections import Column, Row, Rows, Table, Value
from nearpeak.results.prediction import Messages
from nearpeak.results.results import Application, Results
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Case, Place, Who


def what_if(results: Results, name: str, label: str) -> Table:
    """A row for each problem of application `name` that another library was measured in, with the
    iteration's time there, and the same with the messages of the library that is called `label`.

    UserError where the study has no such application, library, or messages of it.
    """
    mine = [one for one in results.applications if one.cell.case.benchmark == name]
    if not mine:
        there = dict.fromkeys(one.cell.case.benchmark for one in results.applications)
        raise UserError(f"the study has no application {name!r}{closest(name, there)}")
    known = {one.name: one for one in results.benchmarks}
    labels = {cell.who.label: cell.who for cell in results.cells}
    if label not in labels:
        raise UserError(
            f"--what-if: the study has no messages of {label!r}{closest(label, labels)}"
        )
    who = labels[label]
    messages = Messages(results.cells, known, results.paths)
    by_case = {(one.cell.who, one.cell.place, one.cell.case): one for one in mine}
    groups: dict[tuple[Place, str], list[Row]] = defaultdict(list)
    for one in mine:
        if (predicted := _predicted(one, who, messages)) is not None:
            cell = one.cell
            groups[cell.place, problem_size(one, known[name])].append(
                _row(one, known[name], predicted, _measured(by_case, who, one))
            )
    if not groups:
        raise UserError(
            f"--what-if {label}: the study cannot predict {name}. It needs a problem that waits for"
            f" its messages, measured with another library, and messages of these sizes on the same"
            f" path, of that library and of {label}"
        )
    return Table(
        title=f"{name}, if its messages were those of {label}.",
        caption=(
            "Predicted: the measured time of an iteration, plus the difference between the times"
            " of its messages with both libraries, from their latencies and rates in this study."
            " Two things are taken as unchanged: messages of a rank to itself, and what a study"
            " does not know of messages in an application. The range behind a prediction is that"
            " of the predictions of single blocks. It is not an interval, as the model has errors"
            " of its own."
        ),
        head="Measured with",
        columns=[
            Column("time", "Time", unit(mine[0].cell.unit)),
            Column("messages", "Messages", "µs"),
            Column("predicted", "Time", unit(mine[0].cell.unit), over=f"with {label}"),
            Column("measured", "measured", unit(mine[0].cell.unit), over=f"with {label}"),
        ],
        groups=[
            Rows(f"{place.path}, {size_of}", rows) for (place, size_of), rows in groups.items()
        ],
    )


def _predicted(one: Application, who: Who, messages: Messages) -> Value | None:
    cell = one.cell
    if cell.who == who or cell.median is None or one.work is None or one.predicted_us is None:
        return None
    asked = cell.place, cell.case.buffers, one.work
    other = messages.of(who, *asked)
    if other is None:
        return None
    # Of messages that took less than was predicted no more can be saved than they took.
    took = cell.median if one.messages_us is None else one.messages_us
    change = other - one.predicted_us
    if change <= -took:
        return None
    own, others = messages.by_block(cell.who, *asked), messages.by_block(who, *asked)
    changes = [others[block] - own[block] for block in own if block in others]
    if not changes:
        return Value(cell.median + change)
    span = (cell.median + min(changes), cell.median + max(changes))
    return Value(cell.median + change, range=span, few="blocks")


def _measured(
    by_case: Mapping[tuple[Who, Place, Case], Application], who: Who, one: Application
) -> float | None:
    """The same problem with the other library, where it was measured."""
    other = by_case.get((who, one.cell.place, one.cell.case))
    return other.cell.median if other else None


def _row(one: Application, benchmark: Benchmark, predicted: Value, measured: float | None) -> Row:
    cell = one.cell
    return Row(
        f"{cell.who.label} {way(one, benchmark)}".rstrip(),
        {
            "time": Value(cell.median, ci95=cell.ci95, range=cell.range),
            "messages": Value(one.messages_us),
            "predicted": predicted,
            "measured": Value(measured),
        },
    )
