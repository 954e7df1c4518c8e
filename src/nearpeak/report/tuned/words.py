# SPDX-License-Identifier: Apache-2.0
"""The words for what came of a tuning."""

from collections.abc import Sequence

from nearpeak.libraries.profiles import Evidence, host_words
from nearpeak.numbers import count, number, size
from nearpeak.statistics.levels import TOLERATED
from nearpeak.statistics.power import POWER
from nearpeak.terms.buffers import needs_gpu
from nearpeak.tune.tuned import Calibration, Free, Tuned

RULES = ("operation", "ranks", "from", "algorithm")  # what `rules` has
OF_RULES = (
    "Algorithms of collective operations by size, as the file of rules has them; with any other"
    " number of ranks the library chooses as before"
)


def sentence(found: Tuned) -> str:
    """What came of it."""
    nothing = "no setting that was tried makes it faster."
    if found.lacking:
        nothing = "within the budget no setting was shown to make it faster."
    where = f"{found.library} {found.version}, {found.path}{_apart(found)}, buffers {found.buffers}"
    by_distance = all(row.is_slower_by_distance for row in found.slower)
    elsewhere = "between CPUs at another distance" if by_distance else "elsewhere"
    said = {
        "taken": f"these settings make it faster, and {_harmless(found, found)}:",
        "taken here alone": f"these settings make it faster here, and slower {elsewhere}:",
        "not taken": "fresh launches did not confirm what the search took, so do not use it:",
        "nothing helps": nothing,
        "fails": "it does not work as it is, so that nothing could be tried.",
    }
    host = ""
    if (found.env or found.unset) and needs_gpu(found.buffers):
        host = f" (host messages with it: {host_words(found.host_messages)})"
    return f"{where}{host}: {said[found.verdict]}"


def _harmless(found: Tuned, confirmed: Tuned | Free) -> str:
    """`none of 40 other cases is shown to be slower`, and which loss the launches would show."""
    if not found.guarded:
        return "no other case was measured"
    cases = f"none of {count(found.guarded, 'other case')} is shown to be slower"
    if confirmed.detectable_loss is None:
        return f"{cases} (launches are too few to show a loss of any size)"
    least = f"{100 * confirmed.detectable_loss:.0f} %"
    return (
        f"{cases} (if everything took {least} longer, most cases would show it with a probability"
        f" of {100 * POWER:.0f} %)"
    )


def _apart(found: Tuned) -> str:
    """` (CPUs 60.0 to 67.0 ns apart)`, where it was tuned."""
    own = found.distances.get(found.path)
    return f" (CPUs {' and '.join(at.label for at in own)} apart)" if own else ""


def of_distances(found: Tuned) -> str:
    """Of which distances of the CPUs the figures of the evidence are; empty where there is one."""
    if not any(len(row.distances) > 1 for row in found.evidence):
        return ""
    return (
        "Where the CPUs were at several distances, the figures as it is and tuned, and how many"
        " times as fast, are medians over all of them; CPUs apart has each distance by itself"
    )


def rules(found: Tuned) -> list[tuple[str, str, str, str]]:
    """The lines of the file of rules: operation, ranks, from which size on, and what is done."""
    return [
        (table.name, str(table.ranks), size(each.first), each.words)
        for table in found.rules
        for each in table.ranges
    ]


def lists(found: Tuned) -> list[tuple[str, list[str]]]:
    """What else is known of it: titles, and the lines below each."""
    told = []
    if found.free is not None:
        words = "taken" if found.free.taken else "not confirmed by fresh launches"
        title = f"Without what the search saw cost something elsewhere, {words}"
        title += f" ({', '.join(settings(found.free))})"
        lines = [_changed(each) for each in found.free.evidence]
        if found.free.taken:
            lines.insert(0, _harmless(found, found.free))
        told.append((title, lines))
    if found.calibration is not None:
        title = "With nothing but this machine's measured rates in the library's own cost model"
        title += f" ({', '.join(settings(found.calibration))})"
        told.append((title, _calibrated(found.calibration, found.targets)))
    told += [
        ("Named for what was seen of its messages", _named(found)),
        ("Slower with it", [_slower(each) for each in found.slower]),
        (
            "Slower at one of the distances of the CPUs",
            [_slower(row) for row in found.evidence if row.slower_at],
        ),
        ("What no longer works with it", found.broken),
        ("May stop working with it", found.breaks),
        (
            f"May be slower by more than {100 * (TOLERATED - 1):.0f} %, as far as these launches"
            " tell",
            _uncertain(found),
        ),
        (
            "Too few launches to tell if it is slower with it (a longer --budget has more)",
            found.unguarded,
        ),
        (
            "Not taken, as it is faster for some targets and slower for others"
            f" ({' '.join(found.targets)})",
            [f"{o.setting}: {' '.join(map(number, o.times))} times as fast" for o in found.offers],
        ),
        ("Could not be used", [f"{each.setting}: {each.why}" for each in found.refused]),
        ("Left out, as the budget was too short (a longer --budget has it)", found.lacking),
    ]
    return [(title, lines) for title, lines in told if lines]


