# SPDX-License-Identifier: Apache-2.0
"""Finds out which operations work with device buffers, as far as a plan needs it.

A plan is made as if all went well, what it then measures is looked up in the cache or tried, and
the plan is made again with the outcomes, until nothing in it is unknown. The seconds of trials
count in its budget: a plan that is fitted to the rest is made before, so that nothing is tried that
this plan leaves out.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearpeak.launching.awareness import MissingTrials, try_contender
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.describe import Description
from nearpeak.launching.fingerprints import fingerprint
from nearpeak.launching.tried import TrialCache
from nearpeak.libraries.families import is_native
from nearpeak.libraries.library import Contender
from nearpeak.machine.machine import Machine
from nearpeak.planning.plan import Plan, Template
from nearpeak.planning.variants import tried_as
from nearpeak.terms.awareness import Awareness, describe, unaware
from nearpeak.terms.axes import staging
from nearpeak.terms.benchmarks import named
from nearpeak.terms.buffers import in_gpu, rank_ends
from nearpeak.terms.left_out import never_measured
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds
from nearpeak.terms.trials import TrialCase

# Guesses: of a job with two GPUs, and of an operation at three sizes, verified.
START_SECONDS, CASE_SECONDS = 3.0, 1.0


@dataclass(frozen=True)
class Preparation:
    """The preparation of plans: its tools, and how much is tried."""

    tools: Tools
    say: Callable[[str], None]  # prints a line for each slow step or its result
    retry: bool = False  # operations are tried, though the cache has their outcomes
    dry_run: bool = False  # nothing is started: what is unknown is assumed to go well


@dataclass
class Gate:
    """The outcomes of operations with device buffers; tries those that are missing."""

    described: Description
    host: Machine
    path: DataPath | None  # on which operations are tried; None without GPUs
    preparation: Preparation
    folder: Path  # of the cache
    found: list[Awareness] = field(default_factory=list, init=False)
    seconds: float = field(default=0.0, init=False)  # that trials took, or will take
    _settled: set[tuple[str, TrialCase, str]] = field(default_factory=set, init=False)

    def settle(self, make: Callable[[Sequence[Awareness], float], Plan]) -> Plan:
        """Returns the plan that `make` makes of the outcomes and the seconds of trials, once all
        that it measures is known."""
        plan = make(self.found, self.seconds)
        while lacking := list(self._lacking(plan)):
            if not self._look_up_all(lacking):
                plan = make(self.found, self.seconds + sum(map(_guess, lacking)))
                plan.trial_seconds = self.seconds
                lacking = list(self._lacking(plan))
                if not lacking:
                    break
                if not self._look_up_all(lacking):
                    for part in lacking:
                        self._try(part)
            plan = make(self.found, self.seconds)
        never = never_measured(plan.left_out)
        said = [outcome for outcome in self.found if outcome.operation not in never]
        for line in map(describe, unaware(said)):
            self.preparation.say(line)
        return plan

    def _lacking(self, plan: Plan) -> Iterator[MissingTrials]:
        for number, contender in enumerate(plan.contenders):
            if self.path is None or is_native(contender.library):
                continue
            launches = [launch for launch in plan.launches if launch.contender == number]
            bare = [path for path in plan.paths if path.host_device == "none"]
            for path in [self.path, *bare[:1]]:
                used = [
                    launch for launch in launches if path is self.path or launch.path == path.id
                ]
                if cases := self._unknown(plan, contender, path, used):
                    yield MissingTrials(contender, cases, path)

    def _unknown(
        self, plan: Plan, contender: Contender, path: DataPath, launches: Sequence[Template]
    ) -> list[TrialCase]:
        """Returns the cases of a contender in these launches that were not tried on a path."""
        used = sorted({index for launch in launches for index in launch.variants})
        wanted = dict.fromkeys(filter(None, (self._case(plan, index) for index in used)))
        cases = [
            case
            for case in wanted
            if (contender.label, case, path.host_device) not in self._settled
            and (path.host_device != "none" or rank_ends(path, case.buffers))
        ]
        return sorted(cases, key=lambda case: case.buffers)

    def _case(self, plan: Plan, number: int) -> TrialCase | None:
        """Returns the case that shows whether a library can be handed the buffers of a variant;
        None: nothing to try."""
        assert self.path is not None
        variant = plan.variants[number]
        if not in_gpu(variant.buffers) or staging(variant.axes) is not None:
            return None
        benchmarks = self.described.benchmarks
        operation = tried_as(self.described.benchmark(variant), variant, benchmarks)
        fits = named(benchmarks, operation).ranks.fits(len(self.path.ends))
        return TrialCase(variant.buffers, operation) if fits else None

    def _look_up_all(self, lacking: Iterable[MissingTrials]) -> bool:
        """Takes what the cache has of the missing outcomes; False if that is nothing."""
        if self.preparation.retry:
            return False
        cached = [self._look_up(self._cache(part), part) for part in lacking]
        return any(cached)

    def _cache(self, part: MissingTrials) -> TrialCache:
        identity = fingerprint(self.host, [part.contender], self.preparation.tools)
        return TrialCache(self.folder, identity, part.contender, part.path)

    def _settled_by(self, part: MissingTrials) -> None:
        label, device = part.contender.label, part.path.host_device
        self._settled |= {(label, case, device) for case in part.cases}

    def _look_up(self, tried: TrialCache, lacking: MissingTrials) -> list[TrialCase]:
        """Takes what the cache has of the missing outcomes; returns the cases of these."""
        contender, cases, path = lacking
        by_case = {
            TrialCase(outcome.buffers, outcome.operation): outcome for outcome in tried.read()
        }
        known_cases = [case for case in by_case if case in cases]
        outcomes = [by_case[case] for case in known_cases]
        self.found += outcomes
        self._settled_by(MissingTrials(contender, known_cases, path))
        if outcomes:
            days = sorted(outcome.tried[:10] for outcome in outcomes)
            when = " to ".join(dict.fromkeys((days[0], days[-1])))
            label = MissingTrials(contender, known_cases, path).label
            self.preparation.say(f"From the cache: {label}, tried {when}; --retry tries again")
        return known_cases

    def _try(self, left: MissingTrials) -> None:
        """Tries what is in no cache; a dry run only guesses how long that takes."""
        contender, cases, path = left
        self._settled_by(left)
        if self.preparation.dry_run:
            guess = _guess(left)
            self.seconds += guess
            self.preparation.say(
                f"Not tried yet: {left.label}: about {format_seconds(guess)} before the study"
            )
            return
        self.preparation.say(f"Trying {left.label} ...")
        began = time.monotonic()
        outcomes = try_contender(contender, cases, path, self.preparation.tools)
        self.seconds += time.monotonic() - began
        self._cache(left).add(outcomes)
        self.found += outcomes


def _guess(missing: MissingTrials) -> float:
    """The seconds that trials will take, guessed."""
    return START_SECONDS + CASE_SECONDS * len(missing.cases)
