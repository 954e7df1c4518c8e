# SPDX-License-Identifier: Apache-2.0
"""Result of a tuning: tune.json (docs/tuning.md)."""

from typing import Literal

import msgspec

from nearpeak.libraries.profiles import Apart, Evidence
from nearpeak.libraries.rules import Table

SCHEMA = 1
Word = Literal["taken", "taken here alone", "not taken", "nothing helps", "fails"]


class Offered(msgspec.Struct, kw_only=True):
    """A value that makes some targets faster and others slower."""

    setting: str
    times: list[float]  # speedup of each target, by the search: biased, as it selected by it


class Refused(msgspec.Struct, kw_only=True):
    """A value with which something did not work."""

    setting: str
    why: str


class Tried(msgspec.Struct, kw_only=True):
    """A value, by all launches of the search."""

    setting: str
    launches: int  # that had it, most of them with other values
    # Speedup of each target, by a regression; none if no launch with it worked.
    times: list[float]
    failed: str = ""  # how the last launch with only this value failed
    # It was tried first, as rules or the crossing of protocols named it for these messages.
    named: bool = False


class Ceiling(msgspec.Struct, kw_only=True, frozen=True):
    """A rate or time that this machine sustains without MPI (calibrate.MEASUREMENTS)."""

    name: str
    value: float
    unit: str  # "GB/s": the rate of 16 MiB; "us": the time of 8 B


class Calibration(msgspec.Struct, kw_only=True):
    """The library with nothing but ceilings of this machine in its own cost model."""

    ceilings: list[Ceiling]
    env: dict[str, str]
    rounds: int  # of a launch with it and one without
    times: list[float]  # speedup of each target, unbiased; none: too few rounds
    ci95: list[list[float]]  # 95 % interval of each


class Free(msgspec.Struct, kw_only=True):
    """The part of `env` and `unset` that costs nothing elsewhere, by the search, if some of them
    do."""

    env: dict[str, str]
    unset: list[str] = []
    taken: bool  # whether fresh launches confirm it
    evidence: list[Evidence]
    slower: list[Evidence]
    detectable_loss: float | None = None  # as of all
    host_messages: list[Evidence] = []  # as of all


class Tuned(msgspec.Struct, kw_only=True):
    """The whole of tune.json."""

    schema: int
    nearpeak: str
    started: str
    library: str
    family: str
    version: str
    base: str  # the settings that it started from
    path: str
    path_summary: str
    buffers: str
    targets: list[str]
    host: str
    candidates: int
    launches: int
    seconds: float  # of the search
    env: dict[str, str]  # taken by the search
    unset: list[str] = []  # variables that Nearpeak gives, without which it is faster
    rules: list[Table] = []  # of the file that `env` names
    verdict: Word
    evidence: list[Evidence]
    slower: list[Evidence]
    broken: list[str]
    breaks: list[str] = []  # what may stop working with the settings, by the catalogue
    # Ids of paths with too few measurements, or benchmarks on them.
    unguarded: list[str]
    guarded: int = 0  # cases that are no targets
    # Guarded cases that are neither significantly slower nor significantly within 5 %.
    uncertain: list[Evidence] = []
    # The smallest relative loss of all cases (0.1: they take 1.1 times as long) that half of them
    # or more show with a probability of 80 %; None: blocks are too few to show any, or no other
    # case was measured.
    detectable_loss: float | None = None
    # With buffers in a GPU: effects on messages in host memory, smallest first; none: unknown.
    host_messages: list[Evidence] = []
    # Of the CPUs, by path of host memory: of the study, or else of the search, on its path.
    distances: dict[str, list[Apart]]
    free: Free | None  # None: all of it costs nothing elsewhere, or none of it is free
    calibration: Calibration | None  # None: its cost model takes no ceiling that is known here
    offers: list[Offered]
    refused: list[Refused]
    lacking: list[str] = []  # work that the time did not hold, in words
    tried: list[Tried] = []
    unused_seconds: float = 0.0  # of the budget, where nothing was taken
