# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""The table of percentiles."""

from nearpeak.report.percentiles import table
from nearpeak.results.results import Estimated, Results, TimePercentiles


def test_rows_of_the_cells_that_know_them(plain: Results) -> None:
    cell = next(cell for cell in plain.cells if cell.case.benchmark == "latency")
    middle = Estimated(value=2.0, ci95=(1.5, 2.5), range=(1.0, 3.0))
    cell.percentiles = TimePercentiles(
        iterations=999, p50=middle, p90=middle, p99=middle, p999=None, longest=70.0
    )
    shown = table(plain)
    assert [column.title for column in shown.columns][2:] == [
        "50 %",
        "90 %",
        "99 %",
        "99.9 %",
        "Longest",
    ]
    (group,) = shown.groups
    (row,) = group.rows
    assert (group.title, row.head) == (cell.place.path, cell.who.label)
    texts = {key: value.text for key, value in row.values.items()}
    assert texts["operation"].startswith("latency")
    assert (texts["p99"], texts["p999"], texts["longest"]) == ("2.00", "", "70.0")
    assert row.values["p50"].span == "[1.50, 2.50]"


def test_a_study_that_does_not_know_them_has_no_table(plain: Results) -> None:
    assert not table(plain).groups
