# SPDX-License-Identifier: Apache-2.0
"""nodes.json: the slow nodes and links, and the other figures of the report. Times in seconds."""

from typing import Literal

import msgspec

from nearpeak.nodes.plan import Stage

SCHEMA = 1
# As records name them: the latency of small messages, and the bandwidth of large ones.
Metric = Literal["latency_us", "bandwidth_gbs"]
UNITS: dict[Metric, str] = {"latency_us": "us", "bandwidth_gbs": "GB/s"}
Mode = Literal["together", "alone"]
Kind = Literal["node", "link"]


class Launched(msgspec.Struct, kw_only=True, frozen=True):
    """A launch that has ended well."""

    stage: Stage
    rounds: int
    pairs: int  # that it measured, counted each time
    seconds: float


class Curve(msgspec.Struct, kw_only=True, frozen=True):
    """The usual value of a metric, and its spread."""

    metric: Metric
    mode: Mode
    unit: str  # "us", "GB/s"
    usual: float  # of a pair whose nodes and link are as most are; else the median of pairs
    # The spread of nodes, and of links: the standard deviation of most of them, relative. Null: too
    # few nodes to distinguish them from links.
    nodes: float | None
    links: float | None
    launches: float | None  # the spread of single launches; null: only one launch


class Verdict(msgspec.Struct, kw_only=True, frozen=True):
    """A node or a link that is slow."""

    kind: Kind
    nodes: list[str]  # one, or the two ends
    metric: Metric
    mode: Mode
    times: float  # how many times as long a message takes as without it
    ci95: tuple[float, float] | None
    p_value: float  # that it is within the margin, adjusted for all verdicts
    launches: int
    # Of a link that is slow under load: how many times as long a message takes when no other pair
    # communicates; null: not measured.
    alone: float | None = None


class Pair(msgspec.Struct, kw_only=True, frozen=True):
    """Medians over the launches; null: not measured."""

    nodes: tuple[str, str]
    latency_us: float | None
    bandwidth_gbs: float | None
    latency_alone_us: float | None
    bandwidth_alone_gbs: float | None


class Map(msgspec.Struct, kw_only=True, frozen=True):
    """Times of messages between nodes, relative to the usual time."""

    metric: Metric
    mode: Mode
    side: int  # nodes in a row of a cell, one where each pair has its own
    # Of each row of cells up to the diagonal: the slowest pair of the cell; null: none was
    # measured.
    rows: list[list[float | None]]


class Required(msgspec.Struct, kw_only=True, frozen=True):
    """A requirement, compared with the usual pair."""

    requirement: str  # as it was given
    metric: Metric
    mode: Mode
    met: bool
    value: float | None  # `usual` of that curve; null: it was not measured


class Found(msgspec.Struct, kw_only=True):
    """The whole of nodes.json."""

    schema: int
    nearpeak: str  # version
    started: str  # ISO 8601, UTC
    host: str
    library: str
    settings: str
    version: str
    nodes: list[str]
    small_bytes: int  # of a message of latency
    large_bytes: int  # and of bandwidth
    window: int
    slot_ms: float
    complete: bool  # whether all launches of the plan have ended well
    failed: str | None  # how the last launch ended, if not well
    launches: list[Launched]
    pairs_measured: int  # each counted once
    pairs_of_all: int
    node_hours: float
    margin: float  # smaller excesses do not count as slow
    told_apart: bool  # enough nodes to distinguish a slow node from a slow link
    tests: int  # that share one error rate: nodes and links, each by each curve
    level: float  # that error rate: of any false verdict among all
    curves: list[Curve]
    verdicts: list[Verdict]  # the slowest first; nodes before links
    wrong_pairs: int  # that received wrong data
    wrong: list[str]  # that data, by rank, round and launch
    pairs: list[Pair]  # of a few nodes; of more none
    maps: list[Map]
    requirements: list[Required] = []  # in the order in which they were given

    @property
    def one_by_one(self) -> bool:
        """True if every round is one pair, so that pairs measured together are also alone."""
        return len(self.nodes) // 2 == 1

    @property
    def bad(self) -> bool:
        """True if anything is slow, wrong or lacking, or if a requirement is missed."""
        missed = not all(required.met for required in self.requirements)
        return bool(self.verdicts or self.wrong or not self.complete or missed)
