# SPDX-License-Identifier: Apache-2.0
"""The search, on benches with planted settings and the noise of real launches."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from nearpeak.arrays import Floats
from nearpeak.libraries.library import UNSET
from nearpeak.tune.bench import Bench, Failed
from nearpeak.tune.budget import Work
from nearpeak.tune.candidates import Candidate, Env
from nearpeak.tune.search import Outcome, Search

Effect = Callable[[Env], "tuple[float, float] | str"]  # times as fast, by target; or why it fails


class Planted(Bench):
    """Two targets whose figures follow from the variables, with noise of a launch."""

    def __init__(self, effect: Effect, seed: int, noise: float = 0.03, launches: int = 400) -> None:
        self.effect = effect
        self.noise = noise
        self.launches = launches
        self.most = math.inf  # of all
        self.lent = 0  # further ones, that a study could spare
        self.reserved: list[int] = []
        self.done = 0
        self.checked: list[Env] = []
        self.others: dict[str, Effect] = {}  # what it does elsewhere
        self.priced = 0
        self.broken: Callable[[Env], str | None] = lambda _: ""
        self._chance = random.Random(seed)

    def measure(self, env: Env, why: str) -> Floats | Failed:
        assert why
        self.done += 1
        found = self.effect(env)
        if isinstance(found, str):
            return Failed(found)
        # Launches scatter, and one in twenty is slow.
        slow = 0.5 * self._chance.random() if self._chance.random() < 0.05 else 0.0
        return np.array(
            [-math.log(speed) + self._chance.gauss(0, self.noise) + slow for speed in found]
        )

    def check(self, env: Env) -> str | None:
        self.checked.append(dict(env))
        return self.broken(env)

    def places(self) -> list[str]:
        return list(self.others)

    def elsewhere(self, env: Env, place: str) -> dict[str, float] | Failed:
        self.priced += 1
        found = self.others[place](env)
        if isinstance(found, str):
            return Failed(found)
        return {
            f"case {number}": -math.log(speed) + self._chance.gauss(0, self.noise)
            for number, speed in enumerate(found)
        }

    def left(self) -> float:
        return 1 - self.done / self.launches

    def holds(self, launches: int, checks: int, work: Work) -> bool:
        self.reserved.append(checks)
        lent = 0 if work == "search" else self.lent
        return self.done + launches <= self.most + lent

    def foreseen(self, launches: int) -> float | None:
        return None if self.done + launches <= self.most else 1.0

    def time_added(self) -> bool:
        return False


def candidates(values: Mapping[str, list[str]]) -> list[Candidate]:
    return [Candidate(((name, value),)) for name, many in values.items() for value in many]


def mattering(found: Outcome) -> Env:
    """What was taken, but a filler that may be left by chance."""
    kept = {name: value for name, value in found.taken.items() if name not in FILLERS}
    assert len(found.taken) - len(kept) <= 1
    return kept


FILLERS = {f"FILL{number}": ["1", "2"] for number in range(10)}


def search(
    effect: Effect, names: Mapping[str, list[str]], seed: int = 1
) -> tuple[Outcome, Planted]:
    bench = Planted(effect, seed)
    return Search(bench, candidates({**FILLERS, **names}), seed).run(), bench


@pytest.mark.parametrize("fails", [False, True])
def test_a_launch_without_a_variable_is_a_candidate_like_any_other(fails: bool) -> None:
    def effect(env: Env) -> "tuple[float, float] | str":
        if fails and env.get("GIVEN") == UNSET:
            return "signal 11"
        return (2.0, 2.0) if env.get("GIVEN") == UNSET else (1.0, 1.0)

    found, _ = search(effect, {"GIVEN": [UNSET]})
    assert mattering(found) == ({} if fails else {"GIVEN": UNSET})
    assert found.refused == ({"without GIVEN": "signal 11"} if fails else {})


@pytest.mark.parametrize("seed", range(3))
def test_no_setting_is_blamed_for_a_launch_of_the_library_as_it_is(seed: int) -> None:
    chance = random.Random(seed)

    def effect(env: Env) -> "tuple[float, float] | str":
        if not env and chance.random() < 0.2:
            return "exit status 14: lost"
        return (2.0, 2.0) if "FAST" in env else (1.0, 1.0)

    found, _ = search(effect, {"FAST": ["y"]}, seed)
    assert (mattering(found), found.refused) == ({"FAST": "y"}, {})


def test_why_the_library_as_it_is_fails_is_told() -> None:
    told: list[str] = []
    bench = Planted(lambda _: "exit status 2: too large", 1)
    Search(bench, candidates(FILLERS), 1, told.append).run()
    assert (told, bench.done) == (["the library as it is: exit status 2: too large"], 3)


@pytest.mark.parametrize("seed", range(3))
def test_one_setting_that_doubles_the_speed_is_found(seed: int) -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (2.0, 2.0) if env.get("FAST") == "y" else (1.0, 1.0)

    found, bench = search(effect, {"FAST": ["n", "y"]}, seed)
    assert mattering(found) == {"FAST": "y"}
    assert bench.checked == [{}, found.taken]
    assert found.lacking == []


def test_settings_are_put_on_top_of_each_other() -> None:
    def effect(env: Env) -> tuple[float, float]:
        first = 3.0 if env.get("FIRST") == "y" else 1.0
        second = 2.0 if "FIRST" in env and env.get("SECOND") == "y" else 1.0
        return first * second, first

    found, _ = search(effect, {"FIRST": ["y"], "SECOND": ["y"]})
    assert mattering(found) == {"FIRST": "y", "SECOND": "y"}


def test_the_best_value_of_several_is_taken() -> None:
    speeds = {"1K": 1.2, "8K": 1.5, "64K": 1.9, "512K": 1.4}

    def effect(env: Env) -> tuple[float, float]:
        speed = speeds.get(env.get("THRESHOLD", ""), 1.0)
        return speed, speed

    found, _ = search(effect, {"THRESHOLD": list(speeds)})
    assert mattering(found) == {"THRESHOLD": "64K"}


@pytest.mark.parametrize("seed", range(3))
def test_two_that_help_only_together_are_found(seed: int) -> None:
    def effect(env: Env) -> tuple[float, float]:
        both = env.get("LEFT") == "y" and env.get("RIGHT") == "y"
        return (1.8, 1.8) if both else (1.0, 1.0)

    found, _ = search(effect, {"LEFT": ["y"], "RIGHT": ["y"]}, seed)
    assert mattering(found) == {"LEFT": "y", "RIGHT": "y"}


def test_what_fails_is_refused_and_the_search_goes_on() -> None:
    def effect(env: Env) -> tuple[float, float] | str:
        if "HANGS" in env:
            return "the launch did not end within 30 s"
        return (1.5, 1.5) if env.get("FAST") == "y" else (1.0, 1.0)

    found, _ = search(effect, {"HANGS": ["y"], "FAST": ["y"]})
    assert mattering(found) == {"FAST": "y"}
    assert found.refused == {"HANGS=y": "the launch did not end within 30 s"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("works", [0, 1, 2, 3])
def test_settings_that_failed_are_not_launched_again(works: int, seed: int) -> None:
    """Two fast values fail together, or only after so many launches."""

    class Failing(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            settings = frozenset(env.items())
            self.again += settings in self.failed
            self.times[settings] += 1
            if {"FAST", "BETTER"} <= set(env) and self.times[settings] > works:
                self.failed.add(settings)
                return Failed("signal 11")
            return super().measure(env, why)

    bench = Failing(both_help, seed, launches=60)
    bench.again, bench.times, bench.failed = 0, Counter(), set()
    values = candidates({"FAST": ["y"], "BETTER": ["y"], "IDLE": ["y"]})
    found = Search(bench, values, seed, first=2).run()
    assert bench.again == 0
    assert bench.failed
    assert mattering(found) in ({"FAST": "y"}, {"FAST": "y", "IDLE": "y"})
    assert frozenset(found.taken.items()) not in bench.failed


def test_what_was_taken_and_fails_later_is_given_up() -> None:
    """More time brings further launches."""

    class Failing(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            if self.added and "FAST" in env:
                return Failed("it hangs")
            return super().measure(env, why)

        def time_added(self) -> bool:
            self.launches += 10
            self.added += 1
            return self.added == 1

    told: list[str] = []
    bench = Failing(both_help, 1, launches=60)
    bench.added = 0
    found = Search(bench, candidates({"FAST": ["y"]}), 1, told.append).run()
    assert "taken: FAST=y" in told
    assert (found.taken, found.free) == ({}, {})
    assert found.refused == {"FAST=y": "it hangs"}


NEEDING = [Candidate((("LAYER", "other"), (f"LAYER_{number}", "1"))) for number in range(8)]


@pytest.mark.parametrize("seed", range(3))
def test_what_excludes_what_many_others_need_is_found(seed: int) -> None:
    """As Open MPI's way by UCX, beside settings of its own transport of shared memory."""

    def effect(env: Env) -> tuple[float, float]:
        return (2.0, 2.0) if env.get("WAY") == "b" else (1.0, 1.0)

    own = [Candidate((("WAY", "a"), (name, "1"))) for name in "CDEFGHIJKL"]
    found = Search(Planted(effect, seed), [Candidate((("WAY", "b"),)), *own], seed).run()
    assert found.taken == {"WAY": "b"}


