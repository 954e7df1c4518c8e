# SPDX-License-Identifier: Apache-2.0
"""Open MPI's file of rules: which algorithm a collective operation takes, by ranks and size.

The format is the one that Open MPI has read since version 3, and still reads beside JSON in 6
(ompi/mca/coll/tuned/coll_tuned_dynamic_file.c): numbers, with comments behind `#`. A communicator
takes the last table that is for no more ranks than it has, or else the first one, and a message the
last line that is from no more bytes than it has; a table must have a line from 0 bytes. Algorithm 0
is the library's own choice. A library built without debugging says nothing of a file that it cannot
read, and takes its own choice.
"""

from collections.abc import Sequence

import msgspec

OWN = 0  # of algorithms: the library's own choice
# coll_tuned_*_algorithm_chain_fanout, as it is where an algorithm is forced by its variable.
FAN = 4
LEGEND = "A line: from so many bytes, algorithm, fan of its chains, bytes of a part"


class Range(msgspec.Struct, kw_only=True, frozen=True):
    """From how many bytes on an operation is done how, until the next one."""

    first: int  # bytes, as the library counts them
    algorithm: int = OWN
    segment: int = 0  # bytes of the parts in which it sends; 0: whole
    words: str = "the library's own choice"


class Table(msgspec.Struct, kw_only=True, frozen=True):
    """Of one operation, for communicators of so many ranks."""

    name: str
    operation: int  # as the library counts them (tunables.Ruled)
    ranks: int
    ranges: list[Range]  # the first one from 0


def rules_text(tables: Sequence[Table], about: str) -> str:
    """The file, with a line above that says where it is from.

    One table for each operation: communicators of fewer and of more ranks keep the library's own
    choice, as what is not named does.
    """
    lines = [f"# {about}", f"# {LEGEND}", f"{len(tables)} # operations"]
    for table in tables:
        lines += [f"{table.operation} # {table.name}", "3 # tables, by ranks"]
        lines += _lines(0, [Range(first=0)])
        lines += _lines(table.ranks, table.ranges)
        lines += _lines(table.ranks + 1, [Range(first=0)])
    return "\n".join(lines) + "\n"


def _lines(ranks: int, ranges: Sequence[Range]) -> list[str]:
    """A table: its ranks, how many lines, and of each bytes, algorithm, fan and segment."""
    lines = [f"{ranks} {len(ranges)} # from so many ranks: lines"]
    for each in ranges:
        fan = 0 if each.algorithm == OWN else FAN
        lines.append(f"{each.first} {each.algorithm} {fan} {each.segment} # {each.words}")
    return lines
