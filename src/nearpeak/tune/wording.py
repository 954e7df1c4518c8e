# SPDX-License-Identifier: Apache-2.0
"""Text about the result of a tuning."""

import re
from collections.abc import Sequence

from nearpeak.libraries.profiles import Evidence, host_words
from nearpeak.numbers import agreeing, count, interval, listed, number, unit
from nearpeak.statistics.levels import TOLERATED
from nearpeak.statistics.power import POWER
from nearpeak.terms.buffers import needs_gpu
from nearpeak.tune.tuned import Calibration, Free, Tuned


def conclusion(tuning: Tuned) -> str:
    """The verdict of the tuning."""
    if tuning.verdict in ("taken", "taken here alone"):
        rest = f"and {_harmless(tuning)}" if tuning.verdict == "taken" else f"but {_cost(tuning)}"
        return f"Faster on {tuning.path}{_apart(tuning)}: {_gain(tuning)}, {rest}"
    nothing = "no setting that was tried makes it faster"
    if tuning.lacking:
        nothing = "within the budget no setting was shown to make it faster"
    library = f"{tuning.library} {tuning.version}"
    subject = f"{library}, {tuning.path}{_apart(tuning)}, buffers {tuning.buffers}"
    verdicts = {
        "not taken": "fresh launches did not confirm what the search took, so do not use it",
        "nothing helps": nothing,
        "fails": "it does not work as it is, so that nothing could be tried",
    }
    return f"{subject}: {verdicts[tuning.verdict]}"


def _gain(tuning: Tuned) -> str:
    """`latency H,D at 16 MiB is 6.80 times as fast`: the target that gains most."""
    faster = [row for row in tuning.evidence if row.verdict == "faster"]
    best = max(faster, key=lambda row: row.times)
    return f"{best.case.removeprefix(f'{tuning.path}, ')} is {number(best.times)} times as fast"


def _cost(tuning: Tuned) -> str:
    """`5 other cases are slower, also on this path`."""
    many, here = len(tuning.slower), len(_slower_here(tuning))
    are = agreeing(many, "is", "are")
    if all(row.is_slower_by_distance for row in tuning.slower):
        others = f"{count(many, 'other case')} {are} " if many else ""
        return f"{others}slower between CPUs at another distance"
    if not here:
        return f"{count(many, 'case')} elsewhere {are} slower"
    if here == many:
        return f"{count(many, 'other case')} on this path {are} slower"
    return f"{count(many, 'other case')} {are} slower, also on this path"


def _slower_here(tuning: Tuned) -> list[Evidence]:
    """The slower cases on the path that was tuned."""
    return [row for row in tuning.slower if row.case.startswith(f"{tuning.path}, ")]


def usage(tuning: Tuned, scope: str, *, local: bool) -> str:
    """`To use it for host-gpu near alone:`. `local`: the profile may be used on its path only."""
    here = len(_slower_here(tuning)) if local else 0
    if not here:
        return f"To use it {scope}:"
    cases = f"{count(here, 'case')} on this path {agreeing(here, 'is', 'are')} slower"
    return f"To use it, although {cases}, {scope}:"


def _harmless(tuning: Tuned) -> str:
    """`none of 40 other cases is shown to be slower`."""
    if not tuning.guarded:
        return "no other case was measured"
    return f"none of {count(tuning.guarded, 'other case')} is shown to be slower"


def power(tuning: Tuned, confirmed: Tuned | Free) -> str:
    """The smallest loss that the launches would show, as a sentence; empty if no other case was
    measured."""
    if not tuning.guarded:
        return ""
    if confirmed.detectable_loss is None:
        return "Launches are too few to show a loss of any size."
    least = f"{100 * confirmed.detectable_loss:.0f} %"
    return (
        f"If everything took {least} longer, most cases would show it with a probability of"
        f" {100 * POWER:.0f} %."
    )


def host_messages(tuning: Tuned) -> str:
    """The effect of settings for device buffers on host messages; empty for other settings."""
    if not needs_gpu(tuning.buffers):
        return ""
    return f"Host messages with it: {host_words(tuning.host_messages)}."


def _apart(tuning: Tuned) -> str:
    """` (CPUs 60.0 to 67.0 ns apart)`, on the path that was tuned."""
    texts = [distance.label for distance in tuning.distances.get(tuning.path, [])]
    return f" (CPUs {' and '.join(texts)} apart)" if texts else ""


def price(tuning: Tuned) -> str:
    """The worst that the settings do elsewhere; empty if they do no harm."""
    if tuning.broken:
        return f"Its price: no longer works: {_first(tuning.broken)}."
    if not tuning.slower:
        return ""
    return f"Its price: slower in {_first(list(map(_slower, tuning.slower)))}."


def _first(lines: Sequence[str]) -> str:
    """The first line, and the number of others."""
    rest = len(lines) - 1
    return f"{lines[0]}; and {rest} more" if rest else lines[0]


def unjudged(tuning: Tuned) -> str:
    """The gaps of this tuning in one line; empty if it has none."""
    parts = [
        *_few_launches(tuning.unguarded),
        f"{count(len(tuning.uncertain), 'case')} may be slower" if tuning.uncertain else "",
        f"{count(len(tuning.lacking), 'step')} left out for time" if tuning.lacking else "",
    ]
    gaps = listed(list(filter(None, parts)))
    return f"Not known: {gaps}." if gaps else ""


