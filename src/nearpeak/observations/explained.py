# SPDX-License-Identifier: Apache-2.0
"""Messages of a library, as `nearpeak explain` traced them (docs/how-to/explain.md).

Sizes in bytes, times in microseconds.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.files import make_inside, write_new
from nearpeak.terms.identity import Who
from nearpeak.terms.private import FreeText, HostName, Kept, Public

SCHEMA = 1

MICROSCOPE = "the microscope"  # the name of the parts of the tracer, in files
WIDEST = 0.8  # of a share: between wider bounds it is not known
TOLD_BESIDE = 0.1  # of a part's share: less of it beside calls of another rank is not told

# What a rank or a device was at: bytes moved on a device, a call that does something, what the
# tracer itself takes to see a call, a call that waits for the device, or one that waits for
# whatever comes.
Kind = Literal[
    "device",  # bytes moved, or work done, on a device
    "call",  # a call that does something
    "microscope",  # time that the tracing library takes to see a call
    "sync",  # a call that waits for the device
    "wait",  # a call that waits for whatever comes
]
# What is looked at: a message to the other rank, one back, or a whole iteration of a benchmark.
Leg = Literal[
    "there",  # a message of a ping-pong, from rank 0 to rank 1
    "back",  # its answer
    "iteration",  # an iteration of a benchmark
]
# What goes on while a rank is at its own instructions: nothing that is seen, or that another waits.
During = Literal[
    "nothing",  # nothing that is traced
    "sync",  # another rank waits for the device
    "wait",  # another rank waits for whatever comes
]


class Part(msgspec.Struct, kw_only=True):
    """A share of the time: calls of one name by one rank, or copies of one kind."""

    kind: Kind  # kind of activity
    # of the call, or of the device's activity: `cuMemcpyAsync`, `copy, pageable to device`
    name: FreeText
    rank: int  # rank that called, or for which the device worked
    own: bool  # by the benchmark itself (packing, staging), not by the library
    # number of these for one message; one that begins before it or ends after it counts by the part
    # within
    count: float
    mean_us: float  # of one of these, from begin to end, in us
    bytes: float | None  # mean of one of these; null: it moves none
    # of all of these for one message, in us: `count` times `mean_us`, whatever else ran
    busy_us: float
    # share of a message's time in us: of simultaneous activities, the first kind in the order below
    # counts, shared within a kind
    time_us: float
    # of `time_us`, of `sync` and `wait`: another rank was in no traced call, so it may have worked;
    # null: other kinds
    others_us: float | None = None
    # of `time_us`, of `call` and `sync`: another rank was in such a call too; null: other kinds
    beside_us: float | None = None

    @property
    def label(self) -> str:
        """`2,036 x cuMemcpyAsync of 8,240 B`, `2 x cuStreamSynchronize, the benchmark's own`."""
        if self.name == MICROSCOPE:
            return f"the tracer{', while it waits' if self.kind == 'wait' else ''}"
        moved = f" of {self.bytes:,.0f} B" if self.bytes else ""
        whose = ", the benchmark's own" if self.own else ""
        return f"{self.times}{self.name}{moved}{whose}"

    @property
    def beside(self) -> str:
        """`, 20 % of it beside a call of another rank`; empty where that is little."""
        share = (self.beside_us or 0.0) / self.time_us if self.time_us else 0.0
        text = f", {100 * share:.2g} % of it beside a call of another rank"
        return text if share >= TOLD_BESIDE else ""

    @property
    def times(self) -> str:
        """`2,036 x `, `1.4 x `; nothing for one."""
        number = f"{self.count:.2g}" if self.count < 10 else f"{self.count:,.0f}"
        return "" if number == "1" else f"{number} x "


class Own(msgspec.Struct, kw_only=True):
    """A function that a rank ran outside of traced calls, by samples."""

    rank: int  # the rank
    # `opal_progress, libopen-pal.so.80`; the library alone if the function is not exported
    name: FreeText
    samples: int  # samples of the rank in this function, during that
    share: float  # of the samples of this rank outside of traced calls, during that
    during: During = "nothing"  # what went on


class Span(msgspec.Struct, kw_only=True):
    """An activity in a lane."""

    kind: Kind  # kind of activity
    name: FreeText  # of the longest of those that are drawn as one
    begin_us: float  # us after the message began
    end_us: float  # us after the message began
    count: int = 1  # number of activities drawn as one, as they follow each other closely


class Lane(msgspec.Struct, kw_only=True):
    """The activity of one rank, or of the device for it, during one message."""

    of: Literal["rank", "device"]  # whose activity
    rank: int  # the rank, or the one that the device worked for
    spans: list[Span]  # in the order of time


class Budget(msgspec.Struct, kw_only=True):
    """The parts of the time of a message."""

    leg: Leg  # the message
    messages: int  # messages of one launch that were analysed
    slower: float  # times as long while traced; an estimate for there and back
    time_us: float  # mean of one message while traced, in us
    parts: list[Part]  # the largest share first
    waiting_us: float  # shares of parts that wait for whatever comes, in us
    not_accounted_us: float  # time without any traced activity, in us
    # functions that ranks ran in that time and while others waited; of each rank the most frequent
    # first
    own: list[Own]
    # time that tracing adds beyond its own part, in us; it lies within unknown other parts
    added_us: float = 0.0
    # least share of the untraced time above the ceiling in named activities other than `wait`;
    # null: no ceiling, or not above it
    accounted_least: float | None = None
    # greatest share, if all of `added_us` lies in other time; null: no ceiling, or not above it
    accounted_most: float | None = None
    shown_us: float  # time of the message in the lanes, that of median time, in us
    lanes: list[Lane]  # activity during that message


class Counters(msgspec.Struct, kw_only=True):
    """The kernel's counters of one rank, for each iteration."""

    rank: int  # the rank
    minor_faults: float  # page faults that read no disk
    major_faults: float  # page faults that read from disk
    voluntary_switches: float  # times that it waited
    involuntary_switches: float  # times that another process got its core
    user_us: float  # time in the program in us; inexact if all messages take less than some seconds
    system_us: float  # time in the kernel in us; as exact as `user_us`


