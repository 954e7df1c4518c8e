# SPDX-License-Identifier: Apache-2.0
"""Studies of all pairs: what is drawn of each matrix, and which pair is slowest, in a sentence."""

from collections.abc import Iterator

from nearpeak.numbers import count, natural, number, percent, size, unit
from nearpeak.results.names import case
from nearpeak.results.results import PairFigure, PairMatrix, PairSource, Results
from nearpeak.statistics.levels import FEWEST_FOR_SIGN
from nearpeak.terms.identity import CEILING

Pair = tuple[str, ...]  # the names of both ends


def name(source: PairSource) -> str:
    """Whose figures these are."""
    return "measured ceiling" if source.who == CEILING else source.who.label


def ends(matrix: PairMatrix) -> tuple[list[str], list[str]]:
    """Of the rows and of the columns; the same ones where it is symmetric."""
    pairs = {figure.pair for source in matrix.sources for figure in source.figures}
    first, second = ({pair[end] for pair in pairs} for end in (0, 1))
    if matrix.symmetric:
        first = second = first | second
    return sorted(first, key=natural), sorted(second, key=natural)


def grid(matrix: PairMatrix, source: PairSource) -> list[list[PairFigure | None]]:
    """The figures of a source by row and column."""
    known = {figure.pair: figure for figure in source.figures}
    if matrix.symmetric:
        known = {figure.pair[::-1]: figure for figure in source.figures} | known
    rows, columns = ends(matrix)
    return [[known.get((row, column)) for column in columns] for row in rows]


def sentences(results: Results) -> list[str]:
    """The slowest pair of every matrix: first those that are proven, last those that cannot be, the
    slowest first."""
    told = [(matrix, source) for matrix in results.pairs for source in matrix.sources]
    told.sort(
        key=lambda pair: (not pair[1].sure, pair[1].blocks < FEWEST_FOR_SIGN, pair[1].fraction)
    )
    return [*_slow_gpus(told), *(_sentence(*pair) for pair in told)]


def _slow_gpus(told: list[tuple[PairMatrix, PairSource]]) -> Iterator[str]:
    for matrix, source in told:
        if source.slow_gpu is not None:
            yield (
                f"{_head(matrix, source)} GPU {source.slow_gpu} is slower than each other GPU: its"
                f" pairs reach {percent(source.slow_gpu_fraction)} % of what the median GPU's do."
            )


def _sentence(matrix: PairMatrix, source: PairSource) -> str:
    """Which pair is slowest, by a source, and its fraction of the median pair."""
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
        why = (
            f"not judged, as {count(source.blocks, 'block')} with all pairs"
            f" {'counts' if source.blocks == 1 else 'count'} and {FEWEST_FOR_SIGN} are needed"
        )
    else:
        why = "no pair is proven to be slower than all others"
    return f"{head} {why}; the slowest figure is {pair}'s, {values}."


def _head(matrix: PairMatrix, source: PairSource) -> str:
    at = f"{case(matrix.case)} at {size(matrix.case.x)}"
    return f"{matrix.kind} pairs, {at}, {name(source)}:"
