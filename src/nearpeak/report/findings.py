# SPDX-License-Identifier: Apache-2.0
"""What stands out, in sentences made of the parts of a finding."""

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
    """Whose figure loses where, in what, against which: `openmpi, gpu-gpu nvlink, latency D,D at
    8 B: ...`."""
    return WORDS[finding.kind](finding)


def lost(finding: Finding) -> str:
    """`Each such operation loses 12.3 µs. 4 more cases lose in the same way, by smaller
    factors.`; of a message `That is some 12.3 µs of such a message.`"""
    cost = finding.cost
    if finding.message is not None:
        return _lost_of(finding.message, finding.sure)
    if cost is None:
        return ""
    more = cost.cases - 1
    words = [
        ""
        if finding.sure
        else f"Not certain: in {count(cost.blocks, 'block')} this may be chance.",
        _lost_by(finding, cost.lost_us) if cost.lost_us else "",
        f"{count(more, 'more case')} {'loses' if more == 1 else 'lose'} in the same way, by"
        " smaller factors."
        if more
        else "",
    ]
    return " ".join(filter(None, words))


def _lost_by(finding: Finding, us: float) -> str:
    if finding.kind != "dip":
        return f"Each such operation loses {number(us)} µs."
    there = size(_other(finding).case.x)
    return (
        f"With the gap that it has at {there}, each such operation would take {number(us)} µs less."
    )


def _lost_of(message: InMessage, sure: bool) -> str:
    doubt = (
        ""
        if sure
        else f"Not certain: {count(message.messages, 'message')} seen, {number(message.slower)}"
        " times as long under the microscope."
    )
    return f"{doubt} That is some {number(message.lost_us)} µs of such a message.".lstrip()


def advised(finding: Finding) -> str:
    """What to do about it, and what else that is good for."""
    with_it = "The same reason" if finding.message is None else "Seen with it"
    same = [f"{with_it}: {sentence(other)}" for other in finding.explains]
    return " ".join([remedied(finding), *same])


def remedied(finding: Finding) -> str:
    """What to do about it, what of that the study has measured, and what to try."""
    remedy = finding.remedy
    words = [remedy.text]
    if tried := remedy.tried:
        axes = ", ".join(axes_words(tried.axes))
        words.append(
            f"In this study {axes} has {number(tried.value)} {unit(tried.unit)},"
            f" {number(tried.ratio)} times as good in {count(tried.blocks, 'block')}."
        )
    if remedy.changes and not remedy.settings:
        words.append(f"To try: {', '.join(map(_named, remedy.changes))}.")
    if remedy.tune:
        words.append(f"To search for settings: `{remedy.tune}`.")
    return " ".join(words)


def _named(change: SettingChange) -> str:
    """`UCX_CUDA_COPY_DMABUF=n (no handles of device memory)`."""
    return f"{_change(change)} ({change.effect})"


def _blocking(finding: Finding) -> str:
    return (
        f"{_where(finding)}: one message at a time moves {_own(finding, 'GB/s')}"
        f" ({_own(finding, 'us')}), {_of(finding, 'alternative').window} in flight move"
        f" {_better(finding)} ({_other(finding).case.figure}): {_ratio(finding)} as much. The"
        f" ceilings differ by"
        f" {number(_cost(finding).ceilings)} times."
    )


def _directions(finding: Finding) -> str:
    mine, theirs = (_of(finding, of) for of in ("own ceiling", "alternative ceiling"))
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} the other way"
        f" ({_other(finding).case.buffers}); a library can attain {_value(mine)} this way and"
        f" {_value(theirs)} the other way. By these this way could be better by {_ratio(finding)}."
    )


def _guidelines(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} of"
        f" {_other(finding).case.figure}, which does the same and more, {_ratio(finding)}."
    )


def _adapter(finding: Finding) -> str:
    return f"{_place(finding).path}: the adapter {_facts(finding)}."


def _bidirectional(finding: Finding) -> str:
    one, both = _of(finding, "alternative ceiling"), _of(finding, "own ceiling")
    return (
        f"{_where(finding)}: both ways at once move {_own(finding)}, one way alone moves"
        f" {_better(finding)} ({_other(finding).case.figure} {_other(finding).case.buffers}); a"
        f" library can attain {_value(both)} both ways, {_value(one)} one way. By these both ways"
        f" could move {_ratio(finding)} as much."
    )


def _calls(finding: Finding) -> str:
    calls = [case.axes[CALLS] for case in (_known(finding.case), _other(finding).case)]
    return (
        f"{_where(finding)}: {_own(finding)} by {calls[0]} calls against {_better(finding)} by"
        f" {calls[1]} ones, {_ratio(finding)}."
    )


def _collectives(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} on the host"
        f" ({_other(finding).place.path}): {_ratio(finding)} as long as there with the copies to"
        " the host and back."
    )


