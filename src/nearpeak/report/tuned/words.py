# SPDX-License-Identifier: Apache-2.0
"""The sentences and lists for the result of a tuning."""

from collections.abc import Sequence

from nearpeak.libraries.profiles import Evidence, host_words
from nearpeak.numbers import count, number, size
from nearpeak.statistics.levels import TOLERATED
from nearpeak.statistics.power import POWER
from nearpeak.terms.buffers import needs_gpu
from nearpeak.tune.tuned import Calibration, Free, Tuned

RULES = ("operation", "ranks", "from", "algorithm")  # the columns of `rules`
RULES_CAPTION = (
    "Algorithms of collective operations by size, as the file of rules has them; with any other"
    " number of ranks the library chooses as before"
)


def sentence(tuning: Tuned) -> str:
    """The verdict of the tuning."""
    nothing = "no setting that was tried makes it faster."
    if tuning.lacking:
        nothing = "within the budget no setting was shown to make it faster."
    library = f"{tuning.library} {tuning.version}"
    subject = f"{library}, {tuning.path}{_apart(tuning)}, buffers {tuning.buffers}"
    by_distance = all(row.is_slower_by_distance for row in tuning.slower)
    elsewhere = "between CPUs at another distance" if by_distance else "elsewhere"
    verdicts = {
        "taken": f"these settings make it faster, and {_harmless(tuning, tuning)}:",
        "taken here alone": f"these settings make it faster here, and slower {elsewhere}:",
        "not taken": "fresh launches did not confirm what the search took, so do not use it:",
        "nothing helps": nothing,
        "fails": "it does not work as it is, so that nothing could be tried.",
    }
    host = ""
    if (tuning.env or tuning.unset) and needs_gpu(tuning.buffers):
        host = f" (host messages with it: {host_words(tuning.host_messages)})"
    return f"{subject}{host}: {verdicts[tuning.verdict]}"


def _harmless(tuning: Tuned, confirmed: Tuned | Free) -> str:
    """`none of 40 other cases is shown to be slower`, and the smallest loss that the launches would
    show."""
    if not tuning.guarded:
        return "no other case was measured"
    cases = f"none of {count(tuning.guarded, 'other case')} is shown to be slower"
    if confirmed.detectable_loss is None:
        return f"{cases} (launches are too few to show a loss of any size)"
    least = f"{100 * confirmed.detectable_loss:.0f} %"
    return (
        f"{cases} (if everything took {least} longer, most cases would show it with a probability"
        f" of {100 * POWER:.0f} %)"
    )


def _apart(tuning: Tuned) -> str:
    """` (CPUs 60.0 to 67.0 ns apart)`, on the path that was tuned."""
    texts = [distance.label for distance in tuning.distances.get(tuning.path, [])]
    return f" (CPUs {' and '.join(texts)} apart)" if texts else ""


def distances_note(tuning: Tuned) -> str:
    """Explains that figures are medians over several distances of the CPUs; empty for a single
    distance."""
    if not any(len(row.distances) > 1 for row in tuning.evidence):
        return ""
    return (
        "Where the CPUs were at several distances, the figures as it is and tuned, and how many"
        " times as fast, are medians over all of them; CPUs apart has each distance by itself"
    )


def rules(tuning: Tuned) -> list[tuple[str, str, str, str]]:
    """The rows of the decision file: operation, ranks, smallest size, algorithm."""
    return [
        (table.name, str(table.ranks), size(span.first), span.words)
        for table in tuning.rules
        for span in table.ranges
    ]


def lists(tuning: Tuned) -> list[tuple[str, list[str]]]:
    """The other results: titles, and the lines below each."""
    sections = []
    if tuning.free is not None:
        verdict = "taken" if tuning.free.taken else "not confirmed by fresh launches"
        title = f"Without what the search saw cost something elsewhere, {verdict}"
        title += f" ({', '.join(settings(tuning.free))})"
        lines = [_changed(row) for row in tuning.free.evidence]
        if tuning.free.taken:
            lines.insert(0, _harmless(tuning, tuning.free))
        sections.append((title, lines))
    if tuning.calibration is not None:
        title = "With nothing but this machine's measured rates in the library's own cost model"
        title += f" ({', '.join(settings(tuning.calibration))})"
        sections.append((title, _calibrated(tuning.calibration, tuning.targets)))
    sections += [
        ("Named for what was seen of its messages", _named(tuning)),
        ("Slower with it", [_slower(row) for row in tuning.slower]),
        (
            "Slower at one of the distances of the CPUs",
            [_slower(row) for row in tuning.evidence if row.slower_at],
        ),
        ("What no longer works with it", tuning.broken),
        ("May stop working with it", tuning.breaks),
        (
            f"May be slower by more than {100 * (TOLERATED - 1):.0f} %, as far as these launches"
            " tell",
            _uncertain(tuning),
        ),
        (
            "Too few launches to tell if it is slower with it (a longer --budget has more)",
            tuning.unguarded,
        ),
        ("Could not be used", [f"{row.setting}: {row.why}" for row in tuning.refused]),
        ("Left out, as the budget was too short (a longer --budget has it)", tuning.lacking),
    ]
    return [(title, lines) for title, lines in sections if lines]


