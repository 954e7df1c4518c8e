# SPDX-License-Identifier: Apache-2.0
"""What is made of the records of made-up clusters: what is slow, and nothing else."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import pytest

from nearpeak.arrays import Floats, Indices
from nearpeak.document.page import render
from nearpeak.nodes import plan, wording
from nearpeak.nodes.build import build, to_json
from nearpeak.nodes.found import Found
from nearpeak.nodes.journal import Launch, LaunchEnd, NodesJournal, Round, Wrong, read
from nearpeak.nodes.present import present
from nearpeak.nodes.schema import schema
from nearpeak.nodes.topology import Level
from nearpeak.statistics import clusters
from nearpeak.statistics.nested import distances

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


def alike(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
    return np.ones(len(pairs)), np.ones(len(pairs))


def slow(pairs: Indices, together: bool) -> tuple[Floats, Floats]:
    """Node 3 in latency; the link 1 - 5 in bandwidth; 0 - 2 in bandwidth while others talk."""
    latency, bandwidth = alike(pairs, together)
    latency[(pairs == 3).any(axis=1)] *= 1.5
    bandwidth[(pairs == [1, 5]).all(axis=1)] *= 1.8
    if together:
        bandwidth[(pairs == [0, 2]).all(axis=1)] *= 2.0
    return latency, bandwidth


def said(found: Found) -> set[tuple[str, ...]]:
    return {(v.kind, v.metric, v.mode, *v.nodes) for v in found.verdicts}


def test_few_nodes_are_all_measured_in_every_launch(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(8), slow))
    assert said(found) == {
        ("node", "latency_us", "together", "n3"),
        ("node", "latency_us", "alone", "n3"),
        ("link", "bandwidth_gbs", "together", "n1", "n5"),
        ("link", "bandwidth_gbs", "alone", "n1", "n5"),
        ("link", "bandwidth_gbs", "together", "n0", "n2"),
    }
    assert found.complete
    assert found.bad
    assert (found.pairs_measured, found.pairs_of_all) == (28, 28)
    assert found.tests == 4 * (8 + 28)
    node = next(v for v in found.verdicts if v.kind == "node" and v.mode == "alone")
    assert node.times == pytest.approx(1.5, rel=0.03)
    assert node.ci95
    assert node.ci95[0] < node.times < node.ci95[1]
    assert node.ci95[1] / node.ci95[0] < 1.1
    assert {(c.metric, c.mode) for c in found.curves} == {
        (metric, mode)
        for metric in ("latency_us", "bandwidth_gbs")
        for mode in ("together", "alone")
    }
    usual = {(c.metric, c.mode): c.usual for c in found.curves}
    assert usual["latency_us", "alone"] == pytest.approx(2.0, rel=0.02)
    assert usual["bandwidth_gbs", "together"] == pytest.approx(10.0, rel=0.02)
    pair = next(p for p in found.pairs if p.nodes == ("n1", "n5"))
    assert pair.bandwidth_gbs == pytest.approx(10 / 1.8, rel=0.03)
    assert found.maps[0].rows[3][0] == pytest.approx(1.5, rel=0.05)
    jsonschema.validate(json.loads(to_json(found)), schema())


def test_nothing_is_slow_among_nodes_that_are_alike(tmp_path: Path) -> None:
    for seed in range(3):
        found = build(made.record(tmp_path / str(seed), made.chosen(9, seed=seed), alike))
        assert found.verdicts == []
        assert not found.bad


def test_many_nodes_are_surveyed_sifted_and_measured_again(tmp_path: Path) -> None:
    chosen = made.chosen(70)
    assert [one.stage for one in plan.planned(chosen)] == ["survey", "sift", *["again"] * 3]
    found = build(made.record(tmp_path, chosen, slow))
    assert said(found) == {
        ("node", "latency_us", "together", "n3"),
        ("link", "bandwidth_gbs", "together", "n1", "n5"),
        ("link", "bandwidth_gbs", "together", "n0", "n2"),
    }
    alone = {tuple(v.nodes): v.alone for v in found.verdicts if v.kind == "link"}
    assert alone["n1", "n5"] == pytest.approx(1.8, rel=0.05)
    assert alone["n0", "n2"] == pytest.approx(1.0, rel=0.05)  # slow while it is shared alone
    assert found.tests < 70
    assert found.pairs_measured == math.comb(70, 2)
    assert found.pairs == []
    jsonschema.validate(json.loads(to_json(found)), schema())


def test_a_node_of_which_many_links_are_suspected_keeps_them_apart(tmp_path: Path) -> None:
    """Seven slow links of one node do not make that node slow, nor hide each other."""
    links = [[5, other] for other in range(6, 13)]

    def many(pairs: Indices, together: bool) -> tuple[Floats, Floats]:
        latency, bandwidth = alike(pairs, together)
        for link in links:
            latency[(pairs == link).all(axis=1)] *= 1.4
        return latency, bandwidth

    found = build(made.record(tmp_path, made.chosen(80), many))
    assert said(found) == {("link", "latency_us", "together", "n5", f"n{end}") for _, end in links}


def test_what_a_survey_of_few_rounds_covers_is_said(tmp_path: Path) -> None:
    chosen = made.chosen(40, rounds=10)
    covers = "covers:     200 of 780 pairs (25.6 %): links of the others are not tested"
    assert covers in plan.summary(chosen)
    found = build(made.record(tmp_path, chosen, alike))
    assert (found.pairs_measured, found.pairs_of_all) == (200, 780)
    assert found.verdicts == []


def test_three_nodes_are_too_few_to_judge(tmp_path: Path) -> None:
    found = build(made.record(tmp_path, made.chosen(3), slow))
    assert not found.distinguished
    assert found.verdicts == []
    assert len(found.pairs) == 3
    assert all(pair.latency_alone_us is None for pair in found.pairs)
    assert {(curve.nodes, curve.links) for curve in found.curves} == {(None, None)}
    (latency,) = [curve for curve in found.curves if curve.metric == "latency_us"]
    assert latency.usual == pytest.approx(2.0, rel=0.05)
    assert wording.title(found, latency) == "latency, each pair alone"  # each round is one pair
    assert "the median of all pairs" in render(present(found))
    assert "so that nothing was judged" in wording.conclusion(found)


def test_of_a_run_that_ended_before_a_launch_did_nothing_is_told(tmp_path: Path) -> None:
    made.record(tmp_path, made.chosen(6), alike, launches=0)
    found = build(read(tmp_path))
    assert (found.launches, found.curves, found.maps, found.complete) == ([], [], [], False)
    assert all(pair.latency_us is None for pair in found.pairs)
    jsonschema.validate(json.loads(to_json(found)), schema())
    assert "n4 - n5" in render(present(found))


def test_a_launch_that_failed_does_not_count_and_wrong_data_is_told(tmp_path: Path) -> None:
    recorded = made.record(tmp_path, made.chosen(6), alike, launches=2)
    journal = NodesJournal(tmp_path)
    journal.append(Launch(launch=2, stage="whole", together=5, rounds=20))
    one = Round(round=0, first=[0], second=[1], latency_us=[99.0], bandwidth_gbs=[0.1])
    journal.append(one)
    journal.append(Wrong(message="rank 1 received wrong data", rank=1, sender=0))
    journal.append(LaunchEnd(launch=2, status="failed", message="exit status 9", seconds=1.0))
    journal.close()
    found = build(read(tmp_path))
    assert len(found.launches) == len(recorded.launches) == 2
    assert not found.complete
    assert found.failed == "launch 3 failed: exit status 9"
    assert found.wrong == ["n0 to n1: rank 1 received wrong data"]
    assert found.bad
    assert found.verdicts == []


def test_maps_of_many_nodes_have_cells_of_several(tmp_path: Path) -> None:
    chosen = made.chosen(400, rounds=40)
    found = build(made.record(tmp_path, chosen, slow, launches=1))
    each = found.maps[0]
    assert (each.side, len(each.rows)) == (3, 134)
    assert [len(row) for row in each.rows] == list(range(1, 135))
    worst = [value for value in each.rows[133] if value is not None]
    assert worst
    assert max(row[1] or 0.0 for row in each.rows[1:]) == pytest.approx(1.5, rel=0.1)  # of node 3


@pytest.mark.parametrize("count", [8, 70])
def test_data_that_is_wrong_everywhere_is_told(tmp_path: Path, count: int) -> None:
    """As a library or an adapter does that spoils every message."""
    chosen = made.chosen(count)
    journal = NodesJournal(tmp_path, made.begin(chosen))
    for number in range(1 if count > plan.MOST_WHOLE else len(plan.planned(chosen))):
        stage = plan.planned(chosen)[number].stage
        together, alone = plan.rounds_of(chosen, number)
        rounds = [*together, *alone]
        journal.append(
            Launch(launch=number, stage=stage, together=len(together), rounds=len(rounds))
        )
        for turn, pairs in enumerate(rounds):
            for first, second in pairs.tolist():
                journal.append(Wrong(message="byte 3", rank=first, sender=second))
            journal.append(Round(round=turn, first=[], second=[], latency_us=[], bandwidth_gbs=[]))
        journal.append(LaunchEnd(launch=number, status="ok", message="", seconds=1.0))
    journal.close()
    found = build(read(tmp_path))
    assert found.wrong_pairs == math.comb(count, 2) < len(found.wrong) + 1
    assert f"{math.comb(count, 2)} pairs received wrong data" in wording.faults(found)
    assert wording.conclusion(found).endswith("nothing could be judged, as no pair has a value")
    assert found.bad
    assert "no pair has a value" in render(present(found))


@pytest.mark.parametrize(("count", "launches"), [(8, 1), (70, 3)])
def test_too_few_launches_say_nothing_of_any_node(
    tmp_path: Path, count: int, launches: int
) -> None:
    found = build(made.record(tmp_path, made.chosen(count), slow, launches))
    assert wording.conclusion(found) == (
        f"{count} nodes: nothing could be judged so far, as too few launches have ended"
    )


def test_a_launch_that_was_made_again_has_not_failed(tmp_path: Path) -> None:
    chosen = made.chosen(8)
    made.record(tmp_path, chosen, alike, launches=2)
    lines = (tmp_path / "nodes.jsonl").read_bytes().splitlines(keepends=True)
    second = next(at for at, line in enumerate(lines) if b'"launch":1' in line)
    ends = (
        Launch(launch=1, stage="whole", together=7, rounds=7),
        LaunchEnd(launch=1, status="failed", message="ended by SIGSEGV", seconds=1.0),
    )
    bad = [msgspec.json.encode(line) + b"\n" for line in ends]
    (tmp_path / "nodes.jsonl").write_bytes(b"".join([*lines[:second], *bad, *lines[second:]]))
    found = build(read(tmp_path))
    assert (len(found.launches), found.failed) == (2, None)
    assert wording.faults(found) == "not all launches were run"
    (tmp_path / "nodes.jsonl").write_bytes(b"".join([*lines[:second], *bad]))
    assert build(read(tmp_path)).failed == "launch 2 failed: ended by SIGSEGV"


TREES = {
    "24 + 8": ((24, 8), (), (1.0, 1.15)),
    "8 + 4": ((8, 4), (), (1.0, 1.3)),
    "three levels": ((12, 4, 8, 4), (2, 2), (1.0, 1.15, 1.35)),
}


def tree(
    name: str, node: int | None = None, times: float = 1.0
) -> tuple[list[Level], Callable[[Indices, bool], tuple[Floats, Floats]]]:
    """Its switches, and the times of its pairs, of which those of one node are longer."""
    sizes, above, farther = TREES[name]
    levels = made.levels(*sizes, above=above)
    groups = [level.labels for level in levels]

    def of(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        latency = np.array(farther)[distances(pairs[:, 0], pairs[:, 1], groups)]
        slower = np.where((pairs == node).any(axis=1), times, 1.0)
        return latency * slower, slower

    return levels, of


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", TREES)
def test_a_smaller_leaf_is_not_called_slow(tmp_path: Path, name: str, known: bool) -> None:
    levels, times = tree(name)
    chosen = made.chosen(len(levels[0].of), levels=levels if known else [])
    found = build(made.record(tmp_path, chosen, times, 4))
    assert said(found) == set()
    assert not found.unclear
    assert found.levels_from == ("" if known else "figures")
    leaves = sorted(len(group.nodes) for group in found.levels[0].groups)
    assert leaves == sorted(TREES[name][0])
    latency = next(curve for curve in found.curves if curve.metric == "latency_us")
    usual = [distance.usual / latency.distances[0].usual for distance in latency.distances]
    if known:
        assert usual == pytest.approx(TREES[name][2], rel=0.02)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", TREES)
def test_a_slow_node_of_a_smaller_leaf_is_found(tmp_path: Path, name: str, known: bool) -> None:
    levels, times = tree(name, node=26 if name != "8 + 4" else 9, times=1.1)
    chosen = made.chosen(len(levels[0].of), levels=levels if known else [])
    found = build(made.record(tmp_path, chosen, times, 4))
    assert {(kind, *nodes) for kind, _, _, *nodes in said(found)} == {
        ("node", "n26" if name != "8 + 4" else "n9")
    }


def test_figures_that_look_grouped_name_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the groups cannot be found."""
    monkeypatch.setattr(clusters, "find", lambda first, _: np.zeros(len(first), dtype=np.intp))
    _, times = tree("24 + 8")
    found = build(made.record(tmp_path, made.chosen(32), times, 4))
    assert found.unclear
    assert found.verdicts == []
    assert "32 nodes: the figures look grouped" in wording.conclusion(found)
    assert "--groups" in wording.conclusion(found)
    assert found.bad
    one_switch = made.chosen(32, levels_from="none")
    assert not build(made.record(tmp_path / "one", one_switch, times, 4)).unclear
    assert "the figures look grouped" in render(present(found))


