# SPDX-License-Identifier: Apache-2.0
"""The words for the parts of a message's time."""

import shlex

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.observations.explained import (
    USUAL_SLOWER,
    Budget,
    During,
    ExplainedCase,
    Explanation,
    Part,
    hides_own,
)
from nearpeak.statistics.strata import mixed
from nearpeak.terms.buffers import turned
from nearpeak.terms.sizes import format_bytes

LEAST_SHARE = 0.005  # of a message: parts below it are told together
OWN, LEAST_OWN = 4, 0.05  # of what ranks were at: most that are told, and the least share
FAR = 1.25  # times the ceiling: there is something to be found
ENOUGH = 0.8  # of the time above the ceiling
DURING: dict[During, str] = {
    "nothing": "Not accounted for",
    "wait": "While others wait",
    "sync": "While others wait for the GPU",
}


def library(found: Explanation) -> str:
    """`openmpi 5.0.11`, with its settings where they are not the default."""
    words = f"{found.library} {found.version}"
    return words if found.settings == "default" else f"{words} with {found.settings}"


def title(found: Explanation, case: ExplainedCase) -> str:
    """`latency H,D at 16 MiB`."""
    return f"{found.benchmark} {found.buffers} at {size(case.size_bytes)}"


def leg(budget: Budget, found: Explanation) -> str:
    """Which message it is of, by the memories of its ends, and on how many it rests."""
    first, second = found.buffers.split(",")
    which = {
        "there": f"From rank 0 ({first}) to rank 1 ({second})",
        "back": f"From rank 1 ({second}) to rank 0 ({first})",
        "iteration": "One iteration",
    }[budget.leg]
    what = "iteration" if budget.leg == "iteration" else "message"
    several = f"mean of {count(budget.messages, what)}"
    return f"{which}, {several if budget.messages > 1 else f'of 1 {what} alone'}"


def figures(case: ExplainedCase) -> str:
    """`41.4 µs; without MPI 0.32 (ring); under the microscope 1.03 times as long (0.98 to 1.1 by
    launches)`."""
    words = [f"{number(case.value)} {unit(case.unit)}"]
    if case.ceiling is not None:
        words.append(f"without MPI {number(case.ceiling)} ({case.ceiling_method})")
    if case.budgets or not case.failed:
        least, most = case.slower_least, case.slower_most
        ranging = (
            ""
            if least is None or most is None
            else f" ({number(least)} to {number(most)} by launches)"
        )
        words.append(f"under the microscope {number(case.slower)} times as long{ranging}")
    return "; ".join(words)


def shown(budget: Budget) -> list[Part]:
    """The parts that are told alone."""
    return [part for part in budget.parts if part.time_us >= LEAST_SHARE * budget.time_us]


def others_us(budget: Budget) -> float:
    """What all other parts take together."""
    alone = shown(budget)
    return sum(part.time_us for part in budget.parts if part not in alone)


def who(part: Part) -> str:
    """Who did it."""
    return f"GPU, for rank {part.rank}" if part.kind == "device" else f"rank {part.rank}"


def sum_of(budget: Budget) -> str:
    """`114 µs = 40.0 (2 x cuMemcpy) + ... + 25.9 (other)`: the largest parts in one line."""
    largest = shown(budget)[:5]
    words = [f"{number(piece.time_us)} ({piece.label})" for piece in largest]
    rest = budget.time_us - sum(piece.time_us for piece in largest)
    return f"{number(budget.time_us)} µs = {' + '.join([*words, f'{number(rest)} (other)'])}"


def own(budget: Budget) -> list[str]:
    """`Not accounted for, rank 0: by 62 samples at opal_progress, libopen-pal.so.80 (62 %); ...`,
    and likewise while others wait."""
    lines = []
    for during, when in DURING.items():
        there = [found for found in budget.own if found.during == during]
        for rank in sorted({found.rank for found in there}):
            of_rank = [found for found in there if found.rank == rank]
            samples = sum(found.samples for found in of_rank)
            most = [
                f"{f.name} ({percent(f.share)} %)" for f in of_rank[:OWN] if f.share >= LEAST_OWN
            ]
            if most:
                lines.append(
                    f"{when}, rank {rank}: by {count(samples, 'sample')} at {'; '.join(most)}"
                )
    return lines