def test_where_nothing_works_with_what_several_need_none_is_tried_further() -> None:
    def effect(env: Env) -> tuple[float, float] | str:
        return "it crashed" if "LAYER" in env else (1.0, 1.0)

    found = Search(Planted(effect, 1), [*candidates(FILLERS), *NEEDING], 1).run()
    reasons = [found.refused[each.label] for each in NEEDING]
    assert sorted(reasons) == ["it crashed"] * 2 + ["nothing worked with LAYER=other"] * 6


def test_what_several_need_may_fail_with_some_of_them() -> None:
    def effect(env: Env) -> tuple[float, float] | str:
        return "it crashed" if {"LAYER_1", "LAYER_2"} & set(env) else (1.0, 1.0)

    found = Search(Planted(effect, 1), [NEEDING[0], *candidates(FILLERS), *NEEDING], 1, first=1)
    assert set(found.run().refused) == {NEEDING[1].label, NEEDING[2].label}


def test_what_breaks_something_else_is_refused() -> None:
    def effect(env: Env) -> tuple[float, float]:
        if "CORRUPTS" in env:
            return 4.0, 4.0
        return (1.5, 1.5) if env.get("FAST") == "y" else (1.0, 1.0)

    bench = Planted(effect, 1)
    bench.broken = lambda env: "wrong data at 4 KiB" if "CORRUPTS" in env else ""
    found = Search(bench, candidates({**FILLERS, "CORRUPTS": ["y"], "FAST": ["y"]}), 1).run()
    assert mattering(found) == {"FAST": "y"}
    assert found.refused == {"CORRUPTS=y": "wrong data at 4 KiB"}


