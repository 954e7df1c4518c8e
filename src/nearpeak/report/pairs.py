# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: the grid of each matrix, and a sentence about its slowest pair."""

from collections.abc import Iterator

from nearpeak.numbers import agreeing, count, natural, number, percent, size, unit
from nearpeak.results.names import case
from nearpeak.results.results import PairFigure, PairMatrix, PairSource, Results
from nearpeak.statistics.levels import FEWEST_FOR_SIGN
from nearpeak.terms.identity import CEILING

Pair = tuple[str, ...]  # the names of both ends


def name(source: PairSource) -> str:
    """The label of a source: a library or `measured ceiling`."""
    return "measured ceiling" if source.who == CEILING else source.who.label


def ends(matrix: PairMatrix) -> tuple[list[str], list[str]]:
    """The labels of the rows and of the columns; the same ones if the matrix is symmetric."""
    pairs = {figure.pair for source in matrix.sources for figure in source.figures}
    first, second = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    if matrix.symmetric:
        first = second = first | second
    return sorted(first, key=natural), sorted(second, key=natural)


def grid(matrix: PairMatrix, source: PairSource) -> list[list[PairFigure | None]]:
    """The figures of a source by row and column; None where none was measured."""
    figures = {figure.pair: figure for figure in source.figures}
    if matrix.symmetric:
        figures = {figure.pair[::-1]: figure for figure in source.figures} | figures
    rows, columns = ends(matrix)

    def in_row(row: str) -> list[PairFigure | None]:
        return [figures.get((row, column)) for column in columns]

    return list(map(in_row, rows))


def sentences(results: Results) -> list[str]:
    """The slowest pair of every matrix: the proven ones first, those with too few blocks last, and
    the slowest first within each kind."""
    by_source = [(matrix, source) for matrix in results.pairs for source in matrix.sources]
    by_source.sort(
        key=lambda pair: (not pair[1].sure, pair[1].blocks < FEWEST_FOR_SIGN, pair[1].fraction)
    )
    return [*_slow_gpus(by_source), *(_sentence(*pair) for pair in by_source)]


def _slow_gpus(by_source: list[tuple[PairMatrix, PairSource]]) -> Iterator[str]:
    for matrix, source in by_source:
        if source.slow_gpu is not None:
            yield (
                f"{_head(matrix, source)} GPU {source.slow_gpu} is slower than each other GPU: its"
                f" pairs reach {percent(source.slow_gpu_fraction)} % of what the median GPU's do."
            )


def _sentence(matrix: PairMatrix, source: PairSource) -> str:
    """The slowest pair of a source, with its fraction of the median pair."""
    slowest = next(figure for figure in source.figures if figure.pair == source.slowest)
    values = (
        f"{number(slowest.value)} {unit(matrix.unit)}, {percent(slowest.fraction)} % of the median"
        f" pair ({number(source.median)} {unit(matrix.unit)}, {len(source.figures)} pairs)"
    )
    head = _head(matrix, source)
    pair = "-".join(source.slowest)
    if source.sure:
        return f"{head} slowest is {pair} with {values}."
    if source.blocks < FEWEST_FOR_SIGN:
        reason = (
            f"not judged, as {count(source.blocks, 'block')} with all pairs"
            f" {agreeing(source.blocks, 'counts', 'count')} and {FEWEST_FOR_SIGN} are needed"
        )
    else:
        reason = "no pair is proven to be slower than all others"
    return f"{head} {reason}; the slowest figure is {pair}'s, {values}."


def _head(matrix: PairMatrix, source: PairSource) -> str:
    figure = f"{case(matrix.case)} at {size(matrix.case.x)}"
    return f"{matrix.kind} pairs, {figure}, {name(source)}:"
