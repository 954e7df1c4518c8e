# SPDX-License-Identifier: Apache-2.0
"""nodes.json: the slow nodes and links, and the other figures of the report. Times in seconds."""

from typing import Literal

import msgspec

from nearpeak.nodes.plan import Stage
from nearpeak.statistics.nested import DISTINGUISHED
from nearpeak.terms.buffers import HOST

SCHEMA = 6
# As records name them: the latency of small messages, and the bandwidth of large ones.
Metric = Literal["latency_us", "bandwidth_gbs"]
UNITS: dict[Metric, str] = {"latency_us": "us", "bandwidth_gbs": "GB/s"}
# Between nodes: all pairs of a round at once, or one, on all rails. Within each node: between its
# GPUs, or between a GPU and host memory.
Mode = Literal["together", "alone", "inside", "host"]
BETWEEN: tuple[Mode, ...] = ("together", "alone")
WITHIN: tuple[Mode, ...] = ("inside", "host")
# A rail is slow everywhere, a group within, an uplink from a group to all others, a route between
# two groups. Memory is that of the host for one rank.
Kind = Literal["rail", "group", "uplink", "route", "node", "memory", "link"]
Part = Literal["GPU", "NIC", "GPU or NIC", "GPU or memory"]


class Launched(msgspec.Struct, kw_only=True, frozen=True):
    """A launch that has ended well."""

    stage: Stage  # stage of the plan
    rounds: int  # number of rounds
    pairs: int  # pairs that it measured, counted each time
    seconds: float  # time that it took


class Group(msgspec.Struct, kw_only=True, frozen=True):
    """The nodes of a group."""

    name: str  # as Slurm, a file or names have it; a number if figures show it
    nodes: list[int]  # indexes into `nodes` of the file


class Level(msgspec.Struct, kw_only=True, frozen=True):
    """Groups that each node is in one of."""

    kind: str  # `leaf switch`, `block`, `group`
    groups: list[Group]  # its groups


class Distance(msgspec.Struct, kw_only=True, frozen=True):
    """The usual pair of a distance."""

    level: int  # whose group has both nodes, the smallest one; the number of levels: none has
    usual: float  # in the unit of the curve
    pairs: int  # measured in a launch


class Curve(msgspec.Struct, kw_only=True, frozen=True):
    """The usual value of a metric, and its spread."""

    metric: Metric  # what was measured
    # `together`: all pairs of a round at once; `alone`: one pair of nodes, on all rails; within
    # each node `inside`: two of its GPUs; `host`: a GPU and host memory
    mode: Mode
    unit: str  # `us` or `GB/s`
    # of a pair with usual nodes and a usual link, of the distance that most pairs have; of fewer
    # than four nodes, the median of all pairs
    usual: float
    # relative standard deviation of most nodes (1.4826 times the median distance from the median);
    # null: fewer than four nodes
    nodes: float | None
    links: float | None  # the same of links
    # the same of single launches of a link, from their median; null: only one launch
    launches: float | None
    distances: list[Distance] = []  # by distance, if there are groups
    rails: list[float | None] = []  # `usual` of each rail, if there are several between nodes


class Verdict(msgspec.Struct, kw_only=True, frozen=True):
    """A slow node, link, group, uplink, route or rail, or slow host memory of a rank."""

    kind: Kind  # what is slow
    nodes: list[str]  # the node, or both ends of the link; empty of groups and of rails
    metric: Metric  # what was measured
    mode: Mode  # as of a Curve
    times: float  # times as long as a message takes if this were as usual
    # its 95 % interval; null: the scatter of launches is not known
    ci95: tuple[float, float] | None
    p_value: float  # that it is within the margin, adjusted for all tests
    launches: int  # launches that it rests on
    # of a link that is slow under load: times as long as the usual pair when no other nodes
    # communicate, on all rails; null: not measured
    alone: float | None = None
    level: int | None = None  # index of the level of the groups; null: a node or a link
    groups: list[str] = []  # names of the group, or of both ends of the route
    # index of the rail that is slow there, beyond all rails; null: all rails, or there is one
    rail: int | None = None
    # of a rail of a node: `GPU` if slow within, `NIC` if surely not, `GPU or NIC`: unclear; `GPU or
    # memory`: of two GPUs, slow with host memory; null: else
    part: Part | None = None


class Pair(msgspec.Struct, kw_only=True, frozen=True):
    """One pair: medians over the launches; null: not measured."""

    nodes: tuple[str, str]  # both
    latency_us: float | None  # all pairs at once, in us
    bandwidth_gbs: float | None  # all pairs at once, in GB/s
    latency_alone_us: float | None  # one pair, in us
    bandwidth_alone_gbs: float | None  # one pair, in GB/s
    rail: int | None = None  # index of the rail; null: there are none


