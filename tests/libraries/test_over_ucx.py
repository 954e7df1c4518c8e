# SPDX-License-Identifier: Apache-2.0
"""Libraries that take their adapter from UCX_NET_DEVICES, and others."""

from pathlib import Path

import pytest
from made_libraries import made_library

from nearpeak.libraries.library import Settings
from nearpeak.libraries.over_ucx import sends_over_ucx

USUAL = Settings(name="default")


@pytest.fixture(autouse=True)
def no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_MCA_pml", "MPIR_CVAR_CH4_NETMOD"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("content", [b"... libucp.so.0 ...", b""])
def test_open_mpi_that_was_built_with_ucx(tmp_path: Path, content: bytes) -> None:
    libmpi = tmp_path / "libmpi.so.40"
    libmpi.write_bytes(content)
    library = made_library(libmpi=libmpi)
    assert sends_over_ucx(library, USUAL) == bool(content)
    (tmp_path / "openmpi").mkdir()
    (tmp_path / "openmpi/mca_pml_ucx.so").touch()
    assert sends_over_ucx(library, USUAL)
    assert not sends_over_ucx(library, Settings(name="ob1", flags=["--mca", "pml", "ob1"]))
    assert not sends_over_ucx(library, Settings(name="ob1", env={"OMPI_MCA_pml": "ob1"}))


@pytest.mark.parametrize(
    ("family", "text", "by_ucx"),
    [
        ("mpich", "MPICH Version: 5.0.2\nMPICH Device:       ch4:ucx ofi\n", True),
        ("mpich", "MPICH Version: 4.2.0\nMPICH Device:\tch4:ofi\n", False),
        ("mvapich", "MVAPICH Version: 4.0\nMVAPICH Device: ch4:ucx\n", True),
        ("intel", "Intel(R) MPI Library 2021.19.0 for Linux* OS\n", False),
    ],
)
def test_the_netmod_of_others(family: str, text: str, by_ucx: bool) -> None:
    library = made_library(family=family, version_text=text)
    assert sends_over_ucx(library, USUAL) == by_ucx
    other = Settings(name="ofi", env={"MPIR_CVAR_CH4_NETMOD": "ofi"})
    assert not sends_over_ucx(library, other)
