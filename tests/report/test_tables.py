# SPDX-License-Identifier: Apache-2.0
"""The two tables as data."""

from collections.abc import Callable

from nearpeak.document.model import Row
from nearpeak.report import headlines, tables
from nearpeak.results.results import Results

ORDER = ["bw", "bibw", "latency"]


def _row(results: Results, path: str, head: str) -> Row:
    table = tables.table_two(headlines.groups(results), ORDER)
    rows = next(group.rows for group in table.groups if group.title == path)
    return next(row for row in rows if row.head == head)


def test_a_size_stands_in_the_heading_where_it_is_the_same_for_all(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    table = tables.table_two(headlines.groups(plain), ORDER)
    assert table.spans == [("latency, 4 B", 2), ("bw, 64 MiB", 3), ("bibw, 64 MiB", 3)]
    assert [column.key for column in table.columns[:3]] == [
        "latency value",
        "latency fraction",
        "bw value",
    ]
    plain.cells = [
        cell for cell in plain.cells if cell.case.x < 1 << 26 or "tcp" in cell.place.path
    ]
    tell(plain)
    table = tables.table_two(headlines.groups(plain), ORDER)
    assert ("bw", 4) in table.spans
    assert _row(plain, "host-host same-numa", "openmpi").values["bw size"].text == "16 MiB"
    assert _row(plain, "host-host tcp-loopback", "openmpi").values["bw size"].text == "64 MiB"


def test_a_fraction_of_one_block_has_no_range_of_blocks(plain: Results) -> None:
    for cell in plain.cells:
        cell.range = (cell.median or 0.0, cell.median or 0.0)
        cell.ci95, cell.fraction_ci95, cell.fraction_blocks = None, None, 1
        cell.fraction_range = (0.435, 0.438)
        if cell.of_plateau:
            cell.of_plateau.ci95, cell.of_plateau.blocks = None, 1
            cell.of_plateau.range = (0.435, 0.438)
    values = _row(plain, "host-host same-numa", "openmpi").values
    assert values["bw value"].span == "one value"
    assert values["bw fraction"].span == "43.5 to 43.8 (one block)"
    assert values["bw plateau"].span == "43.5 to 43.8 (one block)"


def test_every_value_of_the_ceiling_has_its_size(plain: Results) -> None:
    own = _row(plain, "host-host same-numa", "ceiling")
    plateau = _row(plain, "host-host same-numa", "plateau")
    assert own.values["bw size"].text == "64 MiB"
    assert plateau.values["bw value"].notes == ("at 256 KiB",)
    assert "latency value" not in plateau.values
    assert own.ceiling


def test_a_plateau_that_is_not_the_ceiling_at_its_size_is_of_no_one_size(plain: Results) -> None:
    """The blocks disagree which size is the best: what counts of each is another size."""
    for headline in plain.headlines:
        headline.plateau_of_several = headline.plateau is not None
    plateau = _row(plain, "host-host same-numa", "plateau")
    assert plateau.values["bw value"].notes == ("of several sizes",)


def test_collective_operations_stand_beside_a_bound(collective: Results) -> None:
    collective.cells = [cell for cell in collective.cells if cell.ceiling.kind == "bound"]  # type: ignore[union-attr]
    table = tables.table_two(headlines.groups(collective), ["allgather", "barrier"])
    spans = dict(table.spans)
    assert (spans["allgather, 8 B"], spans["barrier, 0 B"]) == (2, 2)
    units = {column.key: column.unit for column in table.columns}
    assert units["allgather fraction"] == units["barrier fraction"] == "bound"
    rows = {row.head: row for row in table.groups[0].rows}
    assert rows["bound"].ceiling
    assert rows["bound"].values["allgather value"].text == "0.500"
    assert "the least time in which the links can carry" in table.caption
    first = {peak.case.benchmark for peak in collective.peaks}
    assert first.isdisjoint({"allgather", "barrier"})


def test_nothing_is_said_of_bounds_where_there_are_none(plain: Results) -> None:
    assert "bound" not in tables.table_two(headlines.groups(plain), ORDER).caption


def test_a_failed_cell_and_a_defect_are_marked(plain: Results) -> None:
    for cell in plain.cells:
        if cell.case.figure == "bw" and cell.who.library == "mpich":
            cell.median, cell.status = None, "crashed"
        elif cell.case.figure == "bw":
            cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    assert _row(plain, "host-host same-numa", "mpich").values["bw value"].text == "crashed"
    defect = _row(plain, "host-host same-numa", "openmpi").values["bw fraction"]
    assert (defect.text, defect.remark, defect.tone) == ("150", "(defect)", "bad")
    for cell in plain.cells:
        if cell.case.figure == "bw":
            cell.fraction_ci95, cell.fraction_range, cell.fraction_blocks = None, (1.4, 1.6), 2
    defect = _row(plain, "host-host same-numa", "openmpi").values["bw fraction"]
    assert defect.remark == "(defect in 2 blocks)"


def test_a_cell_that_some_launches_lost_says_so(plain: Results) -> None:
    for cell in plain.cells:
        cell.status, cell.failed = "crashed", 2
    value = _row(plain, "host-host same-numa", "openmpi").values["bw value"]
    assert (value.tone, value.notes) == ("bad", ("crashed in 2 of 8 launches",))


def test_table_one_names_the_caches(plain: Results) -> None:
    for point in plain.ceilings:
        point.lies_in, point.above_memory = "shared cache", 12.0
    table = tables.table_one(plain, plain.peaks)
    row = next(row for row in table.groups[0].rows if row.head == "bw")
    assert row.values["size"].notes == ("in a shared cache", "defect: the memory copies 12.0")
    assert row.detail == "H,H, reuse=fixed"


def test_a_plateau_in_caches_says_so(plain: Results, tell: Callable[[Results], None]) -> None:
    for point in plain.ceilings:
        point.lies_in = "shared cache"
    tell(plain)
    plateau = _row(plain, "host-host same-numa", "plateau")
    assert plateau.values["bw value"].notes == ("at 256 KiB", "in a shared cache")
