# SPDX-License-Identifier: Apache-2.0
"""The profiles of settings that were taken."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from made_libraries import made_evidence, made_library

from nearpeak.libraries.library import Settings
from nearpeak.libraries.profiles import Apart, At
from nearpeak.tune.profiles import profiles
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
