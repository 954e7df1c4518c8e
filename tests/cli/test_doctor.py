# SPDX-License-Identifier: Apache-2.0
"""`nearpeak doctor`, as a user runs it."""

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from nearpeak.cli.main import build_app
from nearpeak.launching import hosts, paths
from nearpeak.machine import doctor
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Diagnosis, Machine

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


def test_what_nodes_of_a_job_have_in_common_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = discover()
    other = msgspec.structs.replace(here, cpu_model="Other CPU", diagnoses=[OK, BAD])
    monkeypatch.setattr(doctor, "examine", lambda **_: [OK, WARN])
    monkeypatch.setattr(paths, "hosts_of_job", lambda: ["a", "b", "c", "d"])

    def describe(
        here: Machine, hosts: list[str], remote_shell: None, ranks: int
    ) -> dict[str, Machine | str]:
        assert (hosts, remote_shell, ranks) == (["a", "b", "c", "d"], None, 2)
        return {"a": here, "b": other, "c": here, "d": "no answer"}

    monkeypatch.setattr(hosts, "describe", describe)
    result = run()
    assert result.exit_code == 1
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "ok cores a, b, c: 8 cores" not in lines
    assert "ok cores 8 cores" in lines
    assert "warn governor a, c: [red]slow" in lines
    assert "bad load b: busy" in lines
    assert "Hosts that are alike: a, c" in lines
    assert f"b differs: CPU: Other CPU, here {here.cpu_model}" in lines
    assert "d does not say what it is: no answer" in lines
    told = json.loads(run("--json").output)
    assert [one["id"] for one in told["nodes"]["b"]] == ["cores", "load"]
    assert (list(told["differ"]), told["unknown"]) == (["b"], {"d": "no answer"})


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
