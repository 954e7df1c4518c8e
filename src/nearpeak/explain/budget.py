# SPDX-License-Identifier: Apache-2.0
"""Where the time of a message went, from what all ranks did while it was measured."""

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
    Seen,
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

# Calls that end when the device has done something, and those that end when anything happens.
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
# Calls that wait where nothing has come: then they move no bytes.
RECEIVES = frozenset(["read", "__read_chk", "readv", "recv", "recvfrom", "recvmsg"])
# Calls of which nobody knows whether they wait.
MAY_WAIT = frozenset(["ioctl", "syscall"])
# Of one call of the driver: for a stream of each thread, and of a later version.
_VARIANT = re.compile(r"(_v\d+)?(_pt[sd][zs])?$")
# What is of the microscope, among what ranks are at.
_MICROSCOPE = re.compile(r"(^|, )(libcupti\.so|libnearpeak-explain\.so)")
LEVELS: tuple[Kind, ...] = get_args(Kind)
WORKS: tuple[Kind, ...] = ("call", "sync")  # kinds of calls that do something
MIDDLE = (0.25, 0.75)  # quantiles
NS = 1e3  # in a microsecond
# What is shorter than this part of a message is drawn together with its neighbour.
NARROWEST = 1 / 250


class Name(NamedTuple):
    """Events that are told as one part."""

    kind: Kind
    name: str
    rank: int
    own: bool = False  # of the benchmark itself


@dataclass
class Activity:
    """What ranks and devices did, without what happened within a call; times in ns."""

    names: list[Name]
    which: Indices  # of `names`
    level: Indices  # of LEVELS
    begin: Floats
    end: Floats
    bytes: Floats
    samples: list[tuple[int, str, Floats]]  # rank, what it was at, and when
    ranks: list[int]


@dataclass
class Windows:
    """When messages were under way: spans that do not overlap, of one leg."""

    leg: Leg
    begin: Floats
    end: Floats
    each: Floats  # messages, or iterations, in each span

    @property
    def messages(self) -> int:
        """In all of them."""
        return int(self.each.sum())

    @property
    def mean_us(self) -> float:
        """Of a message."""
        return float((self.end - self.begin).sum()) / self.messages / NS

    def until(self, instant: float) -> "Windows":
        """Those that were over then."""
        kept = self.end <= instant
        return Windows(self.leg, self.begin[kept], self.end[kept], self.each[kept])

    def usual(self) -> "Windows":
        """Those whose times are of the middle half: in others a rank was held up, by whatever else
        runs on the machine. Of fewer than three all."""
        if len(self.each) < 3:
            return self
        times = (self.end - self.begin) / self.each
        low, high = np.quantile(times, MIDDLE)
        kept = (times >= low) & (times <= high)
        return Windows(self.leg, self.begin[kept], self.end[kept], self.each[kept])


def activity(ranks: Sequence[Seen]) -> Activity:
    """Of all ranks together."""
    numbers: dict[Name, int] = {}
    parts: list[tuple[int, int, Floats, Floats, Floats]] = []
    for seen in ranks:
        for name, begin, end, size_bytes in _named(seen):
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
        samples=[sampled for seen in ranks for sampled in _samples(seen)],
        ranks=[seen.rank for seen in ranks],
    )


def _samples(seen: Seen) -> Iterator[tuple[int, str, Floats]]:
    there = seen.kind == SAMPLE
    for number in np.unique(seen.name[there]).tolist():
        text = seen.names[number]
        if text and not _MICROSCOPE.search(text):
            yield seen.rank, text, seen.begin[there & (seen.name == number)]


