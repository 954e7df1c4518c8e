# SPDX-License-Identifier: Apache-2.0
"""The `module` command: its listings, and what loading changes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries import modules

# Written by hand, after Environment Modules' and Lmod's terse listings.
TCL = """\
/usr/share/modules/modulefiles:
dot
/opt/modules:
gcc/12.2
openmpi/4.1.5
openmpi/5.0.3(default)
mpi4py/4.0
"""
LMOD = """\
/apps/modulefiles/Core:
gcc/
gcc/12.2 (D)
intel-mpi/2021.13 <L>
cray-mpich/8.1.29 (L,D)
mvapich2/2.3.7-gdr
fftw/3.3-openmpi
"""
MODULES_5 = """\
/apps/modules:
openmpi/5.0.3(default:stable) <L>
mpich/4.2(@)
"""


def test_listings_are_parsed() -> None:
    assert modules.parse_avail(TCL) == [
        "dot",
        "gcc/12.2",
        "openmpi/4.1.5",
        "openmpi/5.0.3",
        "mpi4py/4.0",
    ]
    assert modules.parse_avail(LMOD) == [
        "gcc/12.2",
        "intel-mpi/2021.13",
        "cray-mpich/8.1.29",
        "mvapich2/2.3.7-gdr",
        "fftw/3.3-openmpi",
    ]
    assert modules.parse_avail(MODULES_5) == ["openmpi/5.0.3", "mpich/4.2"]


@pytest.mark.parametrize(
    "name",
    [
        *("openmpi/5", "mpi/openmpi-x86_64", "mpich/4", "intel-mpi/1", "impi/2", "mvapich2/2"),
        *("hpcx", "openmpi4/4.1.4", "openmpi_gcc/5.0", "intel-oneapi-mpi-2021.10.0-gcc-12"),
        *("nvhpc-hpcx/24.7", "nvhpc-openmpi3/24.7"),
    ],
)
def test_worth_a_look(name: str) -> None:
    assert modules.WORTH_A_LOOK.search(name)


@pytest.mark.parametrize("name", ["mpi4py/4.0", "fftw/3.3-openmpi", "mpip/3", "gcc/12", "compiler"])
def test_not_worth_a_look(name: str) -> None:
    assert not modules.WORTH_A_LOOK.search(name)


def test_available_and_loaded(module_command: Callable[[str, str], None]) -> None:
    module_command(TCL, 'export LD_LIBRARY_PATH="/opt/a b" MPI_OF="$2"')
    assert modules.available() == ["openmpi/4.1.5", "openmpi/5.0.3"]
    env = modules.environment_of("openmpi/4.1.5")
    assert env["LD_LIBRARY_PATH"] == "/opt/a b"
    assert env["MPI_OF"] == "openmpi/4.1.5"
    assert "HOME" not in env  # was there before


def test_a_name_is_never_run(module_command: Callable[[str, str], None], tmp_path: Path) -> None:
    module_command(TCL, 'export LOADED="$2"')
    name = f"openmpi/$(touch {tmp_path}/run)"
    assert modules.environment_of(name)["LOADED"] == name
    assert not (tmp_path / "run").exists()


def test_a_module_that_fails_gives_nothing(module_command: Callable[[str, str], None]) -> None:
    module_command(TCL, "export HALF=done; return 1")
    assert modules.environment_of("openmpi/4.1.5") == {}


def test_no_module_command(bare: Path) -> None:
    assert bare.exists()
    assert modules.available() == []
