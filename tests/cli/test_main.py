# SPDX-License-Identifier: Apache-2.0
"""What every command has in common: help, and bad input in one line."""

import errno
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import nearpeak.cli
from nearpeak import __version__
from nearpeak.cli import main
from nearpeak.libraries import build

Nearpeak = Any


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "No such command 'nosuch'; see nearpeak --help"),
        (["report", "DIR", "--opn"], "No such option: --opn"),
        (["report"], "Missing argument 'DIR'; see nearpeak report --help"),
        (
            ["study", "--paths", "a", "--path", "b"],
            "--paths is given twice; give it once, with all",
        ),
        (["study", "--launches", "many"], "see nearpeak study --help"),
        (
            ["study", "--window", "32"],
            "; a study file has it as window = ... (docs/how-to/study.md); see",
        ),
        (["study", "--in-flight", "1M"], "a study file has it as in_flight = ..."),
        (["report", "--junit"], "requires an argument; see nearpeak report --help"),
        (["report", "DIR", "--window"], "No such option: --window; see nearpeak report --help"),
    ],
)
def test_wrong_words_get_one_line(nearpeak: Nearpeak, words: list[str], said: str) -> None:
    status, out, err = nearpeak(*words)
    assert status == 2
    assert out == ""
    assert err.startswith("nearpeak: ")
    assert said in err
    assert err.count("\n") == 1


def test_what_the_outputs_encoding_lacks_stops_nothing() -> None:
    for words, status in ((["study", "--µ"], 2), (["machine"], 0)):
        done = subprocess.run(
            [Path(sys.executable).with_name("nearpeak"), *words],
            env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (status, False), done.stderr


def test_json_is_utf_8_whatever_the_locale() -> None:
    study = Path(__file__).parents[2] / "examples" / "h200x2-shipped"
    done = subprocess.run(
        [Path(sys.executable).with_name("nearpeak"), "report", study, "--json"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    assert "ä" in done.stdout.decode()


def test_a_full_disk_behind_the_output_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [Path(sys.executable).with_name("nearpeak"), "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    said = b"nearpeak: cannot write what is printed: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("words", [["--version"], ["machine", "--help"], ["nosuch"]])
@pytest.mark.parametrize("closed", [[1], [0, 1, 2], [2]])
def test_closed_streams_stop_nothing(words: list[str], closed: list[int]) -> None:
    shut = " ".join(f"{number}>&-" for number in closed)
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {shut}', "sh", Path(sys.executable).with_name("nearpeak"), *words],
        capture_output=True,
        check=False,
    )
    assert done.returncode == (2 if words == ["nosuch"] else 0)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["nosuch"], ["report", "nosuch"], ["--version"]])
def test_where_nothing_can_be_said_the_status_says_it(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [Path(sys.executable).with_name("nearpeak"), *words],
            stdout=full,
            stderr=full,
            check=False,
        )
    assert done.returncode == (1 if words == ["--version"] else 2)


@pytest.mark.parametrize(
    "words", [["build"], ["machine"], ["run", "latency"], ["mpi", "list"], ["report", "."]]
)
def test_a_working_directory_that_was_removed_is_one_line(tmp_path: Path, words: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [
            "sh",
            "-c",
            'rmdir "$PWD"; exec "$@"',
            "sh",
            Path(sys.executable).with_name("nearpeak"),
            *words,
        ],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "nearpeak: the working directory was removed: cd into another\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENODEV])
def test_a_disk_that_is_gone_is_one_line(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def gone() -> None:
        raise OSError(number, os.strerror(number), "/lost/file")

    monkeypatch.setattr(build, "build_native", gone)
    status, _, err = nearpeak("build", "--mpi", "one")
    assert status == 1
    assert err.startswith(f"nearpeak: /lost/file: {os.strerror(number)}: see whether its disk")
    assert err.count("\n") == 1


def test_a_folder_that_was_moved_is_one_line(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing file of a folder that is there may be a fault of ours."""
    monkeypatch.setattr(build, "build_native", lambda: (tmp_path / "moved" / "log").read_bytes())
    status, _, err = nearpeak("build", "--mpi", "one")
    assert (status, err.count("\n")) == (1, 1)
    assert "its disk and folder" in err
    monkeypatch.setattr(build, "build_native", lambda: (tmp_path / "log").read_bytes())
    with pytest.raises(FileNotFoundError):
        nearpeak("build", "--mpi", "one")


def test_what_may_not_be_read_is_bad_input(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied() -> None:
        raise PermissionError(13, "Permission denied", "/lost")

    monkeypatch.setattr(build, "build_native", denied)
    assert nearpeak("build", "--mpi", "one") == (2, "", "nearpeak: /lost: Permission denied\n")


def test_what_ctrl_c_ends_says_so(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiling() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "build_native", compiling)
    assert nearpeak("build", "--mpi", "one") == (130, "", "nearpeak: interrupted\n")


def test_each_file_has_the_command_of_its_name() -> None:
    """The file of the command that is called is read alone."""
    modules = pkgutil.iter_modules(nearpeak.cli.__path__)
    files = {module.name.rstrip("_") for module in modules if not module.ispkg}
    commands = typer.main.get_group(main.build_app()).commands
    for name in files - {"main"}:
        alone = typer.main.get_group(main.build_app(name)).commands
        assert name in alone
        assert alone.keys() < commands.keys()


def test_version(nearpeak: Nearpeak) -> None:
    assert nearpeak("--version") == (0, f"nearpeak {__version__}\n", "")


@pytest.mark.parametrize("words", [["--help"], ["study", "--help"], ["mpi", "-h"]])
def test_help(nearpeak: Nearpeak, words: list[str]) -> None:
    status, out, err = nearpeak(*words)
    assert (status, err) == (0, "")
    assert "Usage: nearpeak" in out


@pytest.mark.parametrize(("name", "now"), list(main.MOVED.items()))
def test_a_command_that_was_names_what_does_its_work(
    nearpeak: Nearpeak, name: str, now: str
) -> None:
    for words in ([name], [name, "--help"], [name, "DIR", "--csv"]):
        assert nearpeak(*words) == (2, "", f"nearpeak: {name} is now: nearpeak {now}\n")


def test_help_has_the_commands_in_groups_and_a_line_for_each(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 80)
    _, out, _ = nearpeak("--help")
    assert out.index("nearpeak machine --check") < out.index(" Options ")
    lines = out[out.index(" Prepare ") :].splitlines()
    titles = [line.split()[1] for line in lines if line[:1] == "╭"]
    assert ["Prepare", *titles] == list(main.GROUPS)
    shown = [line.split()[1] for line in lines if line[:1] == "│"]
    assert shown == [name for names in main.GROUPS.values() for name in names]


@pytest.mark.parametrize(("group", "start"), [([], " Prepare "), (["mpi"], " Commands ")])
def test_commands_are_summed_up_in_the_imperative(
    nearpeak: Nearpeak, group: list[str], start: str
) -> None:
    _, out, _ = nearpeak(*group, "--help")
    lines = out[out.index(start) :].splitlines()
    summaries = [
        words[1]
        for line in lines
        if len(words := line.strip("│ ").split()) > 1 and words[0].islower()
    ]
    assert len(summaries) > 2
    assert [first for first in summaries if first[0].isupper() and first.endswith("s")] == []