def searched(found: Tuned) -> str:
    """How much was tried."""
    return (
        f"{count(found.candidates, 'value')} tried in {count(found.launches, 'launch')},"
        f" {found.seconds:.0f} s"
    )


def unused(found: Tuned) -> str:
    """What of the budget was not used, and why; empty where all was."""
    if not found.unused_seconds:
        return ""
    why = "nothing was taken that a study would have to confirm"
    if found.lacking:
        why = "too few for what was left out and the study that would confirm it"
    return f"{found.unused_seconds:.0f} s of the budget were not used: {why}"


def of_ceiling(value: float, row: Evidence) -> float:
    """A figure of a case as a fraction of its ceiling, which it has; near to 1 is near to it."""
    ceiling = row.ceiling or value
    return ceiling / value if row.unit == "us" else value / ceiling


def interval(ci95: Sequence[float]) -> str:
    """` [4.5, 5.5]`; nothing where launches were too few."""
    return f" [{number(ci95[0])}, {number(ci95[1])}]" if ci95 else ""


def settings(found: Tuned | Free | Calibration) -> list[str]:
    """`A=1` of each variable, and `without B`."""
    unset = [] if isinstance(found, Calibration) else found.unset
    return [f"{name}={v}" for name, v in found.env.items()] + [f"without {name}" for name in unset]


def _uncertain(found: Tuned) -> list[str]:
    """How many of the cases, and the one of which least is known."""
    if not found.uncertain:
        return []
    least = found.uncertain[0]
    many = f"{len(found.uncertain)} of {count(found.guarded, 'other case')}"
    return [f"{many}, the least known {_changed(least)}"]


def _named(found: Tuned) -> list[str]:
    """What became of the values that were tried first, as the search's launches tell."""
    told = []
    for value in found.tried:
        if value.named:
            did = f"failed: {value.failed}"
            if value.times:
                did = f"{' '.join(map(number, value.times))} times as fast"
                did += f" ({' '.join(found.targets)}) in {count(value.launches, 'launch')}"
            taken = set(value.setting.split()) <= set(settings(found))
            told.append(f"{value.setting}: {did}, {'taken' if taken else 'not taken'}")
    return told


def _calibrated(found: Calibration, targets: Sequence[str]) -> list[str]:
    """What it does to each target."""
    if not found.times:
        return [f"too few rounds to tell ({found.rounds})"]
    return [
        f"{target}: {number(times)}{interval(ci95)} times as fast"
        f" in {count(found.rounds, 'round')}{_faster(ci95)}"
        for target, times, ci95 in zip(targets, found.times, found.ci95, strict=True)
    ]


def _faster(ci95: Sequence[float]) -> str:
    low, high = ci95
    return ": faster" if low > 1 else ": slower" if high < 1 else ", which is no difference"


def _slower(row: Evidence) -> str:
    if not row.is_slower_by_distance:
        return _changed(row)
    there = ", ".join(
        f"{number(at.times)}{interval(at.ci95)} times as fast where the CPUs are {at.label} apart"
        f" ({count(at.launches, 'launch')})"
        for at in row.slower_at
    )
    return (
        f"{row.case}: {there}; over all distances {number(row.before)} -> {number(row.after)}"
        f" {row.unit}, {number(row.times)}{interval(row.ci95)}"
    )


def _changed(row: Evidence) -> str:
    apart = f" (CPUs apart: {row.apart})" if row.apart else ""
    return (
        f"{row.case}: {number(row.before)} -> {number(row.after)} {row.unit},"
        f" {number(row.times)}{interval(row.ci95)} times as fast{apart}"
    )
