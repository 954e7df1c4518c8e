# SPDX-License-Identifier: Apache-2.0
"""Variables that launches inherited."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from nearpeak.compare.variables import inherited
from nearpeak.machine.doctor import VARIABLES
from nearpeak.observations.load import load
from nearpeak.observations.observed import Observations
from nearpeak.terms.identity import CEILING, Who

ALPHA = Who("alpha")


def observed(
    *launches: tuple[int, Who, dict[str, str]], named: tuple[str, ...] = ()
) -> Observations:
    """Of launches, each with its session, whose it is, and its variables."""
    said = SimpleNamespace(id=VARIABLES, variables=list(named))
    found: Any = SimpleNamespace(
        machine=SimpleNamespace(diagnoses=[said]),
        launches=[
            SimpleNamespace(
                block=SimpleNamespace(session=session),
                who=who,
                tick_ns=1.0,
                conditions={"library version": "1", **{f"env {k}": v for k, v in env.items()}},
            )
            for session, who, env in launches
        ],
    )
    return cast(Observations, found)


def test_what_ceilings_have_was_inherited() -> None:
    launcher = {"OMPI_MCA_num_procs": "2"}
    found = observed(
        (0, CEILING, {"UCX_TLS": "tcp"}),
        (0, ALPHA, {"UCX_TLS": "all", **launcher}),
        (1, CEILING, {}),
        (1, ALPHA, launcher),
    )
    assert inherited(found) == {0: {"UCX_TLS": "tcp"}, 1: {}}


def test_without_ceilings_doctor_tells_launchers_variables_from_inherited_ones() -> None:
    env = {"UCX_TLS": "tcp", "OMPI_MCA_num_procs": "2"}
    assert inherited(observed((0, ALPHA, env), named=("UCX_TLS",))) == {0: {"UCX_TLS": "tcp"}}


def test_what_differs_from_launch_to_launch_was_not_inherited() -> None:
    launches = [(0, CEILING, {"PMIX_MCA_x": job, "UCX_TLS": "tcp"}) for job in ("1", "2")]
    assert inherited(observed(*launches)) == {0: {"UCX_TLS": "tcp"}}


def test_where_libraries_and_our_own_daemon_lie_is_no_setting() -> None:
    env = {"I_MPI_ROOT": "/opt", "CUDA_MPS_PIPE_DIRECTORY": "/tmp/nearpeak-mps-1"}
    assert inherited(observed((0, CEILING, env))) == {0: {}}


def test_they_are_read_from_the_records(make_sides: Callable[..., Path]) -> None:
    folder = make_sides("study", blocks=1, variables={"UCX_TLS": "tcp"})
    assert inherited(load(folder)) == {0: {"UCX_TLS": "tcp"}}
