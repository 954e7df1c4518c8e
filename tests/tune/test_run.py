# SPDX-License-Identifier: Apache-2.0
"""What is written of what came of a tuning."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from made_libraries import made_evidence, made_library

from nearpeak.errors import UserError
from nearpeak.libraries.library import UNSET, Settings
from nearpeak.libraries.profiles import Apart, At
from nearpeak.libraries.rules import Range, Table
from nearpeak.libraries.tunables import Offered, Ruled, Tunable
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.tune import journal, run, thresholds
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.hints import Hints
from nearpeak.tune.rules import Operation, Way
from nearpeak.tune.run import (
    _calibrated,
    _calibration,
    _crossed,
    _free,
    _kinds,
    _last,
    _operations,
    _ruled,
    _unforced,
    _with_crossed,
    borders,
    profiles,
    settings,
)
from nearpeak.tune.search import Calibration, Outcome
from nearpeak.tune.targets import Target
from nearpeak.tune.tuned import Free
from nearpeak.tune.written import about

BASE = {"UCX_TLS": "sm,self"}
ALL, PART = {"FAST": "y", "SHORT": "y"}, {"FAST": "y"}
PREPARED: Any = SimpleNamespace(
    asked=SimpleNamespace(buffers="H,D"),
    single=SimpleNamespace(
        settings=Settings(name="base", env=BASE),
        library=made_library(),
        path=SimpleNamespace(ends=("host", "host"), between_hosts=False, gpu_support=False),
    ),
    collective=["OMPI_MCA_coll_tuned_bcast_algorithm"],
)


def shown(label_on_path: str, verdict: str = "faster", distances: Sequence[At] = ()) -> Any:
    """A case that was confirmed, on the path of the targets."""
    return SimpleNamespace(
        path="host-gpu near/1",
        label_on_path=label_on_path,
        comparison=SimpleNamespace(verdict=verdict),
        distances=distances,
    )


def written(
    verdict: str,
    free_taken: bool | None,
    unguarded: Sequence[str] = (),
    targets: Sequence[Any] = (),
    slower_cases: Sequence[Any] = (),
    **more: Any,
) -> dict[str, Any]:
    """`free_taken`: None where nothing is free alone; `targets`, `slower_cases`: as confirmed;
    `more`: of what was found."""
    journal: Any = SimpleNamespace(
        begin=SimpleNamespace(
            library="alpha",
            family="openmpi",
            version="5",
            build="openmpi-cuda",
            components={"ucx": "1.22.0"},
            started="2026-01-02T00:00:00",
            host="here",
            cpu="a CPU",
            gpus=[],
            driver=None,
            path="host-gpu near/1",
        )
    )
    free = None
    if free_taken is not None:
        free = Free(
            env=PART, taken=free_taken, evidence=[made_evidence("part")], slower=[],
            host_messages=[made_evidence("host part")],
        )  # fmt: skip
    usual = {"evidence": [made_evidence("all")], "slower": [made_evidence("price")]}
    found: Any = SimpleNamespace(
        unguarded=unguarded,
        verdict=verdict,
        path="host-gpu near/1",
        buffers="H,D",
        free=free,
        host_messages=[made_evidence("host all")],
        **{"env": ALL, "unset": [], "distances": {}, "lacking": [], **usual, **more},
    )
    confirmed: Any = SimpleNamespace(targets=targets, slower=slower_cases)
    return profiles(PREPARED, journal, found, {"tuned": confirmed})


HERE = "only-host-gpu-near-1-H-D"


@pytest.mark.parametrize(
    ("verdict", "free_taken", "expected"),
    [
        ("taken", None, {"": ALL}),
        ("taken", True, {"": ALL}),  # fresh launches see no price of it
        ("taken here alone", True, {"": PART, HERE: ALL}),
        ("taken here alone", False, {HERE: ALL}),
        ("taken here alone", None, {HERE: ALL}),
        ("not taken", True, {"": PART}),
        ("not taken", None, {}),
        ("nothing helps", None, {}),
    ],
)
def test_what_costs_nothing_and_all_for_a_path_are_two_profiles(
    verdict: str, free_taken: bool | None, expected: dict[str, dict[str, str]]
) -> None:
    found = written(verdict, free_taken)
    assert {folder: profile.env for folder, profile in found.items()} == {
        folder: {**BASE, **env} for folder, env in expected.items()
    }


def test_the_price_stands_in_the_profile_that_has_it() -> None:
    found = written("taken here alone", True)
    assert found[HERE].slower == [made_evidence("price")]
    assert found[HERE].evidence == [made_evidence("all")]
    assert found[HERE].scope == (
        "for host-gpu near/1 with buffers H,D alone: elsewhere it is slower"
    )
    assert (found[""].slower, found[""].evidence) == ([], [made_evidence("part")])
    assert found[HERE].host_messages == [made_evidence("host all")]
    assert found[""].host_messages == [made_evidence("host part")]
    assert found[""].scope == "on this machine, with this version of alpha"


def test_settings_for_host_memory_say_nothing_of_other_host_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PREPARED.asked, "buffers", "H,H")
    [profile] = written("taken", None).values()
    assert profile.host_messages is None


def test_a_profile_for_some_of_its_targets_names_them() -> None:
    gains, loses = shown("a"), shown("b", "slower")
    found = written("taken here alone", None, targets=[gains, loses], slower_cases=[loses])
    assert found[HERE].scope.startswith("for host-gpu near/1 with buffers H,D, for a alone")


def test_a_profile_says_which_build_it_is_of() -> None:
    [profile] = written("taken", None).values()
    assert (profile.build, profile.components) == ("openmpi-cuda", {"ucx": "1.22.0"})
    assert about(profile)[2:4] == ["Build: openmpi-cuda", "With ucx 1.22.0"]


@pytest.mark.parametrize(("buffers", "gpu"), [("H,D", True), ("H,H", False)])
def test_a_profile_has_what_its_library_needs_in_any_case(
    buffers: str, gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = made_library(family="mpich", env={"UCX_X": "1"})
    monkeypatch.setattr(PREPARED.single, "library", library)
    monkeypatch.setattr(PREPARED.asked, "buffers", buffers)
    [profile] = written("taken", None).values()
    for_gpu = {"MPIR_CVAR_ENABLE_GPU": "1"} if gpu else {}
    assert profile.needed == {"UCX_X": "1", **for_gpu}
    assert profile.env == {**BASE, **ALL}


@pytest.mark.parametrize(
    ("begun", "refused"),
    [
        ({}, False),
        ({"build": "", "components": {}}, False),  # of before these were told
        ({"build": "openmpi-cuda"}, True),
        ({"components": {"ucx": "1.18.0"}}, True),
    ],
)
def test_a_search_goes_on_with_the_same_build_alone(
    begun: dict[str, Any], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = {"library": "a", "version": "5", "host": "h", "candidates": []}
    same |= {"build": "openmpi", "components": {"ucx": "1.22.0"}}
    monkeypatch.setattr(run, "begin", lambda _: SimpleNamespace(**same))
    monkeypatch.setattr(run, "Trials", lambda *_: pytest.fail("goes on"))
    journal: Any = SimpleNamespace(begin=SimpleNamespace(**{**same, **begun}), folder="tuned")
    nothing: Any = SimpleNamespace(launches=None)
    expected = (
        pytest.raises(UserError, match="start anew")
        if refused
        else pytest.raises(pytest.fail.Exception, match="goes on")
    )
    with expected:
        run.search(nothing, journal, lambda _: None, lambda _: None)


def test_a_profile_leaves_out_what_the_search_did_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PREPARED.single, "library", made_library(family="mpich"))
    [profile] = written("taken", None, env={}, unset=["MPIR_CVAR_ENABLE_GPU"]).values()
    assert (profile.env, profile.unset) == (BASE, ["MPIR_CVAR_ENABLE_GPU"])
    assert "MPIR_CVAR_ENABLE_GPU" not in profile.needed


def test_a_profile_says_where_nothing_is_known_of_it() -> None:
    [profile] = written("taken", None, unguarded=["gpu-gpu same-gpu"]).values()
    assert profile.scope.endswith("of alpha (not measured: gpu-gpu same-gpu)")


def test_a_profile_says_what_its_search_had_no_time_for() -> None:
    [profile] = written("taken", None, lacking=["what of it is not needed"]).values()
    assert about(profile)[-1] == "The search had no time for: what of it is not needed"


@pytest.mark.parametrize(
    ("value", "scope"),
    [
        ("sm,cuda,self", "for jobs on one host, on this machine, with this version of alpha"),
        ("^cma", "on this machine, with this version of alpha"),
    ],
)
def test_a_profile_without_a_network_is_for_jobs_on_one_host(value: str, scope: str) -> None:
    [profile] = written("taken", None, env={"UCX_TLS": value}).values()
    assert profile.scope == scope
    assert f"Use: {scope}" in about(profile)


def test_a_profile_names_the_file_that_a_variable_is_set_to() -> None:
    name = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
    [profile] = written("taken", None, env={name: "/x/tried/openmpi-rules.conf"}).values()
    assert profile.files == {name: "openmpi-rules.conf"}
    assert profile.scope.endswith("(nothing is known of its rules for 2 ranks on several hosts)")


def test_a_profile_says_of_what_ranks_nothing_is_known() -> None:
    """A variable that forces an algorithm does so for communicators of any number of ranks."""
    name = "OMPI_MCA_coll_tuned_bcast_algorithm"
    [profile] = written("taken", None, env={name: "chain"}).values()
    unknown = f"(nothing is known of {name} with other than 2 ranks)"
    assert profile.scope == f"on this machine, with this version of alpha {unknown}"


def test_a_profile_says_what_may_stop_working_with_it() -> None:
    [profile] = written("taken", None, env={"OMPI_MCA_coll_ucc_enable": "1"}).values()
    ucc, base = profile.breaks
    assert ucc.startswith("OMPI_MCA_coll_ucc_enable: what UCC was built without, like CUDA, fails")
    assert base.startswith("UCX_TLS: ")  # which it started from
    assert about(profile)[-3:] == ["May stop working with it:", f"  {ucc}", f"  {base}"]


def test_a_profile_says_between_which_cpus_it_holds() -> None:
    near, far = (
        At(
            low_ns=ns,
            high_ns=ns + 7,
            launches=12,
            times=times,
            ci95=[times, times],
            slower=times < 1,
        )
        for ns, times in ((60.0, 2.0), (300.0, 0.5))
    )
    distances = {
        "host-gpu near/1": [
            Apart(low_ns=a.low_ns, high_ns=a.high_ns, launches=24) for a in (near, far)
        ]
    }
    both = shown("all", distances=[near, far])
    found = written("taken here alone", None, targets=[both], slower=[], distances=distances)
    assert found[HERE].scope == (
        "for host-gpu near/1 with buffers H,D alone, with the CPUs 60.0 to 67.0 ns apart and"
        " not 300 to 307 ns (something is slower there; on a virtual machine nobody can choose, so"
        " do not use it)"
    )
    assert (
        "Measured on host-gpu near/1 with the CPUs 60.0 to 67.0 ns and 300 to 307 ns apart"
        in about(found[HERE])
    )


def test_what_is_free_is_confirmed_beside_all_where_it_differs() -> None:
    def names(outcome: Outcome) -> dict[str, dict[str, str]]:
        return {each.name: each.env for each in settings(PREPARED, outcome)}

    everything = {"base": BASE, "tuned": {**BASE, **ALL}}
    assert names(Outcome(taken=ALL, free=PART)) == {
        **everything,
        "tuned-everywhere": {**BASE, **PART},
    }
    assert names(Outcome(taken=ALL, free=ALL)) == everything
    assert names(Outcome(taken=ALL, free={})) == everything


def test_what_is_left_out_is_confirmed_and_told() -> None:
    taken = {"FAST": "y", "I_MPI_PIN": UNSET}
    [_, tuned] = settings(PREPARED, Outcome(taken=taken, free=taken))
    assert (tuned.env, tuned.unset) == ({**BASE, "FAST": "y"}, ["I_MPI_PIN"])
    confirmed: Any = SimpleNamespace(
        everywhere=True, targets=[], slower=[], detectable_loss=0.1, host_messages=[]
    )
    free = _free(Outcome(free=taken), confirmed)
    assert (free.env, free.unset) == ({"FAST": "y"}, ["I_MPI_PIN"])


def test_what_was_tuned_before_is_told_apart_from_what_is_found() -> None:
    again: Any = SimpleNamespace(single=SimpleNamespace(settings=Settings(name="tuned", env=BASE)))
    found = settings(again, Outcome(taken=ALL, free=ALL))
    assert [each.name for each in found] == ["as-it-was", "tuned"]


@pytest.mark.parametrize(("rounds", "told"), [(0, 0), (5, 0), (6, 2)])
def test_fewer_than_six_rounds_of_ceilings_give_no_figure(rounds: int, told: int) -> None:
    journal: Any = SimpleNamespace(records=[])
    gains = [np.array([0.1, 0.0])] * rounds
    found = _calibration(journal, Outcome(calibration=Calibration(Candidate(()), gains)))
    assert found is not None
    assert (found.rounds, len(found.times), len(found.ci95)) == (rounds, told, told)


def test_where_protocols_cross_is_tried_beside_other_values() -> None:
    limit = Tunable(
        name="LIMIT", component="x", summary="", values=["1", "2"], source="x", with_={"ON": "y"}
    )
    other = Candidate((("OTHER", "1"),))
    swept = [Candidate((("ON", "y"), ("LIMIT", value))) for value in limit.values]
    prepared: Any = SimpleNamespace(thresholds=[limit], candidates=[*swept, other])
    crossed = _with_crossed(prepared, {"LIMIT": "46341"})
    first = Candidate((("ON", "y"), ("LIMIT", "46341")))
    assert crossed == [first, *swept, other]
    assert _with_crossed(prepared, {"LIMIT": "2"}) == [swept[1], swept[0], other]
    assert _with_crossed(prepared, {}) == [*swept, other]


@pytest.mark.parametrize(
    ("over_ucx", "other", "last"),
    [
        (False, Candidate((("CELLS", "64"),)), ["UCX_TLS=sm"]),
        (False, Candidate((("OMPI_MCA_pml", "ucx"),)), []),  # it may move them then
        (True, Candidate((("CELLS", "64"),)), []),
        (None, Candidate((("CELLS", "64"),)), []),
    ],
)
def test_settings_of_what_moves_no_message_are_tried_last(
    over_ucx: bool | None, other: Candidate, last: list[str]
) -> None:
    prepared: Any = SimpleNamespace(of_ucx=["UCX_TLS"])
    tried = [Candidate((("UCX_TLS", "sm"),)), other]
    assert [each.label for each in _last(prepared, Hints([], over_ucx), tried)] == last


@pytest.mark.parametrize(("over_ucx", "measured"), [(True, 2), (None, 2), (False, 1)])
def test_thresholds_of_what_moves_no_message_are_not_measured(
    over_ucx: bool | None, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [SimpleNamespace(name=name) for name in ("UCX_RNDV_THRESH", "CMA_THRESHOLD")]
    single = SimpleNamespace(mps=contextlib.nullcontext)
    prepared: Any = SimpleNamespace(
        of_ucx=["UCX_RNDV_THRESH"], thresholds=many, single=single, launches=None
    )
    seen: list[Any] = []
    monkeypatch.setattr(thresholds, "measure", lambda _, there, *__: seen.extend(there))
    trials: Any = SimpleNamespace(thresholds=lambda look: look(4.0, lambda: 100.0) or [])
    assert _crossed(prepared, trials, Hints([], over_ucx), lambda _: None) == []
    assert seen == many[-measured:]


RULES = Tunable(
    name="RULES",
    component="x",
    summary="",
    source="x",
    file="rules.conf",
    with_={"ON": "true"},
    benchmarks=["bcast"],
)
WAY = Way((("ON", "true"), ("BCAST", "tree")), 1, 0, "tree")
BCAST = Operation("bcast", Ruled(operation=7), (WAY,), (8, 4096), (8,), ranks=2)
TABLE = Table(
    name="bcast", operation=7, ranks=2, ranges=[Range(first=0, algorithm=1), Range(first=181)]
)


@pytest.mark.parametrize(
    ("tables", "targets", "share"),
    [([TABLE], ["bcast"], 1 / 2), ([], ["bcast"], 1 / 2), ([TABLE], ["bcast", "latency"], 1 / 3)],
)
def test_rules_are_written_and_tried_as_a_value(
    tables: list[Table], targets: list[str], share: float, tmp_path: Path
) -> None:
    single = SimpleNamespace(mps=contextlib.nullcontext, library=made_library())
    launches = SimpleNamespace(targets=[Target(name, 8) for name in targets])
    prepared: Any = SimpleNamespace(
        ruled=RULES, operations=[BCAST], single=single, launches=launches
    )
    asked: list[tuple[Path, float]] = []

    def found(_: object, file: Path, share: float) -> list[Table]:
        asked.append((file, share))
        return tables

    trials: Any = SimpleNamespace(rules=found)
    got = _ruled(prepared, trials, tmp_path, lambda _: None)
    file = tmp_path.resolve() / "tried" / "rules.conf"
    assert asked == [(file, share)]
    assert file.exists() == bool(tables)
    assert got == ([Candidate((("ON", "true"), ("RULES", str(file))))] if tables else [])
    if tables:
        assert "\n7 # bcast\n" in file.read_text()


@pytest.mark.parametrize("tables", [[TABLE], []])
def test_what_has_rules_is_not_forced_too(tables: list[Table]) -> None:
    prepared: Any = SimpleNamespace(operations=[BCAST], ruled=RULES)
    record = journal.Ruled(tables=tables, file="/x", seconds=1.0)
    done: Any = SimpleNamespace(records=[record])
    on = ("ON", "true")
    radix = Candidate((on, ("BCAST", "tree"), ("RADIX", "2")))
    values = [Candidate((on, ("BCAST", "tree"))), radix, Candidate((on, ("REDUCE", "tree")))]
    assert _unforced(prepared, done, values) == values[2 if tables else 0 :]
    assert borders(prepared, done, {"RULES": "/x"}) == ([128, 256] if tables else [])
    assert borders(prepared, done, {"OTHER": "x"}) == []


def test_what_a_library_has_no_rules_of_is_not_measured(tmp_path: Path) -> None:
    trials: Any = SimpleNamespace(rules=lambda *_: pytest.fail("measured"))
    for prepared in ({"operations": [], "ruled": RULES}, {"operations": [BCAST], "ruled": None}):
        assert _ruled(cast(Any, SimpleNamespace(**prepared)), trials, tmp_path, print) == []


def test_operations_with_several_algorithms_are_those_of_the_targets() -> None:
    def algorithms(benchmark: str, *values: str) -> Offered:
        ruled = Ruled(operation=7)
        name = benchmark.upper()
        more: Any = {"values": list(values), "benchmarks": [benchmark], "ruled": ruled}
        tunable = Tunable(name=name, component="x", summary="", source="x", **more)
        return Offered(tunable, True, "", {value: n for n, value in enumerate(values)})

    def single(least: int) -> Any:
        benchmark = SimpleNamespace(sizes=lambda sizes: [each for each in sizes if each >= least])
        return SimpleNamespace(benchmark=benchmark, path=SimpleNamespace(ends=("host",) * 4))

    there = [algorithms("bcast", "a", "b"), algorithms("scan", "a"), algorithms("reduce", "a", "b")]
    targets = [Target("bcast", 65536), Target("latency", 8), Target("bcast", 512)]
    targets.append(Target("scan", 8))
    subjects = {"bcast": single(4096), "latency": single(1), "scan": single(1)}
    (found,) = _operations(there, subjects, targets)
    assert (found.name, found.ranks, found.targets) == ("bcast", 4, (512, 65536))
    assert found.sizes == (512, 4096, 65536, 1 << 20)
    assert [way.words for way in found.ways] == ["a", "b"]


def test_a_cost_model_that_moves_no_message_is_left_alone() -> None:
    prepared: Any = SimpleNamespace(calibrated=[SimpleNamespace(component="ucx")], single=None)
    measured: Any = SimpleNamespace(ceilings=lambda _: pytest.fail("measured"))
    assert _calibrated(prepared, measured, lambda _: None, []) == []


@pytest.mark.parametrize(
    ("asked", "symmetric", "kinds"),
    [
        ("H,D", True, []),
        ("D,H", False, []),
        ("D,H", True, ["D,H", "H,D", "D,D"]),  # latency is measured by itself with H,D alone
        ("P,D", True, ["P,D", "H,D", "D,H", "D,D"]),
    ],
)
def test_the_study_measures_the_buffers_that_are_asked_for(
    asked: str, symmetric: bool, kinds: list[str]
) -> None:
    def path(*memories: Any) -> DataPath:
        ends = [Endpoint(cpus=[0], numa_node=0, memory=memory) for memory in memories]
        return DataPath(id="", summary="", transport="memory", ends=ends)

    target = Benchmark(
        "b", [Metric("b", "us", "lower")], RankRule("exactly", 2), symmetric=symmetric
    )
    paths = [path("host", "gpu"), path("gpu", "gpu")]
    assert _kinds(paths, [target], asked) == kinds