def _named(seen: Seen) -> Iterator[tuple[Name, Floats, Floats, Floats]]:
    """Each name of a rank with its events: when they began and ended, and their bytes."""
    calls = _calls(seen) & ~_nested(seen)
    main = np.isin(seen.thread, seen.thread[seen.kind == MARK])
    kinds: list[tuple[Kind, Booleans, Callable[[int], str]]] = []
    for number in np.unique(seen.name[calls]).tolist():
        own = calls & (seen.name == number)
        text = _VARIANT.sub("", seen.names[number])
        # What threads wait for beside the one that sends messages holds nothing up.
        if text in SYNCS or text in WAITS:
            told: list[tuple[Kind, Booleans]] = [("sync" if text in SYNCS else "wait", own & main)]
        elif text in RECEIVES:
            moves = seen.bytes > 0
            told = [("call", own & main & moves), ("wait", own & main & ~moves)]
        else:
            told = [("call", own & main if text in MAY_WAIT else own)]
        kinds += [(kind, events, lambda n: seen.names[n]) for kind, events in told]
    for of, words in ((COPY, copy_name), (KERNEL, lambda n: f"kernel {seen.names[n]}")):
        there = seen.kind == of
        kinds += [("device", there & (seen.name == n), words) for n in np.unique(seen.name[there])]
    kinds.append(("device", seen.kind == FILL, lambda _: "fill"))
    for kind, own, text_of in kinds:
        for of_benchmark in (False, True):
            chosen = np.flatnonzero(own & (seen.own == of_benchmark))
            if len(chosen):
                name = Name(kind, text_of(int(seen.name[chosen[0]])), seen.rank, of_benchmark)
                yield name, seen.begin[chosen], seen.end[chosen], seen.bytes[chosen]
    waits = np.zeros_like(calls)
    for kind, own, _ in kinds:
        if kind == "wait":
            waits |= own
    yield from _microscope("microscope", seen, calls & main & ~waits)
    # What it takes to see that a rank waits is no more known than the wait.
    yield from _microscope("wait", seen, calls & main & waits)


def _microscope(
    kind: Kind, seen: Seen, calls: Booleans
) -> Iterator[tuple[Name, Floats, Floats, Floats]]:
    """What it took to see the calls: half of it before each, half behind."""
    begin, end = seen.begin[calls], seen.end[calls]
    of_driver = seen.kind[calls] == DRIVER_CALL
    half = np.where(of_driver, seen.driver_call_ns, seen.host_call_ns) / 2
    if half.any():
        nothing = np.zeros(2 * len(begin))
        begins, ends = np.concatenate([begin - half, end]), np.concatenate([begin, end + half])
        yield Name(kind, MICROSCOPE, seen.rank), begins, ends, nothing


def _calls(seen: Seen) -> Booleans:
    called: Booleans = np.isin(seen.kind, (HOST_CALL, DRIVER_CALL))
    return called


def _nested(seen: Seen) -> Booleans:
    """Which events are calls within another call of the same thread."""
    nested = np.zeros(len(seen.kind), dtype=bool)
    calls = _calls(seen)
    for thread in np.unique(seen.thread[calls]):
        own = np.flatnonzero(calls & (seen.thread == thread))
        order = own[np.lexsort((-seen.end[own], seen.begin[own]))]
        ends = np.maximum.accumulate(seen.end[order])
        nested[order[1:]] = seen.end[order[1:]] <= ends[:-1]
    return nested


def windows(ranks: Sequence[Seen]) -> list[Windows]:
    """What is looked at: messages there and back where ranks mark them, else iterations."""
    in_all = _samples_of(ranks)
    if in_all is None:
        return []
    leader = next(seen for seen in ranks if seen.rank == 0)
    other = next((seen for seen in ranks if seen.rank == 1), None)
    legs = _legs(leader, other, in_all.begin, in_all.end) if other is not None else []
    known_until = min(seen.known_until for seen in ranks)
    whole = [leg.until(known_until) for leg in legs or [in_all]]
    return whole if all(leg.messages for leg in whole) else []  # there without back is no iteration


def _samples_of(ranks: Sequence[Seen]) -> Windows | None:
    """All iterations that rank 0 marked; None without any."""
    leader = next((seen for seen in ranks if seen.rank == 0), None)
    if leader is None:
        return None
    begins, ends = _marks(leader, BEGINS), _marks(leader, ENDS)
    count = min(len(begins), len(ends))
    if not count:
        return None
    begin, end = leader.begin[begins[:count]], leader.begin[ends[:count]]
    iterations = leader.bytes[ends[:count]]
    if leader.bytes[begins[0]]:  # all begin together: an iteration is that of the slowest
        for seen in ranks:
            others = _marks(seen, ENDS)
            if len(others) >= count:
                end = np.maximum(end, seen.begin[others[:count]])
    return Windows("iteration", begin, end, iterations)


