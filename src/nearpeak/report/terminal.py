# SPDX-License-Identifier: Apache-2.0
"""A study in the terminal: its answer, and with --verbose all that it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.table import Table
from rich.text import Text

from nearpeak.console import PlainConsole
from nearpeak.document import model
from nearpeak.document.model import UNCONFIRMED
from nearpeak.document.terminal import (
    plain,
    print_block,
    print_document,
    print_rows,
    remainder,
    widened,
)
from nearpeak.numbers import count, size
from nearpeak.picture.measured import summed
from nearpeak.report import (
    applications,
    appraisals,
    findings,
    gpu_memory,
    imported,
    left_out,
    pairs,
    references,
    staged_or_aware,
    tables,
    wording,
)
from nearpeak.report.advice import advice
from nearpeak.report.beside import Published, beside, lines
from nearpeak.report.beside import tables as beside_tables
from nearpeak.report.digest import WIDTH, digest
from nearpeak.report.families import families
from nearpeak.report.headlines import Group, groups
from nearpeak.report.notices import notices
from nearpeak.report.picture import measured
from nearpeak.report.remarks import PAIRED
from nearpeak.results.order import figures
from nearpeak.results.results import Results
from nearpeak.terms.ratings import TIES

_SHOWN = 8  # lines of failures, of defects, ...; the page has all of them
_FINDINGS = 5


def print_study(
    results: Results,
    page: Path | None,
    *,
    study: Path = Path("DIR"),
    machines: Sequence[Published] = (),
    verbose: bool = False,
) -> None:
    """Prints the answer of a study, whose folder is `study`; with `verbose`, the details before it.

    `page`: the report that it points to, if one was written. `machines`: those whose published
    figures are compared with the study's.
    """
    if verbose:
        print_details(results, machines=machines, study=study)
    else:
        for machine in machines:
            _print_beside(results, machine, widened(None))
    print_document(digest(results, study), page, _console())
    _print_appraisals(results, None if verbose else appraisals.SHOWN)


def _print_appraisals(results: Results, most: int | None) -> None:
    """Prints the verdict on imported figures, which is the last of all."""
    console = PlainConsole()
    for block in appraisals.blocks(results, most):
        console.print()
        print_block(block, console)


def _console() -> PlainConsole:
    """A console that folds the answer in a file, too, where lines have no width of their own."""
    console = PlainConsole()
    return PlainConsole(width=WIDTH) if console.soft_wrap else console


def print_details(
    results: Results,
    console: PlainConsole | None = None,
    machines: Sequence[Published] = (),
    study: Path = Path("DIR"),
) -> None:
    """Prints the tables, what stands out, and the notices. `machines`, `study`: as above."""
    console = widened(console)
    console.print(plain(_study(results), "bold"))
    if text := wording.conditions(results):
        console.print(plain(text, "bold red"))
    _print_links(results, console)
    console.print()
    table_groups = groups(results)
    for sentence in advice(results):
        console.print(plain(sentence))
    for group in table_groups:
        if group.place.pair:
            continue  # a matrix on the page, a line here
        console.print()
        held = f"  {group.place.held}" if group.place.held else ""
        console.print(Text.assemble(plain(group.title, "bold"), plain(held, "dim")))
        print_rows(tables.table_two([group], figures(results)), console)
    _print_families(results, console)
    _print_applications(results, console)
    for section in (references.table(results), imported.table(results)):
        _print_table(section, console)
    console.print()
    for line in _notes(results, table_groups):
        console.print(line)
    for machine in machines:
        _print_beside(results, machine, console)
    _print_left_out(results, console)
    for notice in reversed(notices(results, study)):  # the most serious is read last
        print_block(notice, console)


def _study(results: Results) -> str:
    failed = f"; {count(len(results.failures), 'launch')} failed" if results.failures else ""
    subject = wording.subject(results)
    return f"{subject[0].upper()}{subject[1:]}: {wording.ending(results)}{failed}"


def _print_links(results: Results, console: PlainConsole) -> None:
    """Prints the figures of the machine's diagram as a table: a row for each path."""
    rows = summed(measured(results))
    if not rows:
        return
    table = Table(
        box=None, pad_edge=False, padding=(0, 1), collapse_padding=True, show_header=False
    )
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)  # "inside NUMA node 0" is no place without its number
    table.add_column(justify="right", no_wrap=True)
    fits = max(len(row.figures) for row in rows) <= console.width - 52  # so that names fold
    table.add_column(overflow="fold", no_wrap=fits)
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        name, message_size = plain(f"{row.name}:"), plain(size(row.size_bytes))
        table.add_row(name, plain(row.ends), message_size, plain(row.figures), plain(row.share))
    console.print()
    console.print(table)
    caption = (
        "Rate in one direction at this size: the best library, and its fraction of the ceiling (the"
        " median over blocks, which may differ from the ratio of both figures)"
    )
    if any(row.tied for row in rows):
        caption += f"; {TIES.removesuffix('.')}"
    if any(row.path.transport == "local" for row in rows):
        caption += "; of memory, what a copy moves, with each byte counted once"
    console.print(plain(caption, "dim"))


