# SPDX-License-Identifier: Apache-2.0
"""Families recognise themselves by recorded version texts, and nothing else."""

from pathlib import Path

import pytest
from made_libraries import made_library

from nearpeak.libraries.families import all_families, recognise

# Recorded from the libraries themselves (build options of MPICH shortened).
OPEN_MPI_5 = (
    "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11, "
    "repo rev: v5.0.11rc1, Sep 16, 2026"
)
OPEN_MPI_4 = (
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
)
MPICH_5 = (
    "MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25 20:45:26 UTC 2026\n"
    "MPICH ABI:          18:2:6\nMPICH Device:       ch4:ucx ofi\n"
)
MPICH_4 = (
    "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"
    "MPICH ABI:\t14:2:2\nMPICH Device:\tch4:ucx\n"
)
INTEL = "Intel(R) MPI Library 2021.19.0 for Linux* OS\n"
# Written by hand, from memory of the form; the real libraries were not at hand.
MVAPICH2 = "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02 2022\n"
MVAPICH2_GDR = "MVAPICH2-GDR Version      :\t2.3.7\n"
MVAPICH = "MVAPICH Version:      3.0\nMVAPICH Release date: 02/29/2024\n"
SPECTRUM = "IBM Spectrum MPI v10.4.0.6, package: IBM Spectrum MPI, ident: 10.4.0.6\n"
SPECTRUM_AS_OPEN_MPI = "Open MPI v10.3.1, package: IBM Spectrum MPI 10.3.1 Distribution\n"
CRAY = "MPI VERSION    : CRAY MPICH version 8.1.29.8 (ANL base 3.4a2)\nMPI BUILD INFO : ...\n"


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        (OPEN_MPI_5, "openmpi", "5.0.11"),
        (OPEN_MPI_4, "openmpi", "4.1.4"),
        (MPICH_5, "mpich", "5.0.2"),
        (MPICH_4, "mpich", "4.0.2"),
        (INTEL, "intel", "2021.19.0"),
        (MVAPICH2, "mvapich", "2.3.7"),
        (MVAPICH2_GDR, "mvapich", "2.3.7"),
        (MVAPICH, "mvapich", "3.0"),
        (CRAY, "cray", "8.1.29.8"),
        (SPECTRUM, "spectrum", "10.4.0.6"),
        (SPECTRUM_AS_OPEN_MPI, "spectrum", "10.3.1"),
    ],
)
def test_recognises_exactly_one(text: str, family: str, version: str) -> None:
    claims = {known.name: known.version(text) for known in all_families().values()}
    assert {name for name, claim in claims.items() if claim} == {family}
    recognised = recognise(text)
    assert recognised is not None
    assert (recognised[0].name, recognised[1]) == (family, version)


@pytest.mark.parametrize("text", ["", "some MPI 1.0", "not Open MPI v5.0.11", "MPICH"])
def test_unknown_texts_are_not_guessed(text: str) -> None:
    assert recognise(text) is None


def test_each_is_named_like_its_file_and_complete() -> None:
    families = all_families()
    assert {"openmpi", "mpich", "intel", "mvapich", "cray", "spectrum"} <= set(families)
    for name, family in families.items():
        assert family.name == name
        if family.native:  # no MPI: nothing is built, nothing is started
            assert family.native.family == name
            continue
        if family.mode:  # no MPI either: nearpeak-native loads it
            continue
        assert family.abi in ("openmpi", "mpich")
        assert family.launcher in ("prrte", "orte", "hydra", "srun")


@pytest.mark.parametrize("folder", ["opt/mpi/libfabric/lib", "libfabric/lib", "lib/libfabric"])
def test_intel_mpi_takes_the_libfabric_that_it_brings(tmp_path: Path, folder: str) -> None:
    own = tmp_path / folder / "libfabric.so.1"
    own.parent.mkdir(parents=True)
    own.touch()
    library = made_library("intel", family="intel", prefix=tmp_path)
    env = all_families()["intel"].environment(library)
    assert env == {
        "I_MPI_ROOT": str(tmp_path),
        "I_MPI_OFI_LIBRARY": str(own),
        "FI_PROVIDER_PATH": str(own.parent / "prov"),
    }
