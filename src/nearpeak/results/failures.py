# SPDX-License-Identifier: Apache-2.0
"""Gaps of a study: launches that failed, by how they did, and cases that were left out."""

from collections import Counter
from collections.abc import Iterable, Sequence

from nearpeak.grouping import collected, grouped
from nearpeak.observations.observed import Gap, Launch, Observations
from nearpeak.results.results import EndedIn, Failure, FailureKind, Skip
from nearpeak.terms.benchmarks import x_unit
from nearpeak.terms.identity import Curve, Place, Who
from nearpeak.terms.logs import fault
from nearpeak.terms.outcomes import TOO_SLOW, failure


def failures(observations: Observations) -> list[Failure]:
    """The launches that did not end well; one that was interrupted from outside is none."""
    lost = Counter(gap.launch.number for gap in observations.gaps if _is_lost(gap))
    imported = {library.who for library in observations.libraries if library.imported}
    return [
        Failure(
            launch=launch.number,
            session=launch.block.session,
            who=launch.who,
            place=launch.place,
            benchmarks=_benchmarks(launch),
            x=launch.at.x if launch.at else None,
            x_unit=x_unit(observations.benchmarks, launch.at.benchmark if launch.at else ""),
            status=status,
            cause=launch.cause,
            message=launch.message,
            given_up_after=launch.given_up_after,
            # Of another tool it is not known what it was to measure.
            lost=lost[launch.number] if launch.curves and launch.who not in imported else None,
            command=launch.command,
            log=launch.log,
        )
        for launch in observations.launches
        if (status := failure(launch.status))
    ]


def _is_lost(gap: Gap) -> bool:
    """True if the failure of a launch is why it did not give a figure."""
    return not gap.said or gap.status not in ("skipped", TOO_SLOW)


def _benchmarks(launch: Launch) -> list[str]:
    """The benchmark that a launch did not survive, else all that it was to measure."""
    curves: Sequence[Curve] = [launch.at] if launch.at else launch.curves
    return list(dict.fromkeys(curve.benchmark for curve in curves))


Key = tuple[Who, Place, str, str]


def kinds(ended: Iterable[Failure], launches: Iterable[Launch] = ()) -> list[FailureKind]:
    """The failures by library, place, status and cause, which may differ in its numbers, of all
    `launches`.

    One whose launcher names no cause is of the first with a cause that measured the same.
    """
    groups = grouped(ended, _key)
    for key in [key for key in groups if not key[-1]]:
        groups[key] = [failed for failed in groups[key] if not _joined(failed, groups)]
    totals = Counter((launch.who, launch.place) for launch in launches)
    made = [
        _kind(group, totals[group[0].who, group[0].place]) for group in groups.values() if group
    ]
    return sorted(made, key=lambda kind: kind.launches)


def _key(failed: Failure) -> Key:
    return failed.who, failed.place, failed.status, fault(failed.cause)


def _joined(failed: Failure, groups: dict[Key, list[Failure]]) -> bool:
    """True if a failure without a cause joined a group that has one."""
    for key, group in groups.items():
        same = key[-1] and key[:-1] == _key(failed)[:-1]
        if same and {*failed.benchmarks} & {name for other in group for name in other.benchmarks}:
            group.append(failed)
            return True
    return False


def _kind(group: Sequence[Failure], of: int) -> FailureKind:
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
        of=of,
        first=first.launch,
        ended_in=list(ended.values()),
        message=first.message,
        given_up_after=max(failed.given_up_after for failed in group),
        lost=_lost(group),
        command=first.command,
        log=first.log,
    )


def _lost(group: Sequence[Failure]) -> int | None:
    """The figures that these launches lost; None if that is not known of one."""
    lost = [failed.lost for failed in group if failed.lost is not None]
    return sum(lost) if len(lost) == len(group) else None


def skipped(observations: Observations) -> list[Skip]:
    """The cases that a program did not measure, each reason once with all its sizes."""
    gaps = [gap for gap in observations.gaps if gap.said and gap.status == "skipped"]
    reasons = collected(
        ((g.launch.who, g.launch.place, g.case.benchmark, g.method, g.message), g.case.x)
        for g in gaps
    )
    return [
        Skip(
            who=who,
            place=place,
            benchmark=benchmark,
            method=method,
            sizes=sorted({*sizes}),
            x_unit=x_unit(observations.benchmarks, benchmark),
            message=message,
        )
        for (who, place, benchmark, method, message), sizes in reasons.items()
    ]
