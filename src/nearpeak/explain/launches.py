# SPDX-License-Identifier: Apache-2.0
"""Launches with and without the microscope, and what is read of them."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import nearpeak
from nearpeak.explain import budget, cupti, said
from nearpeak.explain.events import Seen, Unreadable, read
from nearpeak.libraries.build import build_explain
from nearpeak.libraries.families import natives
from nearpeak.libraries.launch import join_paths, shell_line
from nearpeak.observations.explained import SCHEMA, ExplainedCase, Explanation, Said
from nearpeak.study import programs
from nearpeak.study.launching import LIMIT_SECONDS, LaunchFailed, Measured, launched, measure
from nearpeak.study.records import SamplesRecord
from nearpeak.study.single import Single
from nearpeak.terms.benchmarks import Benchmark
from nearpeak.terms.buffers import needs_gpu
from nearpeak.terms.sizes import format_bytes

PLAIN_LAUNCHES = 2  # without the microscope, around the one with it
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
    limit_seconds: float = LIMIT_SECONDS,
) -> Explanation:
    """Looks at each size. `words`: more for the measuring program; `ask`: whether the library is
    asked, too; `limit_seconds`: of a launch. UserError where nothing can be
    measured; LaunchFailed where the library fails."""
    preload = build_explain()
    library = cupti.find(chosen.machine.provenance.cuda_driver_api)
    cases, told = [], []
    with chosen.mps():
        for size in sizes:
            tell(f"{chosen.benchmark.name} {chosen.buffers} at {format_bytes(size)}")
            cases.append(_case(chosen, size, words, preload, library, limit_seconds))
            if ask and (answer := _ask(chosen, size, words, limit_seconds)):
                told.append(answer)
    return Explanation(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
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
    limit: float,
) -> ExplainedCase:
    options = [*_sized([size]), *words]
    plain = measure(chosen, options, limit_seconds=limit)[:1]
    with tempfile.TemporaryDirectory(prefix="nearpeak-explain-") as folder:
        env = environment(chosen, preload, Path(folder), library)
        try:
            seen = measure(chosen, _briefly(options), env, limit)[0]
            failed, ranks = "", gather(Path(folder))
        except LaunchFailed as error:
            seen, failed, ranks = plain[0], str(error), []
    for _ in range(PLAIN_LAUNCHES - 1):
        plain += measure(chosen, options, limit_seconds=limit)[:1]
    value = median(launch.value for launch in plain)
    ceiling = _ceiling(chosen, size, limit)
    case = seen.case
    legs = budget.windows(ranks)
    did = budget.activity(ranks)
    messages = operations(chosen.benchmark, case, seen.value, budget.iteration_us(ranks))
    seen_value = of_messages(case, seen.value, budget.usual_share(ranks, legs))
    slower = seen_value / value if case.better == "lower" else value / seen_value
    ceiling_us = None
    if ceiling is not None and legs:
        # Of messages there and back one of them, of anything else all of an iteration.
        pairs = len(chosen.ends) // 2
        ceiling_us = messages / len(legs) * each_us(ceiling, pairs)
    there = {rank.rank for rank in ranks}
    return ExplainedCase(
        size_bytes=size,
        metric=case.metric,
        axes=case.axes,
        unit=case.unit,
        value=value,
        seen_value=seen_value,
        slower=slower,
        operations=messages,
        ceiling=ceiling.value if ceiling else None,
        ceiling_method=ceiling.case.method if ceiling else None,
        budgets=[budget.budget(did, leg, ceiling_us, slower) for leg in legs],
        counters=[counted for rank in ranks if (counted := budget.counters(rank))],
        lost=sum(rank.lost for rank in ranks),
        missing=[rank for rank in range(len(chosen.ends)) if rank not in there],
        failed=failed,
        device=device_not_seen(chosen, ranks),
    )


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
    ]
    lower = chosen.benchmark.metrics[0].better == "lower"
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
