# SPDX-License-Identifier: Apache-2.0
"""`nearpeak history`: exit status, files, bad input."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nearpeak.cli.history import parse_since
from nearpeak.cli.main import main
from nearpeak.errors import UserError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nearpeak", "history", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_a_planted_loss_is_in_all_that_is_written(run: Run, nightly: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    code, out, err = run(nightly, *options)
    assert (code, err) == (1, "")
    assert out.strip().splitlines()[-1].startswith("Exit status 1: slower: alpha on host-host")
    assert json.loads(files["json"].read_text())["events"][0]["candidates"][0]["now"] == "590"
    assert ElementTree.parse(files["junit"]).getroot().get("failures") == "3"
    assert "driver nvidia: 580 -&gt; 590" in files["html"].read_text()


def test_an_accepted_change_ends_well(run: Run, nightly: Path) -> None:
    code, out, _ = run(nightly, "--since", "2026-01-22")
    assert code == 0
    assert "Nothing became slower" in out


def test_bad_input_is_one_line(run: Run, nightly: Path, tmp_path: Path) -> None:
    for words in ([tmp_path / "none"], [nightly, "--since", "later"]):
        code, out, err = run(*words)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
    code, _, err = run(nightly, "--json", tmp_path / "a", "--html", tmp_path / "a")
    assert (code, "two outputs" in err) == (2, True)


def test_one_bad_folder_does_not_end_the_rest(run: Run, nightly: Path) -> None:
    code, out, _ = run(nightly, nightly / "01")
    assert code == 1
    assert "are the same study" in " ".join(out.split())


def test_a_date_is_an_instant_of_utc() -> None:
    assert parse_since(None) == ""
    assert parse_since("2026-11-20") == "2026-11-20T00:00:00.000+00:00"
    assert parse_since("2026-11-20T03:00:00+02:00") == "2026-11-20T01:00:00.000+00:00"
    with pytest.raises(UserError, match="no date"):
        parse_since("0.05")
