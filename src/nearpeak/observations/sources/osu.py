# SPDX-License-Identifier: Apache-2.0
"""What programs of the OSU micro-benchmarks print between two ranks: their output in a file.

A file is one launch. Of the machine, the library and where the ranks ran it says nothing.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nearpeak.errors import UserError
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Machine
from nearpeak.observations.observed import (
    Block,
    Launch,
    Library,
    Observation,
    Observations,
    Session,
    Summary,
)
from nearpeak.observations.source import Source
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.identity import Curve, Who
from nearpeak.terms.path import DataPath, Endpoint

WHO = Who("osu")
TITLE = re.compile(r"# OSU MPI\S* (?P<test>.+) Test( v(?P<version>\S+))?$")
ROW = re.compile(r"(?P<size>\d+)\s+(?P<value>\d+(\.\d+)?)(\s|$)")
LOOKED_AT_BYTES = 4096  # of a file, for its title


class Printed(NamedTuple):
    """What one of the programs prints, and what that is here."""

    benchmark: Benchmark
    factor: float = 1.0  # from its column to our unit


def _pair(name: str, metric: Metric, symmetric: bool) -> Benchmark:
    return Benchmark(
        name=name,
        metrics=[metric],
        ranks=RankRule("exactly", 2),
        family="pt2pt",
        symmetric=symmetric,
        ceiling="measured",
    )


# By the title of the program's output. Its rates are in MB/s (1e6).
KNOWN = {
    "Latency": Printed(_pair("latency", Metric("latency", "us", "lower"), True)),
    "Bandwidth": Printed(_pair("bw", Metric("bw", "GB/s", "higher"), False), 1e-3),
    "Bi-Directional Bandwidth": Printed(
        _pair("bibw", Metric("bibw", "GB/s", "higher"), True), 1e-3
    ),
}


def recognises(place: Path) -> bool:
    """Whether it is a file with the title of one of these programs."""
    try:
        with place.open("rb") as file:
            return _title(file.read(LOOKED_AT_BYTES).decode(errors="replace")) is not None
    except OSError:
        return False


def load(file: Path) -> Observations:
    """One launch of one benchmark; UserError where it has no figures, or of a program that is not
    known."""
    text = file.read_text("utf-8", errors="replace")
    title = _title(text)
    printed = KNOWN.get(title["test"]) if title else None
    if title is None or printed is None:
        raise UserError(f"{file} is of no OSU program that is read here: {', '.join(KNOWN)}")
    figures = dict(_figures(text))
    if not figures:
        raise UserError(f"{file} holds no figures: give the whole output of the program")
    benchmark = printed.benchmark
    started = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc).isoformat()
    path = DataPath(
        id="imported",
        summary="two ranks, of which the file does not say where they were",
        transport="memory",
        ends=tuple(Endpoint(memory="host", cpus=[], numa_node=0) for _ in range(2)),
    )
    curve = Curve(benchmark=benchmark.name, metric=benchmark.main.name, buffers="H,H", axes={})
    launch = Launch(
        number=0,
        block=Block(0, 0),
        who=WHO,
        place=path.place,
        curves=(curve,),
        status="ok",
        message="",
        command="",
        log=None,
        conditions={},
        tick_ns=None,
        slot_ms=0.0,
    )
    return Observations(
        name=file.name,
        started=started,
        nearpeak="",
        complete=True,
        ended="",
        machine=_unknown_machine(),
        paths=[path],
        libraries=[_library(title["version"] or "")],
        benchmarks=[benchmark],
        curves=[curve],
        awareness=[],
        left_out=[],
        sessions=[Session(number=0, started=started, nearpeak="", forced=False, fingerprint={})],
        launches=[launch],
        observed=[
            Observation(
                launch=launch,
                case=curve.at(size),
                unit=benchmark.main.unit,
                better=benchmark.main.better,
                summary=Summary.of(np.array([value * printed.factor])),
                samples=None,
                origin=file.name,
                window=1,
                first_use_us=None,
                limited=None,
            )
            for size, value in figures.items()
        ],
    )


def _title(text: str) -> re.Match[str] | None:
    return next(filter(None, map(TITLE.match, text.splitlines())), None)


def _figures(text: str) -> Iterator[tuple[int, float]]:
    """Size in bytes, and the first column behind it."""
    for row in filter(None, map(ROW.match, text.splitlines())):
        yield int(row["size"]), float(row["value"])


def _library(version: str) -> Library:
    return Library(
        who=WHO,
        family="",
        version=version,
        version_text=f"OSU micro-benchmarks {version}".rstrip(),
        env={},
        given=Settings(),
        native=False,
    )


def _unknown_machine() -> Machine:
    return Machine(
        hostname="an unknown machine",
        architecture="",
        cpu_model="",
        kernel="",
        source="",
        virtual=False,
        cores=[],
        caches=[],
        numa_nodes=[],
        nics=[],
        allowed_cpus=[],
    )


SOURCE = Source("the output of osu_latency, osu_bw or osu_bibw", recognises, load)
