# SPDX-License-Identifier: Apache-2.0
"""Launches with and without tracing, and their explanation."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import nearpeak
from nearpeak.clock import now
from nearpeak.explain import budget, cupti
from nearpeak.explain.budget import Windows
from nearpeak.explain.events import ProcessTrace, Unreadable, read
from nearpeak.explain.library_output import parse_output, reporting_variables
from nearpeak.launching import programs
from nearpeak.launching.program_records import SamplesRecord
from nearpeak.launching.single import Single
from nearpeak.launching.single_launch import (
    LIMIT_SECONDS,
    LaunchFailed,
    Measured,
    launched,
    measure,
)
from nearpeak.libraries.build import build_explain
from nearpeak.libraries.families import natives
from nearpeak.libraries.launch import join_paths, shell_line
from nearpeak.observations.explained import SCHEMA, ExplainedCase, Explanation, FailedSize, Said
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import needs_gpu, turned
from nearpeak.terms.sizes import format_bytes
from nearpeak.watch.watched import temporary_folder

LAUNCHES = 3  # without and with tracing, interleaved: enough for a range
MOST_BYTES, MOST_BYTES_OF_ALL = 128 << 20, 1 << 30  # of the events of a rank, and of all ranks
# Few samples with tracing: each event is kept.
TRACED_SAMPLING = {"--slot-ms": "20", "--least-samples": "3"}
# The library that the CUDA driver loads into each process (CUPTI's documentation).
INJECTED = "CUDA_INJECTION64_PATH"


def explain(
    chosen: Single,
    sizes: Sequence[int],
    extra_options: Sequence[str],
    tell: Callable[[str], None],
    *,
    ask: bool = True,
    launches: int = LAUNCHES,
    limit_seconds: float = LIMIT_SECONDS,
) -> Explanation:
    """Explains each size. UserError if nothing can be measured; LaunchFailed if every size fails.

    `extra_options`: for the measuring program; `ask`: True to run the library with its protocol
    report, too; `launches`: of a size, each with and without tracing; `limit_seconds`: of a launch.
    """
    preload = build_explain()
    library = cupti.find(chosen.machine.provenance.cuda_driver_api)
    cases, failed, answers = [], [], []
    with chosen.mps():
        for size in sizes:
            tell(f"{chosen.benchmark.name} {chosen.buffers} at {format_bytes(size)}")
            try:
                cases.append(
                    _case(chosen, size, extra_options, preload, library, launches, limit_seconds)
                )
            except LaunchFailed as error:
                failed.append(FailedSize(size_bytes=size, why=str(error)))
                continue
            if ask and (answer := _ask(chosen, size, extra_options, limit_seconds)):
                answers.append(answer)
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
        command=shell_line(chosen.line([*_sized(sizes), *extra_options])),
        cases=cases,
        failed=failed,
        said=answers,
    )


def _sized(sizes: Sequence[int]) -> list[str]:
    return ["--sizes", ",".join(format_bytes(size) for size in sizes)]


def _case(
    chosen: Single,
    size: int,
    extra_options: Sequence[str],
    preload: Path,
    library: Path | None,
    launches: int,
    limit: float,
) -> ExplainedCase:
    options = [*_sized([size]), *extra_options]
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
    complete = [look for look in looks if look.legs] or looks  # others have no spans
    look = complete[len(complete) // 2] if complete else Look(plain[0].case, value, [], [], 1.0)
    case, legs = look.case, look.legs
    times = [
        times_as_long(case.better, look.value, other.value) for look, other in product(looks, plain)
    ]
    slower = times_as_long(case.better, look.value, value)
    ceiling = _ceiling(chosen, size, limit)
    ceiling_us = None
    if ceiling is not None and legs:
        # Of a round trip one message, of anything else all of an iteration.
        pairs = len(chosen.ends) // 2
        ceiling_us = look.operations / len(legs) * message_us(ceiling, pairs)
    did = budget.activity(look.ranks)
    # Between unlike memories the ceiling is the mean of two directions that may differ.
    together = len(legs) > 1 and turned(chosen.buffers) != chosen.buffers
    budgets = [
        budget.budget(did, leg, None if together else ceiling_us, leg_slower)
        for leg, leg_slower in zip(legs, budget.slowdowns(did, legs, slower), strict=True)
    ]
    both = budget.together(budgets, ceiling_us, slower) if together else None
    traced_ranks = {rank.rank for rank in look.ranks}
    records = [launch.case for launch in plain] + [traced.case for traced in looks]
    records += [ceiling.case] if ceiling else []
    return ExplainedCase(
        size_bytes=size,
        metric=case.metric,
        axes=case.axes,
        unit=case.unit,
        value=value,
        seen_value=look.value,
        slower=slower,
        plain_values=[launch.value for launch in plain],
        seen_values=[look.value for look in looks],
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
        missing=[rank for rank in range(len(chosen.ends)) if rank not in traced_ranks],
        failed=failed,
        device=device_not_seen(chosen, look.ranks),
        dropped=sum(rank.dropped for rank in look.ranks),
        unfinished=[rank.rank for rank in look.ranks if not rank.ended],
        cache_line_ns=sorted(record.apart_ns for record in records if record.apart_ns),
    )


@dataclass
class Look:
    """A traced launch."""

    case: SamplesRecord
    value: float  # of the analysed messages
    ranks: list[ProcessTrace]
    legs: list[Windows]
    operations: float


def _look(
    chosen: Single, options: Sequence[str], preload: Path, library: Path | None, limit: float
) -> Look:
    """Traces one launch; LaunchFailed."""
    with temporary_folder("nearpeak-explain-") as folder:
        env = environment(chosen, preload, Path(folder), library)
        traced = measure(chosen, options, env, limit)[0]
        ranks = gather(Path(folder))
    legs = budget.windows(ranks)
    return Look(
        case=traced.case,
        value=of_messages(traced.case, traced.value, budget.usual_share(ranks, legs)),
        ranks=ranks,
        legs=legs,
        operations=operations(
            chosen.benchmark, traced.case, traced.value, budget.iteration_us(ranks)
        ),
    )


def times_as_long(better: str, traced: float, plain: float) -> float:
    """The slowdown by tracing, from two times or two rates."""
    return traced / plain if better == "lower" else plain / traced


def operations(
    benchmark: Benchmark, case: SamplesRecord, value: float, iteration_us: float | None
) -> float:
    """Messages of an iteration; with a time as metric, as many as fit into an iteration."""
    if case.unit != "us":
        return float(benchmark.moves.ways * (case.window if benchmark.moves.window else 1))
    return max(1.0, float(round((iteration_us or value) / value)))


def of_messages(case: SamplesRecord, value: float, usual: float) -> float:
    """The figure of a launch for the analysed messages; `usual`: their time over that of
    samples."""
    if case.unit == "ratio":
        return value
    return value * usual if case.better == "lower" else value / usual


def message_us(ceiling: Measured, pairs: int) -> float:
    """The time of a message without MPI; a rate counts messages of all pairs."""
    case, value = ceiling.case, ceiling.value
    if case.unit == "us":
        return value
    return pairs * (case.size_bytes / 1e3 if case.unit == "GB/s" else 1.0) / value


def device_not_seen(chosen: Single, ranks: Sequence[ProcessTrace]) -> str:
    """The reason that the device was not traced; "" if it was, or is not used."""
    vendors = {gpu.vendor for gpu in chosen.machine.gpus}
    if needs_gpu(chosen.buffers) and vendors and "nvidia" not in vendors:
        return "only calls of libc are seen with GPUs that are not NVIDIA's"
    return next((rank.device for rank in ranks if rank.device), "")


def _briefly(options: Sequence[str]) -> list[str]:
    """Adds options for few samples, unless others are given."""
    given = {option.partition("=")[0] for option in options}
    fewer = [pair for pair in TRACED_SAMPLING.items() if pair[0] not in given]
    return [*options, *(option for pair in fewer for option in pair)]


def environment(
    chosen: Single, preload: Path, folder: Path, library: Path | None
) -> dict[str, str]:
    """The environment of a traced launch; `library`: CUPTI's."""
    before = chosen.settings.env.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
    free = shutil.disk_usage(folder).free
    ranks = len(chosen.ends)
    events_bytes = min(MOST_BYTES, MOST_BYTES_OF_ALL // ranks, free // (2 * ranks))
    env = {
        "LD_PRELOAD": join_paths(str(preload), before),
        "NEARPEAK_EXPLAIN": str(folder),
        "NEARPEAK_EXPLAIN_BYTES": str(events_bytes),
    }
    # A GPU-aware library queries the driver for host buffers, too. If it does not open the driver,
    # nothing is loaded.
    if needs_gpu(chosen.buffers) or chosen.machine.provenance.nvidia_driver:
        env[INJECTED] = str(preload)
        if library is not None:
            env[cupti.VARIABLE] = str(library)
    return env


def gather(folder: Path) -> list[ProcessTrace]:
    """The traces of all ranks, by rank, on one clock."""
    traces: list[ProcessTrace] = []
    for file in sorted(folder.glob("*.events")):
        try:
            traces.append(read(file, traces[0].start if traces else None))
        except Unreadable:
            continue  # it ended before it began: the missing rank is reported
    return sorted(traces, key=lambda trace: trace.rank)


def _ceiling(chosen: Single, size: int, limit: float) -> Measured | None:
    """The ceiling of the case, by the best method open to a library; None without one."""
    measurable = {
        benchmark.name
        for benchmark in programs.describe_library(natives()["ceiling"], programs.TOOLS).benchmarks
    }
    if chosen.native or chosen.benchmark.name not in measurable:
        return None
    options = _sized([size])
    try:
        records, output = launched(
            chosen, lambda jsonl: chosen.ceilings([*options, *jsonl]), True, limit
        )
    except LaunchFailed:
        return None
    methods = [
        Measured(record, output)
        for record in records
        if isinstance(record, SamplesRecord) and not record.trial and not record.needs
        if record.metric == chosen.benchmark.main.name
    ]
    lower = chosen.benchmark.main.better == "lower"
    best = min if lower else max
    return best(methods, key=lambda method: method.value, default=None)


def _ask(chosen: Single, size: int, extra_options: Sequence[str], limit: float) -> Said | None:
    """The protocol report of the library; None if it has none."""
    env = reporting_variables(chosen.library)
    if not env:
        return None
    try:
        answer = measure(chosen, _briefly([*_sized([size]), *extra_options]), env, limit)[0]
    except LaunchFailed:
        return None
    return parse_output(size, env, answer.said)
