# SPDX-License-Identifier: Apache-2.0
"""The GPU-awareness gate: tries a library's operations with device buffers before it is measured.

A library's own claims are wrong in both directions (docs/methods/statistics.md), so each operation
is tried with each kind of buffers, its data verified (launching/trials.py).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from nearpeak.clock import utc_now
from nearpeak.folders import cache
from nearpeak.grouping import grouped
from nearpeak.launching.command_lines import Seats, Tools, probe_launch
from nearpeak.launching.fingerprints import fingerprint
from nearpeak.launching.trials import LIMIT_SECONDS, SIZES, Job
from nearpeak.launching.tried import TrialCache
from nearpeak.libraries.library import CommandLine, Contender
from nearpeak.machine.machine import Machine
from nearpeak.numbers import count
from nearpeak.terms.awareness import Awareness, listed
from nearpeak.terms.buffers import rank_ends
from nearpeak.terms.outcomes import GOOD, NOT_TRIED
from nearpeak.terms.path import DataPath
from nearpeak.terms.trials import BadEnd, Outcome, TrialCase

FINE = (GOOD, NOT_TRIED)  # these say nothing against a library
DEVICES = "D,D"  # the kinds of buffers that the ranks' places are chosen for


def try_contender(
    contender: Contender, wanted: Sequence[TrialCase], path: DataPath, tools: Tools
) -> list[Awareness]:
    """Tries each operation with its buffers on a path between two GPUs. On a path whose host's rank
    holds none, a job that ends badly is one more way to fail."""
    if path.host_device != "none":
        return _try_at(contender, wanted, path, DEVICES, tools)
    tried: list[Awareness] = []
    for kind, cases in grouped(wanted, lambda case: case.buffers).items():
        tried += _try_at(contender, cases, path, kind, tools)
    return [msgspec.structs.replace(it, host_device=path.host_device) for it in tried]


def _try_at(
    contender: Contender, wanted: Sequence[TrialCase], path: DataPath, kind: str, tools: Tools
) -> list[Awareness]:
    """Tries the cases with the ranks where buffers of this kind place them."""
    ends = rank_ends(path, kind)
    assert ends is not None
    outcomes: dict[TrialCase, tuple[Outcome, list[TrialCase]]] = {}

    def launch(options: list[str]) -> CommandLine:
        return probe_launch(tools, contender, options, Seats(path, ends, kind))

    def run(cases: Sequence[TrialCase]) -> list[TrialCase]:
        def keep(outcome: Outcome, before: list[TrialCase]) -> None:
            outcomes[outcome.case] = outcome, before

        job = Job(cases, lambda _: SIZES, launch, keep)
        left = job.run(LIMIT_SECONDS)
        if job.bad_end is not None and path.host_device == "none":
            for case in job.ended:
                outcomes[case] = _ended(outcomes[case][0], job.bad_end), outcomes[case][1]
        return left

    left = list(wanted)
    while left:
        left = run(left)
    tried = []
    for case in wanted:
        outcome, before = outcomes[case]
        awareness = _awareness(contender, outcome)
        if not outcome.settled:
            run([case])
            awareness = _of_two(awareness, _awareness(contender, outcomes[case][0]), before)
        tried.append(awareness)
    return tried


def _ended(outcome: Outcome, end: BadEnd) -> Outcome:
    """Marks a case that went well as bad, as its job ended badly."""
    if outcome.bad:
        return outcome
    message = f"once all was done: {end.message}"
    return msgspec.structs.replace(outcome, status=end.status, message=message, alone=end.status)


def _awareness(contender: Contender, outcome: Outcome) -> Awareness:
    return Awareness(
        library=contender.library.name,
        settings=contender.settings.name,
        buffers=outcome.case.buffers,
        operation=outcome.case.operation,
        status=outcome.status,
        message=outcome.message,
        command=outcome.command,
        tried=utc_now(),
    )


def _of_two(first: Awareness, alone: Awareness, before: Iterable[TrialCase]) -> Awareness:
    """Combines the outcomes of an operation that ended badly after others and was tried alone."""
    if alone.status == NOT_TRIED:
        return first
    if alone.status != GOOD:
        return alone
    message = f"{first.status} after {listed((case.buffers, case.operation) for case in before)}"
    if first.message:
        message += f": {first.message}"
    return msgspec.structs.replace(alone, message=message, after_others=first.status)


class MissingTrials(NamedTuple):
    """The missing trials of one contender."""

    contender: Contender
    cases: list[TrialCase]
    path: DataPath  # where they are tried

    @property
    def label(self) -> str:
        """`D,D, H,D buffers with openmpi (12 operations)`."""
        kinds = ", ".join(dict.fromkeys(case.buffers for case in self.cases))
        tried = count(len(self.cases), "operation")
        held = ", the host's rank without a GPU" if self.path.host_device == "none" else ""
        return f"{kinds} buffers with {self.contender.label} ({tried}{held})"


def why_needs_gpu(
    contender: Contender,
    case: TrialCase,
    path: DataPath,
    host: Machine,
    tools: Tools,
    say: Callable[[str], None],
) -> str:
    """Returns the reason why a library cannot be measured in a case on a path whose host's rank
    holds no GPU, from the cache or a trial now; "" if it can."""
    identity = fingerprint(host, [contender], tools)
    tried = TrialCache(cache() / "trials", identity, contender, path)
    alike = [it for it in tried.read() if TrialCase(it.buffers, it.operation) == case]
    if not alike:
        say(f"Trying {MissingTrials(contender, [case], path).label} ...")
        alike = try_contender(contender, [case], path, tools)
        tried.add(alike)
    return next((it.message or it.status for it in alike if it.status not in FINE), "")
