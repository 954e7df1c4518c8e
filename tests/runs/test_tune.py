# SPDX-License-Identifier: Apache-2.0
"""A run of `nearpeak tune`: what it would try, writes and prints."""

import itertools
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from nearpeak.launching import single
from nearpeak.libraries.library import UNSET
from nearpeak.libraries.profiles import Profile
from nearpeak.libraries.tunables import Offered, Tunable
from nearpeak.machine import allocation
from nearpeak.study.journal import read_records as read_study
from nearpeak.study.records import AmendmentRecord
from nearpeak.tune import confirm, launches, prepare, run, trials
from nearpeak.tune.hints import Hints
from nearpeak.tune.tuned import Tuned
from nearpeak.tune.written import NAMES

Nearpeak = Callable[..., tuple[int, str, str]]


def test_a_budget_that_is_too_short_is_refused_before_launchers_are_tried(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(single, "starting_here", lambda library, *_: tried.append(library.name))
    code, _, err = nearpeak("tune", "--mpi", "one", "--budget", "1s")
    assert (code, tried) == (2, [])
    assert "1.0 s is too short for a search and its confirmation: give " in err


def test_a_folder_that_has_a_search_already(nearpeak: Nearpeak, tmp_path: Path) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tune.jsonl").write_text("{}\n")
    code, out, err = nearpeak("tune", "--mpi", "mpich")
    assert (code, out) == (2, "")
    assert "tuned has a tune.jsonl already: complete it with --resume, or name another" in err


def test_the_values_that_would_be_tried(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = [
        setting("ANY", values=["1", "2"]),
        setting("GPU", needs=["gpu"]),
        setting("LACKS"),
        setting("GIVEN", values=[UNSET]),
    ]
    offered[2] = offered[2]._replace(there=False)
    monkeypatch.setattr(prepare, "offered", lambda _: offered)
    before = list(tmp_path.iterdir())
    code, out, err = nearpeak("tune", "--mpi", "one", "--for", "latency:8", "--dry-run")
    assert (code, out) == (0, "ANY=1\nwithout GIVEN\n"), err
    assert list(tmp_path.iterdir()) == before


def setting(name: str, **more: list[str]) -> Offered:
    made = Tunable(name=name, component="x", summary="", source="x", **{"values": ["1"], **more})
    return Offered(made, there=True, default="2")


def test_what_costs_elsewhere_is_in_a_profile_of_its_own(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole command: it searches, confirms, judges, writes and prints."""
    fast, short = "NEARPEAK_FAKE_FAST", "NEARPEAK_FAKE_SHORT"
    monkeypatch.setattr(prepare, "offered", lambda _: [setting(fast), setting(short)])
    monkeypatch.setattr(run, "hints", lambda *_: Hints([], over_ucx=False))
    clock = itertools.count(step=4)  # seconds that a launch counts; of the study none
    monkeypatch.setattr(trials, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(launches, "GUARD_SIZES", "8,4K")
    # Eight blocks of few cases, however long they take here: six decide nothing of three settings.
    few = {"budget_seconds": None, "launches": 8, "benchmarks": ["latency"], "sizes": [8, 4096]}
    options = confirm.options
    monkeypatch.setattr(
        confirm, "options", lambda *words, **more: replace(options(*words, **more), **few)
    )
    words = ["tune", "--mpi", "one", "--for", "latency:8", "--budget", "15m", "--seed", "1"]
    code, out, err = nearpeak(*words)
    assert code == 0, err
    found = msgspec.json.decode(Path("tuned/tune.json").read_bytes(), type=Tuned)
    assert (found.verdict, set(found.env)) == ("taken here alone", {fast, short}), out
    (target,) = found.evidence
    assert (target.verdict, target.times) == ("faster", pytest.approx(4.0))
    slower = f"{found.path}, latency H,H at 4 KiB"
    assert found.free is not None
    assert (set(found.free.env), found.free.taken, found.free.slower) == ({fast}, True, [])
    here = Path("tuned") / f"only-{found.path.replace(' ', '-')}-H-H"
    for profile, names in ((Path("tuned"), {fast}), (here, {fast, short})):
        file = profile / "profile.toml"
        assert set(msgspec.toml.decode(file.read_bytes(), type=Profile).env) == names
        assert f"--mpi one@{file}" in out
    price = (here / "modulefile").read_text().partition("# Slower with it:\n")[2]
    assert [each.case for each in found.slower] == [slower]
    assert price.startswith(f"#   {slower}: ")
    assert Path("tuned/study/report.html").stat().st_size > 0
    assert "Times as fast as without the value" in Path("tuned/report.html").read_text()
    # What is added now is for the study that confirms, which has begun.
    trials_before = Path("tuned/tune.jsonl").read_text().count("\n")
    assert nearpeak("tune", "--resume", "-o", "tuned", "--budget", "20s")[0] == 0
    (amended,) = Path("tuned/tune.jsonl").read_text().splitlines()[trials_before:]
    assert json.loads(amended) == {
        "record": "amendment",
        "budget_seconds": 20.0,
        "asked": "--resume --budget 20 s",
        "study": True,
    }
    added = [
        record for record in read_study(Path("tuned/study")) if isinstance(record, AmendmentRecord)
    ]
    assert [each.budget_seconds for each in added] == [20.0]
    # What more launches do not confirm any more is withdrawn: of one profile, then of both.
    judge = confirm.judge

    def spoilt(names: set[str]) -> Callable[..., confirm.Confirmed]:
        def less(*words: Any) -> confirm.Confirmed:
            found = judge(*words)
            return replace(found, broken=["it"]) if words[-1] in names else found

        return less

    assert _with_profiles() == {Path("tuned"), here}
    both = {confirm.FREE, confirm.TUNED}
    for names, left in (({confirm.FREE}, {here}), (both, set())):
        monkeypatch.setattr(confirm, "judge", spoilt(names))
        assert nearpeak("tune", "--resume", "-o", "tuned")[0] == 0
        assert _with_profiles() == left
    found = msgspec.json.decode(Path("tuned/tune.json").read_bytes(), type=Tuned)
    assert found.verdict == "not taken"


def _with_profiles() -> set[Path]:
    """The folders with files of profiles."""
    return {file.parent for file in Path("tuned").rglob("*") if file.name in NAMES}


def test_what_of_the_budget_is_not_used_is_said(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over before the first trial, and more is added. Before, its job was ended."""
    monkeypatch.setattr(prepare, "offered", lambda _: [setting("NOTHING")])
    monkeypatch.setattr(run, "hints", lambda *_: Hints([], over_ucx=False))
    clock = itertools.count(step=14)  # seconds that a launch counts
    monkeypatch.setattr(trials, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(launches, "GUARD_SIZES", "8")
    monkeypatch.setenv("UCX_TLS", "tcp")
    words = ["tune", "--mpi", "one", "--for", "latency:8", "--seed", "1"]
    with monkeypatch.context() as ended:
        ended.setattr(run, "search", lambda *_: signal.raise_signal(signal.SIGTERM))
        ended.setattr(allocation, "why_ending", lambda: "the job was cancelled")
        code, _, err = nearpeak(*words, "--budget", "3m")
    assert code == 128 + signal.SIGTERM
    assert "inherited from your shell, and not one's own settings: " in err
    assert " UCX_TLS=tcp; unset them" in err
    assert "interrupted: the job was cancelled\nnearpeak: interrupted; complete it with: " in err
    last = json.loads(Path("tuned/tune.jsonl").read_text().splitlines()[-1])
    assert last == {"record": "interrupted", "reason": "the job was cancelled"}
    code, out, err = nearpeak("tune", "--resume", "-o", "tuned", "--verbose")
    assert code == 0, err
    found = msgspec.json.decode(Path("tuned/tune.json").read_bytes(), type=Tuned)
    assert (found.env, bool(found.lacking), found.unused_seconds > 10) == ({}, True, True)
    assert "s of the budget were not used: too few for what was left out" in out
    assert "To add time: nearpeak tune --resume -o tuned --budget 10m" in err
    code, out, err = nearpeak("tune", "--resume", "-o", "tuned", "--budget", "20m")
    assert code == 0, err
    assert "Adds 20m00s to the search" in err
    more = msgspec.json.decode(Path("tuned/tune.json").read_bytes(), type=Tuned)
    assert more.launches > found.launches
