# SPDX-License-Identifier: Apache-2.0
"""`nearpeak compare`: exit status, files, bad input."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nearpeak.cli import parse_tolerance
from nearpeak.cli.main import main
from nearpeak.errors import UserError

MakeSides = Callable[..., Path]
Compare = Callable[..., tuple[int, str, str]]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Compare:
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nearpeak", "compare", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_a_planted_loss_is_in_all_that_is_written(
    compare: Compare, make_sides: MakeSides, tmp_path: Path
) -> None:
    (tmp_path / "baseline").mkdir()
    for day in (1, 2, 3):
        make_sides(f"baseline/{day}", day=day)
    new = [make_sides(f"new{day}", day=day, factor=1 / 1.1) for day in (4, 5, 6)]
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    code, out, err = compare(tmp_path / "baseline", *new, *options)
    assert (code, err) == (1, "")
    last = "Exit status 1: regressed: alpha on host-host same-numa"
    assert out.strip().splitlines()[-1].startswith(last)
    assert json.loads(files["json"].read_text())["regressed"] is True
    assert ElementTree.parse(files["junit"]).getroot().get("failures") != "0"
    assert "Regressed: alpha on host-host same-numa" in files["html"].read_text()
    code, out, _ = compare(tmp_path / "baseline", *new, "--tolerance", "20%")
    assert code == 0
    assert "No slowdown by more than 20 % was proven." in out


def test_a_library_that_is_gone_is_noticed(compare: Compare, make_sides: MakeSides) -> None:
    old = make_sides("old", libraries=("alpha", "beta"), blocks=2)
    new = make_sides("new", day=2, blocks=2)
    code, out, _ = compare(old, new)
    assert code == 1
    assert "Exit status 1: not measured now: library beta. Measure it" in " ".join(out.split())
    code, out, _ = compare(old, new, "--allow-missing")
    assert code == 3  # and nothing could be judged
    assert " ".join(out.split()).endswith("Not measured now, which is allowed: library beta.")


def test_the_status_says_that_nothing_could_be_judged(
    compare: Compare, make_sides: MakeSides, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    for day in (1, 2, 3):
        make_sides(f"old/{day}", day=day)
        make_sides(f"new/{day}", day=day + 3)
    code, out, _ = compare(tmp_path / "old/1", tmp_path / "new/1")
    assert code == 3
    said = "Exit status 3: nothing can be judged: one session on each side"
    assert out.splitlines()[-1].startswith(said)
    code, out, _ = compare(tmp_path / "old", tmp_path / "new")
    assert code == 0
    assert out.splitlines()[-1].startswith("No slowdown by more than 5 % was proven. ")


def test_a_folder_s_name_may_be_in_another_encoding(
    compare: Compare, make_sides: MakeSides, tmp_path: Path
) -> None:
    old = make_sides("caf\udce9", blocks=2)
    new = make_sides("new", day=2, blocks=2)
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    code, _, err = compare(old, new, *options)
    assert (code, err) == (3, "")
    assert "caf\N{REPLACEMENT CHARACTER}" in files["html"].read_text()


def test_two_outputs_are_two_files(compare: Compare, make_sides: MakeSides, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, err = compare(
        make_sides("old"), make_sides("new", day=2), "--json", out, "--html", out
    )
    assert (code, out.exists()) == (2, False)
    assert err == f"nearpeak: {out} is named for two outputs: give each a file of its own\n"


def test_a_recorded_study_beside_itself_is_refused(compare: Compare) -> None:
    folder = EXAMPLES / "h200x2-shipped"
    code, out, err = compare(folder, folder)
    assert (code, out) == (2, "")
    assert err.startswith(f"nearpeak: {folder} and {folder} are the same study")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere", "nowhere"), "nowhere: no such folder"),
        ((".", "."), ".: neither a study nor a folder of studies"),
        (("nowhere", "nowhere", "--tolerance", "much"), "--tolerance 'much' is no percentage"),
        (("nowhere",), "Missing argument 'NEW...'"),
    ],
)
def test_bad_input_is_one_line(
    compare: Compare,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = compare(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"nearpeak: {message}")
    assert err.count("\n") == 1


def test_where_nothing_can_be_written_nothing_is_said(
    compare: Compare, make_sides: MakeSides, tmp_path: Path
) -> None:
    file, other = make_sides("one", blocks=1), make_sides("other", day=2, blocks=1)
    code, out, err = compare(file, other, "--json", tmp_path / "missing" / "x.json")
    assert (code, out) == (2, "")
    assert "cannot write" in err


def test_tolerances() -> None:
    assert [parse_tolerance(text) for text in ("5%", "5", " 0.5 % ", "0")] == [0.05, 0.05, 0.005, 0]
    for text in ("", "-1%", "100", "nan", "5%%", "0.05"):
        with pytest.raises(UserError):
            parse_tolerance(text)
