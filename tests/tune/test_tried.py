# SPDX-License-Identifier: Apache-2.0
import pytest

from nearpeak.libraries.library import UNSET
from nearpeak.tune.journal import Trial
from nearpeak.tune.tried import tried


def trial(value: float | None, **env: str) -> Trial:
    return Trial(
        why="spread",
        env=env,
        values=[] if value is None else [value, 1.0],
        units=["us", "GB/s"],
        better=["lower", "higher"],
        failed="" if value else "signal 11",
        seconds=1.0,
    )


def test_what_a_value_does_is_told_though_others_were_beside_it() -> None:
    trials = []
    for _ in range(50):
        trials += [trial(4.0), trial(1.0, A="1"), trial(1.0, A="1", B="2"), trial(4.0, B="2")]
    first, second = tried(trials, [{"A": "1"}, {"B": "2"}, {"C": "3"}], [("B", "2")])
    assert (first.named, second.named) == (False, True)
    assert (first.setting, first.launches, second.launches) == ("A=1", 100, 100)
    assert first.times == pytest.approx([4.0, 1.0], rel=0.05)
    assert second.times == pytest.approx([1.0, 1.0], rel=0.05)


def test_what_is_left_out_is_told() -> None:
    [found] = tried([trial(4.0), trial(2.0, A=UNSET)], [{"A": UNSET}])
    assert (found.setting, found.launches) == ("without A", 1)


def test_what_failed_is_told_and_has_no_figure() -> None:
    [found] = tried([trial(4.0), trial(None, A="1")], [{"A": "1"}])
    assert (found.launches, found.times, found.failed) == (1, [], "signal 11")
    [beside] = tried([trial(4.0), trial(None, A="1"), trial(2.0, A="1", B="2")], [{"A": "1"}])
    assert (beside.failed, len(beside.times)) == ("signal 11", 2)


def test_where_nothing_worked_there_is_no_figure() -> None:
    [found] = tried([trial(None), trial(None, A="1")], [{"A": "1"}])
    assert found.times == []