def _marks(seen: Seen, which: int) -> Indices:
    return np.flatnonzero((seen.kind == MARK) & (seen.name == which))


def _legs(leader: Seen, other: Seen, begin: Floats, end: Floats) -> list[Windows]:
    """Those of messages there and back, one after the other: the other rank marks when one has
    arrived there, the leader when one is back."""
    there, back = other.begin[_marks(other, TURN)], leader.begin[_marks(leader, TURN)]
    starts: list[Floats] = []
    turns: list[Floats] = []
    homes: list[Floats] = []
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        home = back[np.searchsorted(back, first) : np.searchsorted(back, last, side="right")]
        turn = there[np.searchsorted(there, first) : np.searchsorted(there, last)]
        start = np.concatenate([[first], home[:-1]])
        if len(home) and len(turn) == len(home) and (start < turn).all() and (turn < home).all():
            starts.append(start)
            turns.append(turn)
            homes.append(home)
    if not starts:
        return []
    start, turn, home = map(np.concatenate, (starts, turns, homes))
    alone = np.ones(len(turn))
    return [Windows("there", start, turn, alone), Windows("back", turn, home, alone)]


@dataclass
class Shared:
    """How the time of messages is shared by the events around them; times in ns."""

    events: Indices  # of the activity
    shares: Floats  # of the time, of each event
    others: Floats  # of each share of what waits, while another rank was at its own instructions
    beside: Floats  # of each share of a call that does not wait, while another rank was in one, too
    overlap: Floats  # how long each went on in messages, whatever went on beside it
    instants: Floats  # at which anything began or ended
    free: Floats  # 1 from an instant to the next where nothing went on in a message, else 0
    free_ns: float  # all of that
    waits: dict[During, Floats]  # likewise, where time belongs to calls that wait
    # Of samples of a rank in no call that is seen: the rank, what it was at, and of each sample the
    # last of `instants` before it.
    at_own: list[tuple[int, str, Indices]]


def shared(did: Activity, looked_at: Windows) -> Shared:
    """At each instant, time belongs to the first of LEVELS of which anything goes on."""
    events = np.flatnonzero((did.end > looked_at.begin[0]) & (did.begin < looked_at.end[-1]))
    level, begin, end = did.level[events], did.begin[events], did.end[events]
    instants = np.unique(np.concatenate([begin, end, looked_at.begin, looked_at.end]))
    lasting = np.append(np.diff(instants), 0.0)
    first, last, opens, closes = (
        np.searchsorted(instants, times) for times in (begin, end, looked_at.begin, looked_at.end)
    )

    def active(some: Indices, until: Indices) -> Floats:
        """How many go on from each instant to the next."""
        more = np.bincount(some, minlength=len(instants)).astype(float)
        less = np.bincount(until, minlength=len(instants))
        going: Floats = np.cumsum(more - less)
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
    # Of all ranks at once it would be ranks times instants.
    for of in did.ranks:
        its = calls & (rank == of)
        is_at_own = active(first[its], last[its]) == 0
        any_at_own |= is_at_own  # who waits is in a call: another rank
        for sampled, name, times in did.samples:
            if sampled == of:
                places = np.searchsorted(instants, times, side="right") - 1
                places = places[(places >= 0) & (places < len(instants) - 1)]
                at_own.append((of, name, places[is_at_own[places]]))
    free, shares = inside, np.zeros(len(events))
    others, beside = np.full(len(events), np.nan), np.full(len(events), np.nan)
    works = np.isin(level, [LEVELS.index(kind) for kind in WORKS])
    at_work = active(first[works], last[works])  # of all ranks
    waits: dict[During, Floats] = {}
    for number, kind in enumerate(LEVELS):
        own = level == number
        at_once = active(first[own], last[own])
        weights = np.divide(free, at_once, out=np.zeros_like(free), where=at_once > 0)
        shares[own] = within(weights)[own]
        if kind == "sync" or kind == "wait":
            others[own] = within(weights * any_at_own)[own]
        if kind in WORKS:
            for of in did.ranks:
                its = own & (rank == of)
                own_work = active(first[works & (rank == of)], last[works & (rank == of)])
                beside[its] = within(weights * (at_work > own_work))[its]
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
    """How much of a message is known, and how much of it is the microscope's without being told."""

    added_us: float
    least: float | None
    most: float | None