def _datatypes(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} with the datatype against {_better(finding)} with its"
        f" blocks gathered before ({PACK}={_other(finding).case.axes[PACK]}), {_ratio(finding)}."
    )


def _device_datatypes(finding: Finding) -> str:
    return (
        f"{_who(finding).label}: launches ended where MPI gathers blocks of device memory:"
        f" {_facts(finding, ': ')}."
    )


def _dip(finding: Finding) -> str:
    own, other = _of(finding, "own ceiling"), _of(finding, "alternative ceiling")
    here, there = size(_known(finding.case).x), size(_other(finding).case.x)
    return (
        f"{_where(finding)}: {_own(finding)}, and at {here} a library can attain {_value(own)},"
        f" {_gap(_of(finding, 'own'), own)} times as good. At {there} it has"
        f" {_better(finding)} and can attain {_value(other)},"
        f" {_gap(_of(finding, 'alternative'), other)} times as good. Block by block, the gap at"
        f" {here} is {_ratio(finding)} that at {there}. It is larger than the gap at the next size"
        " on its other side, too."
    )


def _gap(figure: Evidence, ceiling: Evidence) -> str:
    """How many times as good a ceiling is."""
    ratio = figure.value / ceiling.value
    return number(ratio if figure.unit == "us" else 1 / ratio)


def _far(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} on"
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
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} at"
        f" {size(_other(finding).case.x)}, {_ratio(finding)}."
    )


def _memory(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} with"
        f" {_other(finding).case.buffers}, {_ratio(finding)}."
    )


def _noncontiguous(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)}; messages of as many bytes that lie together"
        f" ({_other(finding).case.figure}) take {_better(finding)}. What of the difference is lost,"
        " and what anybody needs to gather and scatter the blocks, was not measured."
    )


def _one_sided(finding: Finding) -> str:
    messages = "messages of as many bytes"
    if _of(finding, "own").unit == "us":
        messages = "a message of as many bytes there and one back"
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} of"
        f" {_other(finding).case.figure}, {messages}, {_ratio(finding)}."
    )


def _numa(finding: Finding) -> str:
    return f"{_place(finding).path}: ranks were not where they should be: {_facts(finding, ': ')}."


def _overlap(finding: Finding) -> str:
    return (
        f"{_where(finding)}: beside a computation that takes about as long, both take"
        f" {number(_of(finding, 'own').value)} times as long as the longer one alone. How much this"
        " path could hide was not measured."
    )


def _parts(finding: Finding) -> str:
    whole, part = _known(finding.case).x, _other(finding).case.x
    parts = count(whole // part, "message") if _of(finding, "own").unit == "us" else "messages"
    return (
        f"{_where(finding)}: {_own(finding)} against {_better(finding)} of {parts} of {size(part)},"
        f" {_ratio(finding)}."
    )


def _peers(finding: Finding) -> str:
    return f"GPUs are joined by a link, but one cannot reach the other's memory: {_facts(finding)}."


def _registration(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)} with another buffer for each message against"
        f" {_better(finding)} with the same ones, {_ratio(finding)}."
    )


def _mps(finding: Finding) -> str:
    better = _other(finding).place
    ways = ("under MPS", "without") if better.mps else ("without MPS", "under it")
    without = _place(finding) if better.mps else better
    return (
        f"{_who(finding).label}, {without.path}, {_case(finding)}: {_better(finding)} {ways[0]}"
        f" against {_own(finding)} {ways[1]}, {_ratio(finding)}."
    )


def _shared_gpu(finding: Finding) -> str:
    return (
        f"{_who(finding).label}, {_other(finding).place.path}, {_case(finding)}: {_better(finding)}"
        f" where the host's rank holds a GPU of its own against {_own(finding)} where both ranks"
        f" hold the same one, time-sliced, {_ratio(finding)}."
    )


def _gpu_support(finding: Finding) -> str:
    return (
        f"{_who(finding).label}, {_other(finding).place.path}, {_case(finding)}: {_own(finding)}"
        f" with the library's GPU support on against {_better(finding)} with it off,"
        f" {_ratio(finding)}."
    )


def _reductions(finding: Finding) -> str:
    return (
        f"{_where(finding)}: {_own(finding)}; {_other(finding).case.figure} moves the same number"
        f" of bytes in {_better(finding)}, but adds nothing."
    )


def _settings(finding: Finding) -> str:
    changes = ", ".join(map(_change, finding.remedy.changes))
    who = _who(finding)
    return (
        f"{who.library}, {_place(finding).path}, {_case(finding)}: {_better(finding)} with"
        f" the settings {_other(finding).who.settings} against {_own(finding)} with"
        f" {who.settings}, {_ratio(finding)};"
        f" the difference: {changes or 'none that the plan knows'}."
    )


