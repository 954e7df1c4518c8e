# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: a sentence, a row for each path, and what costs most.

Terminal, page and Markdown show the same blocks; the rest of the report is their evidence.
"""

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from nearpeak.console import PlainConsole
from nearpeak.document.model import (
    Block,
    Document,
    Findings,
    Items,
    Notice,
    Prose,
    Row,
    Rows,
    Section,
    Table,
    continued,
)
from nearpeak.document.terminal import print_document
from nearpeak.journal import resume_study
from nearpeak.libraries.discover import LAYER
from nearpeak.numbers import listed
from nearpeak.report import applications, as_shipped, failures, imported, wording
from nearpeak.report.behind import far_behind
from nearpeak.report.cards import card, cards
from nearpeak.report.conclusion import gap_texts, gaps, has_figures, links, sentence
from nearpeak.report.families import families, titles_of
from nearpeak.report.lines import Line, lines, poor, single
from nearpeak.report.notices import scopes
from nearpeak.report.path_table import path_table
from nearpeak.report.reached import furthest
from nearpeak.report.tables import table_one
from nearpeak.results.results import Results
from nearpeak.terms.buffers import WAYS

MOST_SENTENCES = 3
ENDS = "H,D: a host buffer at one end and a GPU buffer at the other, as osu_latency H D."
MOST_LINES, WIDTH = 25, 100  # of an answer on a terminal


def digest(results: Results, folder: Path = Path("DIR")) -> Document:
    """The answer as a document; `folder`: the study's, which commands name."""
    blocks = [
        *answer(results, folder, most=1),
        *paths(results),
        *legend(results),
        *actions(results, folder),
    ]
    return Document(
        title=f"Nearpeak {wording.subject(results)}",
        heading=f"How near to the peak does MPI run on {results.machine.hostname}?",
        byline=[],
        sections=[Section("", _with_layer(results, _said(results, fitted(blocks))))],
    )


