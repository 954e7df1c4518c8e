# SPDX-License-Identifier: Apache-2.0
"""A plan in lines for people."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nearpeak.launching.describe import Variant
from nearpeak.libraries.families import all_families, is_ceiling, is_native
from nearpeak.machine.perftest import HINT, PROGRAM
from nearpeak.numbers import count
from nearpeak.planning.fit import (
    blocks_wanted,
    budget_for,
    expected_blocks,
    expected_seconds,
    fits_budget,
    rounded,
    seconds_of,
)
from nearpeak.planning.plan import PILOT_BLOCKS, Plan
from nearpeak.statistics.blocks import blocks_needed, most_families
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import x_unit
from nearpeak.terms.buffers import HOST, needs_gpu
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.sizes import format_bytes, format_seconds, format_sizes


def brief(plan: Plan) -> list[str]:
    """The plan in about five lines, with what a user may want to change."""
    sizes = f"{count(len(plan.sizes), 'size')} to {format_bytes(max(plan.sizes))}"
    lines = [
        *_subject_lines(plan),
        f"benchmarks: {variants_label(plan, plan.variants)}; {sizes}",
        f"time:       {_time_words(plan)}",
    ]
    if plan.left_out:
        labels = "; ".join(cut.label for cut in plan.left_out)
        complete = max(cut.whole_seconds for cut in plan.left_out)
        whole = f" (nothing with --budget {format_seconds(complete)})" if complete else ""
        lines.append(f"left out:   {labels}{whole}")
    return lines + _notes(plan)


def _time_words(plan: Plan) -> str:
    """`1m40s, about 6 launches of each`."""
    blocks = expected_blocks(plan)
    if plan.budget_seconds is not None:
        return f"{format_seconds(plan.budget_seconds)}, about {count(blocks, 'launch')} of each"
    return f"{format_seconds(seconds_of(plan, blocks))} for {count(blocks, 'launch')} of each"


def summary(plan: Plan) -> list[str]:
    """The whole plan in lines for people."""
    ceilings = sum(launch.role == "ceiling" for launch in plan.launches)
    lines = [
        *measured_lines(plan),
        f"launches:   {len(plan.launches)} in each block ({ceilings} of them for ceilings),"
        f" {_block_words(plan)}",
        f"estimate:   {_estimate_words(plan)}",
        f"precision:  {promise(plan.deviation, expected_blocks(plan))}",
    ]
    lines += _verdict_words(plan)
    if plan.trial_seconds:
        seconds = format_seconds(plan.trial_seconds)
        lines.append(
            f"trials:     {seconds} before the first block: which operations work with GPU buffers"
        )
    return lines + _notes(plan) + left_out_lines(plan.left_out)


def _notes(plan: Plan) -> list[str]:
    """Notes on what the plan cannot show."""
    lines = []
    families = [all_families().get(contender.library.family) for contender in plan.contenders]
    scopes = dict.fromkeys(family.scope for family in families if family and family.scope)
    lines += [f"note:       {scope}" for scope in scopes]
    adapters = sorted({path.adapter for path in plan.paths if path.adapter})
    if adapters and not plan.perftest:
        lines.append(
            f"note:       no ceiling over the RDMA adapter {', '.join(adapters)}: {PROGRAM} is not "
            f"on PATH; {HINT}"
        )
    natives = all(is_native(contender.library) for contender in plan.contenders)
    if natives and any(path.is_loopback for path in plan.paths):
        lines.append("note:       no loopback of an adapter: name an MPI library, which starts it")
    if expected_blocks(plan) < FEWEST_FOR_INTERVAL:
        lines.append(f"note:       fewer than {FEWEST_FOR_INTERVAL} launches give no 95 % interval")
    if not fits_budget(plan, blocks_wanted(plan)):
        needed = format_seconds(rounded(budget_for(plan, blocks_wanted(plan))))
        problem = "the budget is too small" if plan.job_seconds is None else "the job is too short"
        lines.append(
            f"note:       {problem}: {blocks_wanted(plan)} blocks need --budget "
            f"{needed}, though all was left out that may be; or name fewer --mpi, --paths or "
            "--benchmarks"
        )
    return lines


def _subject_lines(plan: Plan) -> list[str]:
    return [
        "libraries:  " + ", ".join(contender.label for contender in plan.contenders),
        "paths:      " + ", ".join(path.id for path in plan.paths),
    ]


def measured_lines(plan: Plan) -> list[str]:
    """Returns the first lines of a summary, which are the same however much of the plan is left."""
    gpus = ""
    if any(needs_gpu(variant.buffers) for variant in plan.variants):
        gpus = f" ({format_bytes(plan.gpu_in_flight_bytes)} with memory of a GPU)"
    slot = f"{plan.slot_ms:g} ms for each case of a launch"
    if not plan.slot_fixed:
        slot += f" in the first {PILOT_BLOCKS} blocks, then chosen from their scatter"
    return [
        *_subject_lines(plan),
        "benchmarks: " + variants_label(plan, plan.variants),
        *(
            f"problems:   {name} of {', '.join(map(str, sizes))} {x_unit(plan.benchmarks, name)}"
            for name, sizes in plan.problem_sizes.items()
        ),
        f"sizes:      {format_sizes(plan.sizes)} ({len(plan.sizes)})",
        *(f"            {line}" for line in _other_sizes(plan)),
        f"slot:       {slot}",
        f"window:     {plan.window} messages, at most {format_bytes(plan.in_flight_bytes)}{gpus}",
    ]


def left_out_lines(left: Sequence[LeftOut]) -> list[str]:
    """Formats what was left out as a table for people."""
    if not left:
        return []
    rows = [(format_seconds(cut.budget_seconds), cut.label, cut.why) for cut in left]
    wide = max(len(label) for _, label, _ in rows)
    complete = max(cut.whole_seconds for cut in left)
    all_of_it = f", and nothing is left out with {format_seconds(complete)}" if complete else ""
    return [
        f"left out:   {count(len(left), 'thing')}, so that the budget holds enough"
        f" launches of all else; with this --budget it stays, and what is below it{all_of_it}:",
        *(f"            {budget:>7}  {label:<{wide}}  {reason}" for budget, label, reason in rows),
    ]


def _verdict_words(plan: Plan) -> list[str]:
    """Describes how many blocks verdicts on all pairs of alternatives take; empty for a single
    one."""
    compared = sum(not is_ceiling(contender.library) for contender in plan.contenders)
    pairs = compared * (compared - 1) // 2
    if not pairs:
        return []
    needed, expected = blocks_needed(pairs), expected_blocks(plan)
    text = f"verdicts:   {needed} blocks are needed for {count(pairs, 'pair')} of alternatives"
    if expected < needed:
        text += (
            f"; {expected} blocks judge only {most_families(expected)} of them, the first in the"
            " order of the libraries"
        )
    return [text]


def _other_sizes(plan: Plan) -> Iterator[str]:
    measured = {number for launch in plan.launches for number in launch.variants}
    if any(map(plan.has_few, measured)):
        yield f"{format_sizes(plan.few_sizes)} for benchmarks without a measured ceiling"
    if unsized := [benchmark.name for benchmark in plan.benchmarks if not benchmark.sized]:
        yield f"{', '.join(unsized)}: no sizes, measured once"
    if sizes := sorted(set(plan.plateaus.values())):
        yield f"{format_sizes(sizes)} too for the rates of ceilings"


def _block_words(plan: Plan) -> str:
    if plan.budget_seconds is not None:
        return f"about {expected_blocks(plan)} blocks"
    if len(plan.looks) == 1:
        return f"{plan.looks[0]} blocks"
    return f"{plan.looks[0]} to {plan.looks[-1]} blocks, until every cell is precise"


def _estimate_words(plan: Plan) -> str:
    first, later = expected_seconds(plan)
    text = f"{format_seconds(first)} for each block"
    if not plan.slot_fixed:
        text = (
            f"{format_seconds(first)} for each of the first {PILOT_BLOCKS} blocks,"
            f" {format_seconds(later)} for each later one"
        )
    if plan.budget_seconds is not None:
        seconds = plan.job_seconds
        now = "" if seconds is None else f", {format_seconds(seconds)} in this job"
        return f"{text}; budget {format_seconds(plan.budget_seconds)}{now}"
    ends = (seconds_of(plan, plan.looks[0]), seconds_of(plan, plan.looks[-1]))
    return f"{text}; {' to '.join(map(format_seconds, sorted({*ends})))} in all"


def variants_label(plan: Plan, variants: Iterable[Variant]) -> str:
    """Returns `latency:staging=pinned, bw D,D`: as --benchmark has them, with their buffers, unless
    these are the host's."""
    names: dict[str, list[str]] = defaultdict(list)
    for variant in variants:
        usual = plan.benchmark(variant).defaults
        other = variant.axes.items() - usual.items()
        axes = [f"{name}={value}" for name, value in variant.axes.items() if (name, value) in other]
        names[variant.buffers].append(":".join(filter(None, [variant.benchmark, ",".join(axes)])))
    labels = [f"{', '.join(labels)} {buffers}" for buffers, labels in names.items()]
    return ", ".join(label.removesuffix(f" {HOST}") for label in labels)


def promise(deviation: float, launches: int) -> str:
    """Describes the precision that this number of launches gives if launch medians deviate so much
    (relative)."""
    from nearpeak.statistics.intervals import expected_half_width  # numpy takes long to import

    width = expected_half_width(deviation, launches)
    if width is None:
        return f"{launches} launches of each case, too few for a 95 % interval"
    return (
        f"a 95 % interval of about ± {100 * width:.2g} % from {launches} launches of each case, "
        f"assuming that launches deviate by {100 * deviation:g} %"
    )