def _staged(finding: Finding) -> str:
    other = _other(finding)
    return (
        f"{_where(finding)}: {_own(finding)} by the library's own way against"
        f" {_better(finding)} with {other.who.label} {staged(other.case.axes[STAGING])},"
        f" {_ratio(finding)}."
    )


def _doctor(finding: Finding) -> str:
    """What doctor said is a sentence but for how it begins and ends."""
    words = "; ".join(fact.value for fact in finding.facts)
    return f"{words[:1].upper()}{words[1:]}."


def _throttled(finding: Finding) -> str:
    where = f"{_who(finding).label}, {_place(finding).path}"
    slowed = "; ".join(f"{fact.name} in {fact.launches} {fact.value}" for fact in finding.facts)
    words = f"{where}: launches were slowed: {slowed}."
    if not finding.evidence:
        return words
    figures = f"{_own(finding)} in these launches against {_better(finding)} in the others"
    return f"{words} {_case(finding)}: {figures}."


def _tables(finding: Finding) -> str:
    said = "; ".join(fact.value for fact in finding.facts)
    return f"{_who(finding).label} runs without a table that its tuning may need. It says: {said}."


def _visible(finding: Finding) -> str:
    return f"Launches on several GPUs could see one: {_facts(finding, '=')}."


def _message(finding: Finding) -> str:
    parts, variables = (
        "; ".join(f"{fact.name}{between}{fact.value}" for fact in finding.facts if fact.of == of)
        for of, between in (("part", ": "), ("variable", "="))
    )
    words = f"{_where(finding)}, of a message: {parts}."
    return f"{words} It is run with {variables}." if variables else words


def _without_cuda(finding: Finding) -> str:
    return (
        f"{_who(finding).label}: messages of device buffers work, and other operations crash:"
        f" {_facts(finding, ' (', end=')')}."
    )


WORDS: dict[FindingKind, Callable[[Finding], str]] = {
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


def _known(part: T | None) -> T:
    """A part that all findings of such a rule have; ValueError without it."""
    if part is None:
        raise ValueError("a finding lacks what its rule gives")
    return part


def _who(finding: Finding) -> Who:
    return _known(finding.who)


def _place(finding: Finding) -> Place:
    return _known(finding.place)


def _other(finding: Finding) -> Alternative:
    return _known(finding.alternative)


def _cost(finding: Finding) -> Cost:
    return _known(finding.cost)


def _facts(finding: Finding, between: str = " ", end: str = "") -> str:
    """`UCX_TLS=tcp in 12 launches; ...`"""
    return "; ".join(
        f"{fact.name}{between}{fact.value}{end}"
        + (f" in {count(fact.launches, 'launch')}" if fact.launches else "")
        for fact in finding.facts
    )


def _where(finding: Finding) -> str:
    return f"{_who(finding).label}, {_place(finding).path}, {_case(finding)}"


def _case(finding: Finding) -> str:
    """`latency D,D at 8 B (calls=blocking)`."""
    case = _known(finding.case)
    words = f"{case.figure} {case.buffers} at {size(case.x)}"
    axes = ", ".join(axes_words(finding.apart))
    return f"{words} ({axes})" if axes else words


def _of(finding: Finding, of: str, unit: str = "") -> Evidence:
    """The evidence of it; where it stands there in two units, in this one."""
    return next(
        evidence
        for evidence in finding.evidence
        if evidence.of == of and (not unit or evidence.unit == unit)
    )


def _own(finding: Finding, unit: str = "") -> str:
    return _value(_of(finding, "own", unit))


def _better(finding: Finding) -> str:
    return _value(_of(finding, "alternative"))


def _value(evidence: Evidence) -> str:
    return f"{number(evidence.value)} {unit(evidence.unit)}"


def _ratio(finding: Finding) -> str:
    """`2.1 times (95 % interval 1.9 to 2.4, 12 blocks)`, or of a range `(1.9 to 2.4 in 6 blocks)`;
    `6 of 9 blocks` where tables are of more."""
    cost = _cost(finding)
    blocks = count(cost.blocks, "block")
    if cost.launches > cost.blocks:
        blocks = f"{cost.blocks} of {count(cost.launches, 'block')}"
    words = resting(cost.ci95, cost.range, blocks)
    if cost.of_medians is not None:
        words += (
            "; this is the median of the ratios within single blocks, the ratio of the two figures"
            f" is {number(cost.of_medians)}"
        )
    return f"{number(cost.ratio)} times ({words})"


def _change(change: SettingChange) -> str:
    """`UCX_TLS=all in place of tcp`, `no UCX_TLS=tcp`."""
    if change.kind != "env":
        what = "flags" if change.kind == "flags" else "left out"
        return f"{what} {change.value or 'none'} in place of {change.instead or 'none'}"
    if change.value is None:
        return f"no {change.name}={change.instead}"
    words = f"{change.name}={change.value}"
    return words if change.instead is None else f"{words} in place of {change.instead}"
