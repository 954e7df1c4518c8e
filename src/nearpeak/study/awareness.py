# SPDX-License-Identifier: Apache-2.0
"""The GPU-awareness gate: what a library does with device buffers, tried before it is measured.

What a library says of itself is wrong in both directions (docs/methodology.md), so each operation
is tried with each kind of buffers, its data verified (study/trials.py).
"""

from collections.abc import Callable, Iterable, Sequence

from nearpeak.libraries.model import CommandLine
from nearpeak.machine import model as machine
from nearpeak.study.buffers import rank_ends
from nearpeak.study.commands import Tools, probe_launch
from nearpeak.study.model import Awareness, Contender, label
from nearpeak.study.trials import GOOD, LIMIT_SECONDS, NOT_TRIED, SIZES, Case, Job, Outcome

DEVICES = "D,D"  # the kinds of buffers that the ranks' places are chosen for


def try_contender(
    contender: Contender,
    wanted: Sequence[Case],
    path: machine.Path,
    tools: Tools,
    shell_line: Callable[[CommandLine], str],
) -> list[Awareness]:
    """What became of each operation with its buffers, on a path between two GPUs."""
    ends = rank_ends(path, DEVICES)
    assert ends is not None
    found: dict[Case, Outcome] = {}

    def launch(words: list[str]) -> CommandLine:
        return probe_launch(tools, contender, words, path, ends, DEVICES)

    left = list(wanted)
    while left:
        job = Job(
            left, lambda _: SIZES, launch, shell_line, lambda one: found.update({one.case: one})
        )
        left = job.run(LIMIT_SECONDS)
    return [
        Awareness(
            library=contender.library.name,
            settings=contender.settings.name,
            buffers=case.buffers,
            operation=case.operation,
            status=found[case].status,
            message=found[case].message,
            command=found[case].command,
        )
        for case in wanted
    ]


def sentences(found: Iterable[Awareness]) -> list[str]:
    """One for each contender and evidence: what it cannot do, and how that was seen."""
    told: dict[tuple[str, str, bool], dict[str, list[str]]] = {}
    for one in found:
        if one.status != GOOD:
            who = label(one.library, one.settings)
            evidence = one.message or one.status
            kinds = told.setdefault((who, evidence, one.status == NOT_TRIED), {})
            kinds.setdefault(one.buffers, []).append(one.operation)
    lines = []
    for (who, evidence, not_tried), kinds in told.items():
        if not_tried:
            lines.append(f"{who}: could not be tried with {'; '.join(kinds)}: {evidence}")
            continue
        what = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
        lines.append(f"{who}: not GPU-aware for {what}: {evidence}")
    return lines
