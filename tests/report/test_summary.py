# SPDX-License-Identifier: Apache-2.0
"""What terminal, page and exports share besides figures."""

from nearpeak.report import summary
from nearpeak.results.results import Results
from nearpeak.terms.identity import Who


def test_verdicts_stand_in_the_order_of_the_tables(plain: Results) -> None:
    first = summary.judged_curves(plain)[0]
    assert (first.first, first.second) == (Who("openmpi"), Who("mpich"))
    assert (first.place.path, first.curve.metric) == ("host-host same-numa", "bw")


def test_only_flags_that_a_cell_has_are_explained(plain: Results) -> None:
    for cell in plain.cells:
        cell.flags = []
    assert summary.flags(plain) == []
    plain.cells[0].flags = ["fewer blocks"]
    assert [name for name, _ in summary.flags(plain)] == ["fewer blocks"]
