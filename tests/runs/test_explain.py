# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak explain`: real launches, and what is written."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import msgspec
import pytest
from made_libraries import made_profile

from nearpeak.errors import RefusedError, UserError
from nearpeak.explain import launches
from nearpeak.explain.schema import schema
from nearpeak.launching.single import Single
from nearpeak.libraries.build import compiler
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.profiles import build_of, to_toml
from nearpeak.observations.explained import Explanation
from nearpeak.results import reference
from nearpeak.runs import explain as runs

Nearpeak = Callable[..., tuple[int, str, str]]

NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))

# Ends the ranks that have a variable, or a word.
CRASHING = """
#include <csignal>
#include <cstdlib>
#include <cstring>
__attribute__((constructor)) static void crash(int words, char** word) {
  bool wanted = std::getenv(WHERE);
  for (int i = 0; i < words; ++i) wanted = wanted || std::strcmp(word[i], WHERE) == 0;
  if (wanted && std::getenv("PMI_RANK")) std::raise(SIGSEGV);
}
"""

QUICK = ("--sizes", "64K", "--slot-ms", "5", "--no-ask")


@pytest.fixture
def explain(installed: Callable[[str], Any], tmp_path: Path) -> Callable[..., Any]:
    """Runs it in a folder of its own, with MPICH."""
    installed("mpich")

    def run(*words: str, env: dict[str, str] | None = None) -> Any:
        return subprocess.run(
            [NEARPEAK, "explain", *words],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_message_between_two_ranks(explain: Callable[..., Any], tmp_path: Path) -> None:
    done = explain("latency", "--mpi", "mpich", "-o", "found", "--verbose", *QUICK)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found" / "explain.json").read_text())
    jsonschema.validate(found, schema())
    [case] = found["cases"]
    assert (case["size_bytes"], case["missing"], case["lost"]) == (65536, [], 0)
    assert [budget["leg"] for budget in case["budgets"]] == ["there", "back"]
    for budget in case["budgets"]:
        spent = sum(part["time_us"] for part in budget["parts"]) + budget["not_accounted_us"]
        assert spent == pytest.approx(budget["time_us"])
        assert {lane["of"] for lane in budget["lanes"]} <= {"rank"}
    assert case["ceiling"] > 0
    assert "From rank 0 (H) to rank 1 (H): " in done.stdout
    assert "not accounted for" in done.stdout
    page = (tmp_path / "found" / "explain.html").read_text()
    assert "<script" not in page
    assert page.count('<div class="lanes timeline"') == 2
    assert re.search(r"<title>Where the time of a message goes: mpich [\d.]+ on ", page)


def crashing(folder: Path, where: str) -> tuple[str, str]:
    """Options that end the ranks which have this variable, or this word."""
    source, made = folder / "crashing.cpp", folder / "crashing.so"
    source.write_text(CRASHING)
    flags = [f'-DWHERE="{where}"', "-shared", "-fPIC"]
    subprocess.run([*compiler(), *flags, source, "-o", made], check=True)
    return ("--settings-env", f"LD_PRELOAD={made}")


def test_a_library_that_fails_is_one_line(explain: Callable[..., Any], tmp_path: Path) -> None:
    done = explain("latency", "--mpi", "mpich", *QUICK, *crashing(tmp_path, "PATH"), "-o", "found")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("nearpeak: ")
    assert list((tmp_path / "found").iterdir()) == []


def test_where_it_fails_at_one_size_the_other_is_told(
    explain: Callable[..., Any], tmp_path: Path
) -> None:
    words = ("--sizes", "8,64K", *QUICK[2:], *crashing(tmp_path, "64K"), "-o", "found")
    done = explain("latency", "--mpi", "mpich", *words)
    assert done.returncode == 1
    assert "at 64 KiB the library failed: " in done.stdout
    found = json.loads((tmp_path / "found" / "explain.json").read_text())
    jsonschema.validate(found, schema())
    assert [case["size_bytes"] for case in found["cases"]] == [8]
    assert [size["size_bytes"] for size in found["failed"]] == [65536]
    assert "at 64 KiB the library failed: " in (tmp_path / "found" / "explain.html").read_text()


def test_a_launch_that_fails_with_the_tracer_alone(
    explain: Callable[..., Any], tmp_path: Path
) -> None:
    words = crashing(tmp_path, "NEARPEAK_EXPLAIN")
    done = explain("latency", "--mpi", "mpich", *QUICK, *words, "-o", "found")
    assert done.returncode == 0, done.stderr
    assert "with the tracer the launch failed: " in done.stdout
    [case] = json.loads((tmp_path / "found" / "explain.json").read_text())["cases"]
    assert case["value"] > 0
    assert (case["budgets"], case["missing"]) == ([], [0, 1])


def test_a_study_ends_with_its_furthest_messages(
    command: Nearpeak,
    installed: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And `nearpeak explain` looks at the same ones again, also without the file of their settings:
    for it what was found is found anew."""
    library = installed("mpich")
    monkeypatch.chdir(tmp_path)
    env = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}
    profile = made_profile(
        family="mpich", version=library.version, build=build_of(library), env=env
    )
    Path("tuned.toml").write_text(to_toml(profile))
    # All blocks count, however far apart a hypervisor puts the CPUs in them.
    monkeypatch.setattr(reference, "distances", lambda *_: {})
    words = ["study", "--mpi", "mpich@tuned.toml", "--benchmarks", "latency:calls=nonblocking"]
    # Not in the local memory too, whose ceiling takes half a minute.
    words += ["--paths", "host-host same-numa", "--sizes", "64K", "--launches", "2"]
    words += ["--slot-ms", "5", "--explain", "1", "-o", "s"]
    _, _, err = command(*words)
    study, first = tmp_path / "s", tmp_path / "s" / "explained" / "001.json"
    assert first.exists(), err
    found = json.loads((study / "results.json").read_text())["explanations"]
    assert [(one["library"], one["cases"][0]["size_bytes"]) for one in found] == [("mpich", 65536)]
    Path("tuned.toml").unlink()
    assert 'id="explained"' in (study / "report.html").read_text()
    explanation = msgspec.json.decode(first.read_bytes(), type=Explanation)
    asked: list[str] = []

    def look(
        single: Single,
        sizes: Sequence[int],
        words: Sequence[str],
        tell: Callable[[str], None],
        *,
        ask: bool,
    ) -> Explanation:
        asked.append(shell_line(single.line(["--sizes", "64K", *words])))
        assert (list(sizes), list(words), ask) == ([65536], ["--calls", "nonblocking"], False)
        tell("64 KiB")
        return explanation

    monkeypatch.setattr(launches, "explain", look)
    code, _, err = command("explain", "--study", str(study), "--worst", "1", "--no-ask")
    assert code == 0, err
    assert "Looking at 64 KiB" in err
    # The same library, settings, path, buffers and words as after the study.
    assert asked == [explanation.command]
    assert first.with_name("002.json").read_bytes() == first.read_bytes()
    assert len(json.loads((study / "results.json").read_text())["explanations"]) == 2


def test_a_study_of_another_machine_is_refused(command: Nearpeak) -> None:
    study = Path(__file__).parents[2] / "examples" / "h200x2-shipped"
    code, _, err = command("explain", "--study", str(study), "--worst", "3")
    assert code == 2
    assert err.startswith(f"nearpeak: {study} is of ")
    assert " with NVIDIA H200, NVIDIA H200, this is " in err
    assert err.count("\n") == 1


def test_what_cannot_be_looked_at_keeps_none_from_the_report(
    command: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the worst messages of a study, one is of settings that nobody knows any more."""
    asked = [runs.Request("latency", f"mpich@{name}", "8") for name in ("gone", "default", "gone")]
    made: list[Path] = []

    def chosen(each: runs.Request) -> str | None:
        if each.mpi == "mpich@gone":
            raise UserError("unknown settings 'gone' of mpich")
        return each.mpi

    monkeypatch.setattr(runs, "_worst", lambda *_: asked)
    for check in ("_check_machine", "_check_plan"):
        monkeypatch.setattr(runs, check, lambda _: None)
    monkeypatch.setattr(runs, "_choose", chosen)
    monkeypatch.setattr(runs, "_look", lambda *_, **__: SimpleNamespace(failed=[]))
    monkeypatch.setattr(runs, "present", lambda *_, **__: None)
    monkeypatch.setattr(runs, "_report_again", made.append)
    monkeypatch.setattr("nearpeak.observations.explained.keep", lambda *_: None)
    code, _, err = command("explain", "--study", "s", "--worst", "3")
    assert code == 1
    why = "nearpeak: latency of mpich@gone is not explained: unknown settings 'gone' of mpich"
    assert err.splitlines() == [why, why]
    assert made == [Path("s")]


def refused_first(monkeypatch: pytest.MonkeyPatch, refusal: Exception) -> list[object]:
    """Two messages to explain, of which the check of the first ends so. Returns what is kept."""
    asked = [runs.Request("latency", f"mpich@{name}", "8") for name in ("one", "two")]
    kept: list[object] = []
    refusals = [refusal]

    def check(*_: object) -> None:
        if refusals:
            raise refusals.pop()

    monkeypatch.setattr(runs, "_worst", lambda *_: asked)
    for each in ("_check_machine", "_check_plan"):
        monkeypatch.setattr(runs, each, lambda _: None)
    monkeypatch.setattr(runs.single, "choose", lambda *_, **__: None)
    monkeypatch.setattr(runs, "check_words", check)
    monkeypatch.setattr(runs, "_look", lambda *_, **__: SimpleNamespace(failed=[]))
    monkeypatch.setattr(runs, "present", lambda *_, **__: None)
    monkeypatch.setattr(runs.explained, "keep", lambda one, _: kept.append(one))
    return kept


REFUSED = "nearpeak: latency of mpich@one is not explained: its program ended with status 2"


def test_what_a_program_refuses_keeps_none_from_the_report(
    command: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, made = refused_first(monkeypatch, RefusedError(2)), list[Path]()
    monkeypatch.setattr(runs, "_report_again", made.append)
    code, _, err = command("explain", "--study", "s", "--worst", "2")
    assert (code, err.splitlines()) == (1, [REFUSED])
    assert (len(kept), made) == (1, [Path("s")])


def test_what_a_program_refuses_keeps_none_from_a_study(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = refused_first(monkeypatch, RefusedError(2))
    runs.add_worst(Path("s"), 2)
    assert (len(kept), capsys.readouterr().err.splitlines()) == (1, [REFUSED])