def _print_families(results: Results, console: PlainConsole) -> None:
    """Prints the sentences of each family: fractions by place and library, and failures."""
    for family in families(results):
        console.print()
        console.print(plain(family.title, "bold"))
        for sentence in family.sentences[:_SHOWN]:
            console.print(plain(f"  {sentence}"))
        for line in remainder(len(family.sentences)):
            console.print(line)


def _print_applications(results: Results, console: PlainConsole) -> None:
    for section in applications.sections(results):
        print_block(replace(section.table, name=section.name, caption=""), console)
        for sentence in section.sentences[:_SHOWN]:
            console.print(plain(f"  {sentence}"))
        for line in remainder(len(section.sentences)):
            console.print(line)


def _notes(results: Results, table_groups: list[Group]) -> Iterator[Text]:
    yield plain(
        "Headings have the message size of the figures below. Ceiling: what the path carries"
        f" without MPI at that size. {tables.PLATEAU} [a, b]: 95 % interval. {PAIRED}",
        "dim",
    )
    if any(map(tables.has_bound, table_groups)):
        yield plain(tables.BOUND.strip(), "dim")
    if text := wording.windows(results):
        yield plain(text, "dim")
    for about in (wording.cached_plateaus, wording.cached_ceilings, wording.low_plateaus):
        if text := about(table_groups):
            yield plain(text, "dim")
    with_cells = {group.place for group in table_groups}
    for headline in wording.headlines(results, table_groups):
        measured = headline.place in with_cells
        sentences = [headline.first, headline.modes] if measured else headline.sentences
        for text in [*sentences, *headline.why]:
            if text:
                yield Text.assemble(plain(headline.place.path, "bold"), ": ", plain(text))
    for module in (gpu_memory, staged_or_aware, pairs):
        sentences = module.sentences(results)
        yield from map(plain, sentences[:_SHOWN])
        yield from remainder(len(sentences))
    yield from _findings(results)


def _findings(results: Results) -> Iterator[Text]:
    notable = wording.stands_out(results)
    if not notable:
        return
    yield plain("What stands out (what costs most time first):", "bold")
    for finding in notable[:_FINDINGS]:
        doubt = findings.doubt(finding)
        parts = [
            f"{UNCONFIRMED}:" if doubt else "",
            *(part(finding) for part in (findings.sentence, findings.lost, findings.advised)),
            doubt,
        ]
        yield plain(f"  {' '.join(filter(None, parts))}")
    yield from remainder(len(notable), _FINDINGS)


def _print_table(section: model.Table, console: PlainConsole) -> None:
    if section.groups:
        console.print()
        console.print(plain(section.title, "bold"))
        print_block(section, console)


def _print_left_out(results: Results, console: PlainConsole) -> None:
    section = left_out.table(results)
    if section.groups:
        console.print()
        console.print(plain(section.title, "bold"))
        print_rows(section, console)
        console.print(plain(section.caption, "dim"))


def _print_beside(results: Results, machine: Published, console: PlainConsole) -> None:
    """Prints both tables of a study next to those of one published machine."""
    comparison = beside(results, machine)
    console.print()
    console.print(plain(f"Beside {machine.id}", "bold"))
    for section in beside_tables(comparison):
        print_rows(section, console)
    for line in lines(comparison):
        console.print(plain(line, "dim"))
    console.print()
