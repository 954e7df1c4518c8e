# SPDX-License-Identifier: Apache-2.0
"""Cards: what a study found that costs most, each in two lines with its evidence below."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nearpeak.document.model import Code, Findings
from nearpeak.document.model import Finding as Card
from nearpeak.grouping import present
from nearpeak.journal import resume_study
from nearpeak.numbers import agreeing, count, listed, number, percent, size, unit
from nearpeak.numbers import alike as same
from nearpeak.observations.explained import ExplainedCase
from nearpeak.report import findings, ties
from nearpeak.report.advice import sentence as advised
from nearpeak.report.alternatives import better_library, better_path, figure_of
from nearpeak.results import methods
from nearpeak.results.names import case, short
from nearpeak.results.results import Advice, AdviceKind, Cell, Finding, Headline, Results
from nearpeak.statistics.comparisons import better_by
from nearpeak.statistics.levels import FEWEST_FOR_INTERVAL
from nearpeak.terms.axes import STAGING, staging
from nearpeak.terms.commands import explaining, running
from nearpeak.terms.identity import Case, Place, Who
from nearpeak.terms.ratings import GOOD

MOST = 3
DATATYPES, BY_KERNEL = "datatype", "--pack kernel"  # a family, and a way to send its messages
PAIR = 2  # ranks that `nearpeak explain` follows
SMALL_BYTES = 8 << 10  # up to which messages cost latency, not bandwidth
NOT_THE_PATH = "software or settings"  # the origin of a loss where the path sustains more
OF_LIBRARY = ("software", "settings")  # origins of losses that another library may not have


Subject = tuple[Place | None, str, bool]  # with the buffers, and whether messages are small


def cards(
    results: Results, folder: Path, poor: Sequence[Headline] = (), worst: Cell | None = None
) -> Findings:
    """The findings that cost most, one for each rule and each library, path and buffers; without
    any, the advice. `folder`: the study's, which commands name; `poor`: figures far from their
    ceilings, the furthest first. Of those without a finding the first has a card in any case,
    unless it is unconfirmed and a finding is not; the others where there is room. Of those that are
    as good as a library can attain, one has a card that says so, where there is room. `worst`: the
    operation furthest from its bound, with a card where there is room."""
    costly = _costly(results)[:MOST]
    if costly:
        shown = [_subject_of(finding.place, finding.case) for finding, _ in costly]
        made = [_with_messages(results, finding, others) for finding, others in costly]
    else:
        shown = [_subject_of(given.place, given.case) for given in results.advice]
        made = present(_advised(results, given, folder) for given in results.advice)
    missing = [head for head in poor if _subject_of(head.place, head.case) not in shown]
    bad = [head for head in missing if not _attained(results, head)]
    good = [head for head in missing if _attained(results, head)][:1]
    certain = all(not one.doubt for one in made[MOST - 1 :])
    displaces = bad and (bad[0].fraction_ci95 is not None or not certain)
    kept = made[: MOST - 1] if displaces else made[:MOST]
    room = MOST - len(kept)
    far = [_of_figure(results, head) for head in [*bad, *good][:room]]
    if worst and len(far) < room:
        far.append(_of_bound(results, worst))
    return Findings([*kept, *far], _title(bool(costly), far, worst))


def _title(costly: bool, far: Sequence[Card], worst: Cell | None) -> str:
    """The order of the cards: findings by their cost, then figures by their shares."""
    parts = [
        "costliest first" if costly else "",
        f"furthest from {'a bound' if worst else 'a ceiling'}" if far else "",
    ]
    text = ", then ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}:" if text else ""


def _of_bound(results: Results, cell: Cell) -> Card:
    """The card of an operation that is far from the bound of its benchmark."""
    who, place, case_ = cell.who, cell.place, cell.case
    family = next(one.family for one in results.benchmarks if one.name == case_.benchmark)
    bound = f"; bound: {number(cell.ceiling.value)} {unit(cell.unit)}" if cell.ceiling else ""
    value = f"{number(cell.median)} {unit(cell.unit)}{bound} ({percent(cell.fraction)} %)"
    few = cell.fraction_ci95 is None
    plain = Card(
        f"{who.label}, {place.path}: {short(case_, results.benchmarks)}: {value}",
        doubt=_too_few(cell.fraction_blocks or cell.launches) if few else "",
        reason=findings.FEW if few else "",
    )
    if family == DATATYPES and _usual(who, place, case_):
        return replace(
            plain,
            action="Gather the data in the application, if this is faster:",
            command=f"{running(who.label, place, case_)} {BY_KERNEL}",
            origin="software",
        )
    command = _explaining(who, place, case_)
    action = "Even the best operation may be far from a bound."
    return replace(
        plain,
        action=f"{action} See why:" if command else action,
        command=command,
    )


def _attained(results: Results, head: Headline) -> bool:
    """True if a figure far from its ceiling is near what a library can attain."""
    cell = figure_of(results, head.best, head.place, head.case)
    return bool(cell and head.attainable and (cell.fraction_attainable or 0.0) >= GOOD)


def _subject_of(place: Place | None, case_: Case | None) -> Subject:
    if case_ is None:
        return place, "", False
    return place, case_.buffers, case_.x <= SMALL_BYTES


def _with_messages(results: Results, finding: Finding, others: Sequence[str]) -> Card:
    """The card of a finding, with the `others` that lose in the same way, and its messages."""
    plain = card(finding, results, others)
    return replace(plain, evidence=[*plain.evidence, *_in_messages(results, finding)])


def _advised(results: Results, given: Advice, folder: Path) -> Card | None:
    """The card of an advice; None for those that the answer or other cards have."""
    make = ADVISED.get(given.kind)
    return make(results, given, folder) if make else None


def _of_path(results: Results, given: Advice, _: Path) -> Card:
    peak = next(peak for peak in results.peaks if (peak.place, peak.case) == _key(given))
    return Card(
        f"{peak.place.path} carries {percent(peak.of_theoretical)} % of its theoretical"
        f" {number(peak.theoretical_gbs)} GB/s without MPI",
        "Check it:",
        "nearpeak machine --check",
        origin="hardware",
        evidence=[advised(results, given)],
    )


def _of_launches(results: Results, given: Advice, folder: Path) -> Card:
    text = "Launches are too few for intervals and verdicts"
    if results.loaded:
        return Card(text, "Measure again, into another folder, when the machine is idle.")
    return Card(text, "Add some:", resume_study(folder, "--launches", str(given.launches)))


def _of_near(results: Results, given: Advice, _: Path) -> Card:
    return Card("Nothing to do", advised(results, given))


def _of_open(results: Results, given: Advice, _: Path) -> Card:
    low, high = given.fraction_ci95 or (0.0, 0.0)
    when = "when the machine is idle" if results.loaded else "with more launches"
    return Card(
        f"{_subject(given)}: launches scatter, {percent(low)} to {percent(high)} % of the ceiling",
        f"Measure again {when}.",
        evidence=[advised(results, given)],
    )


def _of_far(results: Results, given: Advice, _: Path) -> Card | None:
    head = next((row for row in results.headlines if (row.place, row.case) == _key(given)), None)
    if head is None:
        return None
    plain = _of_figure(results, head)
    return replace(plain, evidence=[*plain.evidence, advised(results, given)])


def _of_figure(results: Results, head: Headline) -> Card:
    """The card of the best figure of a path that is far from its ceiling."""
    name = head.best.label if head.best else "the best library"
    reason, doubt = _doubt_of_figure(results, head)
    who, value = ties.reached(results, head)
    where = f"{who}, {head.place.path}" if who else head.place.path
    share = _share(head, ties.alike(results, head))
    plain = Card(
        f"{where}: {short(head.case, results.benchmarks)}: {value}, {share}",
        doubt=doubt,
        reason=reason,
    )
    if head.ceiling and head.attainable and _attained(results, head):
        return replace(plain, action=_nothing_to_do(head, name))
    command = _explaining(head.best, head.place, head.case)
    if elsewhere := better_path(results, head):
        return replace(plain, action=elsewhere, origin="placement", further=_why(command))
    towards = "See why:" if command else "Search for settings with `nearpeak tune`."
    return replace(
        plain,
        action=f"The path sustains more. {towards}",
        command=command,
        origin=NOT_THE_PATH,
    )


def _nothing_to_do(head: Headline, name: str) -> str:
    """Says what the ceiling takes, what other methods reach without MPI, and how near the library
    comes to that."""
    if head.ceiling is None or head.attainable is None or not head.value:
        return ""
    other, value = head.attainable.value, head.value
    near = (
        f"; {name} is faster"
        if better_by(value, other, head.better) > 1
        else f", {name} {percent(better_by(value, other, head.better))} % of that"
    )
    return (
        f"Nothing to do: only {methods.describe(head.ceiling.method)} reaches"
        f" {number(head.ceiling.value)} {unit(head.unit)}. Other methods without MPI reach"
        f" {number(other)}{near}."
    )


def _doubt_of_figure(results: Results, head: Headline) -> tuple[str, str]:
    """The reason why a figure is unconfirmed, in two words and as a sentence; else empty."""
    cell = figure_of(results, head.best, head.place, head.case)
    if head.fraction_ci95:
        return "", ""
    if cell is None or cell.launches < FEWEST_FOR_INTERVAL:
        return findings.FEW, _too_few(cell.launches if cell else 0)
    launches = count(cell.fraction_blocks, "launch")
    return findings.FEW, f"Only {launches} had its CPUs as far apart as its ceiling."


def _too_few(launches: int) -> str:
    """`4 launches are too few for an interval.`"""
    few = count(launches, "launch") if launches else "Few launches"
    return f"{few} {agreeing(launches, 'is', 'are')} too few for an interval."


def _why(command: str) -> Code | None:
    """`See why: COMMAND`, for the page; None without a command."""
    return Code(command, "See why:", medium="page") if command else None


def _share(head: Headline, alike: Sequence[Cell]) -> str:
    """`17.0 % of the ceiling`; of a time `2.81 without MPI (54.1x)`, where that says the same as
    the share. `alike`: all libraries, if they have the figure in common."""
    share = f"{'up to ' if alike else ''}{percent(head.fraction)} % of the ceiling"
    if head.better == "higher" or head.ceiling is None or not head.fraction:
        return share
    times = (head.value or 0.0) / head.ceiling.value
    if alike or not same(times, 1 / head.fraction):  # the share is the median of launches' shares
        return share
    return f"{number(head.ceiling.value)} without MPI ({number(times)}x)"


ADVISED: dict[AdviceKind, Callable[[Results, Advice, Path], Card | None]] = {
    "path": _of_path,
    "launches": _of_launches,
    "near": _of_near,
    "open": _of_open,
    "far": _of_far,
}


def _subject(given: Advice) -> str:
    path = given.place.path if given.place else ""
    return f"{path}, {case(given.case)} at {size(given.case.x)}" if given.case else path


def _in_messages(results: Results, finding: Finding) -> Iterator[str]:
    """Yields where the time of the messages goes that were explained for this library and path."""
    buffers = finding.case.buffers if finding.case else ""
    of_finding = (finding.who, finding.place and finding.place.path, buffers)
    for explanation in results.explanations:
        if (explanation.who, explanation.path, explanation.buffers) == of_finding:
            yield from map(_parts, explanation.cases)


def _parts(case: ExplainedCase) -> str:
    """`Of 11.1 µs at 64 KiB: 74.4 % process_vm_readv of 4,096 B by rank 1, ...`."""
    shares = [
        f"{percent(part.time_us / budget.time_us)} % {part.label} by rank {part.rank}"
        for budget in case.budgets[:1]
        for part in sorted(budget.parts, key=lambda part: -part.time_us)[:MOST]
    ]
    return f"Of {number(case.value)} µs at {size(case.size_bytes)}: {', '.join(shares)}."


def _explain(finding: Finding) -> str:
    """The command that says where the time of such messages goes; empty if there is none."""
    if finding.message or finding.cost is None or finding.remedy.settings:
        return ""
    if not (finding.place and finding.case) or not finding.apart.keys() <= {STAGING}:
        return ""
    return _explaining(finding.who, finding.place, finding.case)


def _explaining(who: Who | None, place: Place, case_: Case) -> str:
    """The command that explains such messages; empty if `nearpeak explain` cannot launch them."""
    if who is None or not _usual(who, place, case_) or len(place.ends) != PAIR:
        return ""
    return explaining(who.label, place, case_)


def _usual(who: Who, place: Place, case_: Case) -> bool:
    """True if a command that names no settings, staging and hosts launches such messages."""
    return who.settings == Who("").settings and staging(case_.axes) is None and place.hosts == 1


def _key(given: Advice) -> tuple[Place | None, Case | None]:
    return given.place, given.case


def _costly(results: Results) -> list[tuple[Finding, list[str]]]:
    """The findings that lose time, and those that counters of links prove, one for each library,
    path and buffers, and for each rule, path and buffers; with the other libraries that lose in
    the same way there."""
    costly = [finding for finding in results.findings if finding.weighted_us or _proven(finding)]
    chosen: list[Finding] = []
    seen: set[object] = set()
    for finding in costly:
        keys = {(finding.who, *_where(finding)), (finding.kind, *_where(finding))}
        if not keys & seen:
            seen |= keys
            chosen.append(finding)
    return [(finding, _others(finding, costly)) for finding in chosen]


def _proven(finding: Finding) -> bool:
    """True if all launches counted bytes on links that they should not take, or not on others."""
    return finding.sure and any(fact.of == "counted" for fact in finding.facts)


def _where(finding: Finding) -> tuple[Place | None, str]:
    return finding.place, finding.case.buffers if finding.case else ""


def _others(finding: Finding, costly: Sequence[Finding]) -> list[str]:
    """The other libraries with a loss by the same rule, in the same benchmark, path and buffers."""
    alike = [
        other.who.label
        for other in costly
        if other.who and other.who != finding.who and _loss(other) == _loss(finding)
    ]
    return list(dict.fromkeys(alike))


def _loss(finding: Finding) -> tuple[object, ...]:
    return finding.kind, finding.case and finding.case.figure, *_where(finding)


def card(finding: Finding, results: Results, others: Sequence[str] = ()) -> Card:
    """The card of a finding: the library that is better there, and a command that searches for
    settings; without them a command that shows the reason. `others`: libraries that lose in the
    same way."""
    rule = findings.rule_of(finding)
    cell = figure_of(results, finding.who, finding.place, finding.case) if finding.message else None
    text = findings.headline(finding, results.benchmarks, _figure(finding, cell) if cell else "")
    better = better_library(results, finding, text) if rule.origin in OF_LIBRARY else ""
    advice = [better] if better else [findings.action(finding), _price(results, finding)]
    plain = Card(
        text=text,
        action=" ".join(filter(None, [*advice, _same(others, better), _certainty(finding, cell)])),
        origin="software" if better else rule.origin,
        further=_command(finding, besides=bool(better)),
        evidence=[findings.sentence(finding), findings.lost(finding), findings.advised(finding)],
        sources=[(source.text, source.address) for source in finding.sources],
    )
    further = plain.further
    first = further is not None and further.medium == "details" and not better
    return _doubted(plain.with_further if first else plain, finding, cell)


def _command(finding: Finding, *, besides: bool) -> Code | None:
    """The command that searches for settings, else the one that shows the reason, else, for the
    page, the one that measures the case again; None without. `besides`: another library is
    advised."""
    if tune := finding.remedy.tune:
        title = "Or search for settings:" if besides else "Search for settings:"
        return Code(tune, title, medium="details")
    if explain := _explain(finding):
        return Code(explain, "See why:", medium="page" if besides else "details")
    who, place, case_ = finding.who, finding.place, finding.case
    plain = finding.apart.keys() <= {STAGING}
    if who and place and case_ and plain and _usual(who, place, case_):
        return Code(running(who.label, place, case_), "Measure it again:", medium="page")
    return None


def _same(others: Sequence[str], advice: str) -> str:
    """`intel has the same loss.`: the other libraries, but for one that is advised."""
    names = [name for name in others if not advice.startswith(f"Use {name}:")]
    have = agreeing(len(names), "has", "have")
    return f"{listed(names)} {have} the same loss." if names else ""


def _figure(finding: Finding, cell: Cell) -> str:
    """`9140 µs (confirmed)`, of messages such as the traced one, whose cause is not."""
    confirmed = " (confirmed)" if cell.ci95 and not finding.sure else ""
    return f"{number(cell.median)} {unit(cell.unit)}{confirmed}"


def _certainty(finding: Finding, cell: Cell | None) -> str:
    """`Cause seen in 1 message.`: of a figure that is confirmed, as the traced messages are too few
    to confirm the cause."""
    if finding.sure or cell is None or cell.ci95 is None:
        return ""
    return f"Cause seen in {findings.reason(finding)}."


def _doubted(plain: Card, finding: Finding, cell: Cell | None) -> Card:
    """The card with the doubt about its figure, and as evidence that about the cause of it."""
    doubt, reason = findings.doubt(finding), findings.reason(finding)
    if cell is None or not doubt:
        return replace(plain, doubt=doubt, reason=reason)
    evidence = [*plain.evidence, f"The cause is unconfirmed: {doubt}"]
    if cell.ci95:
        return replace(plain, evidence=evidence)
    return replace(plain, doubt=_too_few(cell.launches), reason=findings.FEW, evidence=evidence)


def _price(results: Results, finding: Finding) -> str:
    """`But bw H,D 16 KiB is then 2.29x slower.`: the case in which settings that a finding advises
    are worst against those that lose; empty without one."""
    who, settings = finding.who, finding.remedy.settings
    if who is None or settings is None:
        return ""
    turned = [
        (other.cost.ratio, other.case, other.place)
        for other in results.findings
        if other.who == Who(who.library, settings.name)
        and other.alternative
        and other.alternative.who == who
        and other.sure
        and other.cost
        and other.case
        and other.place
    ]
    if not turned:
        return ""
    ratio, worst, place = max(turned, key=lambda one: one[0])
    where = "" if place == finding.place else f" on {place.path}"
    return f"But {short(worst, results.benchmarks)}{where} is then {number(ratio)}x slower."