@pytest.mark.parametrize("node", [5, 26])
def test_a_node_far_outside_of_every_group_is_named_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: int
) -> None:
    monkeypatch.setattr(clusters, "find", lambda first, _: np.zeros(len(first), dtype=np.intp))
    _, times = tree("24 + 8", node=node, times=10.0)
    found = build(made.record(tmp_path, made.chosen(32), times, 4))
    assert found.unclear
    assert {(kind, *nodes) for kind, _, _, *nodes in said(found)} == {("node", f"n{node}")}
    assert wording.conclusion(found).startswith(
        f"32 nodes: 1 slow node, n{node}; the figures look grouped, and nothing tells the groups,"
        " so that no other node was judged"
    )


@pytest.mark.parametrize(("count", "slow"), [(16, 4), (32, 6), (96, 6), (96, 16)])
def test_nodes_that_are_equally_slow_are_no_group(tmp_path: Path, count: int, slow: int) -> None:
    """Between two of them messages take no longer than to others."""

    def times(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        return np.ones(len(pairs)), np.where((pairs < slow).any(axis=1), 2.0, 1.0)

    found = build(made.record(tmp_path, made.chosen(count), times, 5))
    assert not found.unclear
    assert found.bad
    assert {tuple(verdict.nodes) for verdict in found.verdicts if verdict.kind == "node"} == {
        (f"n{node}",) for node in range(slow)
    }


def test_slow_groups_uplinks_and_routes_have_their_names(tmp_path: Path) -> None:
    levels = made.levels(*[4] * 6)
    leaves = levels[0].labels

    def times(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        one, other = leaves[pairs].T
        latency, bandwidth = alike(pairs, _together)
        latency[(one == 1) & (other == 1)] *= 1.4
        bandwidth[(one == 2) ^ (other == 2)] *= 1.5
        bandwidth[(one == 3) & (other == 5)] *= 1.6
        return latency, bandwidth

    found = build(made.record(tmp_path, made.chosen(24, levels=levels), times, 4))
    assert {wording.what(found, verdict) for verdict in found.verdicts} == {
        "leaf switch s1",
        "uplink of leaf switch s2",
        "route s3 - s5 of leaf switches",
    }
    jsonschema.validate(json.loads(to_json(found)), schema())
    page = render(present(found))
    first = page.index("leaf switch s1 ×")
    assert first < page.index("route s3 - s5 of leaf switches ×") < page.index("The usual pair")
    assert page.index("leaf switch s1: 4 nodes") < page.index("leaf switch s0: 4 nodes")
    assert page.count('class="group-end"') == 4


def test_the_uplink_of_a_bad_leaf_is_no_culprit_of_its_own(tmp_path: Path) -> None:
    levels = made.levels(*[4] * 6)

    def times(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        touched = (levels[0].labels[pairs] == 1).any(axis=1)
        return np.where(touched, 1.4, 1.0), np.ones(len(pairs))

    found = build(made.record(tmp_path, made.chosen(24, levels=levels), times, 4))
    assert {verdict.kind for verdict in found.verdicts} == {"group", "uplink"}
    assert list(wording.culprits(found)) == ["leaf switch s1"]
    assert wording.conclusion(found) == "24 nodes: 1 slow group, s1"


def test_many_nodes_of_small_leaves_are_judged_within_them(tmp_path: Path) -> None:
    levels = made.levels(*[4] * 20)
    leaves = levels[0].labels

    def times(pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        latency, bandwidth = alike(pairs, _together)
        latency[(leaves[pairs] == 7).all(axis=1)] *= 1.4
        return latency, bandwidth

    found = build(made.record(tmp_path, made.chosen(80, levels=levels), times))
    assert {wording.what(found, verdict) for verdict in found.verdicts} == {"leaf switch s7"}
