# SPDX-License-Identifier: Apache-2.0
"""The sentences of findings."""

from collections.abc import Callable
from typing import TypeVar

from nearpeak.numbers import count, number, resting, size, unit
from nearpeak.results.names import axes_words, staged
from nearpeak.results.results import (
    Alternative,
    Cost,
    Evidence,
    Finding,
    FindingKind,
    InMessage,
    SettingChange,
)
from nearpeak.terms.axes import CALLS, PACK, STAGING
from nearpeak.terms.identity import Place, Who

T = TypeVar("T")


def sentence(finding: Finding) -> str:
    """Names the library, the path and the case that lose, and compares with the alternative:
    `openmpi, gpu-gpu nvlink, latency D,D at 8 B: ...`."""
    return SENTENCES[finding.kind](finding)


def lost(finding: Finding) -> str:
    """`Each such operation loses 12.3 µs. 4 more cases lose in the same way, by smaller
    factors.`; for a traced message `That is some 12.3 µs of such a message.`"""
    cost = finding.cost
    if finding.message is not None:
        return _lost_of(finding.message, finding.sure)
    if cost is None:
        return ""
    others = cost.cases - 1
    parts = [
        ""
        if finding.sure
        else f"Not certain: in {count(cost.blocks, 'block')} this may be chance.",
        _lost_by(finding, cost.lost_us) if cost.lost_us else "",
        f"{count(others, 'more case')} {'loses' if others == 1 else 'lose'} in the same way, by"
        " smaller factors."
        if others
        else "",
    ]
    return " ".join(filter(None, parts))


def _lost_by(finding: Finding, us: float) -> str:
    if finding.kind != "dip":
        return f"Each such operation loses {number(us)} µs."
    next_size = size(_other(finding).case.x)
    return (
        f"With the gap that it has at {next_size}, each such operation would take"
        f" {number(us)} µs less."
    )


def _lost_of(message: InMessage, sure: bool) -> str:
    doubt = (
        ""
        if sure
        else f"Not certain: {count(message.messages, 'message')} seen, {number(message.slower)}"
        " times as long with the tracer."
    )
    return f"{doubt} That is some {number(message.lost_us)} µs of such a message.".lstrip()


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
            f" {number(tried.ratio)} times as good in {count(tried.blocks, 'block')}."
        )
    if remedy.changes and not remedy.settings:
        parts.append(f"To try: {', '.join(map(_named, remedy.changes))}.")
    if remedy.tune:
        parts.append(f"To search for settings: `{remedy.tune}`.")
    return " ".join(parts)


def _named(change: SettingChange) -> str:
    """`UCX_CUDA_COPY_DMABUF=n (no handles of device memory)`."""
    return f"{_change(change)} ({change.effect})"


def _blocking(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: one message at a time moves {_worse(finding, 'GB/s')}"
        f" ({_worse(finding, 'us')}), {_evidence(finding, 'alternative').window} in flight move"
        f" {_better(finding)} ({_other(finding).case.figure}): {_ratio(finding)} as much. The"
        f" ceilings differ by"
        f" {number(_cost(finding).ceilings)} times."
    )


def _directions(finding: Finding) -> str:
    mine, theirs = (_evidence(finding, role) for role in ("own ceiling", "alternative ceiling"))
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} the other way"
        f" ({_other(finding).case.buffers}); a library can attain {_value(mine)} this way and"
        f" {_value(theirs)} the other way. By these this way could be better by {_ratio(finding)}."
    )


def _guidelines(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} of"
        f" {_other(finding).case.figure}, which does the same and more, {_ratio(finding)}."
    )


def _adapter(finding: Finding) -> str:
    return f"{_place(finding).path}: the adapter {_facts(finding)}."


def _bidirectional(finding: Finding) -> str:
    one_way, both_ways = (
        _evidence(finding, "alternative ceiling"),
        _evidence(finding, "own ceiling"),
    )
    return (
        f"{_subject(finding)}: both ways at once move {_worse(finding)}, one way alone moves"
        f" {_better(finding)} ({_other(finding).case.figure} {_other(finding).case.buffers}); a"
        f" library can attain {_value(both_ways)} both ways, {_value(one_way)} one way. By these"
        f" both ways could move {_ratio(finding)} as much."
    )


