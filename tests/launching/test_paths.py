# SPDX-License-Identifier: Apache-2.0
"""Which paths of a machine a study takes, and which a launch."""

import socket

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.paths import (
    check_hosts,
    check_same_hosts,
    fitting_path,
    select_paths,
    why_not,
)
from nearpeak.machine import allocation
from nearpeak.machine.machine import Machine
from nearpeak.machine.places import Ranks
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule

PAIR = Benchmark("pair", [Metric("pair", "us", "lower")], RankRule("exactly", 2))
ANY = Benchmark("any", [Metric("any", "us", "lower")], RankRule("at least", 2))


@pytest.mark.parametrize("here", ["localhost", socket.gethostname(), "127.0.0.1"])
def test_this_host_comes_first_of_those_that_are_named(here: str) -> None:
    """By whatever name: rank 0 runs on it, and writes the records."""
    assert check_hosts(["203.0.113.1", here, "203.0.113.2"], "true") == [
        here,
        "203.0.113.1",
        "203.0.113.2",
    ]


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (["203.0.113.1", "203.0.113.2"], "none of them: start nearpeak on one of them"),
        (["203.0.113.1", "203.0.113.1"], "name two different hosts or more"),
        (["localhost"], "name two different hosts or more"),
        (["localhost", "127.0.0.1"], "localhost and 127.0.0.1 are both this host"),
        (["localhost", "-x"], "'-x' is not a host name"),
        (["localhost", "/evil/x.sh"], "'/evil/x.sh' is not a host name"),
    ],
)
def test_hosts_that_cannot_be_measured(hosts: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_hosts(hosts, "true")


def test_hosts_are_not_looked_at_where_nothing_is_measured() -> None:
    hosts = ["203.0.113.1", "203.0.113.2"]
    assert check_hosts(hosts, "false", call=False) == hosts


@pytest.mark.parametrize("outside", [set[str](), {"n1"}])
def test_a_job_is_named_where_slurm_has_hosts(
    monkeypatch: pytest.MonkeyPatch, outside: set[str]
) -> None:
    monkeypatch.setattr(allocation, "hosts_outside", lambda: outside)
    for hosts in (["localhost", "203.0.113.1"], ["203.0.113.1", "203.0.113.2"]):
        with pytest.raises(UserError) as refused:
            check_hosts(hosts, "false")
        assert str(refused.value).endswith(", or start it in a job (sbatch, salloc)") == bool(
            outside
        )


def test_what_was_begun_on_a_host_goes_on_there() -> None:
    check_same_hosts([], None)
    check_same_hosts([], "true")  # of what was begun before that was refused
    check_same_hosts(["localhost", "203.0.113.1"], "true")
    with pytest.raises(UserError, match=r"begun on 203\.0\.113\.1, which is another host"):
        check_same_hosts(["203.0.113.1", "localhost"], "true")


def test_what_goes_on_needs_a_job_of_its_own_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    job = allocation.Allocation("7", ("n1", "n2"), "n1")
    monkeypatch.setattr(allocation, "by_srun", lambda: True)
    monkeypatch.setattr(allocation, "current", lambda: job)
    lacking = r"'n3' is no node of job 7 \(n1,n2\): ask for a job with it \(--nodelist=n1,n3\)"
    with pytest.raises(UserError, match=rf"{lacking}, or name nodes of this one$"):
        check_hosts(["n1", "n3"], None)
    with pytest.raises(UserError, match=rf"{lacking}$"):
        check_same_hosts(["n1", "n3"], None)


def test_one_path_of_each_kind_or_all_pairs(dgx: Machine) -> None:
    usual = {path.id for path in select_paths(dgx, [], [])}
    assert {"host-host same-numa", "gpu-gpu same-gpu", "gpu-gpu nvlink", "host-gpu near"} <= usual
    assert not [name for name in usual if " pair " in name]
    pairs = [path.id for path in select_paths(dgx, [], [], all_pairs=True)]
    assert sum(pair.startswith("gpu-gpu pair ") for pair in pairs) == 8 * 7 // 2
    assert all(" pair " in pair for pair in pairs)


def test_all_pairs_of_hosts_are_rails(dgx: Machine) -> None:
    this = [dgx.hostname, "b"]
    pairs = select_paths(dgx, this, [], all_pairs=True)
    assert {path.between_hosts for path in pairs} == {True}
    assert len(pairs) == len(dgx.gpus)
    bare = msgspec.structs.replace(dgx, nics=[])
    assert not select_paths(bare, this, [], all_pairs=True)[0].between_hosts


def test_a_loopback_is_no_path_for_mpi(dgx: Machine) -> None:
    name = "gpu-gpu nic-loopback"
    assert name not in [path.id for path in select_paths(dgx, [], [])]
    chosen = select_paths(dgx, [], [name, "host-host same-numa"])
    assert [path.without_mpi for path in chosen] == [True, False]
    with pytest.raises(UserError, match="ceilings are measured there, and no MPI"):
        select_paths(dgx, [], [name])


def test_all_pairs_need_gpus(dgx: Machine) -> None:
    bare = msgspec.structs.replace(dgx, gpus=[], gpu_links=[], gpu_notes=["no driver"])
    with pytest.raises(UserError, match=r"no GPU can be used here \(no driver\)"):
        select_paths(bare, [], [], all_pairs=True)


def test_one_pair_can_be_named(dgx: Machine) -> None:
    (path,) = select_paths(dgx, [], ["gpu-gpu pair 2-5"])
    assert select_paths(dgx, [], ["gpu-gpu pair 2-5"] * 2) == [path]
    assert path.named
    assert path.ends[0].gpu != path.ends[1].gpu
    with pytest.raises(UserError, match="unknown path 'gpu-gpu pair 2-9'"):
        select_paths(dgx, [], ["gpu-gpu pair 2-9"])


def test_why_a_study_has_no_path_that_is_known(dgx: Machine) -> None:
    hosts = ["a", "b"]
    within = "it is within a node, and this study is between nodes: a job of one node measures it"
    more = f"{within}, or a study with --path 'host-host same-numa'"
    assert why_not("host-host same-numa", dgx, hosts) == more
    named = "name it with --path 'host-host same-numa' in a new one"
    assert why_not("host-host same-numa", dgx, []) == named
    assert "host" in str(why_not("host-host two-nodes", dgx, []))
    assert why_not("host-host same-nume", dgx, hosts) is None


def test_a_launch_takes_the_first_path_that_its_buffers_fit(dgx: Machine) -> None:
    paths = select_paths(dgx, [], [])
    assert fitting_path(paths, PAIR, "H,H")[0].id == "host-host same-numa"
    path, (end, other) = fitting_path(paths, PAIR, "D,H")
    assert (path.id, end.memory, other.memory) == ("host-gpu near", "gpu", "host")
    with pytest.raises(UserError, match="buffers M,M need a GPU, and none of the paths host-host"):
        fitting_path(paths[:1], PAIR, "M,M")


def test_two_gpus_come_before_one(dgx: Machine) -> None:
    """`gpu-gpu same-gpu` is listed first, and is not what D,D on several GPUs means."""
    paths = select_paths(dgx, [], [])
    path, (end, other) = fitting_path(paths, PAIR, "D,D")
    assert path.id == "gpu-gpu nvlink"
    assert end.gpu != other.gpu
    alone = msgspec.structs.replace(dgx, gpus=dgx.gpus[:1], gpu_links=[])
    assert fitting_path(select_paths(alone, [], []), PAIR, "D,D")[0].id == "gpu-gpu same-gpu"


def test_ranks_that_no_path_has_are_bad_input(dgx: Machine) -> None:
    wide = select_paths(dgx, [], ["gpu x8"])
    said = r"pair runs on exactly 2 ranks, and none of the paths gpu x8 \(8\) has so many"
    with pytest.raises(UserError, match=said):
        fitting_path(wide, PAIR, "D,D")
    assert len(fitting_path(wide, ANY, "D,D")[1]) == 8
    assert fitting_path(select_paths(dgx, [], []), ANY, "H,H")[0].id == "host-host same-numa"


def test_ranks_that_no_named_path_has_are_bad_input(dgx: Machine) -> None:
    named = ["host-host same-numa", "gpu x8"]
    found = select_paths(dgx, [], named, ranks=Ranks((8,)))
    assert [path.id for path in found] == ["gpu x8"]
    with pytest.raises(UserError, match=r"--ranks 4: of the paths host-host .* none has so many"):
        select_paths(dgx, [], named, ranks=Ranks((4,)))


def test_paths_of_so_many_ranks(dgx: Machine) -> None:
    found = [path.id for path in select_paths(dgx, [], [], ranks=Ranks((4, 16)))]
    assert [name for name in found if not name.startswith("host-memory")] == [
        *("host x4", "host x16", "gpu x4", "host x4 gpu-support", "host x16 gpu-support")
    ]
    wanted = ["gpu x6", "host x1", "host x4", "gpu-gpu nvlink", "host x8 gpu-support"]
    named = select_paths(dgx, [], wanted)
    assert [len(path.ends) for path in named] == [6, 1, 4, 2, 8]
    few = msgspec.structs.replace(dgx, allowed_cpus=[0, 1])
    with pytest.raises(UserError, match=r"--ranks 4: host x4: this process may use 2 cores only"):
        select_paths(few, [], [], ranks=Ranks((4,)))
    assert len(select_paths(few, [], [], ranks=Ranks((4,), True))[0].ends) == 4
    with pytest.raises(UserError, match="there is no path gpu x9: this process may use 8 GPUs"):
        select_paths(dgx, [], ["gpu x9"])
    with pytest.raises(UserError, match="unknown path 'gpu x0'"):
        select_paths(dgx, [], ["gpu x0"])
