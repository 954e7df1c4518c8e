# SPDX-License-Identifier: Apache-2.0
"""A search's launches: recorded, within their time, and played back."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.study.launching import LaunchFailed
from nearpeak.tune.candidates import Env
from nearpeak.tune.journal import SCHEMA, Asked, Begin, Checked, Figure, Trial, TuneJournal, read
from nearpeak.tune.launches import Value
from nearpeak.tune.search import Failed
from nearpeak.tune.trials import Trials
from nearpeak.tune.tuned import Ceiling

ASKED = Asked(
    mpi="alpha", targets="latency:8", path=None, buffers="H,H", budget_seconds=60.0, seed=1
)
BEGIN = Begin(
    schema=SCHEMA,
    nearpeak="0",
    started="2026-01-01T00:00:00+00:00",
    asked=ASKED,
    library="alpha",
    family="mpich",
    version="1",
    path="host-host same-numa",
    path_summary="",
    host="here",
    cpu="a CPU",
    gpus=[],
    driver=None,
    candidates=[],
)


class Launcher:
    """As fast as its variable says; "crash" crashes, "broken" breaks bw."""

    def __init__(self) -> None:
        self.launched: list[Env] = []

    def measure(self, env: Env, limit_seconds: float, /) -> list[Value]:
        assert limit_seconds >= 4
        self.launched.append(env)
        if env.get("X") == "crash":
            raise LaunchFailed("signal 11")
        return [Value(float(env.get("X", 1)), "us", "lower"), Value(4.0, "GB/s", "higher")]

    def places(self) -> list[str]:
        return ["elsewhere"]

    def elsewhere(self, env: Env, place: str, /) -> list[Figure]:
        self.launched.append(env)
        if env.get("X") == "crash":
            raise LaunchFailed("signal 11")
        value = float(env.get("X", 1))
        return [Figure(case=f"bw {place}", value=value, unit="GB/s", better="higher")]

    def guard(self, env: Env, /) -> dict[str, str]:
        self.launched.append(env)
        broken = "wrong data" if env.get("X") == "broken" else ""
        return {"latency": "", "bw": broken, "put": "never worked"}


def test_each_launch_is_recorded(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    trials = Trials(journal, Launcher(), 1000.0)
    fast, slow = (trials.measure({"X": x}, "alone") for x in ("2", "4"))
    assert not isinstance(fast, Failed)
    assert not isinstance(slow, Failed)
    assert list(slow - fast) == pytest.approx([0.6931, 0.0], abs=1e-3)
    assert trials.measure({"X": "crash"}, "race") == Failed("signal 11")
    assert trials.check({"X": "broken"}) == "bw: wrong data"
    assert trials.check({"X": "1"}) == ""
    assert 0.9 < trials.left() <= 1.0
    first, *records = read(tmp_path / "out")
    assert first == BEGIN
    assert [type(record) for record in records] == [Trial] * 3 + [Checked] * 3
    assert [r.values for r in records if isinstance(r, Trial)] == [[2.0, 4.0], [4.0, 4.0], []]
    assert [r.failed for r in records if isinstance(r, Trial)] == ["", "", "signal 11"]


def test_what_works_without_variables_is_looked_at_once(tmp_path: Path) -> None:
    launcher = Launcher()
    trials = Trials(TuneJournal(tmp_path / "out", BEGIN), launcher, 1000.0)
    for x in ("1", "2"):
        assert trials.check({"X": x}) == ""
    assert launcher.launched == [{}, {"X": "1"}, {"X": "2"}]


def test_a_search_is_played_back(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    first = Trials(journal, Launcher(), 1000.0)
    before = [first.measure({"X": "2"}, "alone"), first.check({"X": "broken"})]
    journal.close()
    launcher, again = Launcher(), TuneJournal(tmp_path / "out")
    second = Trials(again, launcher, 1000.0)
    after = [second.measure({"X": "2"}, "alone"), second.check({"X": "broken"})]
    assert repr(before) == repr(after)
    assert launcher.launched == []
    assert second.left() == first.left()
    second.measure({"X": "3"}, "alone")
    assert launcher.launched == [{"X": "3"}]
    assert len(read(tmp_path / "out")) == 5


def test_launches_elsewhere_are_played_back(tmp_path: Path) -> None:
    def prices(trials: Trials) -> list[dict[str, float] | Failed]:
        (place,) = trials.places()
        return [trials.elsewhere({"X": x}, place) for x in ("1", "4", "crash")]

    journal = TuneJournal(tmp_path / "out", BEGIN)
    plain, fast, crash = found = prices(Trials(journal, Launcher(), 1000.0))
    journal.close()
    assert not isinstance(plain, Failed)
    assert not isinstance(fast, Failed)
    assert plain["bw elsewhere"] - fast["bw elsewhere"] == pytest.approx(1.386, abs=1e-3)
    assert crash == Failed("signal 11")
    launcher = Launcher()
    assert prices(Trials(TuneJournal(tmp_path / "out"), launcher, 1000.0)) == found
    assert launcher.launched == []


def test_ceilings_are_measured_once(tmp_path: Path) -> None:
    measured = [Ceiling(name="memcpy", value=9.5, unit="GB/s")]
    journal = TuneJournal(tmp_path / "out", BEGIN)
    assert Trials(journal, Launcher(), 1000.0).ceilings(lambda: measured) == measured
    journal.close()
    again = Trials(TuneJournal(tmp_path / "out"), Launcher(), 1000.0)
    assert again.ceilings(lambda: pytest.fail("measured again")) == measured


def test_a_search_by_other_rules_is_not_played_back(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher(), 1000.0).measure({"X": "2"}, "alone")
    journal.close()
    second = Trials(TuneJournal(tmp_path / "out"), Launcher(), 1000.0)
    with pytest.raises(UserError, match="was searched by other rules: start anew"):
        second.measure({"X": "3"}, "alone")


def test_a_half_line_is_left_out(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher(), 1000.0).measure({"X": "2"}, "alone")
    journal.close()
    with (tmp_path / "out" / "tune.jsonl").open("a") as file:
        file.write('{"record":"trial","why"')
    launcher = Launcher()
    trials = Trials(TuneJournal(tmp_path / "out"), launcher, 1000.0)
    trials.measure({"X": "2"}, "alone")
    trials.measure({"X": "4"}, "alone")
    assert launcher.launched == [{"X": "4"}]
    assert len(read(tmp_path / "out")) == 3


def test_a_folder_that_has_a_search_already(tmp_path: Path) -> None:
    TuneJournal(tmp_path / "out", BEGIN).close()
    with pytest.raises(UserError, match=r"has a tune\.jsonl already: complete it with --resume"):
        TuneJournal(tmp_path / "out", BEGIN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin as schema 1 does"),
        ('{"record":"trial","why":"","env":{},"values":[],"seconds":1}\n', "does not begin as"),
        ("no JSON\n", "cannot be believed"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tune.jsonl").write_text(text)
    with pytest.raises(UserError, match=message):
        TuneJournal(tmp_path)


def test_a_folder_without_a_search(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name the folder of `nearpeak tune` with -o"):
        TuneJournal(tmp_path / "none")
    assert not (tmp_path / "none").exists()
