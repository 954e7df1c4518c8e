# SPDX-License-Identifier: Apache-2.0
"""`nearpeak report` and `nearpeak export`, with results that are given to them."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from nearpeak.cli import export, report
from nearpeak.errors import UserError
from nearpeak.results.model import Results


@pytest.fixture
def app(plain: Results, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """Both commands; every folder holds the plain study."""
    for module in ("nearpeak.report.page", "nearpeak.findings.build"):
        monkeypatch.setattr(f"{module}.build_results", lambda _: plain)
    application = typer.Typer()
    report.register(application)
    export.register(application)
    return application


def test_report_writes_both_files_and_prints_the_table(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
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
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_text() == "old"


def test_report_beside_published_machines(app: typer.Typer, tmp_path: Path) -> None:
    wanted = ["--beside", "lassen-2019", "--beside", "summit-2019"]
    done = CliRunner().invoke(app, ["report", str(tmp_path), *wanted])
    assert done.exit_code == 0, done.output
    assert "Beside summit-2019" in done.output
    assert "Beside Lassen" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_report_beside_nothing_known_writes_nothing(app: typer.Typer, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--beside", "k20"])
    assert isinstance(done.exception, UserError)
    assert "k20-fdr-2013" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "start"),
    [("--csv", "study,started,"), ("--latex", "% needs"), ("--json", '{\n "schema"')],
)
def test_export_writes_to_stdout_or_a_file(
    app: typer.Typer, tmp_path: Path, form: str, start: str
) -> None:
    shown = CliRunner().invoke(app, ["export", str(tmp_path), form])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith(start)
    target = tmp_path / "out"
    written = CliRunner().invoke(app, ["export", str(tmp_path), form, "-o", str(target)])
    assert (written.exit_code, written.output) == (0, "")
    assert target.read_text(encoding="utf-8") == shown.output


@pytest.mark.parametrize("forms", [[], ["--csv", "--json"]])
def test_export_wants_exactly_one_form(app: typer.Typer, tmp_path: Path, forms: list[str]) -> None:
    done = CliRunner().invoke(app, ["export", str(tmp_path), *forms])
    assert isinstance(done.exception, UserError)
    assert "exactly one of" in str(done.exception)


def test_export_to_a_place_that_cannot_be_written(app: typer.Typer, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "cells.csv"
    done = CliRunner().invoke(app, ["export", str(tmp_path), "--csv", "-o", str(target)])
    assert isinstance(done.exception, UserError)
    assert "cannot write" in str(done.exception)


def test_a_folder_without_a_study_is_bad_input(tmp_path: Path) -> None:
    application = typer.Typer()
    report.register(application)
    export.register(application)
    done = CliRunner().invoke(application, ["report", str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert list(tmp_path.iterdir()) == []
