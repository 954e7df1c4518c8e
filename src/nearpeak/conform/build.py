# SPDX-License-Identifier: Apache-2.0
"""Builds conform.json from the records of a run."""

from collections.abc import Sequence

import msgspec

from nearpeak.conform.conformance import SCHEMA, Conformance, Tried
from nearpeak.conform.journal import BadlyEnded, Begin, Contended, Ended, Record


def build(records: Sequence[Record]) -> Conformance:
    """Builds the report from all records so far; the last outcome of a case counts."""
    begin = records[0]
    assert isinstance(begin, Begin)
    libraries: dict[tuple[str, str], Tried] = {}
    for record in records:
        if isinstance(record, Contended):
            key = record.library, record.settings
            before = libraries.get(key)
            libraries[key] = Tried(
                **msgspec.structs.asdict(record),
                outcomes=before.outcomes if before else [],
                bad_ends=before.bad_ends if before else [],
            )
        elif isinstance(record, Ended):
            libraries[record.library, record.settings].outcomes.append(record.outcome)
        elif isinstance(record, BadlyEnded):
            libraries[record.library, record.settings].bad_ends.append(record.end)
    for library in libraries.values():
        library.outcomes = list({outcome.case: outcome for outcome in library.outcomes}.values())
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
        complete=bool(libraries) and not any(library.left for library in libraries.values()),
        memories=begin.memories,
        operations=begin.operations,
        libraries=list(libraries.values()),
    )


def to_json(conformance: Conformance) -> str:
    """Returns the text of conform.json."""
    return msgspec.json.format(msgspec.json.encode(conformance), indent=1).decode() + "\n"
