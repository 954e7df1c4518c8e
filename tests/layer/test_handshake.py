# SPDX-License-Identifier: Apache-2.0
"""Whether the layer is on, which all ranks decide in MPI_Init."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_layer
from nearpeak.libraries.discover import resolve

mpich = pytest.mark.parametrize("application", ["mpich"], indirect=True)
openmpi = pytest.mark.parametrize("application", ["openmpi"], indirect=True)

# Leaves the layer out on one rank.
WITHOUT = ("sh", "-c", '[ "$PMI_RANK" = "$0" ] && unset LD_PRELOAD; exec "$@"')


@mpich
def test_it_is_silent(application: Any) -> None:
    done = application.run("host_alone")
    assert (done.code, done.good(), done.err) == (0, ["host_alone"], "")


@mpich
@pytest.mark.parametrize(("mode", "code"), [("on", 0), ("require", 2), ("off", 0)])
def test_no_driver(application: Any, mode: str, code: int) -> None:
    env = {"NEARPEAK_CUDA_LIBRARY": "/nowhere/libcuda.so", "NEARPEAK_LAYER": mode}
    done = application.run("host_alone", env=env)
    assert done.code == code
    assert done.good() == ([] if code else ["host_alone"])
    if mode == "off":
        assert done.said() == []
        return
    [line] = done.said()
    begin = "it must be on, and is not: " if mode == "require" else "off: "
    assert line.startswith(
        f"nearpeak layer: {begin}no rank has a driver of GPUs (/nowhere/libcuda.so"
    )


@mpich
@pytest.mark.parametrize(("rank", "begin"), [("0", "it must be on, and is not"), ("1", "off")])
def test_a_rank_without_the_layer(application: Any, rank: str, begin: str) -> None:
    """It goes on without, but for rank 0: that would have messages which it does not receive."""
    env = {"NEARPEAK_LAYER_HANDSHAKE": "1"}
    done = application.run("host_alone", ranks=3, env=env, before=(*WITHOUT, rank))
    [line] = done.said()
    assert line == (
        f"nearpeak layer: {begin}: 1 of 3 ranks have no layer of this build, as rank {rank}: set"
        " LD_PRELOAD on all of them, or NEARPEAK_LAYER_HANDSHAKE to more seconds"
    )
    assert done.good() == (["host_alone"] if begin == "off" else [])
    assert done.code == (0 if begin == "off" else 2)


@mpich
def test_a_wrong_variable(application: Any) -> None:
    done = application.run("host_alone", env={"NEARPEAK_LAYER_INLINE": "2M"})
    assert done.code == 2
    line = "nearpeak layer: NEARPEAK_LAYER_INLINE is '2M': give a number from 0 to 1048576"
    assert set(done.said()) == {line}


@openmpi
def test_a_second_layer(application: Any, tmp_path: Path) -> None:
    """Where it would take the calls of the first: MPICH's layer calls the library itself."""
    second = shutil.copy(build_layer(application.library), tmp_path / "second.so")
    done = application.run("host_alone", env={"LD_PRELOAD": str(second)})
    assert done.code != 0
    assert {line.partition(": ")[2] for line in done.said()} == {
        "two layers are loaded: name one in LD_PRELOAD, the one of this program's MPI library"
    }


@mpich
def test_the_layer_of_another_abi(application: Any) -> None:
    other = build_layer(resolve("openmpi"))
    before = ("env", f"LD_PRELOAD={other}")
    done = application.run("host_alone", before=before)
    assert done.code == 2
    assert all("for the ABI of another MPI library" in line for line in done.said())


@mpich
def test_who_requires_it_learns_that_ranks_have_come_to_it(
    application: Any, tmp_path: Path
) -> None:
    mark = tmp_path / "reached"
    done = application.run("host_alone", env={"NEARPEAK_LAYER_REACHED": str(mark)})
    assert (done.code, done.err, mark.is_file()) == (0, "", True)


@pytest.mark.parametrize(("mode", "code"), [("on", 0), ("require", 2)])
def test_an_application_with_sessions_alone(sessions: Any, mode: str, code: int) -> None:
    """It is told, once."""
    done = sessions.run("alone", env={"NEARPEAK_LAYER": mode})
    begin = "it must be on, and is not" if code else "off"
    assert done.said() == [
        f"nearpeak layer: {begin}: the application has made a communicator out of a session before "
        "MPI_Init, in which ranks agree on the layer"
    ]
    assert (done.code, done.out) == (code, "" if code else "sum 1\n")


def test_an_application_with_sessions_beside_mpi_init(sessions: Any) -> None:
    done = sessions.run("both", env={"NEARPEAK_LAYER": "require"})
    assert (done.code, done.said(), done.out) == (0, [], "sum 1\n")


@openmpi
@pytest.mark.parametrize(("mode", "code"), [("on", 0), ("require", 2)])
def test_the_launcher_of_another_library(application: Any, mode: str, code: int) -> None:
    """Each process is alone to the MPI library."""
    of_another = ("env", "-u", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE=2", "PMI_RANK=0")
    env = {"NEARPEAK_LAYER": mode}
    done = application.run("host_alone", ranks=1, before=of_another, env=env)
    begin = "it must be on between all ranks, and is not: " if code else ""
    assert done.said() == [
        f"nearpeak layer: {begin}each process is alone: MPI_COMM_WORLD has 1, and the launcher has "
        "started 2 (PMI_SIZE): take the launcher of this program's MPI library"
    ]
    assert (done.code, done.good()) == (code, [] if code else ["host_alone"])