class Map(msgspec.Struct, kw_only=True, frozen=True):
    """Times of messages between nodes, relative to the usual time."""

    metric: Metric  # what was measured
    mode: Mode  # as of a Curve
    side: int  # nodes in a row of a cell: 1 up to 192 nodes
    # of each row of cells up to the diagonal: the slowest pair of the cell relative to the median
    # pair; null: none was measured
    rows: list[list[float | None]]


class RailMap(msgspec.Struct, kw_only=True, frozen=True):
    """Times of messages of each GPU of each node, relative to the usual time."""

    metric: Metric  # what was measured
    mode: Mode  # as of a Curve
    side: int  # nodes in a row: 1 up to 192 nodes
    # of each row of nodes, in the order of maps, each rail: the slowest GPU; null: not known
    rows: list[list[float | None]]


class Rail(msgspec.Struct, kw_only=True, frozen=True):
    """A GPU of each node, with a rank of its own."""

    gpu: str  # its number for a rank
    adapter: str  # the adapter that it was given, as UCX names it; empty: the library's choice


class NodesAlike(msgspec.Struct, kw_only=True, frozen=True):
    """Nodes with the same GPUs, which are compared with each other within nodes."""

    gpus: list[str]  # the names of their GPUs, each once
    nodes: list[int]  # indexes into `nodes`


class Required(msgspec.Struct, kw_only=True, frozen=True):
    """A requirement, compared with the usual pair."""

    requirement: str  # as it was given
    metric: Metric  # what was measured
    mode: Mode  # as of a Curve
    met: bool  # the requirement is met
    value: float | None  # `usual` of that curve; null: not measured


class Found(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak
    started: str  # ISO 8601 in UTC
    host: str  # where the command was started
    library: str  # its name
    settings: str  # name of its settings
    version: str  # of the library
    nodes: list[str]  # names of the nodes, in the order of the ranks
    small_bytes: int  # of a message of latency
    large_bytes: int  # of a message of bandwidth
    window: int  # messages in flight each way
    slot_ms: float  # time for each value, in ms
    complete: bool  # all launches of the plan have ended well
    failed: str | None  # how the last launch ended; null: well
    launches: list[Launched]  # those that have ended well
    pairs_measured: int  # different pairs of the first launch
    pairs_of_all: int  # pairs of all nodes
    node_hours: float  # of all launches
    margin: float  # times as long (1.1): a link, a group or a route within it is not called slow
    node_margin: float  # the same of nodes (1.05)
    distinguished: bool  # there are enough nodes to distinguish slow nodes from slow links
    tests: int  # tested nodes and links, each by each curve, that share one error rate
    level: float  # that error rate
    curves: list[Curve]  # the usual figures
    verdicts: list[Verdict]  # groups, uplinks, routes, nodes, links; the slowest first
    wrong_pairs: int  # number of pairs of which one received wrong data
    wrong: list[str]  # that data, a sentence for each rank, round and launch
    pairs: list[Pair]  # each pair of up to 16 nodes; else empty
    maps: list[Map]  # of the survey, or of the medians of all launches
    levels: list[Level] = []  # groups of nodes, the smallest first; empty: none are known
    order: list[int] = []  # the nodes in the order of the rows of maps: group by group
    levels_from: str = ""  # `Slurm`, `file`, `names`, `figures`, or `none`: one group
    # true: the figures look grouped, but show no groups; then only what is slow in any grouping is
    # called slow
    unclear: bool = False
    requirements: list[Required] = []  # the usual pair against each of them, in their order
    # buffers of both ends of a pair: `H,H`, `D,D`, or `H,D`, in both orders
    buffers: str = HOST
    rails: list[Rail] = []  # GPUs of each node; empty: a rank without one
    rail_maps: list[RailMap] = []  # GPUs by nodes and rails
    kinds: list[NodesAlike] = []  # nodes with the same GPUs; empty: all have the same

    @property
    def mapped(self) -> list[str]:
        """The names of the nodes in the order of the rows of maps."""
        return [self.nodes[node] for node in self.order]

    @property
    def not_within(self) -> list[str]:
        """The names of nodes that are not judged within: too few have the same GPUs."""
        few = [kind for kind in self.kinds if len(kind.nodes) < DISTINGUISHED]
        names = [self.nodes[node] for kind in few for node in sorted(kind.nodes)]
        return names if len(self.rails) > 1 else []

    @property
    def judged(self) -> bool:
        """True if all nodes and links were judged, so that nothing else is slow."""
        return bool(self.tests) and self.distinguished and not self.not_within

    @property
    def one_by_one(self) -> bool:
        """True if every round is one pair, so that pairs measured together are also alone."""
        return len(self.nodes) // 2 == 1

    @property
    def bad(self) -> bool:
        """True if anything is slow, wrong or lacking, if the groups cannot be told, or if a
        requirement is missed."""
        missed = not all(required.met for required in self.requirements)
        lacking = self.unclear or not self.complete
        return bool(self.verdicts or self.wrong or lacking or missed)
