# SPDX-License-Identifier: Apache-2.0
"""The tables of verdicts."""

from nearpeak.report import summary, verdicts
from nearpeak.results.results import Results
from nearpeak.terms.identity import Place


def test_a_whole_curve_has_a_verdict_and_its_sizes_are_counted(plain: Results) -> None:
    (table,) = verdicts.tables(plain)
    assert [group.title for group in table.groups] == [place.path for place in _places(plain)]
    row = table.groups[0].rows[0]
    assert (row.head, row.detail, row.opens) == ("mpich", "against openmpi", 0)
    assert (row.values["verdict"].text, row.values["verdict"].tone) == ("slower", "bad")
    assert row.values["p"].text == "0.0123"
    assert (row.values["ratio"].text, row.values["ratio"].span) == ("0.820", "[0.800, 0.840]")
    assert [row.values[word].text for word in summary.VERDICTS] == ["4", "4", "4", "4", "–"]


def test_a_verdict_that_no_size_has_is_nothing(plain: Results) -> None:
    for curve in plain.curves:
        del curve.counts["faster"]
    assert verdicts.tables(plain)[0].groups[0].rows[0].values["faster"].text == "–"


def test_other_variants_are_folded(plain: Results) -> None:
    other = plain.curves[0].curve
    plain.cells = [cell for cell in plain.cells if cell.case.curve != other]
    default, others = verdicts.tables(plain)
    assert (default.folded, others.folded) == ("", "Verdicts on the other variants")
    rows = [row for table in (default, others) for group in table.groups for row in group.rows]
    numbers = [row.opens for row in rows if row.opens is not None]
    assert sorted(numbers) == list(range(len(plain.curves)))


def test_where_nothing_is_decided_the_table_is_folded(plain: Results) -> None:
    for curve in plain.curves:
        curve.verdict, curve.counts = "undecided", {"undecided": 16}
    (table,) = verdicts.tables(plain)
    assert table.folded == "6 curves compared, none of them decided"
    assert table in verdicts.main(plain)
    plain.curves[0].counts = {"faster": 1}
    (table,) = verdicts.tables(plain)
    assert not table.folded


def test_without_verdicts_there_is_no_table(plain: Results) -> None:
    plain.curves = []
    assert verdicts.tables(plain) == []


def _places(results: Results) -> list[Place]:
    return list(dict.fromkeys(curve.place for curve in results.curves))