def accounted(budget: Budget, found: Explanation) -> str:
    """How much of what is above the ceiling is known. Nothing of older explanations of one way
    between unlike memories, which is held against the mean of both there."""
    least, most = budget.accounted_least, budget.accounted_most
    of_one_way = budget.leg != "iteration" and turned(found.buffers) != found.buffers
    if least is None or most is None or of_one_way:
        return ""
    known = _part_known(least, most)
    words = [known[0].upper() + known[1:]]
    if percent(least) != percent(most):
        words.append(
            f"the microscope adds {number(budget.added_us)} µs beyond its own row, nobody knows in"
            " which others"
        )
    if budget.waiting_us >= LEAST_SHARE * budget.time_us:
        share = percent(budget.waiting_us / budget.time_us)
        words.append(f"calls that wait, {share} % of the time, are not")
    return f"{'; '.join(words)}."


def accounted_together(case: ExplainedCase) -> str:
    """The same of messages there and back together."""
    least, most = case.accounted_least, case.accounted_most
    if least is None or most is None:
        return ""
    return (
        f"Of both ways together {_part_known(least, most)}: what is without MPI is the mean of ways"
        " between unlike memories, and says nothing of one."
    )


def _part_known(least: float, most: float) -> str:
    low, high = percent(least), percent(most)
    return (
        f"{'' if least >= ENOUGH else 'only '}{low if low == high else f'{low} to {high}'} % of the"
        " time above the ceiling is accounted for"
    )


def doubts(case: ExplainedCase) -> list[str]:
    """What keeps an explanation from being whole."""
    failed = [f"under the microscope the launch failed: {case.failed}"] if case.failed else []
    if failed and not case.budgets:
        return failed
    words = failed
    if hides_own(case):
        words.append(
            "calls of the driver by the benchmark itself are told as those of the library: it is of"
            " an earlier Nearpeak, and no finding is made of it"
        )
    if mixed(case.cache_line_ns):
        nearest, furthest = case.cache_line_ns[0], case.cache_line_ns[-1]
        words.append(
            "the CPUs of some launches were nearer to each other than those of others"
            f" ({number(nearest)} to {number(furthest)} ns for a cache line there and back): what"
            " these launches took cannot be compared, look again"
        )
    if case.slower > USUAL_SLOWER[1]:
        words.append(
            f"it took {number(case.slower)} times as long under the microscope: most of what is"
            " seen may be the microscope's, and no finding is made of it"
        )
    if case.slower < USUAL_SLOWER[0]:
        words.append(
            "it took less time under the microscope than without: other work held up the others;"
            " look again on a quiet machine"
        )
    if case.device:
        words.append(f"the CUDA driver was not seen: {case.device}")
    if case.missing:
        ranks = ", ".join(map(str, case.missing))
        words.append(f"nothing is known of rank {ranks}, which left no events")
    if case.lost:
        words.append(f"{count(case.lost, 'event')} found no place: what came later is missing")
    if case.dropped:
        words.append(
            f"{count(case.dropped, 'record')} of what the GPU did, or more, found no memory: what"
            " it did then is told as time that nothing is known of, or as waiting for it"
        )
    if case.unfinished:
        ranks = ", ".join(map(str, case.unfinished))
        words.append(
            f"rank {ranks} did not end as programs do, so the last of what the GPU did for it is"
            " missing"
        )
    return words


def search(found: Explanation) -> str:
    """How to look for settings for the sizes that are far from their ceiling; empty without any."""
    far = [case for case in found.cases if _far(case)]
    if not far:
        return ""
    targets = ",".join(f"{found.benchmark}:{format_bytes(case.size_bytes)}" for case in far)
    words = ["nearpeak", "tune", "--mpi", found.library, "--path", found.path]
    return shlex.join([*words, "--buffers", found.buffers, "--for", targets])


def _far(case: ExplainedCase) -> bool:
    if not case.ceiling or not case.value:
        return False
    ratio = case.value / case.ceiling
    return max(ratio, 1 / ratio) > FAR


def failed(found: Explanation) -> list[str]:
    """The sizes at which the library failed."""
    return [f"at {size(each.size_bytes)} the library failed: {each.why}" for each in found.failed]


def counters(case: ExplainedCase) -> list[str]:
    """What the kernel counted, for each iteration, where it is worth a word."""
    lines = []
    for counted in case.counters:
        words = [
            f"{number(value)} {what}"
            for value, what in (
                (counted.minor_faults + counted.major_faults, "page faults"),
                (counted.voluntary_switches, "voluntary switches"),
                (counted.involuntary_switches, "involuntary switches"),
            )
            if value >= 0.05
        ]
        if words:
            lines.append(f"rank {counted.rank}, an iteration: {', '.join(words)}")
    return lines