class ExplainedCase(msgspec.Struct, kw_only=True):
    """The messages of one size."""

    size_bytes: int  # of a message
    metric: Public  # what was measured
    axes: dict[Public, Public]  # value of each axis: `calls`, `reuse`, ...
    unit: Public  # of the values
    value: float  # without tracing: median of the launches' medians
    seen_value: float  # while traced, of the messages that the budgets are of
    # times as long as without tracing: `seen_value` over `value`, of a rate the reverse
    slower: float
    plain_values: list[float]  # medians of the launches without tracing, in their order
    seen_values: list[float]  # medians of the launches with tracing, the least first
    # least ratio of a launch with tracing to one without; null: none was traced
    slower_least: float | None
    slower_most: float | None  # largest such ratio; null: none was traced
    operations: float  # messages of an iteration between two ranks, or 1
    ceiling: float | None  # the same without MPI, in the same unit; null: nothing does it
    ceiling_method: Public | None  # method of the ceiling; null: no ceiling
    budgets: list[Budget]  # parts of the time; empty: nothing was traced
    # as of a Budget, of messages there and back together; null: each has its own, or no ceiling
    accounted_least: float | None = None
    accounted_most: float | None = None  # the same for the greatest share
    counters: list[Counters]  # the kernel's, of each rank
    lost: int  # events without space to store them
    missing: list[int]  # ranks that left nothing
    failed: FreeText  # failure of the launch with tracing; empty: none
    device: FreeText  # why the device's driver was not traced; empty: it was, or was not used
    dropped: int = 0  # records of activity on devices that were lost, at least
    unfinished: list[int] = []  # ranks that ended without the last of these records
    # round trips of a cache line between the ranks' CPUs in ns, in these launches and that of the
    # ceiling, nearest first; empty: not known
    cache_line_ns: list[float] = []


class FailedSize(msgspec.Struct, kw_only=True):
    """A size at which the library failed, so that nothing is known of it."""

    size_bytes: int  # of a message
    why: FreeText  # how the library failed


class Said(msgspec.Struct, kw_only=True):
    """The report of a library on itself, in a separate launch."""

    size_bytes: int  # of the messages of the launch
    asked: FreeText  # variables that make the library report: `UCX_PROTO_INFO=used`
    protocols: list[FreeText]  # of messages of this size, if Nearpeak knows the library's format
    lines: list[FreeText]  # the library's output, at most 400 lines


