# SPDX-License-Identifier: Apache-2.0
"""Whose settings variables are."""

import pytest

from nearpeak.libraries.variables import may_read


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("OMPI_MCA_btl", {"openmpi", "spectrum"}),
        ("MPIR_CVAR_NOLOCAL", {"mpich", "intel"}),
        ("I_MPI_FABRICS", {"intel"}),
        ("UCX_TLS", {"openmpi", "mpich", "intel", "spectrum", "nccl", "unheard of"}),
        ("NCCL_P2P_DISABLE", {"nccl"}),
    ],
)
def test_who_may_read_them(name: str, families: set[str]) -> None:
    known = ("openmpi", "mpich", "intel", "spectrum", "nccl", "unheard of", "")
    assert {family for family in known if may_read(family, name)} == families
