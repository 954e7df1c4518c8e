# SPDX-License-Identifier: Apache-2.0
"""Open MPI's decision file: the algorithm of a collective operation, by ranks and size.

The format is the one that Open MPI has read since version 3, and still reads beside JSON in 6
(ompi/mca/coll/tuned/coll_tuned_dynamic_file.c): numbers, with comments behind `#`. A communicator
takes the last table that is for no more ranks than it has, or else the first one, and a message the
last line that is from no more bytes than it has; a table must have a line from 0 bytes. Algorithm 0
is the library's own choice. A library built without debugging silently takes its own choice if it
cannot read the file.
"""

from collections.abc import Sequence

import msgspec

from nearpeak.terms.private import FreeText, Public

OWN = 0  # of algorithms: the library's own choice
# coll_tuned_*_algorithm_chain_fanout, its value where a variable forces an algorithm.
FAN = 4
LEGEND = "A line: from so many bytes, algorithm, fan of its chains, bytes of a part"


class Range(msgspec.Struct, kw_only=True, frozen=True):
    """The algorithm of an operation from a number of bytes on, until the next range."""

    # bytes from which it holds, as the library counts them
    # (docs/methods/tune.md#decision-files-of-collective-operations)
    first: int
    algorithm: int = OWN  # its number in this version of the library; 0: the library's own choice
    segment: int = 0  # bytes of the parts in which it sends; 0: whole
    words: FreeText = "the library's own choice"  # the same in words


class Table(msgspec.Struct, kw_only=True, frozen=True):
    """The ranges of one operation, for communicators of `ranks` ranks."""

    name: Public  # a collective operation
    operation: int  # its number in the library
    ranks: int  # size of the communicators that it holds for; others keep the library's own choice
    ranges: list[Range]  # the first one from 0 bytes


def rules_text(tables: Sequence[Table], about: str) -> str:
    """The file, with `about` as its first line.

    It has tables for each operation. Communicators of fewer and of more ranks, and operations that
    it does not name, keep the library's own choice.
    """
    lines = [f"# {about}", f"# {LEGEND}", f"{len(tables)} # operations"]
    for table in tables:
        lines += [f"{table.operation} # {table.name}", "3 # tables, by ranks"]
        lines += _lines(0, [Range(first=0)])
        lines += _lines(table.ranks, table.ranges)
        lines += _lines(table.ranks + 1, [Range(first=0)])
    return "\n".join(lines) + "\n"


def _lines(ranks: int, ranges: Sequence[Range]) -> list[str]:
    """A table: ranks and number of lines; for each line bytes, algorithm, fan and segment."""
    lines = [f"{ranks} {len(ranges)} # from so many ranks: lines"]
    for row in ranges:
        fan = 0 if row.algorithm == OWN else FAN
        lines.append(f"{row.first} {row.algorithm} {fan} {row.segment} # {row.words}")
    return lines
