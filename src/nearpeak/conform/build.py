# SPDX-License-Identifier: Apache-2.0
"""Builds conform.json from the records of a run."""

from collections.abc import Sequence

import msgspec

from nearpeak.conform.conformance import SCHEMA, Conformance, Tried
from nearpeak.conform.journal import BadlyEnded, Begin, Contended, Ended, Record
from nearpeak.grouping import grouped


def build(records: Sequence[Record]) -> Conformance:
    """Builds the report from all records so far; the last outcome of a case counts."""
    begin = records[0]
    assert isinstance(begin, Begin)
    others = [record for record in records if not isinstance(record, Begin)]
    of_library = grouped(others, lambda record: (record.library, record.settings))
    libraries = [*map(_tried, of_library.values())]
    return Conformance(
        schema=SCHEMA,
        nearpeak=begin.nearpeak,
        started=begin.started,
        host=begin.host,
        gpus=begin.gpus,
        driver=begin.driver,
        depth=begin.chosen.depth,
        path=begin.chosen.path,
        sizes=begin.chosen.sizes,
        complete=bool(libraries) and not any(library.left for library in libraries),
        memories=begin.memories,
        operations=begin.operations,
        libraries=libraries,
    )


def _tried(records: Sequence[Record]) -> Tried:
    """The outcomes of one library, by its last beginning."""
    begun = [record for record in records if isinstance(record, Contended)][-1]
    outcomes = [record.outcome for record in records if isinstance(record, Ended)]
    return Tried(
        **msgspec.structs.asdict(begun),
        outcomes=list({outcome.case: outcome for outcome in outcomes}.values()),
        bad_ends=[record.end for record in records if isinstance(record, BadlyEnded)],
    )


def to_json(conformance: Conformance) -> str:
    """Returns the text of conform.json."""
    return msgspec.json.format(msgspec.json.encode(conformance), indent=1).decode() + "\n"
