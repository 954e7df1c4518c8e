# SPDX-License-Identifier: Apache-2.0
"""Uses of MPI that applications have beside sending, with the layer."""

import re
from typing import Any

import pytest
from layer_programs import cases_of

CASES = cases_of("uses")


@pytest.fixture(scope="session")
def of_two(uses: Any) -> Any:
    """All cases between two ranks, which have a device each."""
    return uses.run(*CASES)


@pytest.fixture(scope="session")
def of_three(uses: Any) -> Any:
    """All between three, of which two share a device, with MPI's calls open to several threads."""
    return uses.run("--multiple", *CASES, ranks=3)


@pytest.mark.parametrize("case", CASES)
def test_two_ranks(of_two: Any, case: str) -> None:
    assert case in of_two.good(), (of_two.out, of_two.err)


@pytest.mark.parametrize("case", CASES)
def test_three_ranks(of_three: Any, case: str) -> None:
    assert case in of_three.good(), (of_three.out, of_three.err)


@pytest.mark.parametrize("why", ["off", "no driver"])
def test_who_asks_while_the_layer_is_off_is_told_no(uses: Any, why: str) -> None:
    """The answer is the library's own."""
    env = {
        "off": {"NEARPEAK_LAYER": "off"},
        "no driver": {"NEARPEAK_CUDA_LIBRARY": "/nowhere/libcuda.so"},
    }[why]
    done = uses.run("asked_without", env=env)
    assert done.good() == ["asked_without"], done.err


@pytest.mark.parametrize(
    ("case", "where"), [("to_host", "memory of the host"), ("to_another", "another one")]
)
def test_a_type_that_leads_out_of_a_device_is_told(uses: Any, case: str, where: str) -> None:
    done = uses.run(case)
    assert done.code not in (0, 139, 11)
    line = re.compile(
        rf"nearpeak layer: rank \d: MPI_Send: a datatype that leads from .* to {where} is not done"
    )
    assert all(line.fullmatch(said) for said in done.said())
    assert done.said()


@pytest.mark.parametrize("names", ["local", "for_all"])
def test_functions_that_are_looked_up_by_the_librarys_handle(looked_up: Any, names: str) -> None:
    """As ctypes, numba and Julia do it."""
    done = looked_up.run(str(looked_up.library.libmpi), names)
    assert (done.code, sorted(done.out.splitlines())) == (0, ["rank 0 got 2", "rank 1 got 1"]), done
