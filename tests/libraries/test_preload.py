# SPDX-License-Identifier: Apache-2.0
"""What ranks load before their MPI library."""

from pathlib import Path

import pytest
from made_libraries import made_library

from nearpeak.libraries import launch, preload
from nearpeak.libraries.library import Launch, Library, Rank, Settings

BUILT = Path("/cache/libnearpeak-layer.so")


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that nobody compiles, and nothing else that is preloaded."""
    monkeypatch.setattr(preload, "build_layer", lambda _library: BUILT)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv(preload.PASSED_ON, raising=False)


def library(*, layer: bool) -> Library:
    places = {"launcher": Path("/opt/mpi/bin/mpirun"), "libmpi": Path("/opt/mpi/lib/libmpi.so.12")}
    return made_library("mpich", family="mpich", layer=layer, **places)


def started(**env: str) -> Launch:
    ranks = [Rank(cpus=[0]), Rank(cpus=[1])]
    return Launch(program=["app"], ranks=ranks, gpu=True, settings=Settings(env=env))


def test_a_launch_without_the_layer_is_as_it_was() -> None:
    plain = library(layer=False)
    assert preload.command_line(plain, started()) == launch.command_line(plain, started())


def test_with_the_layer_the_library_below_sees_host_memory_alone() -> None:
    line = preload.command_line(library(layer=True), started())
    assert line.env["LD_PRELOAD"] == str(BUILT)
    assert "MPIR_CVAR_ENABLE_GPU" not in line.env
    assert "MPIR_CVAR_ENABLE_GPU" in preload.command_line(library(layer=False), started()).env


def test_what_is_preloaded_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with_layer = library(layer=True)
    line = preload.command_line(with_layer, started(LD_PRELOAD="/other.so"))
    assert line.env["LD_PRELOAD"] == f"{BUILT}:/other.so"
    monkeypatch.setenv("LD_PRELOAD", f"/mine.so:{BUILT}")
    assert preload.command_line(with_layer, started()).env["LD_PRELOAD"] == f"{BUILT}:/mine.so"


def test_a_command_of_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mpich, openmpi = library(layer=False), made_library(abi="openmpi")
    own = {"NEARPEAK_LAYER": "require"}
    assert preload.environment(mpich, BUILT, own) == {"LD_PRELOAD": str(BUILT), **own}
    passed_on = {preload.PASSED_ON: "LD_PRELOAD;NEARPEAK_LAYER"}
    assert preload.environment(openmpi, BUILT, own) == {
        "LD_PRELOAD": str(BUILT),
        **own,
        **passed_on,
    }
    monkeypatch.setenv(preload.PASSED_ON, "HOME")
    added = preload.environment(openmpi, BUILT, {})
    assert added[preload.PASSED_ON] == "HOME;LD_PRELOAD"
    assert preload.PASSED_ON not in preload.environment(openmpi, BUILT, {}, ["mpirun", "-x", "A"])


def test_the_layer_stands_behind_what_counts_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """`nearpeak trace` around `nearpeak layer`: counted are the calls of the application."""
    trace, openmpi = Path("/cache/libnearpeak-trace.so"), made_library(abi="openmpi")
    for loaded, expected in {
        str(trace): f"{trace}:{BUILT}",
        f"{trace}:/other.so": f"{trace}:{BUILT}:/other.so",
        f"/other.so {trace}": f"/other.so:{trace}:{BUILT}",
        f"{trace}:{BUILT}": f"{trace}:{BUILT}",
    }.items():
        monkeypatch.setenv("LD_PRELOAD", loaded)
        assert preload.environment(library(layer=False), BUILT, {})["LD_PRELOAD"] == expected
        line = preload.command_line(library(layer=True), started())
        assert line.env["LD_PRELOAD"] == expected
    # The other way round it stands there by itself, and no name is told twice.
    monkeypatch.setenv("LD_PRELOAD", str(BUILT))
    monkeypatch.setenv(preload.PASSED_ON, "LD_PRELOAD;NEARPEAK_LAYER")
    added = preload.environment(openmpi, trace, {"NEARPEAK_TRACE": "/tmp/folder"})
    assert added["LD_PRELOAD"] == f"{trace}:{BUILT}"
    assert added[preload.PASSED_ON] == "LD_PRELOAD;NEARPEAK_LAYER;NEARPEAK_TRACE"
