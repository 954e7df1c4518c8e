# SPDX-License-Identifier: Apache-2.0
"""`nearpeak doctor`, as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nearpeak.cli.main import build_app
from nearpeak.machine import doctor
from nearpeak.machine.machine import Diagnosis

OK = Diagnosis(severity="ok", id="cores", message="8 cores")
WARN = Diagnosis(severity="warn", id="governor", message="[red]slow", hint="make it fast")
BAD = Diagnosis(severity="bad", id="load", message="busy", hint="wait")


def run(*words: str) -> Result:
    return CliRunner().invoke(build_app(), ["doctor", *words], catch_exceptions=False)


@pytest.mark.parametrize(("findings", "status"), [([OK, WARN], 0), ([OK, WARN, BAD], 1)])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_only_what_is_bad_fails(
    monkeypatch: pytest.MonkeyPatch, findings: list[Diagnosis], status: int, form: list[str]
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda **_: findings)
    result = run(*form)
    assert result.exit_code == status
    for finding in findings:
        assert finding.message in result.output
        assert finding.hint in result.output


def test_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ucx.conf").write_text("UCX_TLS=tcp\n")
    monkeypatch.chdir(tmp_path)
    result = run("--json", "--ranks", "1")
    told = json.loads(result.output)
    assert told["schema"] == 1
    assert told["ranks"] == 1
    found = {finding["id"]: finding for finding in told["findings"]}
    assert found["settings-file"]["severity"] == "bad"
    assert found["cores"]["severity"] == "ok"
    assert result.exit_code == 1


def test_more_ranks_than_cores_is_bad() -> None:
    assert run("--ranks", "100000").exit_code == 1


@pytest.mark.parametrize("words", [["--ranks", "0"], ["--ranks", "two"], ["--what"]])
def test_bad_options(words: list[str]) -> None:
    assert run(*words).exit_code == 2