def _few_launches(unguarded: Sequence[str]) -> list[str]:
    """`too few launches of bibw on 2 paths`, for each group of benchmarks; `unguarded` as of
    Tuned."""
    paths: dict[str, list[str]] = {}
    for text in unguarded:
        partly = re.fullmatch(r"(.+) \((.+)\)", text)
        path, benchmarks = partly.groups() if partly else (text, "")
        paths.setdefault(benchmarks, []).append(path)
    return [
        f"too few launches{f' of {benchmarks}' if benchmarks else ''} on"
        f" {on[0] if len(on) == 1 else count(len(on), 'path')}"
        for benchmarks, on in paths.items()
    ]


def settings(tuning: Tuned | Free | Calibration) -> list[str]:
    """`A=1` for each variable that is set, and `without B` for each that is unset."""
    unset = [] if isinstance(tuning, Calibration) else tuning.unset
    return [f"{name}={v}" for name, v in tuning.env.items()] + [f"without {name}" for name in unset]


def searched(tuning: Tuned) -> str:
    """The number of values and launches, the time of the search, and the unused part of the
    budget with the reason."""
    text = f"{count(tuning.candidates, 'value')} tried in {count(tuning.launches, 'launch')},"
    text += f" {tuning.seconds:.0f} s."
    if not tuning.unused_seconds:
        return text
    reason = "nothing was taken that a study would have to confirm"
    if tuning.lacking:
        reason = "too few for what was left out and the study that would confirm it"
    return f"{text} {tuning.unused_seconds:.0f} s of the budget were not used: {reason}."


def others(tuning: Tuned) -> list[tuple[str, list[str]]]:
    """The other results: titles, and the lines below each, if there are any."""
    return [
        _free(tuning),
        _calibration(tuning),
        ("Named for what was seen of its messages", _named(tuning)),
        ("Slower with it", list(map(_slower, tuning.slower))),
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


def _free(tuning: Tuned) -> tuple[str, list[str]]:
    """The part that costs nothing elsewhere."""
    free = tuning.free
    if free is None:
        return "", []
    verdict = "taken" if free.taken else "not confirmed by fresh launches"
    title = f"Without what the search saw cost something elsewhere, {verdict}"
    harmless = [f"{_harmless(tuning)}. {power(tuning, free)}".rstrip(". ")] if free.taken else []
    return f"{title} ({', '.join(settings(free))})", harmless + list(map(_changed, free.evidence))


def _calibration(tuning: Tuned) -> tuple[str, list[str]]:
    """The speedup of the targets by measured rates alone."""
    calibration = tuning.calibration
    if calibration is None:
        return "", []
    title = "With nothing but this machine's measured rates in the library's own cost model"
    rounds = count(calibration.rounds, "round")
    lines = [
        f"{target}: {number(times)}{_interval(ci95)} times as fast in {rounds}{_faster(ci95)}"
        for target, times, ci95 in zip(
            tuning.targets, calibration.times, calibration.ci95, strict=False
        )
    ]
    few = [f"too few rounds to tell ({calibration.rounds})"]
    return f"{title} ({', '.join(settings(calibration))})", lines or few


def _faster(ci95: Sequence[float]) -> str:
    low, high = ci95
    return ": faster" if low > 1 else ": slower" if high < 1 else ", which is no difference"


def _named(tuning: Tuned) -> list[str]:
    """The results of the values that were tried first, by the launches of the search."""
    lines = []
    taken = set(settings(tuning))
    for value in tuning.tried:
        if value.named:
            result = f"failed: {value.failed}"
            if value.times:
                times = _times(tuning.targets, value.times)
                result = f"{times} in {count(value.launches, 'launch')}"
            verdict = "taken" if set(value.setting.split()) <= taken else "not taken"
            lines.append(f"{value.setting}: {result}, {verdict}")
    return lines


def _slower(row: Evidence) -> str:
    if not row.is_slower_by_distance:
        return _changed(row)
    losses = ", ".join(
        f"{number(distance.times)}{_interval(distance.ci95)} times as fast where the CPUs are"
        f" {distance.label} apart ({count(distance.launches, 'launch')})"
        for distance in row.slower_at
    )
    return f"{row.case}: {losses}; over all distances {_change(row)}"


def _changed(row: Evidence) -> str:
    apart = f" (CPUs apart: {row.apart})" if row.apart else ""
    return f"{row.case}: {_change(row)} times as fast{apart}"


def _change(row: Evidence) -> str:
    """`60.0 -> 12.0 µs, 5.00 [4.50, 5.50]`."""
    return (
        f"{number(row.before)} -> {number(row.after)} {unit(row.unit)},"
        f" {number(row.times)}{_interval(row.ci95)}"
    )


def _uncertain(tuning: Tuned) -> list[str]:
    """The number of uncertain cases, and the least certain one."""
    if not tuning.uncertain:
        return []
    least = tuning.uncertain[0]
    many = f"{len(tuning.uncertain)} of {count(tuning.guarded, 'other case')}"
    return [f"{many}, the least known {_changed(least)}"]


def _times(targets: Sequence[str], times: Sequence[float]) -> str:
    """`latency:8 5.00, bw:16M 0.900 times as fast`."""
    pairs = zip(targets, times, strict=True)
    return f"{', '.join(f'{target} {number(value)}' for target, value in pairs)} times as fast"


def _interval(ci95: Sequence[float]) -> str:
    """` [4.5, 5.5]`; empty if there were too few launches."""
    return f" {interval((ci95[0], ci95[1]))}" if ci95 else ""