def searched(tuning: Tuned) -> str:
    """The number of values and launches, and the time of the search."""
    return (
        f"{count(tuning.candidates, 'value')} tried in {count(tuning.launches, 'launch')},"
        f" {tuning.seconds:.0f} s"
    )


def unused(tuning: Tuned) -> str:
    """The unused part of the budget, with the reason; empty if all was used."""
    if not tuning.unused_seconds:
        return ""
    reason = "nothing was taken that a study would have to confirm"
    if tuning.lacking:
        reason = "too few for what was left out and the study that would confirm it"
    return f"{tuning.unused_seconds:.0f} s of the budget were not used: {reason}"


def of_ceiling(value: float, row: Evidence) -> float:
    """A figure as a fraction of the ceiling of its case; 1 if it has none."""
    ceiling = row.ceiling or value
    return ceiling / value if row.unit == "us" else value / ceiling


def interval(ci95: Sequence[float]) -> str:
    """` [4.5, 5.5]`; empty if there were too few launches."""
    return f" [{number(ci95[0])}, {number(ci95[1])}]" if ci95 else ""


def settings(tuning: Tuned | Free | Calibration) -> list[str]:
    """`A=1` for each variable that is set, and `without B` for each that is unset."""
    unset = [] if isinstance(tuning, Calibration) else tuning.unset
    return [f"{name}={v}" for name, v in tuning.env.items()] + [f"without {name}" for name in unset]


def _uncertain(tuning: Tuned) -> list[str]:
    """The number of uncertain cases, and the least certain one."""
    if not tuning.uncertain:
        return []
    least = tuning.uncertain[0]
    many = f"{len(tuning.uncertain)} of {count(tuning.guarded, 'other case')}"
    return [f"{many}, the least known {_changed(least)}"]


def _named(tuning: Tuned) -> list[str]:
    """The results of the values that were tried first, by the launches of the search."""
    lines = []
    for value in tuning.tried:
        if value.named:
            did = f"failed: {value.failed}"
            if value.times:
                did = f"{' '.join(map(number, value.times))} times as fast"
                did += f" ({' '.join(tuning.targets)}) in {count(value.launches, 'launch')}"
            taken = set(value.setting.split()) <= set(settings(tuning))
            lines.append(f"{value.setting}: {did}, {'taken' if taken else 'not taken'}")
    return lines


def _calibrated(calibration: Calibration, targets: Sequence[str]) -> list[str]:
    """The speedup of each target."""
    if not calibration.times:
        return [f"too few rounds to tell ({calibration.rounds})"]
    return [
        f"{target}: {number(times)}{interval(ci95)} times as fast"
        f" in {count(calibration.rounds, 'round')}{_faster(ci95)}"
        for target, times, ci95 in zip(targets, calibration.times, calibration.ci95, strict=True)
    ]


def _faster(ci95: Sequence[float]) -> str:
    low, high = ci95
    return ": faster" if low > 1 else ": slower" if high < 1 else ", which is no difference"


def _slower(row: Evidence) -> str:
    if not row.is_slower_by_distance:
        return _changed(row)
    losses = ", ".join(
        f"{number(distance.times)}{interval(distance.ci95)} times as fast where the CPUs are"
        f" {distance.label} apart ({count(distance.launches, 'launch')})"
        for distance in row.slower_at
    )
    return (
        f"{row.case}: {losses}; over all distances {number(row.before)} -> {number(row.after)}"
        f" {row.unit}, {number(row.times)}{interval(row.ci95)}"
    )


def _changed(row: Evidence) -> str:
    apart = f" (CPUs apart: {row.apart})" if row.apart else ""
    return (
        f"{row.case}: {number(row.before)} -> {number(row.after)} {row.unit},"
        f" {number(row.times)}{interval(row.ci95)} times as fast{apart}"
    )
