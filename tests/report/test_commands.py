# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report`, with results that are given to it."""

import errno
import tempfile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from nearpeak.cli import report
from nearpeak.errors import UserError
from nearpeak.results.results import Results


@pytest.fixture
def app(plain: Results, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The command; every folder holds the plain study."""
    monkeypatch.setattr("nearpeak.findings.build.build_results", lambda *_: plain)
    application = typer.Typer()
    report.register(application)
    return application


def test_report_writes_both_files_and_prints_the_table(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]
    assert "openmpi" in done.output
    assert "".join(done.output.split()).endswith("report.html")


def test_a_page_that_cannot_be_made_leaves_both_files(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results.json").write_text("old")

    def refuse(*_: object) -> str:
        raise UserError("no page today")

    monkeypatch.setattr("nearpeak.report.page.render", refuse)
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_text() == "old"


def test_report_writes_where_it_is_told_to(app: typer.Typer, tmp_path: Path) -> None:
    study, target = tmp_path / "study", tmp_path / "new" / "there"
    study.mkdir()
    done = CliRunner().invoke(app, [str(study), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert list(study.iterdir()) == []
    assert sorted(path.name for path in target.iterdir()) == ["report.html", "results.json"]
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, [str(study), "-o", str(tmp_path / "file")])
    assert isinstance(done.exception, UserError)
    assert "cannot make the folder" in str(done.exception)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder on a disk that takes no files; root may write into any that has but no rights."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    real = tempfile.TemporaryFile

    def refuse(*, dir: Path) -> Any:
        if dir == folder:
            raise OSError(errno.EROFS, "Read-only file system")
        return real(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    return folder


def test_a_folder_that_is_read_only_is_shown_and_judged(app: typer.Typer, read_only: Path) -> None:
    missed = ["--require", "openmpi,host-host same-numa:bw:1K>=1000GB/s"]
    done = CliRunner().invoke(app, [str(read_only), *missed])
    assert done.exit_code == 1, done.output
    assert "read-only, so nothing is written: choose a folder with -o" in done.output
    assert "openmpi missed it" in done.output
    assert list(read_only.iterdir()) == []
    assert "Report:" not in done.output


def test_a_page_in_a_folder_that_is_read_only_is_bad_input(
    app: typer.Typer, read_only: Path
) -> None:
    done = CliRunner().invoke(app, [str(read_only), "--open"])
    assert isinstance(done.exception, UserError)
    assert "choose a folder for the page with -o" in str(done.exception)


def test_a_requirement_of_nothing_measured_writes_nothing(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(tmp_path), "--require", "nowhere:bw>=0.9"])
    assert isinstance(done.exception, UserError)
    assert list(tmp_path.iterdir()) == []


def test_report_beside_published_machines(app: typer.Typer, tmp_path: Path) -> None:
    wanted = ["--beside", "lassen-2019", "--beside", "summit-2019"]
    done = CliRunner().invoke(app, [str(tmp_path), *wanted])
    assert done.exit_code == 0, done.output
    assert "Beside summit-2019" in done.output
    assert "Beside Lassen" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_report_beside_nothing_known_writes_nothing(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(tmp_path), "--beside", "k20"])
    assert isinstance(done.exception, UserError)
    assert "k20-fdr-2013" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "start"),
    [("--csv", "study,started,"), ("--latex", "% needs"), ("--json", '{\n "schema"')],
)
def test_a_form_goes_to_stdout_or_a_file(
    app: typer.Typer, tmp_path: Path, form: str, start: str
) -> None:
    shown = CliRunner().invoke(app, [str(tmp_path), form])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith(start)
    target = tmp_path / "out"
    written = CliRunner().invoke(app, [str(tmp_path), form, "-o", str(target)])
    assert (written.exit_code, written.output) == (0, "")
    assert target.read_text(encoding="utf-8") == shown.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--csv", "--json"], "give only one of --csv, --latex and --json"),
        (["--rows", "findings"], "--rows is of the CSV: give --csv too"),
        (["--json", "--rows", "findings"], "--rows is of the CSV: give --csv too"),
        (["--csv", "--open"], "--csv goes only with -o and --rows: leave out --open"),
        (["--latex", "--require", "x"], "--latex goes only with -o: leave out --require"),
    ],
)
def test_a_form_is_written_alone(
    app: typer.Typer, tmp_path: Path, words: list[str], message: str
) -> None:
    done = CliRunner().invoke(app, [str(tmp_path), *words])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == message
    assert list(tmp_path.iterdir()) == []


def test_a_form_to_a_place_that_cannot_be_written(app: typer.Typer, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "cells.csv"
    done = CliRunner().invoke(app, [str(tmp_path), "--csv", "-o", str(target)])
    assert isinstance(done.exception, UserError)
    assert "cannot write" in str(done.exception)


def test_a_folder_without_a_study_is_bad_input(tmp_path: Path) -> None:
    application = typer.Typer()
    report.register(application)
    done = CliRunner().invoke(application, [str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert list(tmp_path.iterdir()) == []
