# SPDX-License-Identifier: Apache-2.0
"""GPUs with an adapter each: what is called slow, and what is not."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from answers import printed
from nearpeak.arrays import Floats, Indices
from nearpeak.document.page import render
from nearpeak.errors import UserError
from nearpeak.nodes import plan, rails, wording
from nearpeak.nodes.build import build
from nearpeak.nodes.found import Found
from nearpeak.nodes.outcomes import to_junit
from nearpeak.nodes.present import present, repeat
from nearpeak.nodes.rounds import lines, lines_inside

made = sys.modules["made_nodes"]  # loaded by tests/conftest.py


class Cluster:
    """Nodes with GPUs; each GPU, rail or link has a factor for the time of its messages."""

    def __init__(self, nodes: int, gpus: int) -> None:
        self.gpus = np.ones((nodes, gpus))
        self.rails = np.ones(gpus)
        self.link: tuple[int, int, int, float] | None = None
        self.adapters = np.ones((nodes, gpus))
        self.host = np.ones((nodes, gpus))  # to host memory
        self.memory = np.ones((nodes, gpus))  # host memory of each rank
        self.switch = np.ones(nodes)  # between GPUs of a node
        self.near = np.ones((nodes, gpus))  # of each GPU to the others of its node
        self.with_host = False  # pairs of nodes have host memory at one end, then at the other
        self.unsteady = 0.0  # scatter within nodes, in addition
        self.chance = np.random.default_rng(1)

    def times(self, pairs: Indices, _together: bool) -> tuple[Floats, Floats]:
        ends = self.gpus * self.adapters
        if self.with_host:
            ends = np.sqrt(self.gpus * self.memory) * self.adapters
        values = ends[pairs[:, 0]] * ends[pairs[:, 1]] * self.rails
        if self.link is not None:
            *ends, rail, factor = self.link
            values[(pairs == ends).all(axis=1), rail] *= factor
        return values, values

    def inside(self, node: Indices, gpu: Indices, other: Indices, host: bool) -> Floats:
        near = np.where((gpu ^ other) == 1, 1.0, 1.4)  # two of them share a switch
        near = near * np.exp(self.unsteady * self.chance.standard_normal(len(node)))
        if host:
            return np.asarray(near * self.host[node, gpu] * self.memory[node, other])
        ends = self.gpus * self.near
        both = ends[node, gpu] * ends[node, other]
        return np.asarray(near * both * self.switch[node])


def found(folder: Path, cluster: Cluster, names: Sequence[str] = (), **more: object) -> Found:
    """`names`: of the GPUs of each node."""
    nodes, gpus = cluster.gpus.shape
    of = made.chosen(nodes, **{**made.rails(gpus), **more})
    all_names = [name for name in names for _ in range(gpus)]
    return build(made.record(folder, of, cluster.times, inside=cluster.inside, gpus=all_names))


def culprits(results: Found) -> set[str]:
    return set(wording.culprits(results))


@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 8])
def test_nothing_is_called_slow_of_usual_gpus(tmp_path: Path, gpus: int) -> None:
    results = found(tmp_path, Cluster(8, gpus))
    assert culprits(results) == set()
    assert results.tests > 0
    assert wording.conclusion(results).startswith("8 nodes: no node and no link is slow")
    modes = {curve.mode for curve in results.curves}
    assert modes == {"together", "alone"} | ({"inside", "host"} if gpus > 1 else set())


def older(cluster: Cluster, number: int) -> list[str]:
    """Gives the last nodes older GPUs, which are slower within; returns the names of all."""
    cluster.switch[-number:] = cluster.host[-number:] = 1.5
    return ["new"] * (len(cluster.switch) - number) + ["old"] * number


@pytest.mark.parametrize("gpus", [2, 3, 4])
def test_nodes_with_older_gpus_are_compared_with_each_other(tmp_path: Path, gpus: int) -> None:
    cluster = Cluster(12, gpus)
    names = older(cluster, 4)
    assert culprits(found(tmp_path / "unknown", cluster)) != set()
    results = found(tmp_path / "known", cluster, names)
    assert culprits(results) == set()
    assert wording.kinds(results) == (
        "Nodes differ in their GPUs: 8 nodes with new, 4 nodes with old. Between nodes, all are"
        " compared together."
    )
    cluster.gpus[10, 1] = cluster.host[10, 1] = 2.0
    assert "n10" in " ".join(culprits(found(tmp_path / "slow", cluster, names)))


def test_a_few_nodes_with_other_gpus_are_not_judged_within(tmp_path: Path) -> None:
    cluster = Cluster(8, 4)
    results = found(tmp_path, cluster, older(cluster, 3))
    assert culprits(results) == set()
    assert "3 nodes with old (too few to be judged within)" in wording.kinds(results)
    assert render(present(results))


@pytest.mark.parametrize("gpus", [2, 3, 4, 8])
def test_one_slow_gpu_is_named_with_its_node(tmp_path: Path, gpus: int) -> None:
    cluster = Cluster(8, gpus)
    cluster.gpus[3, 1] = 1.3
    results = found(tmp_path, cluster)
    assert culprits(results) == {"GPU 1 of node n3"}
    assert wording.conclusion(results) == "8 nodes: 1 slow GPU, GPU 1 of n3"
    [verdict] = [v for v in results.verdicts if (v.metric, v.mode) == ("latency_us", "alone")]
    assert (verdict.nodes, verdict.rail) == (["n3"], 1)
    assert verdict.times == pytest.approx(1.3, rel=0.03)
    modes = {verdict.mode for verdict in results.verdicts}
    assert modes == {"together", "alone"} | {"inside"}


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_a_node_with_slow_gpus_alone_is_named_as_the_node(tmp_path: Path, gpus: int) -> None:
    cluster = Cluster(8, gpus)
    cluster.gpus[5] = 1.3
    assert culprits(found(tmp_path, cluster)) == {"node n5"}


@pytest.mark.parametrize(
    ("gpus", "culprit"),
    [
        (2, "GPU 0 or host memory of rank 1 of node n2"),
        (3, "GPU 0 of node n2"),
        (8, "GPU 0 of node n2"),
    ],
)
def test_a_gpu_that_is_slow_to_host_memory_alone(tmp_path: Path, gpus: int, culprit: str) -> None:
    cluster = Cluster(8, gpus)
    cluster.host[2, 0] = 1.5
    results = found(tmp_path, cluster)
    assert culprits(results) == {culprit}
    assert {verdict.mode for verdict in results.verdicts} == {"host"}
    [text] = {wording.slowness(verdicts) for verdicts in wording.culprits(results).values()}
    assert "times the usual latency to host memory" in text


@pytest.mark.parametrize("ranks", [[1], [4, 5, 6, 7], [0, 1, 2, 3]])
def test_slow_host_memory_is_named_with_its_ranks(tmp_path: Path, ranks: list[int]) -> None:
    """The memory of a socket is slow to the GPUs of both sockets."""
    cluster = Cluster(8, 8)
    cluster.memory[3, ranks] = 1.3
    results = found(tmp_path, cluster)
    assert culprits(results) == {f"host memory of rank {rank} of node n3" for rank in ranks}
    assert wording.slow_nodes(results) == ["n3"]
    advice = "check its CPUs and memory there:"
    assert advice in printed(present(results))
    assert [verdict.times for verdict in results.verdicts] == pytest.approx(
        [1.3] * len(results.verdicts), rel=0.05
    )
    texts = [wording.slowness(verdicts) for verdicts in wording.culprits(results).values()]
    assert all(text.endswith("of the usual bandwidth to GPUs") for text in texts)


def test_of_two_gpus_slow_host_memory_is_named_with_the_gpu_that_used_it(tmp_path: Path) -> None:
    cluster = Cluster(8, 2)
    cluster.memory[3, 1] = 1.3
    results = found(tmp_path, cluster)
    assert wording.conclusion(results) == (
        "8 nodes: 1 slow GPU-memory pair, GPU 0 or host memory of rank 1 of n3"
    )


def test_a_slow_node_within_is_named_beside_its_slow_gpu(tmp_path: Path) -> None:
    cluster = Cluster(8, 4)
    cluster.switch[3] = 1.5
    cluster.host[3, 2] = 1.5
    assert culprits(found(tmp_path, cluster)) == {"node n3", "GPU 2 of node n3"}


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_a_gpu_that_is_usual_within_its_node_has_a_slow_nic(tmp_path: Path, gpus: int) -> None:
    cluster = Cluster(8, gpus)
    cluster.adapters[3, 1] = 1.4
    results = found(tmp_path, cluster)
    assert culprits(results) == {"NIC of GPU 1 of node n3"}
    assert wording.conclusion(results) == "8 nodes: 1 slow NIC, NIC of GPU 1 of n3"
    out = printed(present(results))
    assert "Check its adapter, its cable and its leaf port: the GPU is as usual within" in out


def is_passed(results: Found) -> bool:
    """True if the page and JUnit say that nothing is slow."""
    root = ElementTree.fromstring(to_junit(results))
    [case] = [one for one in root.iter("testcase") if one.get("name", "").startswith("no node")]
    said = 'class="healthy"' in render(present(results))
    assert said == (case.find("skipped") is None and case.find("failure") is None)
    return said


def test_three_nodes_do_not_pass_as_only_their_rails_are_judged(tmp_path: Path) -> None:
    cluster = Cluster(3, 8)
    cluster.adapters[1, 0], cluster.memory[1] = 1.6, 2.0
    results = found(tmp_path, cluster)
    assert results.tests > 0
    assert wording.conclusion(results).startswith("3 nodes: no rail is slow; too few to judge ")
    assert not results.bad
    assert not is_passed(results)


@pytest.mark.parametrize(
    ("few", "named"),
    [
        (1, "n7 is not judged within, as too few nodes have its GPUs"),
        (2, "n6 and n7 are not judged within, as too few nodes have their GPUs"),
        (4, ""),
    ],
)
def test_nodes_with_other_gpus_do_not_pass_unless_they_are_judged_within(
    tmp_path: Path, few: int, named: str
) -> None:
    cluster = Cluster(8, 4)
    names = older(cluster, few)
    cluster.memory[7] = 1.0 if few == 4 else 2.0
    results = found(tmp_path, cluster, names)
    assert wording.conclusion(results) == "8 nodes: " + "; ".join(
        filter(None, ["no node and no link is slow", named])
    )
    assert is_passed(results) == (few == 4)


def test_many_nodes_that_are_not_judged_within_are_counted(tmp_path: Path) -> None:
    names = ["new"] * 4 + ["old"] * 2 + ["older"] * 2
    said = wording.conclusion(found(tmp_path, Cluster(8, 2), names))
    assert "; 4 nodes are not judged within, as too few nodes have their GPUs" in said


def test_nodes_with_one_gpu_each_are_not_judged_within_at_all(tmp_path: Path) -> None:
    results = found(tmp_path, Cluster(8, 1), ["new"] * 6 + ["old"] * 2)
    assert wording.conclusion(results) == "8 nodes: no node and no link is slow"
    assert "judged" not in wording.kinds(results)
    assert is_passed(results)


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("part", ["gpus", "adapters"])
def test_of_a_gpu_that_is_not_judged_within_its_nic_may_be_slow(
    tmp_path: Path, part: str, others: int
) -> None:
    """A kind of GPUs that too few nodes have."""
    cluster = Cluster(8, 4)
    getattr(cluster, part)[7, 2] = 1.3
    results = found(tmp_path, cluster, older(cluster, others))
    assert culprits(results) == {"GPU 2 or its NIC of node n7"}
    assert wording.conclusion(results) == "8 nodes: 1 slow GPU-NIC pair, GPU 2 or its NIC of n7"
    out = printed(present(results))
    assert "the GPU is as usual" not in out
    assert "Check its adapter, its cable and its leaf port, and the GPU: values within" in out


@pytest.mark.parametrize("gpus", [2, 3, 8])
@pytest.mark.parametrize("part", ["gpus", "adapters"])
def test_the_scatter_within_nodes_may_leave_open_whether_the_gpu_is_slow(
    tmp_path: Path, gpus: int, part: str
) -> None:
    cluster = Cluster(8, gpus)
    cluster.unsteady = 0.5
    getattr(cluster, part)[3, 1] = 1.2
    assert culprits(found(tmp_path, cluster)) == {"GPU 1 or its NIC of node n3"}


def host_to_gpu(nodes: int, gpus: int) -> Cluster:
    cluster = Cluster(nodes, gpus)
    cluster.with_host = True
    return cluster


@pytest.mark.parametrize("ranks", [[1], [0, 1, 2, 3]])
def test_slow_host_memory_of_messages_to_it_is_no_slow_nic(
    tmp_path: Path, ranks: list[int]
) -> None:
    cluster = host_to_gpu(8, 8)
    cluster.memory[3, ranks] = 1.4
    results = found(tmp_path, cluster, buffers="H,D")
    assert culprits(results) == {f"host memory of rank {rank} of node n3" for rank in ranks}


@pytest.mark.parametrize("rank", [0, 1])
def test_of_two_gpus_slow_host_memory_of_messages_to_it_is_no_slow_nic(
    tmp_path: Path, rank: int
) -> None:
    cluster = host_to_gpu(8, 2)
    cluster.memory[3, rank] = 1.4
    results = found(tmp_path, cluster, buffers="H,D")
    assert culprits(results) == {f"GPU {1 - rank} or host memory of rank {rank} of node n3"}


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_a_nic_is_named_with_messages_to_host_memory(tmp_path: Path, gpus: int) -> None:
    """Also one beside memory that is a little slow; else memory may be slow, too."""
    cluster = host_to_gpu(8, gpus)
    cluster.adapters[3, 1] = 1.4
    assert culprits(found(tmp_path / "nic", cluster, buffers="H,D")) == {"NIC of GPU 1 of node n3"}
    cluster.memory[3, 1] = 1.1
    memory = "GPU 0 or host memory of rank 1" if gpus == 2 else "host memory of rank 1"
    assert culprits(found(tmp_path / "both", cluster, buffers="H,D")) == {
        "NIC of GPU 1 of node n3",
        f"{memory} of node n3",
    }
    cluster = host_to_gpu(8, gpus)
    cluster.adapters[3, 1], cluster.unsteady = 1.2, 0.5
    assert culprits(found(tmp_path / "open", cluster, buffers="H,D")) == {
        "GPU 1, its NIC or host memory of rank 1 of node n3"
    }


@pytest.mark.parametrize(("gpus", "fast"), [(2, 1), (3, 1), (4, 2), (8, 4)])
@pytest.mark.parametrize("part", ["adapters", "gpus", "near", "host", "memory"])
def test_half_of_a_node_may_be_faster_than_usual(
    tmp_path: Path, gpus: int, fast: int, part: str
) -> None:
    """Then its usual parts are as fast as those of other nodes."""
    cluster = Cluster(8, gpus)
    getattr(cluster, part)[3, :fast] = 1 / 1.2
    assert culprits(found(tmp_path, cluster)) == set()


def test_one_fast_pair_of_three_gpus_makes_the_third_not_slow(tmp_path: Path) -> None:
    cluster = Cluster(8, 3)

    def inside(node: Indices, gpu: Indices, other: Indices, host: bool) -> Floats:
        fast = (node == 3) & (gpu + other == 1) & (not host)
        return Cluster.inside(cluster, node, gpu, other, host) / np.where(fast, 1.2, 1.0)

    cluster.inside = inside  # type: ignore[method-assign]
    assert culprits(found(tmp_path, cluster)) == set()


def test_a_slow_part_is_named_in_a_faster_node(tmp_path: Path) -> None:
    """Its excess is beyond the parts of other nodes. The map shows the same."""
    cluster = Cluster(8, 4)
    cluster.near[3] = 1 / 1.05
    cluster.adapters[3] = cluster.host[3] = 1 / 1.1
    cluster.adapters[3, 1] = cluster.host[3, 2] = 1.3
    results = found(tmp_path, cluster)
    assert culprits(results) == {"NIC of GPU 1 of node n3", "GPU 2 of node n3"}
    assert [one.times for one in results.verdicts] == pytest.approx(
        [1.3] * len(results.verdicts), rel=0.03
    )
    for mode, rail in (("together", 1), ("host", 2)):
        [of_it] = [
            one for one in results.rail_maps if (one.metric, one.mode) == ("latency_us", mode)
        ]
        assert of_it.rows[3][rail] == pytest.approx(1.3, rel=0.03)
        assert of_it.rows[3][0] == pytest.approx(1 / 1.1, rel=0.03)


def test_a_slow_nic_does_not_hide_a_node_that_is_slow_within(tmp_path: Path) -> None:
    cluster = Cluster(8, 3)
    cluster.adapters[3, 1] = 1.4
    cluster.switch[3] = 1.4
    assert culprits(found(tmp_path, cluster)) == {"node n3", "NIC of GPU 1 of node n3"}


def test_a_slow_rail_is_named_and_no_node(tmp_path: Path) -> None:
    cluster = Cluster(8, 4)
    cluster.rails[3] = 1.25
    results = found(tmp_path, cluster)
    assert culprits(results) == {"rail 3"}
    out = " ".join(printed(present(results)).split())
    assert "It may be farther from its GPU by design." in out
    assert {verdict.rail for verdict in results.verdicts} == {3}
    [curve] = [c for c in results.curves if (c.metric, c.mode) == ("latency_us", "together")]
    assert curve.rails == pytest.approx([2.0, 2.0, 2.0, 2.5], rel=0.02)


def test_two_rails_are_not_judged_and_the_answer_says_so(tmp_path: Path) -> None:
    cluster = Cluster(8, 2)
    cluster.rails[1] = 1.5
    results = found(tmp_path, cluster)
    assert wording.conclusion(results) == (
        "8 nodes: no node and no link is slow; rails are not judged, as of two neither is usual"
    )
    assert "Nothing is slow" not in render(present(results))
    few = found(tmp_path / "few", Cluster(2, 2))
    assert wording.conclusion(few).endswith("here is every pair")


def test_a_plan_of_two_rails_says_that_they_are_not_judged() -> None:
    [line] = [
        text for text in plan.summary(made.chosen(8, **made.rails(2))) if text.startswith("misses:")
    ]
    assert line == "misses:     a slow rail: of two, neither is usual"


def test_the_plan_counts_the_tests_within_nodes(tmp_path: Path) -> None:
    """They share the error rate with those of rails and groups."""
    for gpus in (2, 3, 4):
        of = made.chosen(6, **made.rails(gpus))
        cluster = Cluster(6, gpus)
        recorded = made.record(tmp_path / str(gpus), of, cluster.times, inside=cluster.inside)
        links = 2 * 2 * math.comb(6, 2) * (1 + gpus)
        rails_judged = 2 * 2 * gpus if gpus > 2 else 0
        assert build(recorded).tests - links - rails_judged == plan.tests_of_nodes(of)


def test_a_rail_is_found_slow_between_two_nodes(tmp_path: Path) -> None:
    """Where no node can be distinguished from its links."""
    cluster = Cluster(2, 4)
    cluster.rails[1] = 1.4
    results = found(tmp_path, cluster)
    assert culprits(results) == {"rail 1 between n0 and n1"}
    assert wording.conclusion(results) == "2 nodes: 1 slow rail, 1 between n0 and n1"
    advice = (
        "Check its adapter, cable and port at both nodes: with four nodes or more, one is named."
    )
    assert advice in printed(present(results))
    usual = found(tmp_path / "usual", Cluster(2, 4))
    assert wording.conclusion(usual).startswith("2 nodes: no rail is slow; too few to judge nodes")


@pytest.mark.parametrize(("nodes", "slow"), [(3, 1), (4, 1), (8, 1), (8, 3)])
def test_few_slow_adapters_of_a_rail_make_it_no_slow_rail(
    tmp_path: Path, nodes: int, slow: int
) -> None:
    """Though most pairs of the rail are slow: of eight nodes three touch 18 of 28."""
    cluster = Cluster(nodes, 4)
    cluster.adapters[1 : 1 + slow, 3] = 1.5
    results = found(tmp_path, cluster)
    assert {verdict.kind for verdict in results.verdicts} == ({"node"} if nodes > 3 else set())
    assert {(*verdict.nodes, verdict.rail) for verdict in results.verdicts} == (
        {(f"n{node}", 3) for node in range(1, 1 + slow)} if nodes > 3 else set()
    )


def test_a_slow_link_of_one_rail(tmp_path: Path) -> None:
    cluster = Cluster(8, 4)
    cluster.link = (1, 6, 2, 1.6)
    assert culprits(found(tmp_path, cluster)) == {"link n1 - n6, rail 2"}


def test_a_link_with_rails_is_never_called_alone(tmp_path: Path) -> None:
    """All rails of a pair talk at the same time, also when no other nodes do."""
    cluster = Cluster(8, 4)
    cluster.link = (1, 6, 2, 1.6)
    results = found(tmp_path, cluster)
    shared = msgspec.structs.replace(results.verdicts[0], alone=1.0)
    out = printed(present(msgspec.structs.replace(results, verdicts=[shared])), verbose=True)
    assert "With all rails of its nodes, but no other nodes, it is as fast as others: " in out
    assert "Alone it is" not in out
    assert "nobody else" not in out


def test_of_many_nodes_a_gpu_a_nic_and_a_rail_are_found_among_suspects(tmp_path: Path) -> None:
    cluster = Cluster(72, 4)
    cluster.gpus[40, 2] = 1.3
    cluster.adapters[50, 3] = 1.4
    cluster.rails[0] = 1.4
    results = found(tmp_path, cluster, levels_from="none")
    assert culprits(results) == {"GPU 2 of node n40", "NIC of GPU 3 of node n50", "rail 0"}


def test_the_report_shows_rails(tmp_path: Path) -> None:
    cluster = Cluster(6, 4)
    cluster.gpus[3, 1] = 1.3
    results = found(tmp_path, cluster)
    assert [rail.adapter for rail in results.rails] == [f"mlx5_{gpu}:1" for gpu in range(4)]
    assert {pair.rail for pair in results.pairs} == {0, 1, 2, 3}
    [of_latency] = [
        one for one in results.rail_maps if (one.metric, one.mode) == ("latency_us", "together")
    ]
    assert of_latency.rows[3][1] == pytest.approx(1.3, rel=0.03)
    assert of_latency.rows[3][0] == pytest.approx(1.0, rel=0.03)
    adapters = "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"
    assert f"--buffers D,D --gpus 0,1,2,3 --adapters {adapters}" in repeat(results)
    titles = [section.title for section in present(results).sections]
    assert "Every GPU" in titles


def test_the_plan_names_its_rails() -> None:
    of = made.chosen(64, **made.rails(8))
    plan.check(of)
    lines_of = plan.summary(of)
    assert "8 ranks on each, one for each GPU, buffers in GPU memory" in lines_of[0]
    assert lines_of[1].startswith("rails:      8: GPU 0 with mlx5_0:1, GPU 1 with mlx5_1:1, ")
    assert lines_of[2].startswith("within:     each node, 14 rounds between its GPUs and 28 ")
    one = plan.cost(of, plan.planned(of)).seconds
    both = made.chosen(64, **{**made.rails(8), "buffers": "H,D"})
    assert plan.cost(both, plan.planned(both)).seconds > one


@pytest.mark.parametrize(
    ("leaves", "launches", "line"),
    [
        (4, 4, "misses:     an uplink or a group, however slow: of 4 groups it takes --launches 5"),
        (4, 5, None),
    ],
)
def test_a_plan_says_what_its_launches_cannot_find(
    leaves: int, launches: int, line: str | None
) -> None:
    levels = made.levels(*[24] * leaves)
    of = made.chosen(24 * leaves, launches=launches, levels=levels, levels_from="Slurm")
    misses = [text for text in plan.summary(of) if text.startswith("misses:")]
    assert misses == [text for text in [line] if text]


@pytest.mark.parametrize(("gpus", "loss"), [(2, 17), (3, 22), (4, 16), (8, 14)])
def test_the_plan_of_gpus_also_says_the_loss_that_it_finds_within_nodes(
    gpus: int, loss: int
) -> None:
    """There are fewer values within nodes than between them."""
    [line] = [
        text
        for text in plan.summary(made.chosen(8, **made.rails(gpus)))
        if text.startswith("finds:")
    ]
    assert line == (
        "finds:      a node or a NIC that takes 7 % longer, a link 17 %, and within a node a GPU"
        f" {loss} %, in 90 % of runs, if values scatter by 6 %"
    )


def test_the_plan_of_one_gpu_finds_nothing_within_nodes() -> None:
    [line] = [
        text for text in plan.summary(made.chosen(8, **made.rails(1))) if text.startswith("finds:")
    ]
    assert line.startswith("finds:      a node that takes 7 % longer, and a link 17 %, in 90 % ")


def test_a_plan_of_few_rails_says_how_many_launches_find_a_slow_one() -> None:
    of = made.chosen(64, launches=4, **made.rails(3))
    [line] = [text for text in plan.summary(of) if text.startswith("misses:")]
    assert line == "misses:     a rail, however slow: of 3 rails it takes --launches 5"


def test_two_nodes_are_enough_with_gpus_alone() -> None:
    plan.check(made.chosen(2, **made.rails(1)))
    with pytest.raises(UserError, match="it takes 3 or more"):
        plan.check(made.chosen(2))
    with pytest.raises(UserError, match="it takes 2 or more"):
        plan.check(made.chosen(1, **made.rails(1)))


def test_rounds_of_ranks_join_equal_rails() -> None:
    assert [*lines([np.array([[0, 2], [1, 3]])], 2)] == ["0-4 1-5 2-6 3-7"]
    within = [*lines_inside([np.array([[0, 1]])], 2, 2)]
    assert within == ["D,D 0-1 2-3", "H,D 0-1 2-3", "D,H 0-1 2-3"]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_what_rails_have_in_common_is_their_lower_median(number: int) -> None:
    values = np.zeros((1, 1, number))
    values[..., -1] = 1.0
    common, apart = rails.parts(values)
    assert common.tolist() == [[0.0]]
    assert apart is not None
    assert apart[0, 0].tolist() == [0.0] * (number - 1) + [1.0]
    assert rails.parts(values + 2.0).common.tolist() == [[2.0]]
    faster = rails.parts(values - 2.0)
    assert faster.common.tolist() == [[-2.0]]
    assert faster.apart is not None
    assert (faster.apart < 0).all()  # slower than the node's others, and not slow
    values[..., 0] = math.nan
    assert math.isfinite(float(rails.parts(values).common[0, 0]))


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-3", "0123"), ("0,2", "02"), ("1", "1"), ("0-1,5", "015")]
)
def test_numbers_of_gpus(text: str, numbers: str) -> None:
    assert rails.parse_numbers(text) == [*numbers]


@pytest.mark.parametrize("text", ["", "a", "0,0", "1-", "3-1", "0-9999"])
def test_what_does_not_number_gpus(text: str) -> None:
    with pytest.raises(UserError, match="GPU"):
        rails.parse_numbers(text)
