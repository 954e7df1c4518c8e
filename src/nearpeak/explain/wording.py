# SPDX-License-Identifier: Apache-2.0
"""Text about the parts of a message's time."""

import shlex
from collections.abc import Iterator, Sequence

from nearpeak.numbers import count, number, percent, size, unit
from nearpeak.observations.explained import (
    USUAL_SLOWER,
    Budget,
    During,
    ExplainedCase,
    Explanation,
    Part,
    nothing_known,
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


def sentence(
    explanation: Explanation, case: ExplainedCase, budget: Budget | None, *, first: bool
) -> str:
    """`openmpi 5.0.11, host-gpu near, latency H,D at 8 B: 15.6 µs, without MPI 6.75. Of the 22.8 µs
    from rank 0 (H) to rank 1 (D):`. `first`: names library and path."""
    subject = f"{library(explanation)}, {explanation.path}, " if first else ""
    text = f"{subject}{title(explanation, case)}: {_beside_ceiling(case)}."
    if budget is None:
        return text
    way = _way(budget, explanation)
    return f"{text} Of the {number(budget.time_us)} µs {way[0].lower()}{way[1:]}:"


def _beside_ceiling(case: ExplainedCase) -> str:
    ceiling = "" if case.ceiling is None else f", without MPI {number(case.ceiling)}"
    return f"{number(case.value)} {unit(case.unit)}{ceiling}"


def figures(case: ExplainedCase) -> str:
    """`41.4 µs, without MPI 0.32 (ring); with the tracer 1.03 times as long (0.98 to 1.1 by
    launches)`."""
    method = "" if case.ceiling is None else f" ({case.ceiling_method})"
    text = f"{_beside_ceiling(case)}{method}"
    if case.failed and not case.budgets:
        return text
    least, most = case.slower_least, case.slower_most
    whole_range = least is not None and most is not None
    launches = f" ({number(least)} to {number(most)} by launches)" if whole_range else ""
    return f"{text}; with the tracer {number(case.slower)} times as long{launches}"


def leg(budget: Budget, explanation: Explanation) -> str:
    """`From rank 0 (H) to rank 1 (D): 22.8 µs, mean of 220 messages`; an iteration alike."""
    ends = _way(budget, explanation)
    noun = "iteration" if budget.leg == "iteration" else "message"
    several = f"mean of {count(budget.messages, noun)}"
    basis = several if budget.messages > 1 else f"of 1 {noun} alone"
    return f"{ends}: {number(budget.time_us)} µs, {basis}"


def _way(budget: Budget, explanation: Explanation) -> str:
    first, second = explanation.buffers.split(",")
    return {
        "there": f"From rank 0 ({first}) to rank 1 ({second})",
        "back": f"From rank 1 ({second}) to rank 0 ({first})",
        "iteration": "One iteration",
    }[budget.leg]


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


def sample_lines(budget: Budget) -> Iterator[str]:
    """`Not accounted for, rank 0: by 62 samples at opal_progress, libopen-pal.so.80 (62 %); ...`,
    and the same while others wait."""
    for during, when in DURING.items():
        for rank in sorted({function.rank for function in budget.own}):
            sampled = [one for one in budget.own if (one.during, one.rank) == (during, rank)]
            samples = sum(function.samples for function in sampled)
            most = [
                f"{function.name} ({percent(function.share)} %)"
                for function in sampled[:OWN]
                if function.share >= LEAST_OWN
            ]
            if most:
                yield f"{when}, rank {rank}: by {count(samples, 'sample')} at {'; '.join(most)}"


def accounted(budget: Budget) -> str:
    """The share of the time above the ceiling that is accounted for; "" where it is not known."""
    least, most = budget.accounted_least, budget.accounted_most
    if least is None or most is None:
        return ""
    share_known = _part_known(budget)
    parts = [share_known[0].upper() + share_known[1:]]
    if percent(least) != percent(most):
        added = number(budget.added_us)
        parts.append(f"the tracer adds {added} µs beyond its own row, nobody knows in which others")
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
        f"Of both ways together {_part_known(case)}: what is without MPI is the mean of ways"
        " between unlike memories, and says nothing of one."
    )


def _part_known(accounted: Budget | ExplainedCase) -> str:
    """`only 50.0 to 70.0 % of the time above the ceiling is accounted for`."""
    least, most = accounted.accounted_least or 0.0, accounted.accounted_most or 0.0
    low, high = percent(least), percent(most)
    if nothing_known(accounted):
        return f"nothing is known of the time above the ceiling ({low} to {high} % accounted for)"
    return (
        f"{'' if least >= ENOUGH else 'only '}{low if low == high else f'{low} to {high}'} % of the"
        " time above the ceiling is accounted for"
    )


def doubts(case: ExplainedCase) -> Iterator[str]:
    """The reasons to doubt an explanation."""
    if case.failed:
        yield f"with the tracer the launch failed: {case.failed}"
        if not case.budgets:
            return
    if mixed(case.cache_line_ns):
        nearest, furthest = case.cache_line_ns[0], case.cache_line_ns[-1]
        yield (
            "the CPUs of some launches were nearer to each other than those of others"
            f" ({number(nearest)} to {number(furthest)} ns for a cache line there and back): what"
            " these launches took cannot be compared, look again"
        )
    if case.slower > USUAL_SLOWER[1]:
        yield (
            f"it took {number(case.slower)} times as long with the tracer: most of what is seen may"
            " be the tracer's, and no finding is made of it"
        )
    if case.slower < USUAL_SLOWER[0]:
        yield (
            "it took less time with the tracer than without: other work held up the others; look"
            " again on a quiet machine"
        )
    yield from _gaps(case)


def _gaps(case: ExplainedCase) -> Iterator[str]:
    """The gaps in what was seen."""
    if case.device:
        yield f"the CUDA driver was not seen: {case.device}"
    if case.missing:
        yield f"nothing is known of {_ranks(case.missing)}, which left no events"
    if case.lost:
        yield f"{count(case.lost, 'event')} found no place: what came later is missing"
    if case.dropped:
        yield (
            f"{count(case.dropped, 'record')} of what the GPU did, or more, found no memory: what"
            " it did then is told as time that nothing is known of, or as waiting for it"
        )
    if case.unfinished:
        yield (
            f"{_ranks(case.unfinished)} did not end as programs do, so the last of what the GPU did"
            " for it is missing"
        )


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank {', '.join(map(str, ranks))}"


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


def counters(case: ExplainedCase) -> Iterator[str]:
    """The events that the kernel counted, for each iteration, if there are any."""
    for counted in case.counters:
        events = {
            "page faults": counted.minor_faults + counted.major_faults,
            "voluntary switches": counted.voluntary_switches,
            "involuntary switches": counted.involuntary_switches,
        }
        parts = [f"{number(value)} {event}" for event, value in events.items() if value >= 0.05]
        if parts:
            yield f"rank {counted.rank}, an iteration: {', '.join(parts)}"