def _calls(finding: Finding) -> str:
    calls = [case.axes[CALLS] for case in (_required(finding.case), _other(finding).case)]
    return (
        f"{_subject(finding)}: {_worse(finding)} by {calls[0]} calls against {_better(finding)} by"
        f" {calls[1]} ones, {_ratio(finding)}."
    )


def _collectives(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} on the host"
        f" ({_other(finding).place.path}): {_ratio(finding)} as long as there with the copies to"
        " the host and back."
    )


def _datatypes(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} with the datatype against {_better(finding)} with"
        " its blocks gathered before"
        f" ({PACK}={_other(finding).case.axes[PACK]}), {_ratio(finding)}."
    )


def _device_datatypes(finding: Finding) -> str:
    return (
        f"{_who(finding).label}: launches ended where MPI gathers blocks of device memory:"
        f" {_facts(finding, ': ')}."
    )


def _dip(finding: Finding) -> str:
    ceiling, other_ceiling = (
        _evidence(finding, "own ceiling"),
        _evidence(finding, "alternative ceiling"),
    )
    this_size, next_size = size(_required(finding.case).x), size(_other(finding).case.x)
    return (
        f"{_subject(finding)}: {_worse(finding)}, and at {this_size} a library can attain"
        f" {_value(ceiling)}, {_gap(_evidence(finding, 'own'), ceiling)} times as good. At"
        f" {next_size} it has {_better(finding)} and can attain {_value(other_ceiling)},"
        f" {_gap(_evidence(finding, 'alternative'), other_ceiling)} times as good. Block by block,"
        f" the gap at {this_size} is {_ratio(finding)} that at {next_size}. It is larger than the"
        " gap at the next size on its other side, too."
    )


def _gap(figure: Evidence, ceiling: Evidence) -> str:
    """The factor by which a ceiling is better than a figure."""
    ratio = figure.value / ceiling.value
    return number(ratio if figure.unit == "us" else 1 / ratio)


def _far(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} on"
        f" {_other(finding).place.path}, {_ratio(finding)}."
    )


def _inherited(finding: Finding) -> str:
    return f"Every launch inherited settings of libraries: {_facts(finding, '=')}."


def _ipc(finding: Finding) -> str:
    return (
        f"{_who(finding).label}: a rank could not reach device memory of another one (IPC):"
        f" {_facts(finding, ' (', ')')}."
    )


def _larger(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} at"
        f" {size(_other(finding).case.x)}, {_ratio(finding)}."
    )


def _memory(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} with"
        f" {_other(finding).case.buffers}, {_ratio(finding)}."
    )


def _noncontiguous(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)}; messages of as many bytes that lie together"
        f" ({_other(finding).case.figure}) take {_better(finding)}. What of the difference is lost,"
        " and what anybody needs to gather and scatter the blocks, was not measured."
    )


def _one_sided(finding: Finding) -> str:
    messages = "messages of as many bytes"
    if _evidence(finding, "own").unit == "us":
        messages = "a message of as many bytes there and one back"
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} of"
        f" {_other(finding).case.figure}, {messages}, {_ratio(finding)}."
    )


def _numa(finding: Finding) -> str:
    return f"{_place(finding).path}: ranks were not where they should be: {_facts(finding, ': ')}."


def _overlap(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: beside a computation that takes about as long, both take"
        f" {number(_evidence(finding, 'own').value)} times as long as the longer one alone."
        " How much this path could hide was not measured."
    )


def _parts(finding: Finding) -> str:
    total, part = _required(finding.case).x, _other(finding).case.x
    parts = (
        count(total // part, "message") if _evidence(finding, "own").unit == "us" else "messages"
    )
    return (
        f"{_subject(finding)}: {_worse(finding)} against {_better(finding)} of {parts} of"
        f" {size(part)}, {_ratio(finding)}."
    )


def _peers(finding: Finding) -> str:
    return f"GPUs are joined by a link, but one cannot reach the other's memory: {_facts(finding)}."


def _registration(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)} with another buffer for each message against"
        f" {_better(finding)} with the same ones, {_ratio(finding)}."
    )


