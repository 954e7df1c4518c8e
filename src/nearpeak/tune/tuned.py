# SPDX-License-Identifier: Apache-2.0
"""Result of a tuning: tune.json (docs/how-to/tune.md)."""

from typing import Literal

import msgspec

from nearpeak.libraries.profiles import Apart, Evidence
from nearpeak.libraries.rules import Table
from nearpeak.terms.private import FreeText, Public

SCHEMA = 1
Word = Literal[
    # a target is faster, nothing is broken, and no other case is slower by more than 5 % beyond
    # chance
    "taken",
    # the same, but another target, case or core-to-core latency is slower: for this path only
    "taken here alone",
    "not taken",  # no target is faster in fresh launches, or something is broken
    "nothing helps",  # the search took nothing
    "fails",  # the library does not work with its base settings
]


class Refused(msgspec.Struct, kw_only=True):
    """A value with which something did not work."""

    setting: str  # variable and value
    why: str  # what failed


class Tried(msgspec.Struct, kw_only=True):
    """A value, by all launches of the search."""

    setting: str  # variables and values
    launches: int  # launches with it, most of them with other values too
    # speedup of each target, by a ridge regression over all launches; empty: no launch with it
    # worked
    times: list[float]
    failed: str = ""  # failure of the last launch with only this value; empty: none
    # tried first, as rules or the crossing of two protocols name it for these messages
    named: bool = False


class Ceiling(msgspec.Struct, kw_only=True, frozen=True):
    """A rate or time that this machine sustains without MPI."""

    # of the measurement (docs/methods/tune.md#thresholds-and-cost-models)
    name: FreeText
    value: float  # rate of 16 MiB, or time of 8 B, in `unit`
    unit: Public  # `GB/s` or `us`


class Calibration(msgspec.Struct, kw_only=True):
    """The library with nothing but ceilings of this machine in its own cost model."""

    ceilings: list[Ceiling]  # ceilings that its cost model takes
    env: dict[str, str]  # variables set by them
    rounds: int  # rounds of a launch with it and one without
    # speedup of each target: median of the ratios within rounds; empty: fewer than six rounds
    times: list[float]
    ci95: list[list[float]]  # 95 % interval of each


class Free(msgspec.Struct, kw_only=True):
    """The part of `env` and `unset` that costs nothing elsewhere, by the search, if some of them
    do."""

    env: dict[str, str]  # variables of the search that cost nothing elsewhere
    unset: list[str] = []  # variables that it leaves out at no cost elsewhere
    taken: bool  # fresh launches confirm it: then it is `profile.toml`
    evidence: list[Evidence]  # the targets, confirmed
    slower: list[Evidence]  # other cases that are slower nevertheless
    detectable_loss: float | None = None  # as of Tuned
    host_messages: list[Evidence] = []  # as of Tuned


class Tuned(msgspec.Struct, kw_only=True):
    """The complete file."""

    schema: int  # version of this format
    nearpeak: str  # version of Nearpeak
    started: str  # ISO 8601 in UTC
    library: str  # name of the library
    family: str  # its family
    version: str  # its version
    base: str  # settings that it started from
    path: str  # id of the data path
    path_summary: str  # the path for people
    buffers: str  # of the first half of the ranks and of the second
    targets: list[str]  # goals of the search: `latency:16M`
    host: str  # name of the machine
    candidates: int  # number of values that were tried
    launches: int  # launches of the search
    seconds: float  # time of these launches
    env: dict[str, str]  # variables that the search took for the targets
    # variables that Nearpeak gives launches, and that the search leaves out for the targets
    unset: list[str] = []
    rules: list[Table] = []  # contents of the rules file that `env` names; empty: it names none
    verdict: Word  # the result
    evidence: list[Evidence]  # the targets, confirmed
    slower: list[Evidence]  # other cases that are slower
    broken: list[str]  # what does not work any more, in words
    # what may stop working with the settings, by the catalogue: `NAME: WHAT`
    breaks: list[str] = []
    # paths with fewer than six launches of both, or `PATH (bw)` for these benchmarks: nothing is
    # known there
    unguarded: list[str]
    guarded: int = 0  # number of measured cases that are no targets
    # guarded cases whose interval reaches below 1 / 1.05, though not called slower; the least known
    # first
    uncertain: list[Evidence] = []
    # smallest relative loss of all cases that half of them show with 80 % probability (0.1: 1.1
    # times as long); null: too few blocks, or no guarded case
    detectable_loss: float | None = None
    # with device buffers: latency between host memories at each size, on the first such path;
    # empty: not measured
    host_messages: list[Evidence] = []
    # of the CPUs, by id of a path of host memory; without a study, of the search's launches
    distances: dict[str, list[Apart]]
    # part that costs nothing elsewhere; null: all of `env` costs nothing elsewhere, or no part is
    # free
    free: Free | None
    # ceilings in the cost model; null: UCX is not known to move the messages, nothing was measured,
    # or it failed
    calibration: Calibration | None
    refused: list[Refused]  # values with which something failed
    lacking: list[str] = []  # work that the search had no time for, in words
    tried: list[Tried] = []  # effect of each value in the search
    # of the budget, if nothing was taken, so that no study was necessary; 0: less than a twentieth
    unused_seconds: float = 0.0
