# SPDX-License-Identifier: Apache-2.0
"""The predicted times of a study's applications with the messages of another library."""

from collections import defaultdict

from nearpeak.document.model import Column, Row, Rows, Table, Value
from nearpeak.errors import UserError, closest
from nearpeak.numbers import unit
from nearpeak.report.applications import problem_size, way
from nearpeak.results.results import Application, Results, WhatIf
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.identity import Place


def what_if(results: Results, name: str, label: str) -> Table:
    """A row for each problem of application `name` measured with another library: the time of an
    iteration, and the predicted time with the messages of library `label`.

    Raises UserError if the study has no such application, library, or messages of it.
    """
    mine = [
        application
        for application in results.applications
        if application.cell.case.benchmark == name
    ]
    if not mine:
        names = dict.fromkeys(
            application.cell.case.benchmark for application in results.applications
        )
        raise UserError(f"the study has no application {name!r}{closest(name, names)}")
    benchmarks = {benchmark.name: benchmark for benchmark in results.benchmarks}
    labels = dict.fromkeys(cell.who.label for cell in results.cells)
    if label not in labels:
        raise UserError(
            f"--what-if: the study has no messages of {label!r}{closest(label, labels)}"
        )
    groups: dict[tuple[Place, str], list[Row]] = defaultdict(list)
    for application in mine:
        problem = application.cell.place, problem_size(application, benchmarks[name])
        for prediction in application.what_if:
            if prediction.who.label == label:
                groups[problem].append(_row(application, benchmarks[name], prediction))
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
            Rows(f"{place.path}, {size_of}", rows)
            for (place, size_of), rows in groups.items()
            if rows
        ],
    )


def _row(application: Application, benchmark: Benchmark, prediction: WhatIf) -> Row:
    cell = application.cell
    return Row(
        f"{cell.who.label} {way(application, benchmark)}".rstrip(),
        {
            "time": Value(cell.median, ci95=cell.ci95, range=cell.range),
            "messages": Value(application.messages_us),
            "predicted": Value(prediction.value, range=prediction.range, few="blocks"),
            "measured": Value(prediction.measured),
        },
    )
