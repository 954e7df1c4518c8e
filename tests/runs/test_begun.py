# SPDX-License-Identifier: Apache-2.0
"""What was begun elsewhere goes on only if the user agrees."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak import folders
from nearpeak.conform.journal import FORM
from nearpeak.errors import UserError
from nearpeak.nodes import journal as nodes
from nearpeak.nodes.plan import Chosen
from nearpeak.runs.lifecycle import check_begun

Nearpeak = Callable[..., tuple[int, str, str]]


def check(begin: object, names: list[str], *, accept: bool = False) -> None:
    check_begun(Path("there"), "nodes", begin, lambda: names, accept=accept)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "state", lambda: tmp_path / "state")
    return tmp_path / "state"


def test_what_is_named_by_where_it_lies_is_refused_once() -> None:
    evil = ["/evil/mpi"]
    with pytest.raises(UserError) as error:
        check({"mpi": "/evil/mpi"}, evil)
    assert str(error.value) == (
        "there was not begun by you here, and it names /evil/mpi: if you would run that yourself, "
        "add --accept-commands"
    )
    check({"mpi": "/evil/mpi"}, evil, accept=True)
    check({"mpi": "/evil/mpi"}, evil)
    with pytest.raises(UserError):
        check({"mpi": "/evil/mpi2"}, evil)
    check({"mpi": "mpich"}, [])


@pytest.mark.parametrize("answer", ["y", "YES", "n", ""])
def test_a_terminal_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: f"{answer}\n")
    if answer.lower().startswith("y"):
        check("x", ["/evil/\x1bmpi"])
    else:
        with pytest.raises(UserError, match="add --accept-commands"):
            check("x", ["/evil/\x1bmpi"])
    assert capsys.readouterr().err == (
        "there was not begun by you here, and it names /evil/\N{REPLACEMENT CHARACTER}mpi. "
        "Run that? [y/N]: "
    )


def test_a_run_of_conform_with_a_library_of_another_place(nearpeak: Nearpeak, state: Path) -> None:
    words = ("--mpi", "one", "--operations", "latency", "--quick", "--buffers", "H,H")
    assert nearpeak("conform", *words, "-o", "c")[0] == 0
    assert list((state / "begun").iterdir())
    shutil.rmtree(state)
    assert nearpeak("conform", "--resume", "-o", "c")[0] == 0  # this machine says what `one` is
    file = Path("c/conform.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["chosen"]["libraries"] = ["one@/evil/profile.toml"]
    for line in lines:
        del line["seal"]
    file.write_bytes(FORM.encode(lines))  # whoever wrote it made the seals, too
    code, _, err = nearpeak("conform", "--resume", "-o", "c")
    assert (code, "it names one@/evil/profile.toml: if you" in err) == (2, True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"remote_shell": "bash"}, "it names the remote shell 'bash': if you"),
        ({"nodes": ["a", "b", "/evil/x.sh"]}, "it names the host '/evil/x.sh': if you"),
        ({"nodes": ["a", "b", "-oProxyCommand=id"]}, "it names the host '-oProxyCommand=id': if"),
        ({"mpi": "one@evil.toml"}, "it names one@evil.toml: if you"),
    ],
)
def test_a_run_of_nodes_with_hosts_that_are_none(
    nearpeak: Nearpeak, change: dict[str, Any], why: str
) -> None:
    chosen = {"nodes": ["a", "b", "c"], "mpi": "one", **change}
    first = nodes.Begin(
        schema=nodes.SCHEMA,
        nearpeak="0",
        started="",
        host="a",
        library="one",
        settings="default",
        version="1",
        chosen=msgspec.convert(chosen, Chosen),
    )
    Path("n").mkdir()
    (Path("n") / nodes.NAME).write_bytes(msgspec.json.encode(first) + b"\n")
    code, _, err = nearpeak("nodes", "--resume", "-o", "n")
    assert (code, why in err) == (2, True), err


@pytest.mark.parametrize("of", ["conform", "nodes", "tune"])
def test_there_is_nothing_to_accept_in_a_new_run(nearpeak: Nearpeak, of: str) -> None:
    code, _, err = nearpeak(of, "--mpi", "one", "--accept-commands")
    assert code == 2
    assert "--accept-commands needs --resume" in err
