# SPDX-License-Identifier: Apache-2.0
"""Launches with and without the microscope, and what is read of them."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import nearpeak
from nearpeak.clock import now
from nearpeak.explain import budget, cupti, said
from nearpeak.explain.budget import Windows
from nearpeak.explain.events import Seen, Unreadable, read
from nearpeak.launching import programs
from nearpeak.launching.program_records import SamplesRecord
from nearpeak.libraries.build import build_explain
from nearpeak.libraries.families import natives
from nearpeak.libraries.launch import join_paths, shell_line
from nearpeak.observations.explained import SCHEMA, ExplainedCase, Explanation, FailedSize, Said
from nearpeak.study.single import Single
from nearpeak.study.single_launch import LIMIT_SECONDS, LaunchFailed, Measured, launched, measure
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import needs_gpu, turned
from nearpeak.terms.sizes import format_bytes
from nearpeak.watch.watched import temporary_folder

LAUNCHES = 3  # without the microscope and with it, in turn: as many as give a range
MOST_BYTES, MOST_BYTES_OF_ALL = 128 << 20, 1 << 30  # of the events of a rank, and of all ranks
# Few samples under it: each event is kept.
SEEN_SAMPLING = {"--slot-ms": "20", "--least-samples": "3"}
# What the CUDA driver loads into each process that initialises it (CUPTI's documentation).
INJECTED = "CUDA_INJECTION64_PATH"


def explain(
    chosen: Single,
    sizes: Sequence[int],
    words: Sequence[str],
    tell: Callable[[str], None],
    *,
    ask: bool = True,
    launches: int = LAUNCHES,
    limit_seconds: float = LIMIT_SECONDS,
) -> Explanation:
    """Looks at each size. `words`: more for the measuring program; `ask`: whether the library is
    asked, too; `launches`: of a size, with the microscope and without; `limit_seconds`: of a
    launch. UserError where nothing can be measured; LaunchFailed where the library fails at each
    size."""
    preload = build_explain()
    library = cupti.find(chosen.machine.provenance.cuda_driver_api)
    cases, failed, told = [], [], []
    with chosen.mps():
        for size in sizes:
            tell(f"{chosen.benchmark.name} {chosen.buffers} at {format_bytes(size)}")
            try:
                cases.append(_case(chosen, size, words, preload, library, launches, limit_seconds))
            except LaunchFailed as error:
                failed.append(FailedSize(size_bytes=size, why=str(error)))
                continue
            if ask and (answer := _ask(chosen, size, words, limit_seconds)):
                told.append(answer)
    if not cases:
        raise LaunchFailed(failed[0].why)
    return Explanation(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=now(),
        host=chosen.machine.hostname,
        gpus=[gpu.name for gpu in chosen.machine.gpus],
        driver=chosen.machine.provenance.nvidia_driver,
        library=chosen.library.name,
        version=chosen.library.version,
        settings=chosen.settings.name,
        path=chosen.path.id,
        path_summary=chosen.path.summary,
        benchmark=chosen.benchmark.name,
        buffers=chosen.buffers,
        command=shell_line(chosen.line([*_sized(sizes), *words])),
        cases=cases,
        failed=failed,
        said=told,
    )


def _sized(sizes: Sequence[int]) -> list[str]:
    return ["--sizes", ",".join(format_bytes(size) for size in sizes)]


def _case(
    chosen: Single,
    size: int,
    words: Sequence[str],
    preload: Path,
    library: Path | None,
    launches: int,
    limit: float,
) -> ExplainedCase:
    options = [*_sized([size]), *words]
    plain, looks, failed = [], [], ""
    for _ in range(launches):
        plain.append(measure(chosen, options, limit_seconds=limit)[0])
        if not failed:
            try:
                looks.append(_look(chosen, _briefly(options), preload, library, limit))
            except LaunchFailed as error:
                failed = str(error)
    value = median(launch.value for launch in plain)
    looks.sort(key=lambda look: look.value)
    whole = [look for look in looks if look.legs] or looks  # others saw nothing
    look = whole[len(whole) // 2] if whole else Look(plain[0].case, value, [], [], 1.0)
    case, legs = look.case, look.legs
    times = [
        times_as_long(case.better, one.value, other.value) for one, other in product(looks, plain)
    ]
    slower = times_as_long(case.better, look.value, value)
    ceiling = _ceiling(chosen, size, limit)
    ceiling_us = None
    if ceiling is not None and legs:
        # Of messages there and back one of them, of anything else all of an iteration.
        pairs = len(chosen.ends) // 2
        ceiling_us = look.operations / len(legs) * each_us(ceiling, pairs)
    did = budget.activity(look.ranks)
    # Between unlike memories the ceiling is the mean of two ways that may be unlike.
    together = len(legs) > 1 and turned(chosen.buffers) != chosen.buffers
    budgets = [
        budget.budget(did, leg, None if together else ceiling_us, leg_slower)
        for leg, leg_slower in zip(legs, budget.slowdowns(did, legs, slower), strict=True)
    ]
    both = budget.together(budgets, ceiling_us, slower) if together else None
    there = {rank.rank for rank in look.ranks}
    return ExplainedCase(
        size_bytes=size,
        metric=case.metric,
        axes=case.axes,
        unit=case.unit,
        value=value,
        seen_value=look.value,
        slower=slower,
        plain_values=[launch.value for launch in plain],
        seen_values=[one.value for one in looks],
        slower_least=min(times, default=None),
        slower_most=max(times, default=None),
        operations=look.operations,
        ceiling=ceiling.value if ceiling else None,
        ceiling_method=ceiling.case.method if ceiling else None,
        budgets=budgets,
        accounted_least=both.least if both else None,
        accounted_most=both.most if both else None,
        counters=[counted for rank in look.ranks if (counted := budget.counters(rank))],
        lost=sum(rank.lost for rank in look.ranks),
        missing=[rank for rank in range(len(chosen.ends)) if rank not in there],
        failed=failed,
        device=device_not_seen(chosen, look.ranks),
        dropped=sum(rank.dropped for rank in look.ranks),
        unfinished=[rank.rank for rank in look.ranks if not rank.ended],
        cache_line_ns=sorted(
            ns
            for record in (
                *(launch.case for launch in plain),
                *(one.case for one in looks),
                *([ceiling.case] if ceiling else []),
            )
            if (ns := record.apart_ns)
        ),
    )


@dataclass
class Look:
    """A launch under the microscope."""

    case: SamplesRecord
    value: float  # of the messages that are looked at
    ranks: list[Seen]
    legs: list[Windows]
    operations: float


def _look(
    chosen: Single, options: Sequence[str], preload: Path, library: Path | None, limit: float
) -> Look:
    """LaunchFailed."""
    with temporary_folder("nearpeak-explain-") as folder:
        env = environment(chosen, preload, Path(folder), library)
        seen = measure(chosen, options, env, limit)[0]
        ranks = gather(Path(folder))
    legs = budget.windows(ranks)
    return Look(
        case=seen.case,
        value=of_messages(seen.case, seen.value, budget.usual_share(ranks, legs)),
        ranks=ranks,
        legs=legs,
        operations=operations(chosen.benchmark, seen.case, seen.value, budget.iteration_us(ranks)),
    )


def times_as_long(better: str, seen: float, plain: float) -> float:
    """What was seen takes; of a rate the reverse."""
    return seen / plain if better == "lower" else plain / seen


def operations(
    benchmark: Benchmark, case: SamplesRecord, value: float, iteration_us: float | None
) -> float:
    """Messages of an iteration; where a time was measured, as many as fit into an iteration."""
    if case.unit != "us":
        return float(benchmark.moves.ways * (case.window if benchmark.moves.window else 1))
    return max(1.0, float(round((iteration_us or value) / value)))


def of_messages(case: SamplesRecord, value: float, usual: float) -> float:
    """What a launch's figure is of the messages that were looked at; `usual`: how many times as
    long they take as its samples."""
    if case.unit == "ratio":
        return value
    return value * usual if case.better == "lower" else value / usual


def each_us(ceiling: Measured, pairs: int) -> float:
    """How long a message takes without MPI; a rate counts those of all pairs."""
    case, value = ceiling.case, ceiling.value
    if case.unit == "us":
        return value
    return pairs * (case.size_bytes / 1e3 if case.unit == "GB/s" else 1.0) / value


def device_not_seen(chosen: Single, ranks: Sequence[Seen]) -> str:
    """Why; "" where it was seen, or nothing uses it."""
    vendors = {gpu.vendor for gpu in chosen.machine.gpus}
    if needs_gpu(chosen.buffers) and vendors and "nvidia" not in vendors:
        return "only calls of libc are seen with GPUs that are not NVIDIA's"
    return next((rank.device for rank in ranks if rank.device), "")


def _briefly(words: Sequence[str]) -> list[str]:
    """With few samples, where nobody asked for others."""
    given = {word.partition("=")[0] for word in words}
    fewer = [pair for pair in SEEN_SAMPLING.items() if pair[0] not in given]
    return [*words, *(word for pair in fewer for word in pair)]


def environment(
    chosen: Single, preload: Path, folder: Path, library: Path | None
) -> dict[str, str]:
    """What a launch under the microscope has in its environment; `library`: CUPTI's."""
    before = chosen.settings.env.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
    free = shutil.disk_usage(folder).free
    ranks = len(chosen.ends)
    events_bytes = min(MOST_BYTES, MOST_BYTES_OF_ALL // ranks, free // (2 * ranks))
    env = {
        "LD_PRELOAD": join_paths(str(preload), before),
        "NEARPEAK_EXPLAIN": str(folder),
        "NEARPEAK_EXPLAIN_BYTES": str(events_bytes),
    }
    # A library that knows CUDA asks the driver about buffers of the host, too. Where it does not
    # open the driver, nothing is loaded.
    if needs_gpu(chosen.buffers) or chosen.machine.provenance.nvidia_driver:
        env[INJECTED] = str(preload)
        if library is not None:
            env[cupti.VARIABLE] = str(library)
    return env


def gather(folder: Path) -> list[Seen]:
    """What ranks left, by rank, on one clock."""
    found: list[Seen] = []
    for file in sorted(folder.glob("*.events")):
        try:
            found.append(read(file, found[0].start if found else None))
        except Unreadable:
            continue  # it ended before it began: a rank is missing, which is told
    return sorted(found, key=lambda seen: seen.rank)


def _ceiling(chosen: Single, size: int, limit: float) -> Measured | None:
    """The same without MPI, by the best way that a library has too; None where nothing does it."""
    known = {
        benchmark.name
        for benchmark in programs.describe_library(natives()["ceiling"], programs.TOOLS).benchmarks
    }
    if chosen.native or chosen.benchmark.name not in known:
        return None
    words = _sized([size])
    try:
        records, said = launched(
            chosen, lambda jsonl: chosen.ceilings([*words, *jsonl]), True, limit
        )
    except LaunchFailed:
        return None
    ways = [
        Measured(record, said)
        for record in records
        if isinstance(record, SamplesRecord) and not record.trial and not record.needs
        if record.metric == chosen.benchmark.main.name
    ]
    lower = chosen.benchmark.main.better == "lower"
    best = min if lower else max
    return best(ways, key=lambda way: way.value, default=None)


def _ask(chosen: Single, size: int, words: Sequence[str], limit: float) -> Said | None:
    """What the library says of itself; None where nobody knows how to ask it."""
    env = said.asked(chosen.library)
    if not env:
        return None
    try:
        answer = measure(chosen, _briefly([*_sized([size]), *words]), env, limit)[0]
    except LaunchFailed:
        return None
    return said.understood(size, env, answer.said)