def test_what_makes_one_target_slower_is_not_taken() -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (3.0, 0.5) if env.get("HALF") == "y" else (1.0, 1.0)

    found, _ = search(effect, {"HALF": ["y"]})
    assert "HALF" not in found.taken


def test_what_scatters_wildly_is_not_taken() -> None:
    chance = random.Random(3)

    def effect(env: Env) -> tuple[float, float]:
        return (math.exp(chance.gauss(0, 0.5)),) * 2 if "RANDOM" in env else (1.0, 1.0)

    found, _ = search(effect, {"RANDOM": ["y"]})
    assert found.taken == {}


def with_price(taken: Effect, **others: Effect) -> tuple[Outcome, Planted]:
    """A search for FAST and BETTER, with what they do elsewhere."""
    bench = Planted(taken, 1)
    bench.others = others
    values = candidates({"FAST": ["y"], "BETTER": ["y"]})
    return Search(bench, values, 1).run(), bench


def both_help(env: Env) -> tuple[float, float]:
    speed = (2.0 if "FAST" in env else 1.0) * (1.5 if "BETTER" in env else 1.0)
    return speed, speed


def test_what_costs_nothing_elsewhere_is_free() -> None:
    found, bench = with_price(both_help, elsewhere=both_help, host=lambda _: (1.0, 1.0))
    assert found.taken == found.free == {"FAST": "y", "BETTER": "y"}
    assert bench.priced <= 12