def fitted(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of an answer, with what it has room for: the first of the details, the further
    commands of findings, the other details."""
    shown = list(blocks)
    details = [
        number
        for number, block in enumerate(blocks)
        if isinstance(block, Prose | Notice) and block.medium == "details"
    ]
    for number in details[:1]:
        shown = _if_room(shown, number, _without_medium(shown[number]))
    for number, block in enumerate(blocks):
        if isinstance(block, Findings):
            for place in range(len(block.findings)):
                shown = _if_room(shown, number, _with_further(shown[number], place))
    for number in details[1:]:
        shown = _if_room(shown, number, _without_medium(shown[number]))
    return shown


def _without_medium(block: Block) -> Block:
    return replace(block, medium="")


def _with_further(block: Block, place: int) -> Block:
    """The block with the further command of one finding."""
    if not isinstance(block, Findings):
        return block
    findings = list(block.findings)
    further = findings[place].further
    if further and further.medium == "details":
        findings[place] = findings[place].with_further
    return replace(block, findings=findings)


def _if_room(shown: list[Block], number: int, block: Block) -> list[Block]:
    """The blocks with another one in the place of one, if they are not too long then."""
    more = [*shown[:number], block, *shown[number + 1 :]]
    return more if _lines(more) <= MOST_LINES else shown


def _lines(blocks: Sequence[Block]) -> int:
    """The lines of an answer on a terminal, with that of the page."""
    text = io.StringIO()
    console = PlainConsole(file=text, width=WIDTH)
    print_document(Document("", "", [], [Section("", list(blocks))]), Path("page"), console)
    lines = text.getvalue().strip().splitlines()
    return sum(max(1, math.ceil(len(line) / WIDTH)) for line in lines)


def _said(results: Results, blocks: Sequence[Block]) -> list[Block]:
    """The blocks; if libraries are not as shipped and the notice of it has no room, a paragraph
    names what was set, instead of the paths with gaps where it must; another one says the rest."""
    said, hidden = list(blocks), (as_shipped.notice(results, most=1), "details")
    if not any(isinstance(one, Notice) and (one.text, one.medium) == hidden for one in blocks):
        return said
    lines = _lines(said)
    whole, *parts = as_shipped.briefs(results)
    for brief in (whole, *parts):
        for given in (said, *_without_paths(results, said)):
            for longer in _with_sentence(given, brief):
                if _lines(longer) > lines:
                    continue
                if brief in (whole, as_shipped.BRIEF):
                    return longer
                both = _with_sentence(longer, as_shipped.BRIEF)
                return next((text for text in both if _lines(text) <= lines), longer)
    return next(_with_sentence(said, whole), said)


def _without_paths(results: Results, blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yields the blocks with the gaps that do not name their paths."""
    named = Prose(gaps(results), tone="muted")
    for text in gap_texts(results, paths=False):
        bare = replace(named, text=text)
        yield [bare if block == named else block for block in blocks]


def _with_sentence(blocks: Sequence[Block], text: str) -> Iterator[list[Block]]:
    """Yields the blocks with a further sentence in one of the paragraphs that a terminal has above
    the table, the muted ones first."""
    above = list(takewhile(lambda block: not isinstance(block, Table), blocks))
    for tone in ("muted", ""):
        for number, block in enumerate(above):
            if isinstance(block, Prose) and (block.medium, block.tone) == ("", tone):
                longer = replace(block, text=f"{block.text} {text}")
                yield [*blocks[:number], longer, *blocks[number + 1 :]]


def answer(results: Results, folder: Path, most: int = as_shipped.MOST_NAMED) -> Iterator[Block]:
    """Yields the answer in a sentence or two, and what spoils it. `folder`: as for `digest`;
    `most`: variables that are named."""
    shown = lines(results)
    yield Prose(sentence(results, shown), strong=True)
    if missing := gaps(results):
        yield Prose(missing, tone="muted")
    if text := wording.conditions(results):
        yield Notice(text, tone="bad")
    if results.failure_kinds:
        yield Notice(_failed(results, folder), tone="bad", details="failures")
    if not results.complete:
        text = "This study is not complete. To continue it:"
        yield Notice(text, tone="note", command=resume_study(folder))
    yield from _details(results, shown, most)


def _details(results: Results, shown: Sequence[Line], most: int) -> Iterator[Block]:
    """Yields the parts of an answer that it can do without, the most important first, and the worst
    of the libraries that are far behind, which it cannot."""
    if rates := links(results, shown):
        yield Prose(rates, medium="details")
    for number, line in enumerate(far_behind(results, shown)):
        yield Prose(line, medium="details" if number else "")
    if text := as_shipped.notice(results, most):
        yield Notice(text, tone="note", details="stands-out", medium="details")


def legend(results: Results) -> Iterator[Block]:
    """Explains libraries with the layer, large messages that are faster one at a time than several
    in flight, and buffers of both ends."""
    shown = lines(results)
    layer = _layer(results)
    texts = [f"{layer} for GPU buffers."] if layer else []
    texts += [text for line in shown if (text := single(results, line))][:1]
    if any(line.group.buffers in WAYS for line in shown):
        texts.append(ENDS)
    if texts:
        yield Prose(" ".join(texts), tone="muted", medium="details")


def _layer(results: Results) -> str:
    """`mpich+layer: mpich with Nearpeak's layer`, of the first such library; empty without."""
    names = (library.name for library in results.libraries if library.name.endswith(LAYER))
    name = next(names, "")
    return f"{name}: {name.removesuffix(LAYER)} with Nearpeak's layer" if name else ""


def _with_layer(results: Results, blocks: Sequence[Block]) -> list[Block]:
    """The blocks; if a library has the layer and the legend that explains it has no room, the line
    above the findings does."""
    layer, hidden = _layer(results), [*legend(results)]
    if not layer or not any(block in hidden for block in blocks):
        return list(blocks)
    return [_explained(block, layer) if isinstance(block, Findings) else block for block in blocks]


def _explained(block: Findings, layer: str) -> Findings:
    title = f"{block.title.removesuffix(':')} ({layer}):"
    return replace(block, title=title) if block.title and len(title) <= WIDTH else block


def paths(results: Results, *, everywhere: bool = False) -> Iterator[Block]:
    """Yields a row for each path, or what else was measured; the size at which a library is
    furthest from the ceiling only where lines of `WIDTH` have room, or everywhere."""
    if shown := lines(results):
        with_least, without = path_table(shown, least=True), path_table(shown)
        fits = everywhere or _lines([with_least]) == _lines([without])
        yield with_least if fits else without
        if titles := _also(results):
            yield Prose(titles, tone="muted", medium="details")
    else:
        yield from _others(results)
    beside = imported.table(results)
    if beside.groups:
        yield replace(beside, name=beside.title.rstrip("."), caption="")
    if any(library.imported for library in results.libraries):
        yield from scopes(results)


def actions(results: Results, folder: Path) -> Iterator[Block]:
    """Yields what costs most."""
    shown = lines(results)
    with_shares = any(line.share is not None for line in shown)
    block = cards(results, folder, poor(shown), None if with_shares else furthest(results))
    if block.findings:
        yield block


def all_findings(results: Results) -> Findings:
    """Every finding, the costliest first."""
    return Findings([card(finding, results) for finding in results.findings])


def _others(results: Results) -> Iterator[Block]:
    """Yields what a study without messages measured: applications, families of operations, or
    what the paths carry without MPI."""
    for section in applications.sections(results):
        yield replace(_medians(section.table), head=section.name)
        yield Items(section.sentences, most=MOST_SENTENCES)
    for family in families(results):
        yield Items(family.sentences, family.title, most=MOST_SENTENCES)
    if not has_figures(results) and results.peaks:
        yield replace(table_one(results, results.peaks), title="", caption="")


def _also(results: Results) -> str:
    """Names what was measured besides messages; empty if nothing was."""
    titles = [*applications.names(results), *map(continued, titles_of(results))]
    return f"Also measured: {listed(titles)}." if titles else ""


def _medians(table: Table) -> Table:
    """A table of figures alone: without intervals, ranges, texts and caption."""
    groups = [Rows(group.title, [_median_row(row) for row in group.rows]) for group in table.groups]
    columns = [column for column in table.columns if column.figure]
    return replace(table, columns=columns, groups=groups, caption="", heads=True, compact=True)


def _median_row(row: Row) -> Row:
    values = {
        key: replace(value, ci95=None, range=None, notes=()) for key, value in row.values.items()
    }
    return replace(row, values=values)


def _failed(results: Results, folder: Path) -> str:
    """The launches that failed, with the first log if the folder has it: a copy has none."""
    logs = [kind.log for kind in results.failure_kinds if kind.log]
    where = next((f", see {folder / log}" for log in logs if (folder / log).is_file()), "")
    return f"{failures.by_library(results)}{where}."
