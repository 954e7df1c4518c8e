# SPDX-License-Identifier: Apache-2.0
"""Text about the parts of a message's time that the terminal and the page share."""

import shlex

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.observations.explained import (
    USUAL_SLOWER,
    Budget,
    During,
    ExplainedCase,
    Explanation,
    Part,
)
from nearpeak.statistics.strata import mixed
from nearpeak.terms.sizes import format_bytes

LEAST_SHARE = 0.005  # of a message: smaller parts are printed together
OWN, LEAST_OWN = 4, 0.05  # most sampled functions that are printed, and their least share
FAR = 1.25  # times the ceiling: worth a search for settings
ENOUGH = 0.8  # of the time above the ceiling
DURING: dict[During, str] = {
    "nothing": "Not accounted for",
    "wait": "While others wait",
    "sync": "While others wait for the GPU",
}


def library(explanation: Explanation) -> str:
    """`openmpi 5.0.11`, with its settings where they are not the default."""
    text = f"{explanation.library} {explanation.version}"
    return text if explanation.settings == "default" else f"{text} with {explanation.settings}"


def title(explanation: Explanation, case: ExplainedCase) -> str:
    """`latency H,D at 16 MiB`."""
    return f"{explanation.benchmark} {explanation.buffers} at {size(case.size_bytes)}"


def leg(budget: Budget, explanation: Explanation) -> str:
    """The message of a budget by the memories of its ends, and the number of messages measured."""
    first, second = explanation.buffers.split(",")
    ends = {
        "there": f"From rank 0 ({first}) to rank 1 ({second})",
        "back": f"From rank 1 ({second}) to rank 0 ({first})",
        "iteration": "One iteration",
    }[budget.leg]
    noun = "iteration" if budget.leg == "iteration" else "message"
    several = f"mean of {count(budget.messages, noun)}"
    return f"{ends}, {several if budget.messages > 1 else f'of 1 {noun} alone'}"


def figures(case: ExplainedCase) -> str:
    """`41.4 µs; without MPI 0.32 (ring); under the microscope 1.03 times as long (0.98 to 1.1 by
    launches)`."""
    parts = [f"{number(case.value)} {unit(case.unit)}"]
    if case.ceiling is not None:
        parts.append(f"without MPI {number(case.ceiling)} ({case.ceiling_method})")
    if case.budgets or not case.failed:
        least, most = case.slower_least, case.slower_most
        ranging = (
            ""
            if least is None or most is None
            else f" ({number(least)} to {number(most)} by launches)"
        )
        parts.append(f"under the microscope {number(case.slower)} times as long{ranging}")
    return "; ".join(parts)


def shown(budget: Budget) -> list[Part]:
    """The parts that are printed separately."""
    return [part for part in budget.parts if part.time_us >= LEAST_SHARE * budget.time_us]


def others_us(budget: Budget) -> float:
    """The time of all other parts together."""
    separate = shown(budget)
    return sum(part.time_us for part in budget.parts if part not in separate)


def who(part: Part) -> str:
    """The rank of a part, or the GPU."""
    return f"GPU, for rank {part.rank}" if part.kind == "device" else f"rank {part.rank}"


def sum_of(budget: Budget) -> str:
    """`114 µs = 40.0 (2 x cuMemcpy) + ... + 25.9 (other)`: the largest parts in one line."""
    largest = shown(budget)[:5]
    terms = [f"{number(piece.time_us)} ({piece.label})" for piece in largest]
    rest = budget.time_us - sum(piece.time_us for piece in largest)
    return f"{number(budget.time_us)} µs = {' + '.join([*terms, f'{number(rest)} (other)'])}"


def sample_lines(budget: Budget) -> list[str]:
    """`Not accounted for, rank 0: by 62 samples at opal_progress, libopen-pal.so.80 (62 %); ...`,
    and the same while others wait."""
    lines = []
    for during, when in DURING.items():
        sampled = [function for function in budget.own if function.during == during]
        for rank in sorted({function.rank for function in sampled}):
            of_rank = [function for function in sampled if function.rank == rank]
            samples = sum(function.samples for function in of_rank)
            most = [
                f"{function.name} ({percent(function.share)} %)"
                for function in of_rank[:OWN]
                if function.share >= LEAST_OWN
            ]
            if most:
                lines.append(
                    f"{when}, rank {rank}: by {count(samples, 'sample')} at {'; '.join(most)}"
                )
    return lines


