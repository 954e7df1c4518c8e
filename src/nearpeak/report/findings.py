# SPDX-License-Identifier: Apache-2.0
"""The sentences of findings."""

import functools
from collections.abc import Iterable

from nearpeak.findings.evidence import Rule
from nearpeak.findings.rules import all_rules
from nearpeak.findings.sentences import Phrases, change
from nearpeak.numbers import agreeing, count, number, size, unit
from nearpeak.results.names import axes_words
from nearpeak.results.results import Finding, SettingChange, Tried
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.benchmarks import Benchmark

FEW = f"under {FEWEST_FOR_INTERVAL} launches"
CHANCE = "noise"  # may be all, of launches that are enough for an interval


def rule_of(finding: Finding) -> Rule:
    """The rule that made a finding."""
    return rules()[finding.kind]


@functools.cache
def rules() -> dict[str, Rule]:
    """All rules by their names."""
    return {str(rule.name): rule for rule in all_rules()}


def sentence(finding: Finding) -> str:
    """Names the library, the path and the case that lose, and compares with the alternative:
    `openmpi, gpu-gpu nvlink, latency D,D at 8 B: ...`."""
    return rule_of(finding).sentence(Phrases(finding))


def headline(finding: Finding, benchmarks: Iterable[Benchmark] = (), figure: str = "") -> str:
    """The finding in one line: `intel, gpu-gpu same-gpu: latency D,D 8 B: 151 µs, ...`. Of a traced
    message with `figure`, that of the untraced ones: `...: 151 µs: 21 pieces of 8 B`. `benchmarks`:
    of the study, for directions instead of buffers."""
    phrases = Phrases(finding, benchmarks)
    subjects = [finding.who.label] if finding.who else []
    subjects += [finding.place.path] if finding.place else []
    text = rule_of(finding).headline.format(it=phrases)
    if figure and finding.message:
        text = text.replace(f"{phrases.short}: ", f"{phrases.short}: {figure}: ", 1)
    return ": ".join(filter(None, [", ".join(subjects), text]))


def action(finding: Finding) -> str:
    """The remedy in a few words."""
    return rule_of(finding).action.format(it=Phrases(finding)) or finding.remedy.text


def doubt(finding: Finding) -> str:
    """The reason why a finding is not confirmed; empty if it is."""
    if finding.sure:
        return ""
    if finding.cost is not None:
        return f"In {count(finding.cost.blocks, 'launch')} this may be noise."
    if message := finding.message:
        times = number(message.slower)
        return f"{count(message.messages, 'message')} seen, {times} times as long with the tracer."
    return "Few launches show it."


def reason(finding: Finding) -> str:
    """`under 6 launches`, `noise`, `1 message`: why a finding is not confirmed; empty if it is."""
    if finding.sure:
        return ""
    if finding.cost is not None:
        return FEW if finding.cost.blocks < FEWEST_FOR_INTERVAL else CHANCE
    return count(finding.message.messages, "message") if finding.message else FEW


def lost(finding: Finding) -> str:
    """`Each such operation loses 12.3 µs. 4 more cases lose in the same way, and less.`; for a
    traced message `That is some 12.3 µs of such a message.`"""
    cost = finding.cost
    if finding.message is not None:
        return f"That is some {number(finding.message.lost_us)} µs of such a message."
    if cost is None:
        return ""
    others = cost.cases - 1
    parts = [
        _lost_by(finding, cost.lost_us) if cost.lost_us else "",
        f"{count(others, 'more case')} {agreeing(others, 'loses', 'lose')} in the same way, and"
        " less."
        if others
        else "",
    ]
    return " ".join(filter(None, parts))


def _lost_by(finding: Finding, us: float) -> str:
    if finding.kind != "dip":
        return f"Each such operation loses {number(us)} µs."
    next_size = size(Phrases(finding).other.case.x)
    return (
        f"With the gap that it has at {next_size}, each such operation would take"
        f" {number(us)} µs less."
    )


def advised(finding: Finding) -> str:
    """The remedy, and the other findings that it helps with."""
    with_it = "The same reason" if finding.message is None else "Seen with it"
    same = [f"{with_it}: {sentence(other)}" for other in finding.explains]
    return " ".join([remedied(finding), *same])


def remedied(finding: Finding) -> str:
    """The remedy, the gain that the study measured with it, and settings to try."""
    remedy = finding.remedy
    parts = [remedy.text]
    if tried := remedy.tried:
        axes = ", ".join(axes_words(tried.axes))
        parts.append(
            f"In this study {axes} has {number(tried.value)} {unit(tried.unit)},"
            f" {_times_as_good(finding, tried)} in {count(tried.blocks, 'block')}."
        )
    if remedy.changes and not remedy.settings:
        parts.append(f"To try: {', '.join(map(_named, remedy.changes))}.")
    if remedy.tune:
        parts.append(f"To search for settings: `{remedy.tune}`.")
    return " ".join(parts)


def _times_as_good(finding: Finding, tried: Tried) -> str:
    """`2.00 times as good`, by the figure of the finding; with the median of the blocks, if that
    reads otherwise."""
    blocks = number(tried.ratio)
    mine = [one.value for one in finding.evidence if (one.of, one.unit) == ("own", tried.unit)]
    ratio = tried.value / mine[0] if mine else tried.ratio
    figures = number(max(ratio, 1 / ratio))
    within = "" if figures == blocks else f" (within blocks {blocks})"
    return f"{figures} times as good{within}"


def _named(named: SettingChange) -> str:
    """`UCX_CUDA_COPY_DMABUF=n (no handles of device memory)`."""
    return f"{change(named)} ({named.effect})"
