# SPDX-License-Identifier: Apache-2.0
"""What a plan measures with device buffers is known before: from the cache, or by a trial."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.launching import fingerprints
from nearpeak.launching.describe import Description
from nearpeak.launching.tried import STEERING
from nearpeak.machine.discover import discover
from nearpeak.machine.machine import Machine
from nearpeak.planning import gate
from nearpeak.planning.gate import Gate, Preparation
from nearpeak.planning.plan import Plan
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.trials import TrialCase

MACHINE = Path(__file__).parents[1] / "machines" / "one-socket.txt"
Settle = Callable[..., tuple[Gate, Plan]]


class Trials:
    """In the place of `try_contender`: counts, and ends as it is told."""

    def __init__(self) -> None:
        self.tried: list[tuple[str, TrialCase]] = []
        self.ends: dict[str, str] = {}  # by operation

    def __call__(self, contender: Any, cases: Any, *_: Any) -> list[Awareness]:
        self.tried += [(contender.label, case) for case in cases]
        return [
            Awareness(
                library=contender.library.name,
                settings=contender.settings.name,
                buffers=case.buffers,
                operation=case.operation,
                status=self.ends.get(case.operation, "ok"),
                message="the evidence" if case.operation in self.ends else "",
                command="line",
                tried="2026-11-24T08:00:00Z",
            )
            for case in cases
        ]


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Trials:
    made = Trials()
    monkeypatch.setattr(gate, "try_contender", made)
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    return made


@pytest.fixture
def settle(standins: ModuleType, tmp_path: Path) -> Settle:
    """Makes a plan of benchmarks between two GPUs, or on another path, as a study would."""
    usual = standins.gpu_path()
    tools = standins.make_tools(tmp_path)
    host = discover(MACHINE)

    def run(
        *benchmarks: str,
        machine: Machine = host,
        contender: Any = None,
        path: Any = usual,
        buffers: str = "D,D",
        **how: bool,
    ) -> tuple[Gate, Plan]:
        made = Gate(
            Description(schema=3, program="", version="", benchmarks=standins.BENCHMARKS),
            machine,
            usual,
            Preparation(tools, lambda line: print(line, file=sys.stderr), **how),
            tmp_path / "trials",
        )

        def plan(found: Sequence[Awareness], seconds: float) -> Plan:
            known = {tried.operation for tried in found if tried.status not in ("ok", "not tried")}
            names = tuple(benchmark for benchmark in benchmarks if benchmark not in known) or (
                "bibw",
            )
            small: Plan = standins.small_plan(
                contender or standins.contender("lib"),
                paths=(path,),
                buffers=buffers,
                benchmarks=names,
            )
            small.trial_seconds = seconds
            return small

        return made, made.settle(plan)

    return run


def test_a_second_study_tries_nothing(
    trials: Trials, settle: Settle, capsys: pytest.CaptureFixture[str]
) -> None:
    trials.ends = {"bw": "hung"}
    first, plan = settle("latency", "bw")
    assert {case for _, case in trials.tried} == {
        TrialCase("D,D", "latency"),
        TrialCase("D,D", "bw"),
    }
    assert plan.trial_seconds == first.seconds > 0
    said = capsys.readouterr().err
    assert "Trying D,D buffers with lib (2 operations) ..." in said
    assert "lib: not GPU-aware for D,D bw: the evidence" in said
    trials.tried.clear()
    second, plan = settle("latency", "bw")
    assert trials.tried == []
    assert (second.seconds, plan.trial_seconds) == (0.0, 0.0)
    assert second.found == first.found
    said = capsys.readouterr().err
    assert "From the cache: D,D buffers with lib (2 operations), tried 2026-11-24;" in said
    assert "lib: not GPU-aware for D,D bw: the evidence" in said


def test_what_is_new_is_tried_alone(trials: Trials, settle: Settle) -> None:
    settle("latency")
    found, _ = settle("latency", "bw")
    assert [case.operation for _, case in trials.tried] == ["latency", "bw"]
    assert {tried.operation for tried in found.found} == {"latency", "bw"}
    trials.tried.clear()
    settle("bw", "latency")
    assert trials.tried == []


def test_it_is_tried_again_where_that_is_asked_for(trials: Trials, settle: Settle) -> None:
    trials.ends = {"bibw": "failed"}
    settle("bibw")
    trials.ends = {}
    settle("bibw", retry=True)
    assert len(trials.tried) == 2
    found, _ = settle("bibw")
    assert len(trials.tried) == 2
    assert [tried.status for tried in found.found] == ["ok"]


def test_a_dry_run_tries_nothing_and_says_how_long_it_will_take(
    trials: Trials, settle: Settle, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found, plan = settle("latency", "bw", dry_run=True)
    assert (trials.tried, found.found) == ([], [])
    assert plan.trial_seconds == gate.START_SECONDS + 2 * gate.CASE_SECONDS
    assert "Not tried yet: D,D buffers with lib (2 operations): about 5.0 s before the study" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "trials").exists()


def test_a_trial_that_says_nothing_of_the_library_is_not_kept(
    trials: Trials, settle: Settle
) -> None:
    trials.ends = {"latency": "not tried"}
    settle("latency")
    settle("latency")
    assert len(trials.tried) == 2


def test_what_a_new_plan_measures_is_tried_too(trials: Trials, settle: Settle) -> None:
    """Where an operation fails, another may come into the plan in its place."""
    trials.ends = {"latency": "crashed"}
    settle("latency")
    assert [case.operation for _, case in trials.tried] == ["latency", "bibw"]


LEFT_OUT: dict[str, Any] = {
    "kind": "benchmark",
    "name": "bw",
    "why": "by hand",
    "benchmarks": ["bw"],
    "budget_seconds": 60.0,
}


def of_budget(standins: ModuleType, tmp_path: Path, said: list[str]) -> tuple[Gate, Any]:
    """A gate, and a plan with bw where trials leave two seconds or more for it."""
    made = Gate(
        Description(schema=3, program="", version="", benchmarks=standins.BENCHMARKS),
        discover(MACHINE),
        standins.gpu_path(),
        Preparation(standins.make_tools(tmp_path), said.append),
        tmp_path / "trials",
    )

    def plan(_found: Sequence[Awareness], seconds: float) -> Plan:
        fits = seconds < gate.START_SECONDS + gate.CASE_SECONDS
        small: Plan = standins.small_plan(
            standins.contender("lib"),
            paths=(standins.gpu_path(),),
            buffers="D,D",
            benchmarks=("latency", "bw") if fits else ("latency",),
        )
        small.trial_seconds = seconds
        small.left_out = [] if fits else [LeftOut(**LEFT_OUT)]
        return small

    return made, plan


def test_what_trials_leave_no_time_for_is_not_tried(
    trials: Trials, standins: ModuleType, tmp_path: Path
) -> None:
    said: list[str] = []
    trials.ends = {"bw": "crashed"}
    made, make = of_budget(standins, tmp_path, said)
    plan = made.settle(make)
    assert [case.operation for _, case in trials.tried] == ["latency"]
    assert {plan.variants[n].benchmark for one in plan.launches for n in one.variants} == {
        "latency"
    }
    assert plan.trial_seconds == made.seconds > 0  # and not what bw would have taken
    assert not any("bw" in line for line in said)


def test_of_what_is_not_measured_no_failure_is_said(
    trials: Trials, settle: Settle, standins: ModuleType, tmp_path: Path
) -> None:
    trials.ends = {"bw": "crashed"}
    settle("latency", "bw")  # into the cache
    said: list[str] = []
    made, make = of_budget(standins, tmp_path, said)
    made.settle(make)
    assert any("not GPU-aware for D,D bw" in line for line in said)
    said.clear()
    made, make = of_budget(standins, tmp_path, said)
    made.settle(lambda found, _: make(found, 60.0 if found else 0.0))
    assert any(line.startswith("From the cache: ") for line in said)
    assert not any("not GPU-aware" in line for line in said)


@pytest.mark.parametrize("change", ["machine", "library", "settings", "environment", "damage"])
def test_of_anything_else_nothing_is_known(
    trials: Trials,
    settle: Settle,
    standins: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    change: str,
) -> None:
    settle("latency")
    how: dict[str, Any] = {}
    if change == "machine":
        how["machine"] = msgspec.structs.replace(discover(MACHINE), kernel="another")
    elif change == "library":
        how["contender"] = standins.contender("other")
    elif change == "settings":
        how["contender"] = standins.contender("lib", "with a variable")
    elif change == "environment":
        monkeypatch.setenv("UCX_TLS", "tcp")
    else:
        for file in (tmp_path / "trials").iterdir():
            file.write_bytes(file.read_bytes()[:100])
    settle("latency", **how)
    assert len(trials.tried) == 2


def test_without_gpus_nothing_is_tried(
    trials: Trials, standins: ModuleType, tmp_path: Path
) -> None:
    made = Gate(
        Description(schema=3, program="", version="", benchmarks=standins.BENCHMARKS),
        discover(MACHINE),
        None,
        Preparation(standins.make_tools(tmp_path), print),
        tmp_path / "trials",
    )
    made.settle(lambda *_: standins.small_plan())
    assert trials.tried == []


def test_the_variables_that_steer_libraries_are_those_of_the_program() -> None:
    source = (Path(__file__).parents[2] / "bench" / "record" / "record.cpp").read_text()
    (names,) = re.findall(r"kPrefixes\[\] = \{(.*?)\}", source, flags=re.DOTALL)
    assert set(re.findall(r'"(\w+)"', names)) == set(STEERING) - {"LD_", "NEARPEAK_"}


def test_a_rank_that_holds_no_gpu_is_tried_too(
    trials: Trials, settle: Settle, standins: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = standins.gpu_path("host-gpu near", device="-")
    settle("latency", path=bare, buffers="H,D")
    assert trials.tried == [("lib", TrialCase("H,D", "latency"))] * 2
    said = capsys.readouterr().err
    assert "Trying H,D buffers with lib (1 operation) ..." in said
    assert "Trying H,D buffers with lib (1 operation, the host's rank without a GPU) ..." in said
    settle("latency", path=bare, buffers="H,D")
    assert len(trials.tried) == 2  # the cache has both
    own = standins.gpu_path("host-gpu near", device="GPU-0")
    settle("latency", path=own, buffers="H,D")
    assert len(trials.tried) == 2
