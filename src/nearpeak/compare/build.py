# SPDX-License-Identifier: Apache-2.0
"""Builds compare.json from the studies of two sides."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import median

import msgspec

import nearpeak
from nearpeak.compare import differences, failures
from nearpeak.compare.compared import (
    SCHEMA,
    Change,
    Compared,
    Failing,
    Lacks,
    Missing,
    PlaceChange,
    Session,
    Side,
    Unmatched,
)
from nearpeak.compare.distances import level
from nearpeak.compare.figures import Both, Figures, Key, Owner, gather
from nearpeak.compare.judge import judge
from nearpeak.compare.load import Study, check_apart
from nearpeak.compare.sessions import measured
from nearpeak.errors import UserError
from nearpeak.grouping import collected
from nearpeak.libraries.variables import may_read
from nearpeak.results.cells import FAILED
from nearpeak.statistics.verdicts import SLOWER
from nearpeak.terms.benchmarks import x_unit
from nearpeak.terms.identity import CEILING, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut

OwnCurve = tuple[Who, Place, Curve]
Numbers = dict[tuple[int, int], int]  # of each study of a side (its index) and session of it


def compare(
    old: Sequence[Study], new: Sequence[Study], tolerance: float, *, allow_missing: bool = False
) -> Compared:
    """Compares the new side with the old one, in all cases that both measured alike.

    `tolerance`: how much worse a new figure may be, relative; `allow_missing`: a curve that the new
    side did not measure is no regression.

    Raises:
        UserError: the sides have nothing in common, or share a study.
    """
    check_apart(old, new)
    before, after = _sessions(old, "old"), _sessions(new, "new")
    failing = failures.find(
        [study.launches for study in old], [study.launches for study in new], _units([*old, *new])
    )
    then, now = gather(old, _numbers(before, 0)), gather(new, _numbers(after, len(before)))
    failed = _failed(new) - now.keys()
    left_out = [left for study in new for left in study.results.left_out]
    missing = _missing(then, now, failed, left_out)
    both, unmatched = _match(then, now, failed, missing)
    if not both and not failing:
        raise UserError(
            f"{_named(old)} and {_named(new)} have nothing in common: compare studies of the same"
            " libraries, paths, benchmarks and sizes"
        )
    sessions = [session for by_number in (before, after) for session in by_number.values()]
    on_new = [session.side == "new" for session in sessions]
    levelled = level(both, on_new)
    judged = judge(levelled, on_new, tolerance)
    compared = Compared(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        tolerance=tolerance,
        sessions=sessions,
        differences=differences.find(old, new),
        libraries=[change for change in judged if change.who != CEILING],
        ceilings=[change for change in judged if change.who == CEILING],
        failures=failing,
        missing=missing,
        allow_missing=allow_missing,
        unmatched=unmatched,
        regressed=False,
    )
    changes = [change for place in compared.places for change in place.changes]
    gone = not allow_missing and any(not lack.failed for lack in missing)
    parts: list[Failing | Change] = [*failing, *changes]
    compared.regressed = gone or any(part.regressed for part in parts)
    compared.tells_from = _tells_from(compared.places)
    _find_reasons(compared, [*old, *new])
    return compared


def _tells_from(places: Iterable[PlaceChange]) -> float | None:
    changes = (place.change for place in places)
    widths = [change.ratio / change.ci95[0] - 1 for change in changes if change.ci95 is not None]
    return median(widths) if widths else None


def _find_reasons(compared: Compared, studies: Iterable[Study]) -> None:
    """Adds to each slower place the inherited variables that differ and that it may read."""
    names = [
        difference.name for difference in compared.differences if difference.part == "variable"
    ]
    families = {
        library.name: library.family for study in studies for library in study.results.libraries
    }
    for place in compared.places:
        if SLOWER in {change.verdict for change in place.changes}:
            may_be_read = partial(may_read, families.get(place.who.library, ""))
            place.reasons = [*filter(may_be_read, names)]


def to_json(compared: Compared) -> str:
    """The text of compare.json."""
    return msgspec.json.format(msgspec.json.encode(compared), indent=1).decode() + "\n"


def _sessions(studies: Sequence[Study], side: Side) -> dict[tuple[int, int], Session]:
    return {
        key: Session(side=side, **msgspec.structs.asdict(session))
        for key, session in measured(studies).items()
    }


def _numbers(sessions: Mapping[tuple[int, int], Session], first: int) -> Numbers:
    return {key: first + number for number, key in enumerate(sessions)}


def _named(studies: Iterable[Study]) -> str:
    return ", ".join(str(study.folder) for study in studies)


def _match(
    old: Mapping[Key, Figures],
    new: Mapping[Key, Figures],
    failed: Collection[Key],
    missing: Iterable[Missing],
) -> tuple[dict[Owner, list[Both]], list[Unmatched]]:
    """Returns the cases that both sides measured alike, and counts the others."""
    curves = {(lack.who, lack.place, lack.curve) for lack in missing}
    keys = dict.fromkeys([*old, *new])
    reasons = {key: _apart(old.get(key), new.get(key), failed=key in failed) for key in keys}
    both = collected(
        (key[:2], Both(key[2], next(iter(old[key].kinds)), old[key], new[key]))
        for key, reason in reasons.items()
        if not reason
    )
    unmatched = Counter(
        (who, place, reason)
        for (who, place, case), reason in reasons.items()
        if reason and (who, place, case.curve) not in curves
    )
    return both, [
        Unmatched(who=who, place=place, why=reason, cases=cases)
        for (who, place, reason), cases in unmatched.items()
    ]


def _apart(old: Figures | None, new: Figures | None, *, failed: bool) -> str:
    """Returns why two figures cannot be compared; "" if they can."""
    if new is None:
        return "failed on the new side" if failed else "only the old side has it"
    if old is None:
        return "only the new side has it"
    kinds = old.kinds | new.kinds
    if len(kinds) == 1:
        return ""
    if len({kind.window for kind in kinds}) > 1:
        return "measured with different numbers of messages in flight"
    return "measured in different units"


def _missing(
    old: Iterable[Key], new: Iterable[Key], failed: Collection[Key], left_out: Sequence[LeftOut]
) -> list[Missing]:
    """Returns the curves that only the old side has. `left_out`: by the new side."""
    now, tried = _curves(new), _curves(failed)
    gone = [curve for curve in _curves(old) if curve not in now]
    return [
        Missing(
            who=who,
            place=place,
            curve=curve,
            lacks=_lacks((who, place, curve), now),
            failed=(who, place, curve) in tried,
            budget_seconds=_with_budget(who, place, curve, left_out),
        )
        for who, place, curve in gone
    ]


def _with_budget(who: Who, place: Place, curve: Curve, left_out: Iterable[LeftOut]) -> float | None:
    """Returns the largest budget that one of these studies, which left a curve out, would need for
    it."""
    case = place.path, curve.benchmark, curve.axes, who.label
    budgets = (left.budget_seconds for left in left_out if left.holds(*case))
    return max(budgets, default=None)


def _curves(keys: Iterable[Key]) -> dict[OwnCurve, None]:
    return dict.fromkeys((who, place, case.curve) for who, place, case in keys)


def _lacks(missing: OwnCurve, new: Collection[OwnCurve]) -> Lacks:
    who, place, curve = missing
    parts: dict[Lacks, bool] = {
        "path": place in {place for _, place, _ in new},
        "library": who in {who for who, _, _ in new},
        "benchmark": curve.benchmark in {curve.benchmark for _, _, curve in new},
        "curve": False,
    }
    return next(part for part, measured in parts.items() if not measured)


def _failed(studies: Iterable[Study]) -> set[Key]:
    """Returns the cases without a value whose launches failed."""
    return {
        (cell.who, cell.place, cell.case)
        for study in studies
        for cell in study.results.timed
        if cell.status in FAILED and cell.median is None
    }


def _units(studies: Iterable[Study]) -> dict[str, str]:
    return {
        benchmark.name: x_unit(study.results.benchmarks, benchmark.name)
        for study in studies
        for benchmark in study.results.benchmarks
    }