def accounted(
    time_us: float, told_us: float, unknown_us: float, ceiling_us: float | None, slower: float
) -> Accounted:
    """Of the time above the ceiling without the microscope. Under it a message takes `time_us`,
    `slower` times as long, of which its own part is `told_us`. What it adds beyond that may lie in
    what is not known, `unknown_us`, or in all else."""
    plain_us = time_us / max(1.0, slower)
    added_us = max(0.0, time_us - told_us - plain_us)
    above_us = 0.0 if ceiling_us is None else plain_us - ceiling_us
    if above_us <= 0:
        return Accounted(added_us, None, None)

    def known(unknown_us: float) -> float:
        return max(0.0, 1 - max(0.0, unknown_us) / above_us)

    return Accounted(added_us, known(unknown_us), known(unknown_us - added_us))


def slowdowns(did: Activity, legs: Sequence[Windows], slower: float) -> list[float]:
    """How many times as long a message of each leg takes under the microscope, where those of all
    legs together take `slower` times as long: of what is added, each leg has as much as it has of
    what it takes to see calls, but those that wait. Where that is not known each takes as much
    longer as all."""
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
    """Of the messages of all legs, as of one; `ceiling_us`: their mean without MPI; `slower`: of
    all of them."""
    return accounted(
        sum(found.time_us for found in budgets),
        sum(part.time_us for b in budgets for part in b.parts if part.kind == "microscope"),
        sum(found.not_accounted_us + found.waiting_us for found in budgets),
        None if ceiling_us is None else ceiling_us * len(budgets),
        slower,
    )


def budget(did: Activity, leg: Windows, ceiling_us: float | None, slower: float = 1.0) -> Budget:
    """Of the usual messages of a leg; `ceiling_us`: how long one takes without MPI; `slower`: how
    many times as long one takes under the microscope."""
    looked_at = leg.usual()
    known = shared(did, looked_at)
    parts = sorted(_parts(did, known, looked_at.messages), key=lambda part: -part.time_us)
    spent_us = {kind: sum(p.time_us for p in parts if p.kind == kind) for kind in LEVELS}
    rest_us = known.free_ns / looked_at.messages / NS
    time_us = looked_at.mean_us
    bounds = accounted(
        time_us, spent_us["microscope"], rest_us + spent_us["wait"], ceiling_us, slower
    )
    shown = _median_message(looked_at)
    return Budget(
        leg=looked_at.leg,
        messages=looked_at.messages,
        slower=slower,
        time_us=time_us,
        parts=parts,
        waiting_us=spent_us["wait"],
        not_accounted_us=rest_us,
        # A message in which a sample was taken takes longer than usual.
        own=list(_own(shared(did, leg))),
        added_us=bounds.added_us,
        accounted_least=bounds.least,
        accounted_most=bounds.most,
        shown_us=(shown[1] - shown[0]) / NS,
        lanes=lanes(did, *shown),
    )


def _parts(did: Activity, known: Shared, messages: int) -> Iterator[Part]:
    which, times = did.which[known.events], (did.end - did.begin)[known.events]
    for number in np.unique(which[known.overlap > 0]).tolist():
        own = (which == number) & (known.overlap > 0)
        # One that goes on before or behind a message counts by the part of it that is within.
        counted = known.overlap[own] / times[own]
        within, busy = float(counted.sum()), float(known.overlap[own].sum())
        moved = float((counted * did.bytes[known.events][own]).sum()) / within
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
            time_us=float(known.shares[own].sum()) / messages / NS,
            others_us=_sum_us(known.others[own], messages),
            beside_us=_sum_us(known.beside[own], messages),
        )