@pytest.mark.parametrize("seed", range(4))
def test_what_harms_a_target_in_noise_is_not_taken(seed: int) -> None:
    """As collectives of four ranks on a machine that others share: one four times as fast, one
    half as fast, and launches that scatter by half."""

    def effect(env: Env) -> tuple[float, float]:
        return (4.0, 0.5) if "MIXED" in env else (1.0, 1.0)

    bench = Planted(effect, seed, noise=0.45, launches=60)
    bench.most = 110
    found = Search(bench, candidates({"MIXED": ["y"], **FILLERS}), seed).run()
    assert "MIXED" not in found.taken


@pytest.mark.parametrize("who", ["as it is", "with it"])
def test_what_cannot_be_proved_as_a_launch_fails_is_not_taken(who: str) -> None:
    class Failing(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            self.proving = self.proving or why == "proof"
            fails = self.proving and bool(env) == (who == "with it")
            return Failed("it hangs") if fails else super().measure(env, why)

    told: list[str] = []
    bench = Failing(both_help, 1)
    bench.proving = False
    found = Search(bench, candidates({"FAST": ["y"]}), 1, told.append).run()
    assert found.taken == found.free == {}
    assert found.refused == ({"FAST=y": "it hangs"} if who == "with it" else {})
    # More time would not prove it either.
    assert found.lacking == []
    unproved = "FAST=y: not proved, so it is not taken: the library as it is failed in 28 rounds: "
    assert (f"{unproved}it hangs" in told) == (who == "as it is")


def test_a_proof_that_lacked_time_as_launches_failed_says_both() -> None:
    class Failing(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            if why != "proof":
                return super().measure(env, why)
            self.most = min(self.most, self.done + 20)
            found = super().measure(env, why)
            return found if env else Failed("it hangs")

    bench = Failing(both_help, 1)
    found = Search(bench, candidates({"FAST": ["y"]}), 1).run()
    assert found.taken == {}
    unproved = "a proof that it is better than the default settings, so it is not taken"
    [lacking] = [each for each in found.lacking if each.startswith(unproved)]
    assert re.fullmatch(
        r" \(the library as it is failed in \d+ rounds: it hangs\)",
        lacking.removeprefix(unproved),
    )


def calibrated(effect: Effect, *names: str) -> Outcome:
    """With a further value of each of these from ceilings."""
    values = [Candidate(((name, "measured"),)) for name in names]
    return Search(Planted(effect, 1), candidates(FILLERS), 1, calibrated=values).run()


def test_what_ceilings_give_is_told_and_takes_part() -> None:
    def effect(env: Env) -> tuple[float, float]:
        rate = 1.5 if env.get("RATE") == "measured" else 1.0
        return rate, 1.0

    found = calibrated(effect, "RATE", "TIME")
    assert mattering(found) in ({"RATE": "measured"}, {"RATE": "measured", "TIME": "measured"})
    assert found.calibration is not None
    assert found.calibration.candidate.label == "RATE=measured TIME=measured"
    assert len(found.calibration.gains) == 6
    assert np.median(found.calibration.gains, axis=0) == pytest.approx([math.log(1.5), 0], abs=0.1)


def test_hints_have_six_rounds_where_the_time_holds_them() -> None:
    def rounds(launches: int) -> int:
        values = [Candidate((("RATE", "measured"),))]
        bench = Planted(lambda _: (1.0, 1.0), 1, launches=launches)
        found = Search(bench, candidates(FILLERS), 1, calibrated=values).run()
        assert found.calibration is not None
        return len(found.calibration.gains)

    assert (rounds(81), rounds(20)) == (6, 2)


def test_each_hint_is_tried_alone_beside_the_library_as_it_is() -> None:
    class Listed(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            if why == "alone":
                self.alone.append(env)
            return super().measure(env, why)

    bench = Listed(lambda env: (1.5, 1.5) if "GOOD" in env else (1.0, 1.0), 1, launches=60)
    bench.alone: list[Env] = []
    known = candidates({"GOOD": ["y"], "IDLE": ["y"], **FILLERS})
    found = Search(bench, known, 1, first=2).run()
    for start in range(0, len(bench.alone), 3):
        in_round = bench.alone[start : start + 3]
        assert all(env in in_round for env in ({}, {"GOOD": "y"}, {"IDLE": "y"}))
    assert mattering(found) == {"GOOD": "y"}


def test_ceilings_that_harm_are_told_and_not_taken() -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (0.5, 0.5) if "RATE" in env else (1.0, 1.0)

    found = calibrated(effect, "RATE")
    assert "RATE" not in found.taken
    assert found.calibration is not None
    assert np.median(found.calibration.gains) == pytest.approx(math.log(0.5), abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_named_and_what_ceilings_give_are_taken_together(seed: int) -> None:
    def effect(env: Env) -> tuple[float, float]:  # as of Open MPI with UCX from a host to a GPU
        rate = env.get("RATE") == "measured"
        if env.get("HANDLES") == "n":
            return 5.0, 28.0 if rate else 2.5
        return 1.0, 27.0 if rate else 1.0

    known = candidates({"HANDLES": ["n"], "RATE": ["5"], **FILLERS})
    measured = [Candidate(((name, "measured"),)) for name in ("RATE", "TIME", "OTHER")]
    bench = Planted(effect, seed, launches=90)
    bench.most = 120
    found = Search(bench, known, seed, first=2, calibrated=measured).run()
    assert mattering(found) == {"HANDLES": "n", "RATE": "measured"}


def test_a_ceiling_that_a_library_does_not_take_is_left_out() -> None:
    def effect(env: Env) -> tuple[float, float] | str:
        return "no value configured" if "OLD" in env else (1.0, 1.0)

    found = calibrated(effect, "RATE", "OLD", "TIME")
    assert found.refused == {"OLD=measured": "no value configured"}
    assert found.calibration is not None
    assert found.calibration.candidate.label == "RATE=measured TIME=measured"
    assert calibrated(effect, "OLD").calibration is None


def test_ceilings_that_fail_in_company_alone_are_left() -> None:
    def effect(env: Env) -> tuple[float, float] | str:
        return "together" if {"RATE", "TIME"} <= set(env) else (1.0, 1.0)

    found = calibrated(effect, "RATE", "TIME")
    assert found.calibration is None
    assert not {"RATE=measured", "TIME=measured"} & set(found.refused)


@pytest.mark.parametrize("most", [5, 20, 45, 70, 95, 120, 240])
def test_a_search_ends_in_time_and_says_what_was_left(most: int) -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (2.0, 2.0) if env.get("FAST") == "y" else (1.0, 1.0)

    bench = Planted(effect, 1, launches=min(400, int(most * 0.75)))
    bench.most = most
    found = Search(bench, candidates({**FILLERS, "FAST": ["n", "y"]}), 1).run()
    assert bench.done <= most + 5  # the first launches of what is taken
    proved = found.taken.get("FAST") == "y"
    assert proved or found.taken == {}
    assert proved or most < 100
    assert proved or found.lacking
    assert set(bench.reserved) <= {0, 1}


def test_what_decides_is_done_in_time_that_the_study_can_spare() -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (2.2, 2.2) if env.get("FAST") == "y" else (1.0, 1.0)

    def found(lent: int) -> Outcome:
        bench = Planted(effect, 1, launches=37)
        bench.most, bench.lent = 40, lent
        return Search(bench, candidates({**FILLERS, "FAST": ["n", "y"]}), 1).run()

    assert (found(0).taken, bool(found(0).lacking)) == ({}, True)
    assert found(60).taken.get("FAST") == "y"


def test_what_seems_better_has_more_rounds() -> None:
    """A gain that four noisy rounds do not tell from chance, and fourteen do."""

    def effect(env: Env) -> tuple[float, float]:
        return (1.2, 1.2) if "FAST" in env else (1.0, 1.0)

    def taken(most: int, monkeypatch: pytest.MonkeyPatch) -> int:
        monkeypatch.setattr("nearpeak.tune.search.PROOF_ROUNDS", (4, most))
        benches = [Planted(effect, seed, noise=0.15, launches=60) for seed in range(10)]
        values = candidates({"FAST": ["y"], "OTHER": ["y"]})
        return sum("FAST" in Search(each, values, 1).run().taken for each in benches)

    with pytest.MonkeyPatch.context() as monkeypatch:
        assert taken(14, monkeypatch) > taken(4, monkeypatch)


def test_what_the_time_left_undecided_is_named() -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (1.1, 1.1) if "FAST" in env else (1.0, 1.0)

    def lacking(most: float) -> list[str]:
        bench = Planted(effect, 2, noise=0.15, launches=30)
        bench.most = most
        found = Search(bench, candidates({"FAST": ["y"], "OTHER": ["y"]}), 1).run()
        assert not found.taken
        return [each for each in found.lacking if each.startswith("rounds that tell")]

    [told] = lacking(40)
    assert re.fullmatch(
        r"rounds that tell whether FAST=y is better: 1\.\d\d 1\.\d\d times as fast in"
        r" \d rounds so far",
        told,
    )
    assert lacking(1000) == []  # all rounds that any time would have


def test_what_was_not_seen_to_work_is_not_taken() -> None:
    def effect(env: Env) -> tuple[float, float]:
        return (2.0, 2.0) if "FAST" in env else (1.0, 1.0)

    bench = Planted(effect, 1)
    bench.broken = lambda env: None if env else ""
    found = Search(bench, candidates({"FAST": ["y"]}), 1).run()
    assert found.taken == found.free == {}
    assert found.lacking == ["whether all that worked still works with it, so it is not taken"]


BROKEN_TOGETHER = "wrong data at 4 KiB"


@pytest.mark.parametrize("checked", [0, 1, 2])
def test_all_are_refused_only_if_each_was_checked_alone(checked: int) -> None:
    """Two that break something together alone, in time for so many single checks."""
    bench = Planted(both_help, 1)
    singles: list[Env] = []

    def broken(env: Env) -> str | None:
        if len(env) != 1:
            return BROKEN_TOGETHER if env else ""
        singles.append(env)
        return "" if len(singles) <= checked else None

    bench.broken = broken
    found = Search(bench, candidates({"FAST": ["y"], "BETTER": ["y"]}), 1).run()
    together = f"together: {BROKEN_TOGETHER}"
    if checked == 2:
        assert found.refused == {"FAST=y": together, "BETTER=y": together}
    else:
        assert found.refused == {}
        told = [each for each in found.lacking if each.startswith("which value of ")]
        assert told[0].endswith(f" breaks what worked ({BROKEN_TOGETHER})")


def test_the_only_value_is_to_blame_without_another_check() -> None:
    bench = Planted(lambda env: (2.0, 2.0) if "FAST" in env else (1.0, 1.0), 1)
    answers = ["", BROKEN_TOGETHER]
    bench.broken = lambda _: answers.pop(0) if answers else None
    found = Search(bench, candidates({"FAST": ["y"]}), 1).run()
    assert (found.refused, found.lacking) == ({"FAST=y": BROKEN_TOGETHER}, [])


@pytest.mark.parametrize("worked", [1, 2])
def test_one_round_does_not_drop_a_part_as_the_rest_fails(worked: int) -> None:
    """The settings with the part fail after so many rounds with and without it."""

    class Failing(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            if why == "without" and env == {"FAST": "y", "IDLE": "y"}:
                self.rounds += 1
                if self.rounds > worked:
                    return Failed("lost")
            return super().measure(env, why)

    bench = Failing(lambda env: (2.0, 2.0) if "FAST" in env else (1.0, 1.0), 1, noise=0.001)
    bench.rounds = 0
    made = Search(bench, candidates({"FAST": ["y"], "IDLE": ["y"]}), 1)
    assert made._start()
    without, best = Candidate((("FAST", "y"),)), Candidate((("FAST", "y"), ("IDLE", "y")))
    assert made._is_as_good(without, best) == (worked == 2)


def test_what_is_not_needed_is_dropped() -> None:
    def effect(env: Env) -> tuple[float, float]:
        if env.get("BETTER") == "y":
            return 3.0, 3.0
        return (1.3, 1.3) if env.get("GOOD") == "y" else (1.0, 1.0)

    found, _ = search(effect, {"GOOD": ["y"], "BETTER": ["y"]})
    assert mattering(found) == {"BETTER": "y"}


def test_in_little_time_few_values_are_taken_where_few_do() -> None:
    """Three values of some forty help; the time holds one race and hardly more."""
    speeds = {"A": 2.0, "B": 1.5, "C": 1.4}

    def effect(env: Env) -> tuple[float, float]:
        speed = math.prod(times for name, times in speeds.items() if env.get(name) == "y")
        return speed, speed

    fillers = {f"FILL{number}": ["1", "2"] for number in range(20)}
    sizes = []
    for seed in range(6):
        bench = Planted(effect, seed, launches=70)
        bench.most = 110
        values = candidates({**fillers, **{name: ["y"] for name in speeds}})
        taken = Search(bench, values, seed).run().taken
        assert effect(taken)[0] > 2.0
        sizes.append(len(taken))
    assert np.median(sizes) <= 5


@pytest.mark.parametrize("slow", [2, 4])
def test_a_named_value_that_is_slow_in_one_launch_is_raced(slow: int) -> None:
    """CPUs that are far apart for a moment make one launch slow, whatever is set."""

    class Moved(Planted):
        def measure(self, env: Env, why: str) -> Floats | Failed:
            found = super().measure(env, why)
            self.alone += why == "alone"
            moved = why == "alone" and self.alone == slow // 2
            return found + 1.5 if moved and not isinstance(found, Failed) else found

    def effect(env: Env) -> tuple[float, float]:
        return (1.5, 1.5) if "NAMED" in env else (1.0, 1.0)

    bench = Moved(effect, 1, launches=25)
    bench.alone, bench.most = 0, 60
    known = candidates({"NAMED": ["y"], **FILLERS})
    assert "NAMED" in Search(bench, known, 1, first=1).run().taken


def test_a_library_that_does_not_work_at_all_ends_the_search() -> None:
    found, bench = search(lambda _: "it crashed", {"FAST": ["y"]})
    assert (found.taken, found.tried, bench.done) == ({}, 0, 3)


def test_a_library_against_itself() -> None:
    """Searches where nothing helps take nothing."""
    taken = sum(bool(search(lambda _: (1.0, 1.0), {}, seed)[0].taken) for seed in range(20))
    assert taken == 0
