# SPDX-License-Identifier: Apache-2.0
"""A search's launches: recorded, within their time, and played back."""

import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.rules import Range, Table
from nearpeak.tune.bench import Failed
from nearpeak.tune.budget import Budget
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.journal import (
    SCHEMA,
    Amended,
    Asked,
    Begin,
    Checked,
    Figure,
    Trial,
    TuneJournal,
    budget_of,
    read,
)
from nearpeak.tune.launches import GRACE_SECONDS, Value
from nearpeak.tune.search import Outcome, Search
from nearpeak.tune.trials import Trials
from nearpeak.tune.tuned import Ceiling

ASKED = Asked(
    mpi="alpha", targets="latency:8", path=None, buffers="H,H", budget_seconds=2000.0, seed=1
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

    def elsewhere(self, env: Env, place: str, limit_seconds: float, /) -> list[Figure]:
        assert limit_seconds >= 4
        self.launched.append(env)
        if env.get("X") == "crash":
            raise LaunchFailed("signal 11")
        value = float(env.get("X", 1))
        return [Figure(case=f"bw {place}", value=value, unit="GB/s", better="higher")]

    def guard(self, env: Env, limit_seconds: float, seconds: float, /) -> dict[str, str] | None:
        assert 4 <= limit_seconds < seconds
        self.launched.append(env)
        broken = "wrong data" if env.get("X") == "broken" else ""
        return {"latency": "", "bw": broken, "put": "never worked"}


def test_each_launch_is_recorded(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    trials = Trials(journal, Launcher())
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
    trials = Trials(TuneJournal(tmp_path / "out", BEGIN), launcher)
    for x in ("1", "2"):
        assert trials.check({"X": x}) == ""
    assert launcher.launched == [{}, {"X": "1"}, {"X": "2"}]


def test_a_budget_that_holds_more_is_foreseen(tmp_path: Path) -> None:
    class Slow(Launcher):
        def measure(self, env: Env, limit_seconds: float, /) -> list[Value]:
            time.sleep(0.002)
            return super().measure(env, limit_seconds)

    trials = Trials(TuneJournal(tmp_path / "out", BEGIN), Slow())
    trials.measure({}, "taken")
    assert trials.foreseen(0) is None
    needed = trials.foreseen(10**9)
    assert needed is not None
    assert needed > BEGIN.asked.budget_seconds


def test_a_search_is_played_back(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    first = Trials(journal, Launcher())
    before = [first.measure({"X": "2"}, "alone"), first.check({"X": "broken"})]
    journal.close()
    launcher, again = Launcher(), TuneJournal(tmp_path / "out")
    second = Trials(again, launcher)
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
    plain, fast, crash = found = prices(Trials(journal, Launcher()))
    journal.close()
    assert not isinstance(plain, Failed)
    assert not isinstance(fast, Failed)
    assert plain["bw elsewhere"] - fast["bw elsewhere"] == pytest.approx(1.386, abs=1e-3)
    assert crash == Failed("signal 11")
    launcher = Launcher()
    assert prices(Trials(TuneJournal(tmp_path / "out"), launcher)) == found
    assert launcher.launched == []


def test_a_price_is_played_back_at_its_place_alone(tmp_path: Path) -> None:
    """On a machine whose paths are others, the price of one is not that of another."""
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher()).elsewhere({"X": "2"}, "host-host")
    journal.close()
    with closing(TuneJournal(tmp_path / "out")) as again:
        trials = Trials(again, Launcher())
        with pytest.raises(UserError, match="was searched by other rules: start anew"):
            trials.elsewhere({"X": "2"}, "gpu-gpu nvlink")
        priced = trials.elsewhere({"X": "2"}, "host-host")
    assert not isinstance(priced, Failed)
    assert list(priced) == ["bw host-host"]


def test_ceilings_are_measured_once(tmp_path: Path) -> None:
    measured = [Ceiling(name="memcpy", value=9.5, unit="GB/s")]
    journal = TuneJournal(tmp_path / "out", BEGIN)
    assert Trials(journal, Launcher()).ceilings(lambda _: measured) == measured
    journal.close()
    again = Trials(TuneJournal(tmp_path / "out"), Launcher())
    assert again.ceilings(lambda _: pytest.fail("measured again")) == measured


def test_thresholds_are_measured_once_within_their_share(tmp_path: Path) -> None:
    found = [("LIMIT", "46341")]

    def look(limit: float, left: Callable[[], float]) -> list[tuple[str, str]]:
        assert 4 <= limit < left() <= 0.1 * Budget(2000.0).until("search")
        return found

    journal = TuneJournal(tmp_path / "out", BEGIN)
    assert Trials(journal, Launcher()).thresholds(look) == found
    journal.close()
    again = Trials(TuneJournal(tmp_path / "out"), Launcher())
    assert again.thresholds(lambda *_: pytest.fail("measured again")) == found


def test_rules_are_measured_once(tmp_path: Path) -> None:
    table = Table(name="bcast", operation=7, ranks=2, ranges=[Range(first=0, algorithm=1)])
    found = [table]
    file = tmp_path / "rules.conf"

    def look(limit: float, left: Callable[[], float]) -> list[Table]:
        third = Budget(2000.0).until("search") / 3
        assert (limit, left()) == (pytest.approx(55.0), pytest.approx(third, abs=5))
        return found

    journal = TuneJournal(tmp_path / "out", BEGIN)
    assert Trials(journal, Launcher()).rules(look, file, 1 / 3) == found
    journal.close()
    with closing(TuneJournal(tmp_path / "out")) as again:
        trials = Trials(again, Launcher())
        assert trials.rules(lambda *_: pytest.fail("measured again"), file, 0.5) == found
    moved = Trials(TuneJournal(tmp_path / "out"), Launcher())
    with pytest.raises(UserError, match=f"was moved, and its trials name {file}: move it back"):
        moved.rules(lambda *_: pytest.fail("measured again"), tmp_path / "other.conf", 0.5)


def test_a_search_by_other_rules_is_not_played_back(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher()).measure({"X": "2"}, "alone")
    journal.close()
    second = Trials(TuneJournal(tmp_path / "out"), Launcher())
    with pytest.raises(UserError, match="was searched by other rules: start anew"):
        second.measure({"X": "3"}, "alone")


def test_a_half_line_is_left_out(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher()).measure({"X": "2"}, "alone")
    journal.close()
    with (tmp_path / "out" / "tune.jsonl").open("a") as file:
        file.write('{"record":"trial","why"')
    launcher = Launcher()
    trials = Trials(TuneJournal(tmp_path / "out"), launcher)
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
        ("", "has no line: begin anew, without --resume"),
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


class Hanging:
    """Launches of 1.25 s on a clock of their own, which hang where `hangs` says so."""

    def __init__(self, hangs: Callable[[str, Env, int], bool]) -> None:
        self.now = 0.0
        self.launched = 0
        self._hangs = hangs

    def monotonic(self) -> float:
        return self.now

    def _launch(self, what: str, env: Env, limit: float, seconds: float = 1.25) -> None:
        self.launched += 1
        if self._hangs(what, env, self.launched) or seconds > limit:
            self.now += limit + GRACE_SECONDS
            raise LaunchFailed("it did not end")
        self.now += seconds

    def measure(self, env: Env, limit_seconds: float, /) -> list[Value]:
        self._launch("trial", env, limit_seconds)
        return [Value(1.0 if "FAST" in env else 2.0, "us", "lower")]

    def guard(self, env: Env, limit_seconds: float, seconds: float, /) -> dict[str, str] | None:
        until = self.now + seconds
        with suppress(LaunchFailed):
            self._launch("check", env, min(limit_seconds, seconds), 5.0)
            return {"latency": "", "bw": ""}
        found = {}
        for name in ("latency", "bw"):
            if self.now >= until:
                return None
            try:
                self._launch("check", env, min(limit_seconds, until - self.now))
                found[name] = ""
            except LaunchFailed as error:
                found[name] = str(error)
        return found

    def places(self) -> list[str]:
        return ["here", "there", "everywhere"]

    def elsewhere(self, env: Env, place: str, limit_seconds: float, /) -> list[Figure]:
        self._launch("price", env, limit_seconds, 2.5)
        value = 1.0 + ("FAST" in env and place == "there")
        return [Figure(case="bw", value=value, unit="us", better="lower")]


STUDY = 35.0  # seconds of the least one
HANGS: dict[str, Callable[[str, Env, int], bool]] = {
    "nothing": lambda *_: False,
    "all": lambda *_: True,
    "every setting": lambda _, env, __: bool(env),
    "some settings": lambda _, env, __: any(name in env for name in ("S1", "S4", "S7")),
    "many together": lambda _, env, __: len(env) > 3,
    "every second": lambda _, __, launched: launched % 2 == 0,
    "what is checked": lambda what, env, _: what == "check" and bool(env),
    "every check": lambda what, *_: what == "check",
    "what is priced": lambda what, env, _: what == "price" and bool(env),
    "every price": lambda what, *_: what == "price",
    "from then on": lambda _, __, launched: launched > 50,
    "the library itself": lambda _, env, launched: not env and launched > 3,
}


def searched(
    folder: Path,
    budget: float,
    launcher: Hanging,
    monkeypatch: pytest.MonkeyPatch,
    added: Amended | None = None,
) -> Outcome:
    """A new search with this budget, or where time is `added` the one of this folder."""
    monkeypatch.setattr("nearpeak.tune.trials.time", SimpleNamespace(monotonic=launcher.monotonic))
    names = ["FAST", *(f"S{number}" for number in range(12))]
    values = [Candidate(((name, value),)) for name in names for value in ("1", "2")]
    asked = msgspec.structs.replace(ASKED, budget_seconds=budget)
    begin = msgspec.structs.replace(BEGIN, asked=asked, study_seconds=STUDY)
    with closing(TuneJournal(folder, None if added else begin)) as journal:
        if added:
            journal.append(added)
        return Search(Trials(journal, launcher), values, 1).run()


@pytest.mark.parametrize("budget", [120.0, 300.0])
@pytest.mark.parametrize("hangs", HANGS.values(), ids=list(HANGS))
def test_whatever_hangs_a_search_ends_in_time(
    hangs: Callable[[str, Env, int], bool],
    budget: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher = Hanging(hangs)
    found = searched(tmp_path / "out", budget, launcher, monkeypatch)
    shares = Budget(budget, study=STUDY)
    assert launcher.now <= shares.ends, found
    if found.taken:
        assert launcher.now <= 1.05 * shares.until("proof"), found
    if hangs is HANGS["nothing"]:
        assert "FAST" in found.taken


def test_time_that_is_added_to_a_search_that_ended_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = Hanging(lambda *_: False)
    first = searched(tmp_path / "out", 40.0, launcher, monkeypatch)
    assert (first.taken, bool(first.lacking)) == ({}, True)
    before, launched = launcher.now, launcher.launched
    added = Amended(budget_seconds=300.0, asked="--resume", study=False)
    found = searched(tmp_path / "out", 40.0, launcher, monkeypatch, added)
    assert launcher.launched > launched
    assert before < launcher.now <= before + 300.0
    assert "FAST" in found.taken
    records = read(tmp_path / "out")
    assert budget_of(records) == Budget(300.0, begins=pytest.approx(before), study=STUDY)
    silent = Hanging(lambda *_: False)
    monkeypatch.setattr("nearpeak.tune.trials.time", SimpleNamespace(monotonic=silent.monotonic))
    with closing(TuneJournal(tmp_path / "out")) as journal:
        names = ["FAST", *(f"S{number}" for number in range(12))]
        values = [Candidate(((name, value),)) for name in names for value in ("1", "2")]
        assert Search(Trials(journal, silent), values, 1).run() == found
    assert silent.launched == 0  # all of it was played back


def test_a_check_without_time_is_made_when_there_is_time(tmp_path: Path) -> None:
    class Late(Launcher):
        def guard(self, env: Env, *_: float) -> dict[str, str] | None:
            self.launched.append(env)
            return None

    with closing(TuneJournal(tmp_path / "out", BEGIN)) as journal:
        assert Trials(journal, Late()).check({"X": "2"}) is None
        journal.append(Amended(budget_seconds=300.0, asked="--resume", study=False))
    launcher = Launcher()
    with closing(TuneJournal(tmp_path / "out")) as journal:
        trials = Trials(journal, launcher)
        assert trials.check({"X": "2"}) is None  # played back
        assert (launcher.launched, trials.time_added()) == ([], True)
        assert trials.check({"X": "2"}) == ""
        assert launcher.launched == [{}, {"X": "2"}]
    silent = Launcher()
    with closing(TuneJournal(tmp_path / "out")) as journal:
        trials = Trials(journal, silent)
        assert [trials.check({"X": "2"}), trials.time_added(), trials.check({"X": "2"})] == [
            None,
            True,
            "",
        ]
    assert silent.launched == []


def test_time_that_is_added_to_a_search_that_was_cut_off_counts_from_there(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher()).measure({}, "taken")
    journal.append(Amended(budget_seconds=100.0, asked="--resume", study=False))
    journal.close()
    trials = Trials(TuneJournal(tmp_path / "out"), Launcher())
    trials.measure({}, "taken")
    assert trials.holds(1, 0, "search")
    trials.measure({"X": "2"}, "alone")
    assert not trials.time_added()


def test_time_that_was_added_to_the_study_is_not_for_the_search(tmp_path: Path) -> None:
    journal = TuneJournal(tmp_path / "out", BEGIN)
    Trials(journal, Launcher()).measure({}, "taken")
    journal.append(Amended(budget_seconds=100.0, asked="--resume", study=True))
    journal.close()
    trials = Trials(TuneJournal(tmp_path / "out"), Launcher())
    trials.measure({}, "taken")
    assert not trials.time_added()