def _sum_us(times: Floats, messages: int) -> float | None:
    """For one message; None of kinds that have no such time."""
    return None if np.isnan(times).any() else float(times.sum()) / messages / NS


def _own(known: Shared) -> Iterator[Own]:
    """What samples found that ranks were at by their own instructions."""
    during: During
    for during, there in {"nothing": known.free, **known.waits}.items():
        counts: dict[tuple[int, str], int] = {}
        for rank, name, places in known.at_own:
            if count := int(there[places].sum()):
                counts[rank, name] = count
        for (rank, name), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1])):
            of_rank = sum(n for (other, _), n in counts.items() if other == rank)
            yield Own(rank=rank, name=name, samples=count, share=count / of_rank, during=during)


def _median_message(looked_at: Windows) -> tuple[float, float]:
    lengths = looked_at.end - looked_at.begin
    number = int(np.argsort(lengths)[len(lengths) // 2])
    return float(looked_at.begin[number]), float(looked_at.end[number])


def lanes(did: Activity, begin: float, end: float) -> list[Lane]:
    """What each rank, and its device, did between two instants in ns."""
    found: dict[tuple[str, int], list[Span]] = {}
    chosen = np.flatnonzero((did.end > begin) & (did.begin < end))
    for event in chosen[np.argsort(did.begin[chosen], kind="stable")].tolist():
        name = did.names[did.which[event]]
        if name.name == MICROSCOPE:
            continue
        of = "device" if name.kind == "device" else "rank"
        span = Span(
            kind=name.kind,
            name=name.name,
            begin_us=(max(begin, float(did.begin[event])) - begin) / NS,
            end_us=(min(end, float(did.end[event])) - begin) / NS,
        )
        found.setdefault((of, name.rank), []).append(span)
    ranks = sorted({rank for _, rank in found})
    return [
        Lane(of=of, rank=rank, spans=thinned(found[of, rank], (end - begin) / NS * NARROWEST))
        for rank in ranks
        for of in ("rank", "device")
        if (of, rank) in found
    ]


def iteration_us(ranks: Sequence[Seen]) -> float | None:
    """How long an iteration takes: the median of the samples', as a launch has its figure. None
    without any."""
    samples = _samples_of(ranks)
    if samples is None:
        return None
    return float(np.median((samples.end - samples.begin) / samples.each)) / NS


def usual_share(ranks: Sequence[Seen], legs: Sequence[Windows]) -> float:
    """How many times as long an iteration of usual messages takes as one of the samples; 1 without
    any. A launch's figure times this is that of the messages which budgets are of."""
    whole_us = iteration_us(ranks)
    if not whole_us or not legs:
        return 1.0
    return sum(leg.usual().mean_us for leg in legs) / whole_us


def counters(seen: Seen) -> Counters | None:
    """What the kernel counted in samples in which nobody looked at the rank, for each iteration;
    None without any."""
    values = [seen.bytes[(seen.kind == COUNTER) & (seen.name == which)] for which in range(1, 7)]
    # Where events ran out, some of the last ones have nothing to be held against.
    pairs = min(len(value) // 2 for value in values)
    befores = np.flatnonzero((seen.kind == COUNTER) & (seen.name == 1))[::2][:pairs]
    ends = _marks(seen, ENDS)
    # Between the counts before a sample and those behind it is its end.
    whole = ends[np.searchsorted(ends, befores)] if len(ends) else ends
    iterations = float(seen.bytes[whole].sum())
    if not iterations:
        return None
    minor, major, voluntary, involuntary, user_ns, system_ns = (
        float((value[1 : 2 * pairs : 2] - value[: 2 * pairs : 2]).sum()) / iterations
        for value in values
    )
    return Counters(
        rank=seen.rank,
        minor_faults=minor,
        major_faults=major,
        voluntary_switches=voluntary,
        involuntary_switches=involuntary,
        user_us=user_ns / NS,
        system_us=system_ns / NS,
    )
