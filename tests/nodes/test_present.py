# SPDX-License-Identifier: Apache-2.0
"""What is shown of all pairs of nodes: on the terminal, on the page and as JUnit XML."""

import re
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from answers import check_short, printed
from nearpeak.arrays import Floats, Indices
from nearpeak.document.page import render
from nearpeak.nodes import wording
from nearpeak.nodes.build import build
from nearpeak.nodes.found import Found
from nearpeak.nodes.outcomes import to_junit
from nearpeak.nodes.present import MOST, present, repeat

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def slow(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    """Node 2, and the link 0 - 5."""
    latency = np.where((pairs == 2).any(axis=1), 1.6, 1.0)
    return latency, np.where((pairs == [0, 5]).all(axis=1), 1.4, 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    chosen = made.chosen(7)
    chosen.nodes[2] = "<i>&"  # what a host is called is no markup
    return build(made.record(tmp_path_factory.mktemp("nodes"), chosen, slow))


def test_the_answer_says_what_is_slow(found: Found) -> None:
    check_short(present(found))
    out = printed(present(found), Path("nodes.html"))
    assert out.startswith(
        "\n7 nodes: 1 slow node, <i>&; 1 slow link, n0 - n5.\nThe usual pair: latency "
    )
    assert re.search(r"^node <i>& +latency, alone +1\.[56]\d", out, re.MULTILINE)
    assert re.search(r"^link n0 - n5 +bandwidth, together +1\.[34]\d", out, re.MULTILINE)
    assert re.search(
        r"\n1\. Node <i>& is slow: (1\.[56]\d) times the usual latency \(alone 1\.[56]\d\)\n", out
    )
    assert "\n   Take it out of jobs, and check it there: nearpeak machine --check\n" in out
    assert re.search(r"\n2\. Link n0 - n5 is slow: 1/1\.[34]\d of the usual bandwidth", out)
    assert "\n   Check its cable, its ports and the switches between.\n" in out
    assert "\n3. Measure again when that is done\n   The same nodes: nearpeak nodes --mpi " in out
    assert out.endswith("\n\nnodes.html\n")
    assert wording.faults(found) == "7 nodes: 1 slow node, <i>&; 1 slow link, n0 - n5"


def test_the_rest_is_behind_verbose(found: Found) -> None:
    assert "n0 - n1" not in printed(present(found))  # verdicts say it
    out = printed(present(found), verbose=True)
    assert "Pairs: 21 of 21 (100 %)" in out
    assert "n0 - n1" in out
    assert "\nThe usual pair\n" in out
    assert out.endswith(printed(present(found)))


def test_of_many_verdicts_the_answer_has_the_first(found: Found) -> None:
    link = next(one for one in found.verdicts if one.kind == "link")
    slow = [
        msgspec.structs.replace(link, nodes=list(ends))
        for ends in list(combinations(("n0", "n1", "n3", "n4", "n5"), 2))[: MOST + 2]
    ]
    many = msgspec.structs.replace(found, verdicts=[*slow[:1] * 9, *slow])
    check_short(present(many))
    assert f"{MOST} of {MOST + 11} verdicts" in printed(present(many))
    assert "link n1 - n5 " in printed(present(many))  # each link once
    assert "All that is slow" in printed(present(many), verbose=True)


def test_many_slow_nodes_are_counted_and_no_column_is_empty(found: Found) -> None:
    node = next(one for one in found.verdicts if one.kind == "node")
    slow = [msgspec.structs.replace(node, nodes=[f"n{number}"], mode="alone") for number in "1346"]
    few, many = (msgspec.structs.replace(found, verdicts=slow[:most]) for most in (3, 4))
    assert wording.conclusion(few) == "7 nodes: 3 slow nodes, n1, n3, n4"
    assert wording.conclusion(many) == "7 nodes: 4 slow nodes"
    out = printed(present(many))
    assert re.search(r"\nSlow +In +Time/usual +95 % interval +p +Launches\n", out)
    assert re.search(r"\n1\. Node n1 is slow: 1\.[56]\d times the usual latency alone\n", out)


def test_a_link_that_is_slow_only_under_load_says_so(found: Found) -> None:
    [link] = {
        wording.subject(found, one): one for one in found.verdicts if one.kind == "link"
    }.values()
    shared = msgspec.structs.replace(link, alone=1.0)
    out = printed(present(msgspec.structs.replace(found, verdicts=[shared])))
    assert "   Alone it is as fast as others: check the routes that share it.\n" in out


def test_of_many_nodes_the_job_has_the_names(found: Found) -> None:
    assert repeat(found).endswith(" --hosts 'n0,n1,<i>&,n3,n4,n5,n6' -o again")
    many = msgspec.structs.replace(found, nodes=[f"n{number}" for number in range(64)])
    assert "--hosts" not in repeat(many)


def test_the_page_is_whole_and_escaped(found: Found) -> None:
    page = render(present(found))
    assert "<i>&" not in page
    assert "&lt;i&gt;&amp;" in page
    assert "<script" not in page
    assert page.count("<svg") == 4
    assert "n0 - n1" in page
    assert "7 nodes: 1 slow node, &lt;i&gt;&amp;; 1 slow link, n0 - n5." in page


def test_requirements_are_shown_as_met_or_missed(tmp_path: Path) -> None:
    chosen = made.chosen(5)
    recorded = made.record(tmp_path, chosen, lambda pairs, _: (np.ones(len(pairs)),) * 2)
    plain = build(recorded)
    assert not plain.bad
    usual = next(curve.usual for curve in plain.curves if curve.metric == "latency_us")
    wanted = [f"latency<={2 * usual:.3f}us", f"alone latency<={usual / 2:.3f}us"]
    found = build(recorded, wanted)
    assert found.bad
    assert wording.faults(found) == "1 of 2 requirements missed"
    out = printed(present(found))
    assert f"Required {wanted[0]}: met: latency, all pairs of a round at the same time" in out
    assert f"Required {wanted[1]}: missed: latency, each pair alone" in out
    page = render(present(found))
    assert page.count('<div class="notice bad">\n<p>Required') == 1
    root = ElementTree.fromstring(to_junit(found))
    assert (root.get("tests"), root.get("failures")) == ("5", "1")
    [failure] = root.iter("failure")
    assert (failure.get("message") or "").startswith("missed: latency, each pair alone")


def test_what_was_not_judged_is_no_passed_test(tmp_path: Path, found: Found) -> None:
    [failure] = ElementTree.fromstring(to_junit(found)).iter("failure")
    assert failure.get("message") == "7 nodes: 1 slow node, <i>&; 1 slow link, n0 - n5"
    few = build(made.record(tmp_path, made.chosen(3), slow))
    [skipped] = ElementTree.fromstring(to_junit(few)).iter("skipped")
    assert "too few to tell a slow node" in (skipped.get("message") or "")


@pytest.mark.parametrize("count", [3, 4])
def test_what_was_measured_once_has_no_columns_of_its_own(tmp_path: Path, count: int) -> None:
    """Of three nodes each round is one pair, which is alone in it."""
    found = build(made.record(tmp_path, made.chosen(count), slow))
    check_short(present(found))
    out = printed(present(found), verbose=True)
    figures = 4 if count > 3 else 2
    assert re.search(rf"^n0 - n1( +\d+\.\d+){{{figures}}}$", out, re.MULTILINE)
    for text in (out, render(present(found))):
        assert ("all pairs of a round" in text) == (count > 3)
        assert "each pair alone" in text
