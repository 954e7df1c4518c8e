# SPDX-License-Identifier: Apache-2.0
"""Uses of MPI that applications have beside sending, with the layer."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from layer_programs import cases_of

from nearpeak.libraries.build import build_trace
from nearpeak.trace.read import merge, read

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


def test_a_device_that_is_reset_after_the_last_message(uses: Any) -> None:
    done = uses.run("reset_last")
    assert (done.code, done.good()) == (0, ["reset_last"]), done.err


@pytest.mark.parametrize("names", ["local", "for_all"])
def test_functions_that_are_looked_up_by_the_librarys_handle(looked_up: Any, names: str) -> None:
    """As ctypes, numba and Julia do it."""
    done = looked_up.run(str(looked_up.library.libmpi), names)
    assert (done.code, sorted(done.out.splitlines())) == (0, ["rank 0 got 2", "rank 1 got 1"]), done


@pytest.mark.parametrize("uses", ["mpich"], indirect=True)
def test_a_program_ends_while_kernels_are_compiled(
    uses: Any, fake_nvrtc: Path, tmp_path: Path
) -> None:
    """By a compiler that ends with the program, whatever is still under way."""
    compiler = shutil.copy(fake_nvrtc, tmp_path)  # which has compiled nothing yet
    env = {"NEARPEAK_NVRTC_LIBRARY": str(compiler), "NEARPEAK_FAKE_NVRTC_ENDS": "1"}
    done = uses.run("bottom", fake="reachable=1,mps=1", env=env)
    assert (done.code, done.good()) == (0, ["bottom"]), done.err
    assert list(tmp_path.glob("fake-kernels-*.so"))


def test_calls_are_counted_with_the_layer(uses: Any, tmp_path: Path) -> None:
    """Those of the application: `nearpeak trace` stands before the layer, whichever is named
    first."""
    env = {"LD_PRELOAD": str(build_trace(uses.library)), "NEARPEAK_TRACE": str(tmp_path)}
    done = uses.run("buffered_again", env=env)
    assert done.good() == ["buffered_again"], done.err
    calls: Counter[str] = Counter()
    entries = merge([read(file) for file in tmp_path.glob("*.trace")])
    for entry in entries:
        calls[entry.operation] += entry.calls
    of_the_layer = {"MPI_Irecv", "MPI_Isend", "MPI_Test", "MPI_Iprobe"}
    assert calls["MPI_Bsend_init"] == 4
    assert calls["MPI_Recv"] == 20
    assert not of_the_layer & set(calls)
    # Also of requests whose handles change at each start.
    starts = [entry for entry in entries if entry.made_by == "MPI_Bsend_init"]
    assert sum(entry.calls for entry in starts) == 20
    assert sum(entry.bytes for entry in starts) == 20 * 300_000
