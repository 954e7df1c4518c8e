# SPDX-License-Identifier: Apache-2.0
"""nodes.jsonl, the raw data of a run: appended as it happens, read by --resume and by reports."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from nearpeak import journal
from nearpeak.arrays import Booleans, Indices
from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.nodes.plan import Chosen, Stage
from nearpeak.terms.private import Facts, FreeText, HostName, Kept, Public

NAME = "nodes.jsonl"
SCHEMA = 2
Singles = NDArray[np.float32]


class Begin(msgspec.Struct, kw_only=True, tag_field="record", tag="nodes"):
    """The first line."""

    schema: int
    nearpeak: Public  # version
    started: Public  # ISO 8601, UTC
    host: HostName  # where it was started
    library: FreeText
    settings: FreeText
    version: Kept  # of the library
    chosen: Chosen
    # version of nearpeak that published this copy; null: it is none
    published: Public | None = None


class Launch(msgspec.Struct, kw_only=True, tag_field="record", tag="launch"):
    """A launch begins."""

    launch: int  # of the plan; one that was tried before begins anew
    stage: Stage
    # its first rounds between nodes, of pairs at the same time; the others are of pairs alone
    together: int
    rounds: int  # in all
    # rounds within each node, before all others: between its GPUs, and between host and GPU
    inside: int = 0
    host: int = 0


class Ranks(msgspec.Struct, kw_only=True, tag_field="record", tag="ranks"):
    """The places and the GPUs of the ranks of a launch."""

    # of each rank: `rank`, `host`, `cpus`, `numa_nodes`, `device`, as in records.jsonl
    ranks: list[Facts]


class Round(msgspec.Struct, kw_only=True, tag_field="record", tag="round"):
    """A round of a launch: a value for each measured pair."""

    round: int
    # ranks: indexes into Chosen.nodes; with rails, those times the number of rails, plus the rail
    first: list[int]
    second: list[int]
    latency_us: list[float]  # of one message one way
    bandwidth_gbs: list[float]


class Wrong(msgspec.Struct, kw_only=True, tag_field="record", tag="wrong data"):
    """A pair received wrong data, and has no values."""

    message: FreeText
    rank: int  # as in a round
    sender: int


class LaunchEnd(msgspec.Struct, kw_only=True, tag_field="record", tag="launch end"):
    """A launch has ended. The rounds count only if it ended well."""

    launch: int
    status: Public  # "ok", "failed", "hung", "stopped"
    message: FreeText
    seconds: float


Record = Begin | Launch | Ranks | Round | Wrong | LaunchEnd
FORM = journal.Form[Begin, Record](
    name=NAME, schema=SCHEMA, command="nodes", whose="a run", first=Begin, lines=Record
)


class Pairs(NamedTuple):
    """The values of a launch, one for each measured pair."""

    first: Indices
    second: Indices
    latency_us: Singles
    bandwidth_gbs: Singles
    together: Booleans  # at the same time as others, not alone
    rail: Indices  # index into Chosen.rails; 0 without any


class Inside(NamedTuple):
    """The values of a launch within nodes, one for each measured pair of GPUs, or of a GPU with
    host memory."""

    node: Indices
    gpu: Indices  # its rail
    other: Indices  # rail of the other GPU, or of the rank with host memory
    latency_us: Singles
    bandwidth_gbs: Singles
    host: Booleans  # between a GPU and host memory


class Launched(NamedTuple):
    """A launch that has ended well."""

    launch: Launch
    pairs: Pairs
    end: LaunchEnd
    inside: Inside | None = None


class Recorded(NamedTuple):
    """All valid records of a run."""

    begin: Begin
    launches: list[Launched]  # in the order of the plan
    wrong: list[Wrong]
    failed: list[LaunchEnd]  # of launches that did not end well, however often tried again
    gpus: Sequence[str] = ()  # names of the ranks' GPUs, in order; empty: not known


def read(folder: Path) -> Recorded:
    """Reads the records of a folder; UserError if the file is missing or invalid.

    Rounds become arrays as they are read: as objects, those of thousands of nodes would fill the
    memory.
    """
    begin, launches, wrong, failed = None, dict[int, Launched](), list[Wrong](), list[LaunchEnd]()
    launch: Launch | None = None
    parts: list[Pairs] = []
    within: list[Inside] = []
    mine: list[Wrong] = []
    gpus: list[str] = []
    for record in _records(folder):
        if isinstance(record, Begin):
            begin = record
        elif isinstance(record, Launch):
            launch, parts, within, mine = record, [], [], []
        elif isinstance(record, Ranks):
            gpus = [_name(rank.get("device")) for rank in record.ranks]
        elif isinstance(record, Wrong):
            mine.append(record)
        elif begin is not None and launch is not None and isinstance(record, Round):
            rails = begin.chosen.per_node
            if record.round < launch.inside + launch.host:
                within.append(_within(record, launch, rails))
            else:
                parts.append(_arrays(record, launch, rails))
        elif launch is not None and isinstance(record, LaunchEnd):
            if record.status == "ok" and parts:
                inside = Inside(*map(np.concatenate, zip(*within, strict=True))) if within else None
                launches[launch.launch] = Launched(launch, joined(parts), record, inside)
            else:
                failed.append(record)
            wrong += mine
            launch, parts = None, []
    if begin is None and next(_records(folder), None) is None:
        raise FORM.empty(folder)
    if begin is None or begin.schema != SCHEMA:
        raise UserError(
            f"{folder / NAME} does not begin as schema {SCHEMA} does: start anew elsewhere"
        )
    in_order = [launches[number] for number in sorted(launches)]
    return Recorded(begin, in_order, wrong, failed, gpus)


def _name(device: object) -> str:
    return str(device.get("name", "")) if isinstance(device, dict) else ""


def _records(folder: Path) -> Iterator[Record]:
    decode = msgspec.json.Decoder(Record).decode
    file = folder / NAME
    try:
        for line in journal.whole_lines(file):
            yield decode(line)
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}): name the folder of a run with -o"
        ) from None
    except UNDECODABLE as error:
        raise UserError(
            f"{file} cannot be believed ({error}): start anew in another folder"
        ) from None


def _arrays(record: Round, launch: Launch, rails: int) -> Pairs:
    first, second, latency, bandwidth = _columns(record)
    together = record.round - launch.inside - launch.host < launch.together
    return Pairs(
        first // rails,
        second // rails,
        latency,
        bandwidth,
        np.full(len(first), together),
        first % rails,
    )


def _within(record: Round, launch: Launch, rails: int) -> Inside:
    """In the second half of the rounds between host and GPU, the lower rank has the GPU."""
    first, second, latency, bandwidth = _columns(record)
    host = record.round >= launch.inside
    turned = host and record.round < launch.inside + launch.host // 2
    gpu, other = (second, first) if turned else (first, second)
    return Inside(
        first // rails, gpu % rails, other % rails, latency, bandwidth, np.full(len(first), host)
    )


def _columns(record: Round) -> tuple[Indices, Indices, Singles, Singles]:
    sizes = {len(record.first), len(record.second), len(record.latency_us)}
    if sizes != {len(record.bandwidth_gbs)}:
        raise ValueError(f"round {record.round} has not a value for each pair")
    return (
        np.array(record.first, dtype=np.int32),
        np.array(record.second, dtype=np.int32),
        np.array(record.latency_us, dtype=np.float32),
        np.array(record.bandwidth_gbs, dtype=np.float32),
    )


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Joins the parts in their order."""
    return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class NodesJournal:
    """The open nodes.jsonl of one run."""

    def __init__(self, folder: Path, begin: Begin | None = None) -> None:
        """Creates a journal, or opens one to continue. UserError if the folder does not allow that,
        or if another run has it open; CannotWriteError."""
        if begin is None:
            begin = read(folder).begin  # where there is none, none is made
            if begin.published is not None:
                raise UserError(journal.of_copy(folder, "measured"))
            self._lines = FORM.open(folder, new=False)  # Run reads what has been measured
        else:
            self._lines = FORM.open(folder, new=True)
            journal.begin_with(self.append, begin)
        self.begin = begin
        self.folder = folder

    def append(self, record: Record) -> None:
        """Adds a line; CannotWriteError."""
        sync = not isinstance(record, Round)  # of which a launch has thousands
        self._lines.append(msgspec.json.encode(record) + b"\n", sync=sync)

    def close(self) -> None:
        """Closes the file and releases its lock."""
        self._lines.close()
