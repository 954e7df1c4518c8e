# SPDX-License-Identifier: Apache-2.0
"""Imported figures beside a study, as a table."""

from typing import Any

from nearpeak.document.model import Row
from nearpeak.report.imported import table
from nearpeak.results.results import Difference, Imported, Reference, Results
from nearpeak.terms.identity import Case, Place, Who


def figure(**more: Any) -> Imported:
    return Imported(
        who=Who("omb"),
        place=Place(path="host-host same-numa"),
        case=Case(benchmark="bw", metric="bw", buffers="H,H", axes={"reuse": "single"}, x=4096),
        unit="GB/s",
        better="higher",
        value=7.0,
        **more,
    )


def rows(results: Results, *found: Imported) -> list[Row]:
    results.imported = list(found)
    [group] = table(results).groups
    assert group.title == "host-host same-numa"
    return group.rows


def ceiling(x: int) -> Reference:
    return Reference(
        value=8.0, ci95=None, range=(8.0, 8.0), x=x, method="ring", kind="measured", lies_in=None
    )


def test_what_differs_stands_below_what_it_is(plain: Results) -> None:
    difference = Difference(name="reuse", own="single", study="fixed")
    mean = Difference(name="figure", own="mean", study="median")
    [row] = rows(plain, figure(differs=[difference, mean], ceiling=ceiling(4096)))
    assert row.head == "omb"
    what = row.values["what"]
    assert (what.text, what.notes) == (
        "bw, 4 KiB, GB/s",
        ("reuse=single, not fixed", "mean, not median"),
    )
    assert row.values["fraction"].text == "–"
    assert row.values["library"].text == "–"


def test_how_far_apart_the_cpus_of_the_ceiling_were_stands_below_it(plain: Results) -> None:
    near, far = (87.0, 91.0), (324.0, 344.0)
    [row] = rows(plain, figure(ceiling=ceiling(4096), ceiling_ns=[near, far]))
    assert row.values["ceiling"].notes == ("CPUs 87.0 to 91.0 ns apart", "CPUs 324 to 344 ns apart")
    assert row.values["fraction"].text == "–"
    assert "CPUs of an imported figure were is not known" in table(plain).caption
    rows(plain, figure(ceiling=ceiling(4096)))
    assert "CPUs" not in table(plain).caption


def test_a_ceiling_of_another_size_says_which(plain: Results) -> None:
    found = figure(ceiling=ceiling(1024), fraction=0.875, library=Who("a"), library_value=5.0)
    other = figure(ceiling=ceiling(4096), fraction=0.875)
    first, second = rows(plain, found, other)
    assert first.values["ceiling"].notes == ("at 1 KiB",)
    assert second.values["ceiling"].notes == ()
    assert first.values["library"].notes == ("a",)
    assert first.values["fraction"].text == "87.5"


def test_nothing_is_shown_where_nothing_was_imported(plain: Results) -> None:
    assert not table(plain).groups
