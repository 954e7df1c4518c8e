# SPDX-License-Identifier: Apache-2.0
"""Messages of a library, as `nearpeak explain` traced them (docs/explain.md).

Sizes in bytes, times in microseconds.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from nearpeak.errors import UserError
from nearpeak.files import make_inside, write_whole
from nearpeak.terms.identity import Who

SCHEMA = 1

MICROSCOPE = "the microscope"  # the name of its parts
TOLD_BESIDE = 0.1  # of a part's share: less of it beside calls of another rank is not told

# What a rank or a device was at: bytes moved on a device, a call that does something, what the
# microscope itself takes to see a call, a call that waits for the device, or one that waits for
# whatever comes.
Kind = Literal["device", "call", "microscope", "sync", "wait"]
# What is looked at: a message to the other rank, one back, or a whole iteration of a benchmark.
Leg = Literal["there", "back", "iteration"]
# What goes on while a rank is at its own instructions: nothing that is seen, or that another waits.
During = Literal["nothing", "sync", "wait"]


class Part(msgspec.Struct, kw_only=True):
    """A share of the time: calls of one name by one rank, or copies of one kind."""

    kind: Kind
    name: str  # "cuMemcpyAsync", "memcpy"; of a device "copy, pageable to device"
    rank: int  # that called, or for whom the device worked
    # By the benchmark itself, as packing by a kernel or copies to staging buffers, and no doing of
    # the library. null: not known of explanations from before it was.
    own: bool | None = None
    # Of it, for one message: one that goes on before or behind it counts by the part within. Times
    # `mean_us` it is `busy_us`.
    count: float
    mean_us: float  # of one of them
    bytes: float | None  # of one of them: their mean; null: it moves none
    busy_us: float  # of all of them for one message, whatever went on beside them
    # Of the time of a message: where several things went on at once, it belongs to the first kind
    # of them in the order above, and is shared by what is of one kind.
    time_us: float
    # Of `time_us` of a part that waits (sync, wait): in which another rank was in no call that is
    # seen, so it may have been at work by its own instructions, of which Own tells. null: of other
    # kinds, and not known of explanations from before it was.
    others_us: float | None = None
    # Of `time_us` of calls, and of what they wait for a device (call, sync): in which another rank
    # was in such a call, too. One of both may hold no message up. null: of other kinds, and not
    # known of explanations from before it was.
    beside_us: float | None = None

    @property
    def label(self) -> str:
        """`2,036 x cuMemcpyAsync of 8,240 B`, `2 x cuStreamSynchronize, the benchmark's own`."""
        if self.name == MICROSCOPE:
            return f"{self.name}, while it waits" if self.kind == "wait" else self.name
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

    rank: int
    name: str  # "opal_progress, libopen-pal.so.80": what is not exported has its library alone
    samples: int  # of the rank that were there, during that
    share: float  # of the samples of this rank by its own instructions, during that
    during: During = "nothing"


class Span(msgspec.Struct, kw_only=True):
    """Something in a lane, from and to so many microseconds after the message began."""

    kind: Kind
    name: str
    begin_us: float
    end_us: float
    count: int = 1  # as many, which follow each other so closely that they are drawn as one


class Lane(msgspec.Struct, kw_only=True):
    """The activity of one rank, or of the device for it, during one message."""

    of: Literal["rank", "device"]
    rank: int
    spans: list[Span]


class Budget(msgspec.Struct, kw_only=True):
    """The parts of the time of a message."""

    leg: Leg
    messages: int  # that were looked at
    # How many times as long one takes under the microscope: of a message there or back estimated,
    # by what it takes to see its calls. null: of older explanations, as the case.
    slower: float | None = None
    time_us: float  # of one of them, under the microscope: their mean
    parts: list[Part]  # the one with the largest share first
    waiting_us: float  # that of parts which wait for whatever comes
    not_accounted_us: float  # nothing of the above went on
    own: list[Own]  # of each rank the most frequent first
    # What the microscope adds to a message beyond its own part. It lies within the others, nobody
    # knows in which.
    added_us: float = 0.0
    # How much of the time above the ceiling, of a message as it is without the microscope, is
    # accounted for: neither in calls that wait for whatever comes nor in nothing that is seen. The
    # least where `added_us` is all within parts that are accounted for, the most where none of it
    # is. null: no ceiling, or not above it.
    accounted_least: float | None = None
    accounted_most: float | None = None
    shown_us: float  # of the message in the lanes: the one of median time
    lanes: list[Lane]


class Counters(msgspec.Struct, kw_only=True):
    """The kernel's counters of one rank, for each iteration."""

    rank: int
    minor_faults: float
    major_faults: float
    voluntary_switches: float
    involuntary_switches: float
    user_us: float
    system_us: float


