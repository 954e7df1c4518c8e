# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run`: on stand-ins, and for real where a library is installed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
Nearpeak = Callable[..., tuple[int, str, str]]


def test_run_prints_its_line_and_the_programs_exit_status(
    nearpeak: Nearpeak,
) -> None:
    words = ["latency", "--mpi", "one", "--sizes", "8", "--calls", "blocking", "--reuse", "fixed"]
    code, _, err = nearpeak("run", *words)
    assert code == 0
    assert "latency --sizes 8 --calls blocking" in err
    code, _, err = nearpeak("run", *words, "--settings-env", "NEARPEAK_FAKE=wrong")
    assert code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("latncy", "--mpi", "one"), "unknown benchmark 'latncy': choose one of latency, bw"),
        (("latency", "--mpi", "three"), "unknown MPI library 'three'"),
        (("latency", "--mpi", "one", "--calls", "x"), "calls cannot be 'x'"),
        (("latency", "--mpi", "one", "--calls=x"), "calls cannot be 'x'"),
        (("latency", "--mpi", "one", "--sizes", "x"), "'x' is no size"),
        (("latency", "--mpi", "one", "--path", "x"), "unknown path 'x'"),
        (("latency", "--mpi", "one", "--hosts", "a"), "name two different hosts"),
        (("latency", "--mpi", "one", "--settings-env", "A"), "'A': write NAME=VALUE"),
    ],
)
def test_bad_input_of_run_is_one_line(
    nearpeak: Nearpeak, words: tuple[str, ...], message: str
) -> None:
    code, _, err = nearpeak("run", *words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_real_launch_prints_its_table(name: str) -> None:
    from nearpeak.libraries.discover import resolve

    try:
        resolve(name)
    except UserError as error:
        pytest.skip(f"{name} is not there: {error}")
    options = ["--sizes", "8,1K", "--slot-ms", "5", "--calls", "nonblocking"]
    done = subprocess.run(
        [NEARPEAK, "run", "latency", "--mpi", name, *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nearpeak-mpi latency --sizes 8,1K" in done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["8", "1024"]
    assert all(0 < float(row[1]) < 1e5 for row in rows)