def accounted(budget: Budget) -> str:
    """The share of the time above the ceiling that is accounted for; "" where it is not known."""
    least, most = budget.accounted_least, budget.accounted_most
    if least is None or most is None:
        return ""
    share_known = _part_known(least, most)
    parts = [share_known[0].upper() + share_known[1:]]
    if percent(least) != percent(most):
        parts.append(
            f"the microscope adds {number(budget.added_us)} µs beyond its own row, nobody knows in"
            " which others"
        )
    if budget.waiting_us >= LEAST_SHARE * budget.time_us:
        share = percent(budget.waiting_us / budget.time_us)
        parts.append(f"calls that wait, {share} % of the time, are not")
    return f"{'; '.join(parts)}."


def accounted_together(case: ExplainedCase) -> str:
    """The same for both ways of a round trip together."""
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
    """The reasons to doubt an explanation."""
    failed = [f"under the microscope the launch failed: {case.failed}"] if case.failed else []
    if failed and not case.budgets:
        return failed
    notes = failed
    if mixed(case.cache_line_ns):
        nearest, furthest = case.cache_line_ns[0], case.cache_line_ns[-1]
        notes.append(
            "the CPUs of some launches were nearer to each other than those of others"
            f" ({number(nearest)} to {number(furthest)} ns for a cache line there and back): what"
            " these launches took cannot be compared, look again"
        )
    if case.slower > USUAL_SLOWER[1]:
        notes.append(
            f"it took {number(case.slower)} times as long under the microscope: most of what is"
            " seen may be the microscope's, and no finding is made of it"
        )
    if case.slower < USUAL_SLOWER[0]:
        notes.append(
            "it took less time under the microscope than without: other work held up the others;"
            " look again on a quiet machine"
        )
    if case.device:
        notes.append(f"the CUDA driver was not seen: {case.device}")
    if case.missing:
        ranks = ", ".join(map(str, case.missing))
        notes.append(f"nothing is known of rank {ranks}, which left no events")
    if case.lost:
        notes.append(f"{count(case.lost, 'event')} found no place: what came later is missing")
    if case.dropped:
        notes.append(
            f"{count(case.dropped, 'record')} of what the GPU did, or more, found no memory: what"
            " it did then is told as time that nothing is known of, or as waiting for it"
        )
    if case.unfinished:
        ranks = ", ".join(map(str, case.unfinished))
        notes.append(
            f"rank {ranks} did not end as programs do, so the last of what the GPU did for it is"
            " missing"
        )
    return notes


def search(explanation: Explanation) -> str:
    """The command that searches settings for sizes far from their ceiling; empty if none is."""
    far = [case for case in explanation.cases if _far(case)]
    if not far:
        return ""
    targets = ",".join(f"{explanation.benchmark}:{format_bytes(case.size_bytes)}" for case in far)
    command = ["nearpeak", "tune", "--mpi", explanation.library, "--path", explanation.path]
    return shlex.join([*command, "--buffers", explanation.buffers, "--for", targets])


def _far(case: ExplainedCase) -> bool:
    if not case.ceiling or not case.value:
        return False
    ratio = case.value / case.ceiling
    return max(ratio, 1 / ratio) > FAR


def failed(explanation: Explanation) -> list[str]:
    """The sizes at which the library failed."""
    return [
        f"at {size(failure.size_bytes)} the library failed: {failure.why}"
        for failure in explanation.failed
    ]


def counters(case: ExplainedCase) -> list[str]:
    """The events that the kernel counted, for each iteration, if there are any."""
    lines = []
    for counted in case.counters:
        parts = [
            f"{number(value)} {event}"
            for value, event in (
                (counted.minor_faults + counted.major_faults, "page faults"),
                (counted.voluntary_switches, "voluntary switches"),
                (counted.involuntary_switches, "involuntary switches"),
            )
            if value >= 0.05
        ]
        if parts:
            lines.append(f"rank {counted.rank}, an iteration: {', '.join(parts)}")
    return lines
