# SPDX-License-Identifier: Apache-2.0
"""Versions of PMIx of launchers, ranks and servers, by stand-ins for the libraries."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine import pmix
from nearpeak.machine.machine import Diagnosis, unknown
from nearpeak.machine.patient import Patient
from nearpeak.machine.tree import Tree

Check = Callable[..., list[Diagnosis]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Checks an environment: `mpirun`, `path` are the versions beside it and on LD_LIBRARY_PATH."""
    monkeypatch.setattr(pmix, "_ask", lambda file: pmix.version_of(file.read_text()))

    def checked(
        mpirun: str = "", path: str = "", srun: str = "", **environment: str
    ) -> list[Diagnosis]:
        for folder, version in (("mpi/lib", mpirun), ("other", path)):
            (tmp_path / folder).mkdir(parents=True)
            if version:
                (tmp_path / folder / pmix.NAME).write_text(version)
        for program, text in (("mpirun", mpirun), ("srun", srun)):
            if text:
                file = tmp_path / "mpi/bin" / program
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"#!/bin/sh\nprintf '{text}'\n")
                file.chmod(0o755)
        environment |= {"PATH": str(tmp_path / "mpi/bin")}
        if path:
            environment["LD_LIBRARY_PATH"] = f":{tmp_path / 'none'}:{tmp_path / 'other'}"
        tree = Tree(Path("/"))
        patient = Patient(
            tree=tree,
            nvidia=tree,
            machine=unknown(),
            ranks=2,
            settings_files=[],
            environment=environment,
        )
        return list(pmix.pmix_checks(patient))

    return checked


@pytest.mark.parametrize(
    ("mpirun", "path", "words"),
    [
        ("OpenPMIx 5.0.3", "OpenPMIx 4.2.2", ["4.2", "5.0"]),
        ("OpenPMIx 4.2.9", "3.1.4", ["3.1", "4.2"]),
        ("OpenPMIx 5.0.3rc1 (PMIx Standard: 5.1)", "PMIx 2.2.5", ["2.2", "5.0"]),
    ],
)
def test_another_library_on_the_path(
    check: Check, mpirun: str, path: str, words: list[str]
) -> None:
    (finding,) = check(mpirun, path)
    assert finding.severity == "warn"
    assert all(f"PMIx {word} (" in finding.message for word in words)
    assert "out of LD_LIBRARY_PATH" in finding.hint


@pytest.mark.parametrize(
    ("server", "severity"), [("4.2.9", "ok"), ("5.0.3", "warn"), ("3.2.3", "warn")]
)
def test_the_server_of_a_step(check: Check, server: str, severity: str) -> None:
    (finding,) = check("OpenPMIx 4.2.2", PMIX_VERSION=server)
    assert finding.severity == severity
    assert "PMIX_VERSION" in finding.message


TYPES = "MPI plugin types are...\\n\\tnone\\n\\tpmix\\n{}specific pmix plugin versions available\\n"


@pytest.mark.parametrize(
    ("mpirun", "plugins", "severity"),
    [
        ("OpenPMIx 5.0.3", ["pmix_v3"], "warn"),
        ("OpenPMIx 3.2.1", ["pmix_v4", "pmix_v5"], "warn"),
        ("OpenPMIx 4.2.2", ["pmix_v4", "pmix_v5"], "ok"),
        ("OpenPMIx 4.2.2", [], None),
    ],
)
def test_slurms_plugins(
    check: Check, mpirun: str, plugins: list[str], severity: str | None
) -> None:
    srun = TYPES.format("".join(f"\\t{plugin}\\n" for plugin in plugins))
    findings = check(mpirun, srun=srun, SLURM_JOB_ID="1")
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


def test_what_is_not_known_is_not_said(check: Check) -> None:
    assert check(PMIX_VERSION="4.2.9") == []


def test_outside_of_a_job_slurm_is_not_asked(check: Check) -> None:
    assert check("OpenPMIx 5.0.3", srun=TYPES.format("\\tpmix_v3\\n")) == []


def test_a_file_that_is_no_library_has_no_version(tmp_path: Path) -> None:
    (tmp_path / pmix.NAME).write_text("no library")
    assert pmix._ask(tmp_path / pmix.NAME) is None
