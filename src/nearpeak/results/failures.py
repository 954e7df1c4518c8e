# SPDX-License-Identifier: Apache-2.0
"""What was not measured: launches that failed, by how they did, and cases that were left out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from nearpeak.observations.observed import Observations
from nearpeak.results.results import EndedIn, Failure, FailureKind, Skip
from nearpeak.terms.benchmarks import x_unit
from nearpeak.terms.identity import Place, Who
from nearpeak.terms.logs import fault
from nearpeak.terms.outcomes import failure


def failures(observations: Observations) -> list[Failure]:
    """The launches that did not end well; one that was interrupted from outside is none."""
    return [
        Failure(
            launch=launch.number,
            session=launch.block.session,
            who=launch.who,
            place=launch.place,
            benchmarks=[launch.at.benchmark]
            if launch.at
            else list(dict.fromkeys(curve.benchmark for curve in launch.curves)),
            x=launch.at.x if launch.at else None,
            x_unit=x_unit(observations.benchmarks, launch.at.benchmark if launch.at else ""),
            status=status,
            cause=launch.cause,
            message=launch.message,
            given_up_after=launch.given_up_after,
            command=launch.command,
            log=launch.log,
        )
        for launch in observations.launches
        if (status := failure(launch.status))
    ]


Key = tuple[Who, Place, str, str]


def kinds(ended: Iterable[Failure]) -> list[FailureKind]:
    """The failures by library, place, status and cause, which may differ in its numbers.

    One whose launcher names no cause is of the first with a cause that measured the same.
    """
    found: dict[Key, list[Failure]] = {}
    for failed in ended:
        found.setdefault(_key(failed), []).append(failed)
    for key in [key for key in found if not key[-1]]:
        found[key] = [failed for failed in found[key] if not _joined(failed, found)]
    return sorted(map(_kind, filter(None, found.values())), key=lambda kind: kind.launches)


def _key(failed: Failure) -> Key:
    return failed.who, failed.place, failed.status, fault(failed.cause)


def _joined(failed: Failure, found: dict[Key, list[Failure]]) -> bool:
    """Whether a failure without a cause has found its place in a group that has one."""
    for key, group in found.items():
        same = key[-1] and key[:-1] == _key(failed)[:-1]
        if same and {*failed.benchmarks} & {name for other in group for name in other.benchmarks}:
            group.append(failed)
            return True
    return False


def _kind(group: Sequence[Failure]) -> FailureKind:
    first = group[0]
    ended = {
        (name, failed.x or None): EndedIn(benchmark=name, x=failed.x or None, x_unit=failed.x_unit)
        for failed in group
        for name in failed.benchmarks
    }
    return FailureKind(
        who=first.who,
        place=first.place,
        status=first.status,
        cause=first.cause,
        launches=sorted(failed.launch for failed in group),
        first=first.launch,
        ended_in=list(ended.values()),
        message=first.message,
        given_up_after=max(failed.given_up_after for failed in group),
        command=first.command,
        log=first.log,
    )


def skipped(observations: Observations) -> list[Skip]:
    """What a program did not measure and why, each reason once with all its sizes."""
    sizes: dict[tuple[Who, Place, str, str, str], set[int]] = defaultdict(set)
    for gap in observations.gaps:
        if gap.said and gap.status == "skipped":
            launch, benchmark = gap.launch, gap.case.benchmark
            where = (launch.who, launch.place, benchmark, gap.method, gap.message)
            sizes[where].add(gap.case.x)
    return [
        Skip(
            who=who,
            place=place,
            benchmark=benchmark,
            method=method,
            sizes=sorted(found),
            x_unit=x_unit(observations.benchmarks, benchmark),
            message=message,
        )
        for (who, place, benchmark, method, message), found in sizes.items()
    ]
