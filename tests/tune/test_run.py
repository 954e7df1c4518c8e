# SPDX-License-Identifier: Apache-2.0
"""A tuning, from its options to its search."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.libraries.library import UNSET, Settings
from nearpeak.libraries.rules import Range, Table
from nearpeak.libraries.tunables import Ruled, Tunable
from nearpeak.tune import journal, run, thresholds
from nearpeak.tune.candidates import Candidate
from nearpeak.tune.hints import Hints
from nearpeak.tune.rules import Operation, Way
from nearpeak.tune.run import (
    _calibrated,
    _crossed,
    _ruled,
    _unforced,
    _with_crossed,
    _without_idle,
    borders,
    settings,
)
from nearpeak.tune.search import Outcome
from nearpeak.tune.targets import Target

BASE = {"UCX_TLS": "sm,self"}
ALL, PART = {"FAST": "y", "SHORT": "y"}, {"FAST": "y"}
PREPARED: Any = SimpleNamespace(single=SimpleNamespace(settings=Settings(name="base", env=BASE)))


@pytest.mark.parametrize(
    ("begun", "refused"),
    [
        ({}, False),
        ({"build": "", "components": {}}, False),  # of before these were told
        ({"build": "openmpi-cuda"}, True),
        ({"components": {"ucx": "1.18.0"}}, True),
    ],
)
def test_a_search_goes_on_with_the_same_build_alone(
    begun: dict[str, Any], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = {"library": "a", "version": "5", "host": "h", "candidates": []}
    same |= {"build": "openmpi", "components": {"ucx": "1.22.0"}}
    monkeypatch.setattr(run, "begin", lambda _: SimpleNamespace(**same))
    monkeypatch.setattr(run, "Trials", lambda *_: pytest.fail("goes on"))
    journal: Any = SimpleNamespace(begin=SimpleNamespace(**{**same, **begun}), folder="tuned")
    nothing: Any = SimpleNamespace(launches=None)
    expected = (
        pytest.raises(UserError, match="start anew")
        if refused
        else pytest.raises(pytest.fail.Exception, match="goes on")
    )
    with expected:
        run.search(nothing, journal, lambda _: None, lambda _: None)


def test_what_is_free_is_confirmed_beside_all_where_it_differs() -> None:
    def names(outcome: Outcome) -> dict[str, dict[str, str]]:
        return {each.name: each.env for each in settings(PREPARED, outcome)}

    everything = {"base": BASE, "tuned": {**BASE, **ALL}}
    assert names(Outcome(taken=ALL, free=PART)) == {
        **everything,
        "tuned-everywhere": {**BASE, **PART},
    }
    assert names(Outcome(taken=ALL, free=ALL)) == everything
    assert names(Outcome(taken=ALL, free={})) == everything


def test_what_is_left_out_is_confirmed() -> None:
    taken = {"FAST": "y", "I_MPI_PIN": UNSET}
    [_, tuned] = settings(PREPARED, Outcome(taken=taken, free=taken))
    assert (tuned.env, tuned.unset) == ({**BASE, "FAST": "y"}, ["I_MPI_PIN"])


def test_what_was_tuned_before_is_told_apart_from_what_is_found() -> None:
    again: Any = SimpleNamespace(single=SimpleNamespace(settings=Settings(name="tuned", env=BASE)))
    found = settings(again, Outcome(taken=ALL, free=ALL))
    assert [each.name for each in found] == ["as-it-was", "tuned"]


def test_where_protocols_cross_is_tried_beside_other_values() -> None:
    limit = Tunable(
        name="LIMIT", component="x", summary="", values=["1", "2"], source="x", with_={"ON": "y"}
    )
    other = Candidate((("OTHER", "1"),))
    swept = [Candidate((("ON", "y"), ("LIMIT", value))) for value in limit.values]
    prepared: Any = SimpleNamespace(thresholds=[limit], candidates=[*swept, other])
    crossed = _with_crossed(prepared, {"LIMIT": "46341"})
    first = Candidate((("ON", "y"), ("LIMIT", "46341")))
    assert crossed == [first, *swept, other]
    assert _with_crossed(prepared, {"LIMIT": "2"}) == [swept[1], swept[0], other]
    assert _with_crossed(prepared, {}) == [*swept, other]


@pytest.mark.parametrize(("over_ucx", "measured"), [(True, 2), (None, 2), (False, 1)])
def test_thresholds_of_what_moves_no_message_are_not_measured(
    over_ucx: bool | None, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [SimpleNamespace(name=name) for name in ("UCX_RNDV_THRESH", "CMA_THRESHOLD")]
    single = SimpleNamespace(mps=contextlib.nullcontext)
    prepared: Any = SimpleNamespace(
        of_ucx=["UCX_RNDV_THRESH"], thresholds=many, single=single, launches=None
    )
    seen: list[Any] = []
    monkeypatch.setattr(thresholds, "measure", lambda _, there, *__: seen.extend(there))
    trials: Any = SimpleNamespace(thresholds=lambda look: look(4.0, lambda: 100.0) or [])
    assert _crossed(prepared, trials, Hints([], over_ucx), lambda _: None) == []
    assert seen == many[-measured:]


RULES = Tunable(
    name="RULES",
    component="x",
    summary="",
    source="x",
    file="rules.conf",
    with_={"ON": "true"},
    benchmarks=["bcast"],
)
WAY = Way((("ON", "true"), ("BCAST", "tree")), 1, 0, "tree")
BCAST = Operation("bcast", Ruled(operation=7), (WAY,), (8, 4096), (8,), ranks=2)
TABLE = Table(
    name="bcast", operation=7, ranks=2, ranges=[Range(first=0, algorithm=1), Range(first=181)]
)


@pytest.mark.parametrize(
    ("tables", "targets", "share"),
    [([TABLE], ["bcast"], 1 / 2), ([], ["bcast"], 1 / 2), ([TABLE], ["bcast", "latency"], 1 / 3)],
)
def test_rules_are_written_and_tried_as_a_value(
    tables: list[Table], targets: list[str], share: float, tmp_path: Path
) -> None:
    single = SimpleNamespace(mps=contextlib.nullcontext, library=made_library())
    launches = SimpleNamespace(targets=[Target(name, 8) for name in targets])
    prepared: Any = SimpleNamespace(
        ruled=RULES, operations=[BCAST], single=single, launches=launches
    )
    asked: list[tuple[Path, float]] = []

    def found(_: object, file: Path, share: float) -> list[Table]:
        asked.append((file, share))
        return tables

    trials: Any = SimpleNamespace(rules=found)
    got = _ruled(prepared, trials, tmp_path, lambda _: None)
    file = tmp_path.resolve() / "tried" / "rules.conf"
    assert asked == [(file, share)]
    assert file.exists() == bool(tables)
    assert got == ([Candidate((("ON", "true"), ("RULES", str(file))))] if tables else [])
    if tables:
        assert "\n7 # bcast\n" in file.read_text()


@pytest.mark.parametrize("tables", [[TABLE], []])
def test_what_has_rules_is_not_forced_too(tables: list[Table]) -> None:
    prepared: Any = SimpleNamespace(operations=[BCAST], ruled=RULES)
    record = journal.Ruled(tables=tables, file="/x", seconds=1.0)
    done: Any = SimpleNamespace(records=[record])
    on = ("ON", "true")
    radix = Candidate((on, ("BCAST", "tree"), ("RADIX", "2")))
    values = [Candidate((on, ("BCAST", "tree"))), radix, Candidate((on, ("REDUCE", "tree")))]
    assert _unforced(prepared, done, values) == values[2 if tables else 0 :]
    assert borders(prepared, done, {"RULES": "/x"}) == ([128, 256] if tables else [])
    assert borders(prepared, done, {"OTHER": "x"}) == []


def test_what_a_library_has_no_rules_of_is_not_measured(tmp_path: Path) -> None:
    trials: Any = SimpleNamespace(rules=lambda *_: pytest.fail("measured"))
    for prepared in ({"operations": [], "ruled": RULES}, {"operations": [BCAST], "ruled": None}):
        assert _ruled(cast(Any, SimpleNamespace(**prepared)), trials, tmp_path, print) == []


def test_a_cost_model_that_moves_no_message_is_left_alone() -> None:
    prepared: Any = SimpleNamespace(calibrated=[SimpleNamespace(component="ucx")], single=None)
    measured: Any = SimpleNamespace(ceilings=lambda _: pytest.fail("measured"))
    assert _calibrated(prepared, measured, lambda _: None, []) == []


@pytest.mark.parametrize(
    ("other", "left_out"),
    [
        (Candidate((("CELLS", "64"),)), ["UCX_TLS=sm"]),
        (Candidate((("OMPI_MCA_pml", "ucx"),)), []),  # it may move them then
    ],
)
def test_settings_of_what_moves_no_message_are_left_out(
    other: Candidate, left_out: list[str]
) -> None:
    prepared: Any = SimpleNamespace(of_ucx=["UCX_TLS"])
    values = [Candidate((("UCX_TLS", "sm"),)), other]
    lines: list[str] = []
    kept = _without_idle(prepared, values, 0, lines.append)
    assert [each.label for each in values if each not in kept] == left_out
    assert len(lines) == bool(left_out)
    assert _without_idle(prepared, values, 1, lines.append) == values  # a hint stays