class ExplainedCase(msgspec.Struct, kw_only=True):
    """One size."""

    size_bytes: int
    metric: str
    axes: dict[str, str]
    unit: str
    value: float  # without the microscope: median of the launches' medians
    seen_value: float  # under it, of the messages that the budgets are of
    slower: float  # how many times as long these take as without it
    # Medians of the launches without it and of those under it, which took turns; and how many times
    # as long messages of any of the latter take as those of any of the former. Empty and null: not
    # known of older explanations.
    plain_values: list[float] = []
    seen_values: list[float] = []
    slower_least: float | None = None
    slower_most: float | None = None
    operations: float  # messages of an iteration between two ranks, or 1
    ceiling: float | None  # the same without MPI, in the same unit
    ceiling_method: str | None
    budgets: list[Budget]  # empty: nothing was seen
    # As of budgets, of messages there and back together: between unlike memories the ceiling is the
    # mean of both ways, and says nothing of one. null: each has its own, or no ceiling.
    accounted_least: float | None = None
    accounted_most: float | None = None
    counters: list[Counters]
    lost: int  # events that found no place
    missing: list[int]  # ranks that left nothing
    failed: str  # how the launch under the microscope failed; "": it did not
    device: str  # why the device's driver was not seen; "" where it was, or was not used
    dropped: int = 0  # records of what devices did that were lost, at least
    unfinished: list[int] = []  # ranks that left without the last of these records
    # How far apart the ranks' CPUs were in these launches and in that of the ceiling, the nearest
    # first. Empty: not known.
    cache_line_ns: list[float] = []


class FailedSize(msgspec.Struct, kw_only=True):
    """A size at which the library failed, so that nothing is known of it."""

    size_bytes: int
    why: str


class Said(msgspec.Struct, kw_only=True):
    """The report of a library on itself, in a separate launch."""

    size_bytes: int
    asked: str  # UCX_PROTO_INFO=used
    protocols: list[str]  # of messages of this size, where its words are known
    lines: list[str]  # its own words


class Explanation(msgspec.Struct, kw_only=True):
    """All of it."""

    schema: int
    nearpeak: str  # version
    started: str  # ISO 8601, UTC
    host: str
    gpus: list[str]
    driver: str | None
    library: str  # name
    version: str
    settings: str
    path: str
    path_summary: str
    benchmark: str
    buffers: str
    command: str  # the launch without the microscope, for a shell
    cases: list[ExplainedCase]
    failed: list[FailedSize] = []
    said: list[Said] = []

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


def hides_own(case: ExplainedCase) -> bool:
    """True if the benchmark's own work on the GPU counts as the library's: older explanations do
    not tell the two apart."""
    works = case.axes.get("pack") == "kernel" or case.axes.get("staging", "none") != "none"
    return works and any(part.own is None for budget in case.budgets for part in budget.parts)


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


# Times as long under the microscope: below, other work held up the launches without it; above, most
# of what is seen is the microscope's.
USUAL_SLOWER = (0.9, 3.0)
WAITING = ("sync", "wait")  # kinds
FOLDER = "explained"  # of a study: an explanation in each file


def read_explanations(study: Path) -> list[Explanation]:
    """The explanations of a study; UserError for a file that cannot be read, or of another
    version."""
    return list(_read(study / FOLDER))


def _read(folder: Path) -> Iterator[Explanation]:
    for file in sorted(folder.glob("*.json")):
        try:
            explanation = msgspec.json.decode(file.read_bytes(), type=Explanation)
        except (OSError, msgspec.MsgspecError) as error:
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
    number = 1 + max((int(file.stem) for file in folder.glob("[0-9]*.json")), default=0)
    file = folder / f"{number:03}.json"
    write_whole(file, to_json(explanation))
    return file


def to_json(explanation: Explanation) -> str:
    """The text of its file."""
    return msgspec.json.format(msgspec.json.encode(explanation), indent=1).decode() + "\n"