def _mps(finding: Finding) -> str:
    better = _other(finding).place
    ways = ("under MPS", "without") if better.mps else ("without MPS", "under it")
    without = _place(finding) if better.mps else better
    return (
        f"{_who(finding).label}, {without.path}, {_case(finding)}: {_better(finding)} {ways[0]}"
        f" against {_worse(finding)} {ways[1]}, {_ratio(finding)}."
    )


def _shared_gpu(finding: Finding) -> str:
    return (
        f"{_who(finding).label}, {_other(finding).place.path}, {_case(finding)}: {_better(finding)}"
        f" where the host's rank holds a GPU of its own against {_worse(finding)} where both ranks"
        f" hold the same one, time-sliced, {_ratio(finding)}."
    )


def _gpu_support(finding: Finding) -> str:
    return (
        f"{_who(finding).label}, {_other(finding).place.path}, {_case(finding)}: {_worse(finding)}"
        f" with the library's GPU support on against {_better(finding)} with it off,"
        f" {_ratio(finding)}."
    )


def _reductions(finding: Finding) -> str:
    return (
        f"{_subject(finding)}: {_worse(finding)}; {_other(finding).case.figure} moves the same"
        f" number of bytes in {_better(finding)}, but adds nothing."
    )


def _settings(finding: Finding) -> str:
    changes = ", ".join(map(_change, finding.remedy.changes))
    who = _who(finding)
    return (
        f"{who.library}, {_place(finding).path}, {_case(finding)}: {_better(finding)} with"
        f" the settings {_other(finding).who.settings} against {_worse(finding)} with"
        f" {who.settings}, {_ratio(finding)};"
        f" the difference: {changes or 'none that the plan knows'}."
    )


def _staged(finding: Finding) -> str:
    other = _other(finding)
    return (
        f"{_subject(finding)}: {_worse(finding)} by the library's own way against"
        f" {_better(finding)} with {other.who.label} {staged(other.case.axes[STAGING])},"
        f" {_ratio(finding)}."
    )


def _doctor(finding: Finding) -> str:
    """Capitalises doctor's texts and ends them with a full stop."""
    text = "; ".join(fact.value for fact in finding.facts)
    return f"{text[:1].upper()}{text[1:]}."


def _throttled(finding: Finding) -> str:
    subject = f"{_who(finding).label}, {_place(finding).path}"
    slowed = "; ".join(f"{fact.name} in {fact.launches} {fact.value}" for fact in finding.facts)
    text = f"{subject}: launches were slowed: {slowed}."
    if not finding.evidence:
        return text
    figures = f"{_worse(finding)} in these launches against {_better(finding)} in the others"
    return f"{text} {_case(finding)}: {figures}."


def _tables(finding: Finding) -> str:
    quoted = "; ".join(fact.value for fact in finding.facts)
    return (
        f"{_who(finding).label} runs without a table that its tuning may need. It says: {quoted}."
    )


def _visible(finding: Finding) -> str:
    return f"Launches on several GPUs could see one: {_facts(finding, '=')}."


def _message(finding: Finding) -> str:
    parts, variables = _joined(finding, "part", ": "), _joined(finding, "variable", "=")
    text = f"{_subject(finding)}, of a message: {parts}."
    return f"{text} It is run with {variables}." if variables else text


def _joined(finding: Finding, role: str, between: str) -> str:
    """The facts with this role: `A=1; B=2`."""
    return "; ".join(
        f"{fact.name}{between}{fact.value}" for fact in finding.facts if fact.of == role
    )


def _without_cuda(finding: Finding) -> str:
    return (
        f"{_who(finding).label}: messages of device buffers work, and other operations crash:"
        f" {_facts(finding, ' (', end=')')}."
    )


