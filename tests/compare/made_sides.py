# SPDX-License-Identifier: Apache-2.0
"""Study folders to compare, made by hand: every number in them is invented, none was measured."""

import sys
from collections.abc import Collection, Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path

import numpy as np

BLOCKS = 6
RATES = {1024: 1.0, 4096: 3.0, 16384: 8.0}  # GB/s
TIMES = {1024: 2.0, 4096: 2.5, 16384: 4.0}  # us: a launch measures all sizes of its study


def study(
    folder: Path,
    *,
    day: int = 1,
    factor: float = 1.0,
    path_factor: float = 1.0,
    libraries: Iterable[str] = ("alpha",),
    crashed: Collection[str] = (),
    crashes: Collection[int] | None = None,
    status: str = "crashed",
    scatter: float = 0.01,
    blocks: int = BLOCKS,
    far: Collection[int] = (),
    far_loss: float = 2,
    lost: int = 0,
    variables: Mapping[str, str] | None = None,
    **fingerprint: str,
) -> Path:
    """A study that was measured in one session.

    `day`: of its start, which also seeds the scatter of its launches; `factor`: how fast libraries
    are, `path_factor`: and ceilings; `crashed`: libraries of which bw crashed, `crashes`: in which
    blocks, else in all, `status`: or how else it failed; `far`: blocks whose CPUs are far apart,
    so that libraries take `far_loss` times as long, ceilings three times; `lost`: of how many of a
    library's first figures that is not known; `variables`: that launches inherited;
    `fingerprint`: of the driver.
    """
    made = sys.modules["made_study"].Study(folder, list(libraries))
    start = date(2026, 1, 1) + timedelta(days=day - 1)
    made.records[0].started = made.records[1].started = start.isoformat()
    made.records[1].fingerprint.driver.update(fingerprint)
    chance = np.random.default_rng(day)

    def noise() -> float:
        return float(np.exp(scatter * chance.normal()))

    for block in range(blocks):
        first = len(made.records)
        shared = noise()
        path = path_factor / (3 if block in far else 1)
        made.ceiling(
            block,
            {("bw", "ring", size): 10.0 * path * noise() for size in RATES}
            | {("latency", "flag", size): 1.0 / path * noise() for size in TIMES},
        )
        for library in libraries:
            speed = factor * shared / (far_loss if block in far else 1)
            if library in crashed and (crashes is None or block in crashes):
                made.launch(block, library, "bw", status=status)
            else:
                rates = {size: rate * speed * noise() for size, rate in RATES.items()}
                made.launch(block, library, "bw", rates)
            times = {size: time / speed * noise() for size, time in TIMES.items()}
            made.launch(block, library, "latency", times)
        for record in made.records[first:]:
            if far and hasattr(record, "cache_line_ns"):
                record.cache_line_ns = [300.0 if block in far else 60.0]
    measured = [record for record in made.records if getattr(record, "cache_line_ns", None)]
    for record in [record for record in measured if record.method is None][:lost]:
        record.cache_line_ns = [None]
    for record in made.records:
        if hasattr(record, "env"):
            record.env = dict(variables or {})
    return Path(made.write())
