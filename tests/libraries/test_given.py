# SPDX-License-Identifier: Apache-2.0
"""Whatever Nearpeak gives a launch has a class, a reason and a proof."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.launching.command_lines import path_environment
from nearpeak.libraries import catalogue, families, given, launch, preload
from nearpeak.libraries.launchers import flux
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.machine import allocation
from nearpeak.terms.path import DataPath, Endpoint

ROOT = Path(__file__).parents[2]
HERE = [Rank(cpus=[cpu]) for cpu in (0, 1)]
APART = [Rank(cpus=[0], host="a"), Rank(cpus=[0], host="b")]
IN_TURN = [*APART, *APART]
PREFIX = Path("/opt/mpi")
Key = tuple[str, str]  # owner, name


def libraries() -> Iterator[Library]:
    """One of each entry of the catalogue and of each family, with each launcher that starts it."""
    places = {"prefix": PREFIX, "libmpi": PREFIX / "lib/libmpi.so"}
    for name, entry in catalogue.libraries().items():
        network = Settings(env=entry.network) if entry.network else None
        known = {"family": entry.family, "version": entry.version, "origin": "installed"}
        known |= {"entry": name, "env": entry.environment, "network_only": network}
        yield made_library(name, **known, **places, launcher=PREFIX / "bin/mpirun")
    for family in families.all_families().values():
        if not family.launcher:
            continue
        for version in ("4.1", "10.0"):  # of which one may be started by an older launcher
            for launcher in ("bin/mpirun", "bin/srun", "bin/flux", "pals/1/bin/mpiexec"):
                yield made_library(
                    family.name, family=family.name, version=version, pmi="pmi2",
                    **places, launcher=PREFIX / launcher,
                )  # fmt: skip


def launches() -> Iterator[Launch]:
    for ranks in (HERE, APART, IN_TURN):
        for gpu in (False, True):
            for network_only in (False, True):
                for shell in (None, "/shell"):
                    yield Launch(
                        program=["p"], ranks=ranks, gpu=gpu, network_only=network_only,
                        remote_shell=shell, env=path_environments(),
                    )  # fmt: skip


def path_environments() -> dict[str, str]:
    """All that a path may add."""
    ends = [Endpoint(memory="gpu", cpus=[0], numa_node=0, gpu="GPU", host=host) for host in "ab"]
    path = DataPath(
        id="p", summary="", transport="network", ends=(ends[0], ends[1]), nic="mlx5_0:1"
    )
    return path_environment(path)


def jobs() -> Iterator[None]:
    """Outside of any job, and in one of each manager: of two nodes, of which this host is the
    first."""
    variables = {"Slurm": "SLURM_JOB_ID", "PBS": "PBS_JOBID", "Flux": "FLUX_URI"}
    for manager in ("", *variables):
        with pytest.MonkeyPatch.context() as patch:
            for name in variables.values():
                patch.delenv(name, raising=False)
            if manager:
                patch.setenv(variables[manager], "7")
                found = allocation.Allocation("7", ("a", "b"), "a", manager)
                patch.setattr(allocation, "current", lambda found=found: found)
            patch.setattr(flux, "flux_hosts", lambda *_: ["a", "b"])
            patch.setattr(os, "geteuid", lambda: 0)
            yield


def given_in(library: Library, started: Launch) -> set[Key]:
    """What Nearpeak gives a launch, by who gives it."""
    line = launch.command_line(library, started)
    flags = {flag.name for flag in given.flags(line.argv, started.program)}
    found = {
        (each.owner, each.name)
        for each in given.set_by(library)
        if each.name in flags or each.name in line.env
    }
    named = {name for _, name in found}
    launcher = f"launcher {launch.launcher_of(library)}"
    found |= {(given.OF_ALL, name) for name in line.env if name not in named}
    found |= {(launcher, name) for name in flags - named - {given.BINDS}}
    return (
        found
        | {(given.OF_ALL, launch.LIBRARY_PATH)}
        | {(given.OF_ALL, name) for name in flags & {given.BINDS}}
    )


@pytest.fixture(scope="module")
def seen() -> dict[Key, str]:
    """What any launch of any library is given; where its library has no reason for it, that
    launch in words."""
    found: dict[Key, str] = {}
    for _ in jobs():
        for library in libraries():
            reasons = {(each.owner, each.name) for each in given.explained(library)}
            for started in launches():
                try:
                    keys = given_in(library, started)
                except UserError:
                    continue  # a launcher outside of its job, or a network that nobody can force
                for key in keys:
                    lacking = f"{library.name} by {library.launcher}" if key not in reasons else ""
                    found[key] = found.get(key, "") or lacking
    return found


@pytest.fixture
def preloaded(monkeypatch: pytest.MonkeyPatch) -> set[Key]:
    """What loads a library of ours."""
    monkeypatch.setattr(preload, "build_layer", lambda _: Path("/layer.so"))
    library = made_library("openmpi", abi="openmpi", launcher=PREFIX / "bin/mpirun", layer=True)
    names = {*preload.command_line(library, Launch(program=["p"], ranks=HERE)).env}
    names |= {*preload.environment(library, Path("/layer.so"), {})}
    return {(given.OF_ALL, name) for name in names}


@pytest.fixture
def stated(tmp_path: Path) -> set[tuple[str, str, str]]:
    """What stands in the catalogue and in families, and when."""
    own = tmp_path / "libfabric/lib/libfabric.so.1"  # of a full Intel MPI
    own.parent.mkdir(parents=True)
    own.touch()
    full = made_library("intel", family="intel", prefix=tmp_path, launcher=PREFIX / "bin/mpirun")
    return {
        (each.owner, each.occasion, each.name)
        for library in [*libraries(), full]
        for each in given.set_by(library)
    }


def reasons() -> set[tuple[str, str, str]]:
    return {
        (owner, occasion, name)
        for owner, occasions in given.reasons().items()
        for occasion, names in occasions.items()
        for name in names
    }


def test_each_variable_and_flag_of_any_launch_has_its_reason(seen: dict[Key, str]) -> None:
    assert {key: where for key, where in seen.items() if where} == {}


def test_so_has_what_stands_in_the_catalogue_and_in_families(
    stated: set[tuple[str, str, str]],
) -> None:
    """Exactly for whom it is set, and when."""
    of_libraries = {each for each in reasons() if each[0].startswith(("library", "family"))}
    assert of_libraries == stated


def test_no_reason_is_of_nothing(
    seen: dict[Key, str], preloaded: set[Key], stated: set[tuple[str, str, str]]
) -> None:
    of_any = {(owner, name) for owner, _, name in reasons()}
    assert of_any == set(seen) | preloaded | {(owner, name) for owner, _, name in stated}


def proofs() -> list[Any]:
    return [
        pytest.param(name, why, id=f"{owner}: {name}")
        for owner, occasions in given.reasons().items()
        for names in occasions.values()
        for name, why in names.items()
    ]


@pytest.mark.parametrize(("name", "why"), proofs())
def test_each_has_a_proof_that_shows_its_class(name: str, why: given.Justification) -> None:
    assert why.reason
    assert not why.reason.endswith(".")
    assert bool(why.proof) == (why.kind != "unproven")
    if not why.proof:
        return
    file, mark, what = re.split(r"(#|::)", why.proof, maxsplit=1)
    if mark == "::":
        assert re.search(rf"^def {what}\(", (ROOT / file).read_text(), re.MULTILINE)
        assert why.kind == "needed"  # that figures are alike shows in a recording alone
        return
    library, place, left_out = what.split(", ")
    assert left_out == name
    rows = json.loads((ROOT / file).read_text())["rows"]
    said = [
        row["says"]
        for row in rows
        if (row["library"], row["launch"], row["name"]) == (library, place, name)
    ]
    shows = {"needed": {"does not run", "elsewhere", "differs"}, "harmless": {"alike"}}
    assert len(said) == 1
    assert said[0] in shows[why.kind]
    if why.kind == "harmless":  # nor is it otherwise in another place
        assert {row["says"] for row in rows if row["name"] == name} <= {"alike", "open"}


def test_occasions_are_known() -> None:
    occasions = {occasion for owner in given.reasons().values() for occasion in owner}
    assert occasions == set(given.OCCASIONS)


def test_a_search_leaves_alone_what_is_needed_and_what_a_module_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"NEEDED": "1", "HARMLESS": "2", "UNPROVEN": "4"}
    library = made_library("a", entry="a", env={**own, "OTHER": "3"})
    classes = {"NEEDED": "needed", "HARMLESS": "harmless", "UNPROVEN": "unproven"}
    why = {name: given.Justification(kind=kind, reason="x") for name, kind in classes.items()}
    monkeypatch.setattr(given, "reasons", lambda: {"library a": {"always": why}})
    assert given.fixed(library) == {"NEEDED": "1", "OTHER": "3"}


def from_wheel(name: str) -> Library:
    entry = catalogue.entry(name)
    known: Any = {"family": entry.family, "version": entry.version, "env": entry.environment}
    return made_library(name, entry=name, origin="installed", **known)


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("openmpi", {"OPAL_PREFIX"}),
        (
            "openmpi-cuda",
            {
                *("OPAL_PREFIX", "UCX_MODULE_DIR", "OMPI_MCA_pml", "OMPI_MCA_btl"),
                "OMPI_MCA_opal_common_ucx_devices",
            },
        ),
        ("mpich", {"MPIR_CVAR_ENABLE_GPU"}),
        (
            "intel",
            {
                *("I_MPI_ROOT", "FI_PROVIDER", "I_MPI_PIN"),
                "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT",
            },
        ),
    ],
)
def test_launches_may_do_without_what_nobody_knows_to_be_needed(name: str, free: set[str]) -> None:
    assert {each.name for each in given.dispensable(from_wheel(name))} == free


@pytest.mark.parametrize(
    ("name", "variable", "why"),
    [
        (
            "intel",
            "I_MPI_OFFLOAD",
            "the path, the launcher or the library needs it (it takes device buffers: without",
        ),
        (
            "openmpi",
            "LD_LIBRARY_PATH",
            "the path, the launcher or the library needs it (the folder of the library",
        ),
        ("mpich", "UCX_TLS", "the path, the launcher or the library needs it (the netmod UCX"),
        (
            "mpich",
            "UCX_NET_DEVICES",
            "the path, the launcher or the library needs it (what runs over UCX takes",
        ),
        ("intel", "I_MPI_PNI", "Nearpeak gives it no launch of intel; did you mean 'I_MPI_PIN'?"),
        ("intel", "I_MPI_ROOT", "launches inherit it from your shell: unset it there"),
    ],
)
def test_what_settings_cannot_leave_out(
    name: str, variable: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("I_MPI_ROOT", "/opt/intel")
    library = from_wheel(name)
    given.check_unset(
        library, Settings(unset=[each.name for each in given.dispensable(library)][1:])
    )
    message = f"settings 'mine' cannot leave out {variable}: {why}"
    with pytest.raises(UserError, match=re.escape(message)):
        given.check_unset(library, Settings(name="mine", unset=[variable]))


def test_flags_of_a_line() -> None:
    argv = ["mpirun", "--root", "--mca", "pml", "ob1", "--nodes=2", "-x", "A", "-n", "2", "taskset"]
    found = given.flags([*argv, "-c", "0", "p", "-n", "1"], ["p", "-n", "1"])
    names = ["--root", "--mca pml", "--nodes", "-x", "-n", "taskset"]
    assert [flag.name for flag in found] == names
    assert found[-1].words == ["taskset", "-c", "0"]
    assert [flag.name for flag in given.flags(["mpiexec", "-n", "2", "p"], ["p"])] == ["-n"]
