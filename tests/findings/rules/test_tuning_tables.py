# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Tables of its tuning that a library did not load. The words are those of Intel MPI 2021.19 and of
Open MPI 5.0.11."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nearpeak.observations.explained import Said

TABLES = "/opt/intel/opt/mpi/etc"
LOADED = f'[0] MPI startup(): Load tuning file: "{TABLES}/tuning_emr_shm.dat"'
GENERIC = f'[0] MPI startup(): Load tuning file: "{TABLES}/tuning_generic_shm.dat"'
# All tables taken away: it looks for others, too.
NONE = [
    GENERIC,
    f'[0] MPI startup(): File "{TABLES}/tuning_generic_shm.dat" not found',
    f'[0] MPI startup(): File "{TABLES}/generic_shm.json" not found',
    "[0] MPI startup(): Unable to read tuning file for ch4 level",
]
NAMED = [
    '[0] MPI startup(): Load tuning file: "/nowhere/tuning.dat"',
    '[0] MPI startup(): File "/nowhere/tuning.dat" not found',
    '[0] MPI startup(): Tuning file "/nowhere/tuning.dat" was not loaded! Load default tuning file:'
    f' "{TABLES}/tuning_generic_shm.dat"',
    "[0] MPI startup(): I_MPI_TUNING_BIN=/nowhere/tuning.dat",
]
EMPTY = [
    '[0] MPI startup(): Load tuning file: "/mine/tuning.dat"',
    '[0] MPI startup(): Tuning file "/mine/tuning.dat" was not loaded! Load default tuning file:'
    f' "{TABLES}/tuning_generic_shm.dat"',
]
JSON = [
    '[0] MPI startup(): File "/nowhere/x" not found',
    "[0] MPI startup(): I_MPI_TUNING=/nowhere/x",
]
HAN = [
    f"[host:{rank}] coll:han:mca_coll_han_init_dynamic_rules cannot open dynamic file provided by"
    " coll_han_dynamic_rules_filename=/nowhere/rules. Make sure it provides the  full path"
    for rank in (9327, 9326)
]
LACKS = "the tables of collectives for processors other than spr"


def asked(by_hand: Any, *lines: str, lacks: str = "", **other: Any) -> list[Any]:
    said = Said(size_bytes=8, asked="I_MPI_DEBUG=10", protocols=[], lines=list(lines))
    given = msgspec.structs.replace(by_hand.explained(), said=[said], command="mpirun x", **other)
    [library] = by_hand.EXPLAINED["libraries"]
    known = [replace(library, lacks=lacks)]
    found: list[Any] = by_hand.signs("tuning_tables", given, given, libraries=known)
    return found


@pytest.mark.parametrize(
    ("lines", "table", "words"),
    [
        (NONE, f"{TABLES}/tuning_generic_shm.dat", 'File "{}" not found'),
        (NAMED, "/nowhere/tuning.dat", 'File "{}" not found'),
        (EMPTY, "/mine/tuning.dat", 'Tuning file "{}" was not loaded'),
        (JSON, "/nowhere/x", 'File "{}" not found'),
        (
            HAN,
            "/nowhere/rules",
            "cannot open dynamic file provided by coll_han_dynamic_rules_filename={}",
        ),
    ],
)
def test_each_table_is_told_once_with_its_words(
    by_hand: Any, lines: list[str], table: str, words: str
) -> None:
    [found] = asked(by_hand, *lines)
    assert [(fact.name, fact.value) for fact in found.facts] == [(table, words.format(table))]
    assert found.command == "I_MPI_DEBUG=10 mpirun x"


def test_a_generic_table_is_told_of_a_library_that_lacks_others(by_hand: Any) -> None:
    [found] = asked(by_hand, GENERIC, lacks=LACKS)
    [fact] = found.facts
    assert fact.name == f"{TABLES}/tuning_generic_shm.dat"
    assert fact.value == f'Load tuning file: "{fact.name}" (it lacks {LACKS})'


@pytest.mark.parametrize(
    ("lines", "lacks"),
    [
        ([], ""),
        ([GENERIC], ""),  # as it is shipped: this processor has no table of its own
        ([LOADED], LACKS),
        (['[0] MPI startup(): File "/etc/other.conf" not found', LOADED], ""),
        (["[0] MPI startup(): tables of tuning: none, unheard-of words"], LACKS),
        (["[host:1] coll:han:init_query: pick me! pick me!"], ""),
    ],
)
def test_other_words_tell_nothing(by_hand: Any, lines: list[str], lacks: str) -> None:
    assert asked(by_hand, *lines, lacks=lacks) == []


@pytest.mark.parametrize("field", ["library", "settings", "version", "path"])
def test_nor_what_another_library_said(by_hand: Any, field: str) -> None:
    assert asked(by_hand, *NAMED)
    assert asked(by_hand, *NAMED, **{field: "another"}) == []
