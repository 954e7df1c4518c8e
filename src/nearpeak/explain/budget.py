# SPDX-License-Identifier: Apache-2.0
"""Divides the time of a message among the traced events of all ranks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from nearpeak.arrays import Booleans, Floats, Indices
from nearpeak.explain.events import (
    BEGINS,
    COPY,
    COUNTER,
    DRIVER_CALL,
    ENDS,
    FILL,
    HOST_CALL,
    KERNEL,
    MARK,
    SAMPLE,
    TURN,
    ProcessTrace,
    copy_name,
)
from nearpeak.observations.explained import (
    MICROSCOPE,
    Budget,
    Counters,
    During,
    Kind,
    Lane,
    Leg,
    Own,
    Part,
    Span,
    thinned,
)

# Calls that wait for the device, and calls that wait for anything.
SYNCS = frozenset(
    [
        "cuStreamSynchronize",
        "cuEventSynchronize",
        "cuEventQuery",
        "cuStreamQuery",
        "cuCtxSynchronize",
    ]
)
WAITS = frozenset(
    [
        "poll",
        "ppoll",
        "select",
        "pselect",
        "epoll_wait",
        "epoll_pwait",
        "sched_yield",
        "nanosleep",
        "clock_nanosleep",
        "usleep",
        "sleep",
        "futex",
    ]
)
# Calls that wait if nothing has arrived: then they move no bytes.
RECEIVES = frozenset(["read", "__read_chk", "readv", "recv", "recvfrom", "recvmsg"])
# Calls that may or may not wait.
MAY_WAIT = frozenset(["ioctl", "syscall"])
# Suffixes of driver calls: later versions, and per-thread default streams.
_VARIANT = re.compile(r"(_v\d+)?(_pt[sd][zs])?$")
# Locations of samples inside the tracer.
_MICROSCOPE = re.compile(r"(^|, )(libcupti\.so|libnearpeak-explain\.so)")
LEVELS: tuple[Kind, ...] = get_args(Kind)
WORKS: tuple[Kind, ...] = ("call", "sync")  # kinds of calls that work
MIDDLE = (0.25, 0.75)  # quantiles
NS = 1e3  # per microsecond
# Shorter spans, as a share of a message, are drawn together with their neighbours.
NARROWEST = 1 / 250


class Name(NamedTuple):
    """The events of one part of the budget."""

    kind: Kind
    name: str
    rank: int
    own: bool = False  # of the benchmark itself


@dataclass
class Activity:
    """The events of ranks and devices, without calls nested in others; times in ns."""

    names: list[Name]
    which: Indices  # of `names`
    level: Indices  # of LEVELS
    begin: Floats
    end: Floats
    bytes: Floats
    samples: list[tuple[int, str, Floats]]  # rank, location, and times
    ranks: list[int]


@dataclass
class Windows:
    """The spans of the messages of one leg; they do not overlap."""

    leg: Leg
    begin: Floats
    end: Floats
    each: Floats  # messages, or iterations, in each span

    @property
    def messages(self) -> int:
        """Messages in all spans."""
        return int(self.each.sum())

    @property
    def mean_us(self) -> float:
        """The mean time of a message."""
        return float((self.end - self.begin).sum()) / self.messages / NS

    def until(self, instant: float) -> "Windows":
        """The spans that ended by then."""
        kept = self.end <= instant
        return Windows(self.leg, self.begin[kept], self.end[kept], self.each[kept])

    def usual(self) -> "Windows":
        """The middle half of the spans by duration; all if there are fewer than three.

        Others may be disturbed by other work on the machine.
        """
        if len(self.each) < 3:
            return self
        times = (self.end - self.begin) / self.each
        low, high = np.quantile(times, MIDDLE)
        kept = (times >= low) & (times <= high)
        return Windows(self.leg, self.begin[kept], self.end[kept], self.each[kept])


def activity(ranks: Sequence[ProcessTrace]) -> Activity:
    """Joins the events of all ranks."""
    numbers: dict[Name, int] = {}
    parts: list[tuple[int, int, Floats, Floats, Floats]] = []
    for trace in ranks:
        for name, begin, end, size_bytes in _named(trace):
            number = numbers.setdefault(name, len(numbers))
            parts.append((number, LEVELS.index(name.kind), begin, end, size_bytes))
    lengths = [len(begin) for _, _, begin, _, _ in parts]

    def joined(arrays: Iterable[Floats]) -> Floats:
        return np.concatenate([np.empty(0), *arrays])

    return Activity(
        names=list(numbers),
        which=np.repeat([number for number, *_ in parts], lengths).astype(int),
        level=np.repeat([level for _, level, *_ in parts], lengths).astype(int),
        begin=joined(begin for _, _, begin, _, _ in parts),
        end=joined(end for _, _, _, end, _ in parts),
        bytes=joined(size_bytes for *_, size_bytes in parts),
        samples=[sampled for trace in ranks for sampled in _samples(trace)],
        ranks=[trace.rank for trace in ranks],
    )


def _samples(trace: ProcessTrace) -> Iterator[tuple[int, str, Floats]]:
    is_sample = trace.kind == SAMPLE
    for number in np.unique(trace.name[is_sample]).tolist():
        text = trace.names[number]
        if text and not _MICROSCOPE.search(text):
            yield trace.rank, text, trace.begin[is_sample & (trace.name == number)]


def _named(trace: ProcessTrace) -> Iterator[tuple[Name, Floats, Floats, Floats]]:
    """Each name of a rank with its events: their begins, ends and bytes."""
    calls = _calls(trace) & ~_nested(trace)
    main = np.isin(trace.thread, trace.thread[trace.kind == MARK])
    kinds: list[tuple[Kind, Booleans, Callable[[int], str]]] = []
    for number in np.unique(trace.name[calls]).tolist():
        mask = calls & (trace.name == number)
        text = _VARIANT.sub("", trace.names[number])
        # Waits of threads other than the one that sends messages delay nothing.
        if text in SYNCS or text in WAITS:
            split: list[tuple[Kind, Booleans]] = [
                ("sync" if text in SYNCS else "wait", mask & main)
            ]
        elif text in RECEIVES:
            moves = trace.bytes > 0
            split = [("call", mask & main & moves), ("wait", mask & main & ~moves)]
        else:
            split = [("call", mask & main if text in MAY_WAIT else mask)]
        kinds += [(kind, events, lambda n: trace.names[n]) for kind, events in split]
    for event_kind, label in ((COPY, copy_name), (KERNEL, lambda n: f"kernel {trace.names[n]}")):
        of_kind = trace.kind == event_kind
        kinds += [
            ("device", of_kind & (trace.name == n), label) for n in np.unique(trace.name[of_kind])
        ]
    kinds.append(("device", trace.kind == FILL, lambda _: "fill"))
    for kind, mask, text_of in kinds:
        for of_benchmark in (False, True):
            chosen = np.flatnonzero(mask & (trace.own == of_benchmark))
            if len(chosen):
                name = Name(kind, text_of(int(trace.name[chosen[0]])), trace.rank, of_benchmark)
                yield name, trace.begin[chosen], trace.end[chosen], trace.bytes[chosen]
    waits = np.zeros_like(calls)
    for kind, mask, _ in kinds:
        if kind == "wait":
            waits |= mask
    yield from _microscope("microscope", trace, calls & main & ~waits)
    # The overhead of tracing waits is as unknown as the waits.
    yield from _microscope("wait", trace, calls & main & waits)


def _microscope(
    kind: Kind, trace: ProcessTrace, calls: Booleans
) -> Iterator[tuple[Name, Floats, Floats, Floats]]:
    """The overhead of tracing the calls: half of it before each call, half after it."""
    begin, end = trace.begin[calls], trace.end[calls]
    of_driver = trace.kind[calls] == DRIVER_CALL
    half = np.where(of_driver, trace.driver_call_ns, trace.host_call_ns) / 2
    if half.any():
        nothing = np.zeros(2 * len(begin))
        begins, ends = np.concatenate([begin - half, end]), np.concatenate([begin, end + half])
        yield Name(kind, MICROSCOPE, trace.rank), begins, ends, nothing


def _calls(trace: ProcessTrace) -> Booleans:
    called: Booleans = np.isin(trace.kind, (HOST_CALL, DRIVER_CALL))
    return called


def _nested(trace: ProcessTrace) -> Booleans:
    """True for each event that is a call within another call of the same thread."""
    nested = np.zeros(len(trace.kind), dtype=bool)
    calls = _calls(trace)
    for thread in np.unique(trace.thread[calls]):
        indices = np.flatnonzero(calls & (trace.thread == thread))
        order = indices[np.lexsort((-trace.end[indices], trace.begin[indices]))]
        ends = np.maximum.accumulate(trace.end[order])
        nested[order[1:]] = trace.end[order[1:]] <= ends[:-1]
    return nested


def windows(ranks: Sequence[ProcessTrace]) -> list[Windows]:
    """The spans to analyse: one-way messages where ranks mark them, else iterations."""
    in_all = _samples_of(ranks)
    if in_all is None:
        return []
    leader = next(trace for trace in ranks if trace.rank == 0)
    other = next((trace for trace in ranks if trace.rank == 1), None)
    legs = _legs(leader, other, in_all.begin, in_all.end) if other is not None else []
    known_until = min(trace.known_until for trace in ranks)
    complete = [leg.until(known_until) for leg in legs or [in_all]]
    # One leg of a round trip is no iteration.
    return complete if all(leg.messages for leg in complete) else []


def _samples_of(ranks: Sequence[ProcessTrace]) -> Windows | None:
    """All iterations that rank 0 marked; None without any."""
    leader = next((trace for trace in ranks if trace.rank == 0), None)
    if leader is None:
        return None
    begins, ends = _marks(leader, BEGINS), _marks(leader, ENDS)
    count = min(len(begins), len(ends))
    if not count:
        return None
    begin, end = leader.begin[begins[:count]], leader.begin[ends[:count]]
    iterations = leader.bytes[ends[:count]]
    if leader.bytes[begins[0]]:  # all begin together: the slowest rank ends an iteration
        for trace in ranks:
            others = _marks(trace, ENDS)
            if len(others) >= count:
                end = np.maximum(end, trace.begin[others[:count]])
    return Windows("iteration", begin, end, iterations)


def _marks(trace: ProcessTrace, which: int) -> Indices:
    return np.flatnonzero((trace.kind == MARK) & (trace.name == which))


def _legs(leader: ProcessTrace, other: ProcessTrace, begin: Floats, end: Floats) -> list[Windows]:
    """The spans of the messages of round trips, one leg for each direction.

    The other rank marks the arrival of each message, the leader the end of each round trip.
    """
    arrivals, returns = other.begin[_marks(other, TURN)], leader.begin[_marks(leader, TURN)]
    starts: list[Floats] = []
    turns: list[Floats] = []
    homes: list[Floats] = []
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        home = returns[
            np.searchsorted(returns, first) : np.searchsorted(returns, last, side="right")
        ]
        turn = arrivals[np.searchsorted(arrivals, first) : np.searchsorted(arrivals, last)]
        start = np.concatenate([[first], home[:-1]])
        if len(home) and len(turn) == len(home) and (start < turn).all() and (turn < home).all():
            starts.append(start)
            turns.append(turn)
            homes.append(home)
    if not starts:
        return []
    start, turn, home = map(np.concatenate, (starts, turns, homes))
    single = np.ones(len(turn))
    return [Windows("there", start, turn, single), Windows("back", turn, home, single)]


@dataclass
class Shared:
    """The division of the time of messages among events; times in ns."""

    events: Indices  # of the activity
    shares: Floats  # of the time, of each event
    others: Floats  # part of each wait while another rank was in no call
    beside: Floats  # part of each working call while another rank was in one, too
    overlap: Floats  # duration of each event within messages, including concurrent ones
    instants: Floats  # at which any event began or ended
    free: Floats  # 1 from an instant to the next within a message without events, else 0
    free_ns: float  # total
    waits: dict[During, Floats]  # as `free`, where time belongs to calls that wait
    # Samples of a rank outside of traced calls: the rank, the location, and the last of `instants`
    # before each sample.
    at_own: list[tuple[int, str, Indices]]


def shared(did: Activity, analysed: Windows) -> Shared:
    """Divides time: each instant belongs to the active events of the first active LEVEL."""
    events = np.flatnonzero((did.end > analysed.begin[0]) & (did.begin < analysed.end[-1]))
    level, begin, end = did.level[events], did.begin[events], did.end[events]
    instants = np.unique(np.concatenate([begin, end, analysed.begin, analysed.end]))
    lasting = np.append(np.diff(instants), 0.0)
    first, last, opens, closes = (
        np.searchsorted(instants, times) for times in (begin, end, analysed.begin, analysed.end)
    )

    def active(starts: Indices, stops: Indices) -> Floats:
        """The number of active events from each instant to the next."""
        started = np.bincount(starts, minlength=len(instants)).astype(float)
        stopped = np.bincount(stops, minlength=len(instants))
        going: Floats = np.cumsum(started - stopped)
        return going

    def within(weights: Floats) -> Floats:
        """The integral of the weights over each event."""
        sums = np.concatenate([[0.0], np.cumsum(weights * lasting)])
        integral: Floats = sums[last] - sums[first]
        return integral

    inside = (active(opens, closes) > 0).astype(float)
    rank = np.array([name.rank for name in did.names], int)[did.which[events]]
    calls = level != LEVELS.index("device")
    any_at_own = np.zeros(len(instants), dtype=bool)
    at_own: list[tuple[int, str, Indices]] = []
    # One rank after the other: all at once would take ranks x instants of memory.
    for owner in did.ranks:
        mask = calls & (rank == owner)
        is_at_own = active(first[mask], last[mask]) == 0
        any_at_own |= is_at_own  # a rank that waits is in a call: this is another rank
        for sampled, name, times in did.samples:
            if sampled == owner:
                places = np.searchsorted(instants, times, side="right") - 1
                places = places[(places >= 0) & (places < len(instants) - 1)]
                at_own.append((owner, name, places[is_at_own[places]]))
    free, shares = inside, np.zeros(len(events))
    others, beside = np.full(len(events), np.nan), np.full(len(events), np.nan)
    works = np.isin(level, [LEVELS.index(kind) for kind in WORKS])
    at_work = active(first[works], last[works])  # of all ranks
    waits: dict[During, Floats] = {}
    for number, kind in enumerate(LEVELS):
        of_level = level == number
        at_once = active(first[of_level], last[of_level])
        weights = np.divide(free, at_once, out=np.zeros_like(free), where=at_once > 0)
        shares[of_level] = within(weights)[of_level]
        if kind == "sync" or kind == "wait":
            others[of_level] = within(weights * any_at_own)[of_level]
        if kind in WORKS:
            for owner in did.ranks:
                mask = of_level & (rank == owner)
                own_work = active(first[works & (rank == owner)], last[works & (rank == owner)])
                beside[mask] = within(weights * (at_work > own_work))[mask]
        if kind == "sync" or kind == "wait":
            waits[kind] = np.where(at_once > 0, free, 0.0)
        free = np.where(at_once > 0, 0.0, free)
    return Shared(
        events=events,
        shares=shares,
        others=others,
        beside=beside,
        overlap=within(inside),
        instants=instants,
        free=free,
        free_ns=float((free * lasting).sum()),
        waits=waits,
        at_own=at_own,
    )


class Accounted(NamedTuple):
    """The share of a message that is known, and the tracing overhead beyond the measured part."""

    added_us: float
    least: float | None
    most: float | None


def accounted(
    time_us: float, told_us: float, unknown_us: float, ceiling_us: float | None, slower: float
) -> Accounted:
    """The known share of the time above the ceiling, without tracing.

    A traced message takes `time_us`, which is `slower` times as long; `told_us` of it is measured
    overhead. Overhead beyond that may lie in the unknown part, `unknown_us`, or in the rest: hence
    a least and a most.
    """
    plain_us = time_us / max(1.0, slower)
    added_us = max(0.0, time_us - told_us - plain_us)
    above_us = 0.0 if ceiling_us is None else plain_us - ceiling_us
    if above_us <= 0:
        return Accounted(added_us, None, None)

    def known_share(unknown_us: float) -> float:
        return max(0.0, 1 - max(0.0, unknown_us) / above_us)

    return Accounted(added_us, known_share(unknown_us), known_share(unknown_us - added_us))


def slowdowns(did: Activity, legs: Sequence[Windows], slower: float) -> list[float]:
    """The slowdown by tracing of each leg, where all legs together take `slower` times as long.

    The added time is divided in proportion to the measured overhead of each leg, without that of
    waits. Without measured overhead all legs have the same slowdown.
    """
    usual = [leg.usual() for leg in legs]
    its = did.level == LEVELS.index("microscope")
    begin, lasting = did.begin[its], (did.end - did.begin)[its]
    spent = []
    for leg in usual:
        place = np.searchsorted(leg.begin, begin, side="right") - 1
        inside = (place >= 0) & (begin < leg.end[place])
        spent.append(float(lasting[inside].sum()) / leg.messages)
    added_us = sum(leg.mean_us for leg in usual) * (1 - 1 / max(1.0, slower))
    in_all = sum(spent)
    plain_us = [
        leg.mean_us - (added_us * its_own / in_all if in_all else leg.mean_us)
        for leg, its_own in zip(usual, spent, strict=True)
    ]
    if slower <= 1 or min(plain_us, default=0.0) <= 0:
        return [slower] * len(legs)
    return [leg.mean_us / plain for leg, plain in zip(usual, plain_us, strict=True)]


def together(budgets: Sequence[Budget], ceiling_us: float | None, slower: float) -> Accounted:
    """`accounted` for one message of each leg; `ceiling_us`: their mean without MPI."""
    return accounted(
        sum(leg.time_us for leg in budgets),
        sum(part.time_us for b in budgets for part in b.parts if part.kind == "microscope"),
        sum(leg.not_accounted_us + leg.waiting_us for leg in budgets),
        None if ceiling_us is None else ceiling_us * len(budgets),
        slower,
    )


def budget(did: Activity, leg: Windows, ceiling_us: float | None, slower: float = 1.0) -> Budget:
    """The budget of the usual messages of a leg.

    `ceiling_us`: the time of a message without MPI; `slower`: its slowdown by tracing.
    """
    analysed = leg.usual()
    shared_time = shared(did, analysed)
    parts = sorted(_parts(did, shared_time, analysed.messages), key=lambda part: -part.time_us)
    spent_us = {kind: sum(p.time_us for p in parts if p.kind == kind) for kind in LEVELS}
    rest_us = shared_time.free_ns / analysed.messages / NS
    time_us = analysed.mean_us
    bounds = accounted(
        time_us, spent_us["microscope"], rest_us + spent_us["wait"], ceiling_us, slower
    )
    shown = _median_message(analysed)
    return Budget(
        leg=analysed.leg,
        messages=analysed.messages,
        slower=slower,
        time_us=time_us,
        parts=parts,
        waiting_us=spent_us["wait"],
        not_accounted_us=rest_us,
        # All messages: those with a sample take longer than usual.
        own=list(_sampled_functions(shared(did, leg))),
        added_us=bounds.added_us,
        accounted_least=bounds.least,
        accounted_most=bounds.most,
        shown_us=(shown[1] - shown[0]) / NS,
        lanes=lanes(did, *shown),
    )


def _parts(did: Activity, shared_time: Shared, messages: int) -> Iterator[Part]:
    which, times = did.which[shared_time.events], (did.end - did.begin)[shared_time.events]
    for number in np.unique(which[shared_time.overlap > 0]).tolist():
        mask = (which == number) & (shared_time.overlap > 0)
        # An event that extends beyond a message counts by its share within it.
        counted = shared_time.overlap[mask] / times[mask]
        within, busy = float(counted.sum()), float(shared_time.overlap[mask].sum())
        moved = float((counted * did.bytes[shared_time.events][mask]).sum()) / within
        name = did.names[number]
        yield Part(
            kind=name.kind,
            name=name.name,
            rank=name.rank,
            own=name.own,
            count=within / messages,
            mean_us=busy / within / NS,
            bytes=moved or None,
            busy_us=busy / messages / NS,
            time_us=float(shared_time.shares[mask].sum()) / messages / NS,
            others_us=_sum_us(shared_time.others[mask], messages),
            beside_us=_sum_us(shared_time.beside[mask], messages),
        )


def _sum_us(times: Floats, messages: int) -> float | None:
    """The sum for one message; None for kinds without such a time."""
    return None if np.isnan(times).any() else float(times.sum()) / messages / NS


def _sampled_functions(shared_time: Shared) -> Iterator[Own]:
    """The locations of samples of ranks outside of traced calls."""
    during: During
    for during, inside in {"nothing": shared_time.free, **shared_time.waits}.items():
        counts: dict[tuple[int, str], int] = {}
        for rank, name, places in shared_time.at_own:
            if count := int(inside[places].sum()):
                counts[rank, name] = count
        for (rank, name), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1])):
            of_rank = sum(n for (other, _), n in counts.items() if other == rank)
            yield Own(rank=rank, name=name, samples=count, share=count / of_rank, during=during)


def _median_message(analysed: Windows) -> tuple[float, float]:
    lengths = analysed.end - analysed.begin
    number = int(np.argsort(lengths)[len(lengths) // 2])
    return float(analysed.begin[number]), float(analysed.end[number])


def lanes(did: Activity, begin: float, end: float) -> list[Lane]:
    """The timeline of each rank, and of its device, between two instants in ns."""
    spans_of: dict[tuple[str, int], list[Span]] = {}
    chosen = np.flatnonzero((did.end > begin) & (did.begin < end))
    for event in chosen[np.argsort(did.begin[chosen], kind="stable")].tolist():
        name = did.names[did.which[event]]
        if name.name == MICROSCOPE:
            continue
        unit = "device" if name.kind == "device" else "rank"
        span = Span(
            kind=name.kind,
            name=name.name,
            begin_us=(max(begin, float(did.begin[event])) - begin) / NS,
            end_us=(min(end, float(did.end[event])) - begin) / NS,
        )
        spans_of.setdefault((unit, name.rank), []).append(span)
    ranks = sorted({rank for _, rank in spans_of})
    return [
        Lane(
            of=unit, rank=rank, spans=thinned(spans_of[unit, rank], (end - begin) / NS * NARROWEST)
        )
        for rank in ranks
        for unit in ("rank", "device")
        if (unit, rank) in spans_of
    ]


def iteration_us(ranks: Sequence[ProcessTrace]) -> float | None:
    """The time of an iteration: the median over samples, as for the figure of a launch.

    None without samples.
    """
    samples = _samples_of(ranks)
    if samples is None:
        return None
    return float(np.median((samples.end - samples.begin) / samples.each)) / NS


def usual_share(ranks: Sequence[ProcessTrace], legs: Sequence[Windows]) -> float:
    """The time of an iteration of usual messages over that of the samples; 1 without any.

    The figure of a launch times this factor is that of the messages in the budgets.
    """
    whole_us = iteration_us(ranks)
    if not whole_us or not legs:
        return 1.0
    return sum(leg.usual().mean_us for leg in legs) / whole_us


def counters(trace: ProcessTrace) -> Counters | None:
    """Counters of the operating system for each iteration, from samples without tracing.

    None without such samples.
    """
    values = [trace.bytes[(trace.kind == COUNTER) & (trace.name == which)] for which in range(1, 7)]
    # If events ran out, some of the last counts lack their counterpart.
    pairs = min(len(value) // 2 for value in values)
    befores = np.flatnonzero((trace.kind == COUNTER) & (trace.name == 1))[::2][:pairs]
    ends = _marks(trace, ENDS)
    # The end of a sample lies between the counts before it and those after it.
    counted_ends = ends[np.searchsorted(ends, befores)] if len(ends) else ends
    iterations = float(trace.bytes[counted_ends].sum())
    if not iterations:
        return None
    minor, major, voluntary, involuntary, user_ns, system_ns = (
        float((value[1 : 2 * pairs : 2] - value[: 2 * pairs : 2]).sum()) / iterations
        for value in values
    )
    return Counters(
        rank=trace.rank,
        minor_faults=minor,
        major_faults=major,
        voluntary_switches=voluntary,
        involuntary_switches=involuntary,
        user_us=user_ns / NS,
        system_us=system_ns / NS,
    )
