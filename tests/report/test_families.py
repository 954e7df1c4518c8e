# SPDX-License-Identifier: Apache-2.0
"""Sections of families: tables at three sizes, what failed, and the places that ranks grow over."""

from collections.abc import Callable

import msgspec
import pytest

from nearpeak.document.model import Table
from nearpeak.report.families import chains, families, measured_with, title
from nearpeak.results.results import Results
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.identity import Curve, Who
from nearpeak.terms.path import DataPath, Endpoint


def rows(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    """The texts of a table by group and row."""
    return {
        (group.title, row.head): {key: value.text for key, value in row.values.items()}
        for group in table.groups
        for row in group.rows
    }


Tell = Callable[[Results], None]


@pytest.fixture
def of_family(collective: Results, tell: Tell) -> Results:
    """Its operations are of a family that nobody knows."""
    collective.benchmarks = [
        msgspec.structs.replace(
            benchmark, family="dances" if benchmark.ceiling == "bound" else "pt2pt"
        )
        for benchmark in collective.benchmarks
    ]
    tell(collective)
    return collective


def test_a_family_has_every_operation_at_three_sizes(of_family: Results) -> None:
    (family,) = families(of_family)  # messages between two ranks have the first sheet
    assert family.title == "Dances"
    assert family.about[0].startswith("Compared with a bound: the least time")
    found = rows(family.table)
    assert found["host-host same-numa", "allgather"] == {
        "unit": "µs",
        **{f"{who} 8": "1.00" for who in ("openmpi", "mpich")},
        **{f"{who} {1 << 20}": "200" for who in ("openmpi", "mpich")},
    }
    # What has no size stands in the first column.
    assert found["host-host same-numa", "barrier"] == {
        "unit": "µs", "openmpi 8": "1.00", "mpich 8": "1.00"
    }  # fmt: skip
    assert family.sentences == [
        "host-host same-numa: furthest from the bound: at 8 B allgather of openmpi, 50.0 %"
        " (48.5 to 51.0 % in 6 launches); at 1 MiB allgather of openmpi, 50.0 % (48.5 to 51.0 % in"
        " 6 launches)."
    ]
    place = of_family.paths[0].place
    assert [curve.benchmark for curve in family.charts[place, "H,H"]] == ["allgather", "barrier"]


def test_what_an_axis_tells_apart_is_named_with_it(of_family: Results, tell: Tell) -> None:
    """As put_bw in two kinds of windows."""
    for cell in [cell for cell in of_family.cells if cell.case.benchmark == "allgather"]:
        axes = cell.case.axes
        other = msgspec.structs.replace(cell.case, axes={**axes, "win": "created"})
        cell.case = msgspec.structs.replace(cell.case, axes={**axes, "win": "allocated"})
        slower = msgspec.structs.replace(cell, case=other, fraction=0.3)
        of_family.cells.append(slower)
    for cell in of_family.cells[-2:]:
        cell.fraction, cell.ceiling = None, None
    tell(of_family)
    (family,) = families(of_family)
    (sentence,) = family.sentences
    assert "at 8 B allgather (win=created) of openmpi, 30.0 %" in sentence
    assert "; allgather (win=created) at 1 MiB: openmpi 200 µs, mpich 200 µs" in sentence
    of_family.cells[-1].median, of_family.cells[-1].status = None, "hung"
    assert ". Hung: allgather (win=created) of mpich" in families(of_family)[0].sentences[0]


def test_where_nothing_is_furthest_the_sentence_is_not_empty(of_family: Results) -> None:
    """As of a family that was left out after its first block."""
    of_family.furthest = []
    of_family.cells = [cell for cell in of_family.cells if cell.fraction is not None]
    (sentence,) = families(of_family)[0].sentences
    assert sentence.endswith(": too few launches to say more than the table.")


def test_what_has_no_size_is_told_where_it_is_alone(of_family: Results, tell: Tell) -> None:
    of_family.cells = [cell for cell in of_family.cells if cell.case.benchmark != "allgather"]
    tell(of_family)
    (family,) = families(of_family)
    assert family.sentences == [
        "host-host same-numa: furthest from the bound: barrier of openmpi, 50.0 % (48.5 to"
        " 51.0 % in 6 launches)."
    ]


def test_the_largest_size_has_its_bus_bandwidth(of_family: Results) -> None:
    (family,) = families(of_family)
    found = {row.head: row.values for group in family.table.groups for row in group.rows}
    # Each of two ranks must receive one block: 1 MiB in 200 µs.
    assert found["allgather"][f"openmpi {1 << 20}"].notes == ("bus 5.24 GB/s",)
    assert not found["allgather"]["openmpi 8"].notes
    assert not found["barrier"]["openmpi 8"].notes
    assert (
        "bus bandwidth too, at the largest size, as nccl-tests defines it" in family.table.caption
    )


def test_it_says_how_operations_were_measured(of_family: Results) -> None:
    axes = {"calls": "blocking", "reuse": "fixed", "type": "float"}
    for cell in of_family.cells:
        if cell.case.benchmark == "allgather":
            cell.case = msgspec.structs.replace(cell.case, axes=axes)
    of_family.benchmarks = [
        msgspec.structs.replace(benchmark, summary=f"what {benchmark.name} is")
        for benchmark in of_family.benchmarks
    ]
    (family,) = families(of_family)
    assert family.about[1].startswith("Measured with calls=blocking, reuse=fixed;")
    details = {row.head: row.detail for group in family.table.groups for row in group.rows}
    assert details == {"allgather": "type=float", "barrier": ""}
    assert family.operations == {
        "allgather": "what allgather is", "barrier": "what barrier is"
    }  # fmt: skip


def test_launches_that_lie_far_apart_show_their_range(of_family: Results) -> None:
    known, other, *_ = (cell for cell in of_family.cells if cell.case.benchmark == "allgather")
    known.range, other.range = (56.0, 1688.0), (0.9, 1.7)
    (family,) = families(of_family)
    found = {row.head: row.values for group in family.table.groups for row in group.rows}
    assert found["allgather"]["openmpi 8"].span == "range 56.0 to 1690"
    assert found["allgather"]["mpich 8"].span == ""


def test_what_failed_says_how(of_family: Results) -> None:
    crashed = next(cell for cell in of_family.cells if cell.case.benchmark == "allgather")
    crashed.median = crashed.fraction = None
    crashed.status = "aborted: too slow"
    of_family.awareness = [
        Awareness(
            library="openmpi", settings="default", buffers="D,D", operation=name, status=status,
            message="signal 11", command="x",
        )
        for name, status in (("allgather", "crashed"), ("barrier", "ok"), ("latency", "crashed"))
    ]  # fmt: skip
    (family,) = families(of_family)
    found = rows(family.table)
    assert found["host-host same-numa", "allgather"][f"{crashed.who.label} 8"] == crashed.status
    assert "Aborted: too slow: allgather of openmpi" in family.sentences[0]
    refused = "not measured: crashed when tried"
    assert found["with D,D, tried before the study", "allgather"] == {"openmpi 8": refused}
    assert len([group for group, _ in found if "tried before" in group]) == 1


def test_what_some_launches_lost_is_marked(of_family: Results) -> None:
    lost = next(cell for cell in of_family.cells if cell.case.benchmark == "allgather")
    lost.status, lost.failed = "crashed", 2
    (family,) = families(of_family)
    found = {row.head: row.values for group in family.table.groups for row in group.rows}
    value = found["allgather"]["openmpi 8"]
    assert (value.text, value.tone) == ("1.00", "bad")
    assert value.remark == "crashed in 2 of 8 launches"
    assert "Crashed in 2 of its 8 launches: allgather of openmpi" in family.sentences[0]


def test_a_sentence_has_the_worst_operation_and_nccl_beside_it(
    of_family: Results, tell: Tell
) -> None:
    for cell in of_family.cells:
        if cell.case.benchmark == "allgather":
            cell.fraction = 0.9 if cell.who == Who("mpich") else 0.3
    tell(of_family)
    (family,) = families(of_family)
    assert (
        "at 8 B allgather of openmpi, 30.0 % (48.5 to 51.0 % in 6 launches); at 1 MiB"
        in family.sentences[0]
    )
    of_family.libraries = [
        msgspec.structs.replace(info, mpi=info.name != "mpich") for info in of_family.libraries
    ]
    assert "nccl-tests" not in " ".join(family.about)
    tell(of_family)
    (family,) = families(of_family)
    assert (
        "at 8 B allgather of openmpi, 30.0 % (48.5 to 51.0 % in 6 launches; mpich 90.0 %);"
        in (family.sentences[0])
    )
    assert family.about[-1].startswith("The size of allgather is the size of one rank's block")


def test_what_is_held_against_nothing_has_its_figures(of_family: Results) -> None:
    for cell in of_family.cells:
        if cell.case.benchmark == "barrier":
            cell.ceiling, cell.fraction = None, None
    (family,) = families(of_family)
    assert family.sentences[0].endswith("; barrier: openmpi 1.00 µs, mpich 1.00 µs.")


def test_rates_of_short_messages_are_not_told_beside_bounds_of_longer_ones(
    of_family: Results,
) -> None:
    for cell in of_family.cells:
        if cell.case.benchmark == "allgather":
            cell.better, cell.unit = "higher", "GB/s"
            if cell.case.x == 8:
                cell.fraction = None
    assert "allgather at 8 B" not in families(of_family)[0].sentences[0]


def test_a_metric_may_be_a_ratio(of_family: Results) -> None:
    for cell in of_family.cells:
        if cell.case.benchmark == "barrier":
            cell.unit, cell.better, cell.ceiling, cell.fraction = "%", "higher", None, None
            cell.median = 87.5
    (family,) = families(of_family)
    assert rows(family.table)["host-host same-numa", "barrier"]["unit"] == "%"
    assert rows(family.table)["host-host same-numa", "barrier"]["mpich 8"] == "87.5"


def test_ranks_grow_over_places_that_hold_each_other(of_family: Results) -> None:
    two = of_family.paths[0]
    ends = (*two.ends, *(Endpoint(memory="host", cpus=[cpu], numa_node=0) for cpu in (8, 9)))
    four = DataPath(id="host x4", summary="", transport="memory", ends=ends)
    of_family.paths.append(four)
    assert chains(of_family) == [[two.place, four.place]]
    for cell in list(of_family.cells):
        if cell.case.benchmark == "allgather" and cell.who == Who("mpich"):
            of_family.cells.append(msgspec.structs.replace(cell, place=four.place))
    (family,) = families(of_family)
    (scaling,) = family.scalings
    assert (scaling.curve.benchmark, scaling.sizes) == ("allgather", [8, 1 << 20])
    assert [len(place.ends) for place in scaling.places] == [2, 4]


def test_families_have_titles_and_others_their_names() -> None:
    assert (title("collective"), title("dances")) == ("Collective operations", "Dances")


def _curve(name: str, buffers: str, axes: dict[str, str]) -> Curve:
    return Curve(benchmark=name, metric=name, buffers=buffers, axes=axes)


def test_what_axes_have_in_common_is_told_once() -> None:
    shown = [
        _curve("bw", "H,H", {"calls": "nonblocking", "reuse": "fixed"}),
        _curve("bw", "D,D", {"calls": "nonblocking", "reuse": "fixed"}),
        _curve("latency", "H,H", {"calls": "blocking", "reuse": "fixed"}),
    ]
    assert measured_with(shown) == (
        "Measured with reuse=fixed. bw: calls=nonblocking. latency: calls=blocking."
    )
    shown.append(_curve("bw", "H,D", {"calls": "blocking", "reuse": "fixed"}))
    assert measured_with(shown) == (
        "Measured with reuse=fixed. bw H,H, bw D,D: calls=nonblocking."
        " latency, bw H,D: calls=blocking."
    )
    assert measured_with([]) == ""