class Explanation(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: Public  # version of Nearpeak
    started: Public  # ISO 8601 in UTC
    host: HostName  # name of the machine
    gpus: list[FreeText]  # names of the GPUs
    driver: FreeText | None  # version of NVIDIA's driver; null: none
    library: FreeText  # its name
    version: Public  # of the library
    settings: FreeText  # name of its settings
    path: Kept  # id of the data path
    path_summary: FreeText  # the path for people
    benchmark: Public  # its name
    buffers: Public  # of the first half of the ranks and of the second
    command: FreeText  # the launch without tracing, for a shell
    cases: list[ExplainedCase]  # one for each size
    failed: list[FailedSize] = []  # sizes at which the library failed
    said: list[Said] = []  # reports of the library on itself

    @property
    def who(self) -> Who:
        """The library with its settings."""
        return Who(self.library, self.settings)


def doubtful(case: ExplainedCase) -> bool:
    """True if it was not traced completely, or if tracing slowed it unusually."""
    quick, slow = USUAL_SLOWER
    not_whole = case.lost or case.missing or case.failed or case.device
    not_whole = not_whole or case.dropped or case.unfinished
    return bool(not_whole) or not quick <= case.slower <= slow


def nothing_known(accounted: Budget | ExplainedCase) -> bool:
    """True if any share of the time above the ceiling may be in named activities: `0 to 100 %`."""
    least, most = accounted.accounted_least, accounted.accounted_most
    return least is not None and most is not None and most - least > WIDEST


def thinned(spans: Iterable[Span], narrowest_us: float) -> list[Span]:
    """The spans of a lane, in the order of time; those that could not be seen apart as one, which
    has the name of the longest. Waits stay apart where they could be seen."""
    drawn: list[Span] = []
    for span in spans:
        last = drawn[-1] if drawn else None
        if (
            last is None
            or span.begin_us - last.end_us > narrowest_us / 4
            or last.end_us - last.begin_us > narrowest_us
            or (
                (last.kind in WAITING) != (span.kind in WAITING)
                and min(_length(last), _length(span)) > narrowest_us / 12
            )
        ):
            drawn.append(span)
            continue
        longer = max(last, span, key=_length)
        drawn[-1] = Span(
            kind=longer.kind,
            name=longer.name,
            begin_us=last.begin_us,
            end_us=max(last.end_us, span.end_us),
            count=last.count + span.count,
        )
    return drawn


def _length(span: Span) -> float:
    return span.end_us - span.begin_us


# Times as long with the tracer: below, other work held up the launches without it; above, most of
# what is seen is the tracer's.
USUAL_SLOWER = (0.9, 3.0)
WAITING = ("sync", "wait")  # kinds
FOLDER = "explained"  # of a study: an explanation in each file
_NUMBER = re.compile(r"\d+")  # the name of such a file, without its ending


def read_explanations(study: Path) -> list[Explanation]:
    """The explanations of a study; UserError for a file that cannot be read, or of another
    version."""
    return list(_read(study / FOLDER))


def _read(folder: Path) -> Iterator[Explanation]:
    for file in sorted(folder.glob("*.json")):
        try:
            explanation = msgspec.json.decode(file.read_bytes(), type=Explanation)
        except (OSError, *UNDECODABLE) as error:
            raise UserError(f"{file} cannot be read ({error}): remove it, explain anew") from None
        if explanation.schema != SCHEMA:
            raise UserError(
                f"{file}: schema {explanation.schema}, this nearpeak reads schema {SCHEMA}: remove"
                " it, and explain anew"
            )
        yield explanation


def keep(explanation: Explanation, study: Path) -> Path:
    """Writes it into a study, behind the existing ones. Returns the file."""
    folder = study / FOLDER
    make_inside(folder)
    numbers = [int(file.stem) for file in folder.glob("*.json") if _NUMBER.fullmatch(file.stem)]
    for number in itertools.count(max(numbers, default=0) + 1):
        file = folder / f"{number:03}.json"
        if write_new(file, to_json(explanation)):  # else another process has just kept one
            break
    return file


def to_json(explanation: Explanation) -> str:
    """The text of its file."""
    return msgspec.json.format(msgspec.json.encode(explanation), indent=1).decode() + "\n"