SENTENCES: dict[FindingKind, Callable[[Finding], str]] = {
    "adapter": _adapter,
    "bidirectional": _bidirectional,
    "blocking": _blocking,
    "calls": _calls,
    "collectives": _collectives,
    "datatypes": _datatypes,
    "device_datatypes": _device_datatypes,
    "dip": _dip,
    "directions": _directions,
    "far": _far,
    "guidelines": _guidelines,
    "inherited": _inherited,
    "ipc": _ipc,
    "larger": _larger,
    "managed": _memory,
    "mps": _mps,
    "gpu_support": _gpu_support,
    "shared_gpu": _shared_gpu,
    "noncontiguous": _noncontiguous,
    "numa": _numa,
    "one_sided": _one_sided,
    "overlap": _overlap,
    "pageable": _memory,
    "parts": _parts,
    "peers": _peers,
    "reductions": _reductions,
    "registration": _registration,
    "settings": _settings,
    "settings_files": _doctor,
    "single_copy": _doctor,
    "staged": _staged,
    "throttled": _throttled,
    "tuning_tables": _tables,
    "visible_devices": _visible,
    "dma_buf": _message,
    "lookups": _message,
    "pointer_query": _message,
    "pieces": _message,
    "through_host": _message,
    "waits_for_gpu": _message,
    "yields": _message,
    "without_cuda": _without_cuda,
}


def _required(part: T | None) -> T:
    """A part that every finding of its rule has; ValueError if it is None."""
    if part is None:
        raise ValueError("a finding lacks what its rule gives")
    return part


def _who(finding: Finding) -> Who:
    return _required(finding.who)


def _place(finding: Finding) -> Place:
    return _required(finding.place)


def _other(finding: Finding) -> Alternative:
    return _required(finding.alternative)


def _cost(finding: Finding) -> Cost:
    return _required(finding.cost)


def _facts(finding: Finding, between: str = " ", end: str = "") -> str:
    """`UCX_TLS=tcp in 12 launches; ...`"""
    return "; ".join(
        f"{fact.name}{between}{fact.value}{end}"
        + (f" in {count(fact.launches, 'launch')}" if fact.launches else "")
        for fact in finding.facts
    )


def _subject(finding: Finding) -> str:
    return f"{_who(finding).label}, {_place(finding).path}, {_case(finding)}"


def _case(finding: Finding) -> str:
    """`latency D,D at 8 B (calls=blocking)`."""
    case = _required(finding.case)
    label = f"{case.figure} {case.buffers} at {size(case.x)}"
    axes = ", ".join(axes_words(finding.apart))
    return f"{label} ({axes})" if axes else label


def _evidence(finding: Finding, role: str, unit: str = "") -> Evidence:
    """The evidence with this role; `unit` selects one of two if it is given in both."""
    return next(
        evidence
        for evidence in finding.evidence
        if evidence.of == role and (not unit or evidence.unit == unit)
    )


def _worse(finding: Finding, unit: str = "") -> str:
    return _value(_evidence(finding, "own", unit))


def _better(finding: Finding) -> str:
    return _value(_evidence(finding, "alternative"))


def _value(evidence: Evidence) -> str:
    return f"{number(evidence.value)} {unit(evidence.unit)}"


def _ratio(finding: Finding) -> str:
    """`2.1 times (95 % interval 1.9 to 2.4, 12 blocks)`, or with a range `(1.9 to 2.4 in 6
    blocks)`; `6 of 9 blocks` if the tables show more blocks."""
    cost = _cost(finding)
    blocks = count(cost.blocks, "block")
    if cost.launches > cost.blocks:
        blocks = f"{cost.blocks} of {count(cost.launches, 'block')}"
    basis = resting(cost.ci95, cost.range, blocks)
    if cost.of_medians is not None:
        basis += (
            "; this is the median of the ratios within single blocks, the ratio of the two figures"
            f" is {number(cost.of_medians)}"
        )
    return f"{number(cost.ratio)} times ({basis})"


def _change(change: SettingChange) -> str:
    """`UCX_TLS=all in place of tcp`, `no UCX_TLS=tcp`."""
    if change.kind != "env":
        label = "flags" if change.kind == "flags" else "left out"
        return f"{label} {change.value or 'none'} in place of {change.instead or 'none'}"
    if change.value is None:
        return f"no {change.name}={change.instead}"
    text = f"{change.name}={change.value}"
    return text if change.instead is None else f"{text} in place of {change.instead}"
