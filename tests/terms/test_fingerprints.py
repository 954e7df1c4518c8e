# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of sessions, side by side."""

from nearpeak.terms.fingerprints import alike, common

BEFORE = {
    "machine": {"host": "h"},
    "library": {"a version": "1", "a path": "/a", "a@default settings": "x"},
    "build": {"nearpeak-native": "n", "nearpeak-mpi a": "m"},
}
MORE = {"b version": "2", "b path": "/b", "b@default settings": "x", "a@quick settings": "y"}
GROWN = {
    **BEFORE,
    "library": {**BEFORE["library"], **MORE},
    "build": {**BEFORE["build"], "nearpeak-mpi b": "m"},
}


def test_a_library_that_is_added_changes_nothing_of_the_others() -> None:
    assert common(BEFORE, GROWN) == (BEFORE, BEFORE)
    assert alike(BEFORE, GROWN)
    assert alike(GROWN, BEFORE)


def test_what_both_have_must_be_the_same() -> None:
    for part, name, value in (
        ("machine", "host", "g"),
        ("machine", "gpu 1", "new"),
        ("library", "a version", "2"),
        ("library", "a lacks", "ucx"),
        ("build", "nearpeak-mpi a", "other"),
        ("build", "compiler", "gcc 14"),
    ):
        assert not alike(BEFORE, {**GROWN, part: {**GROWN[part], name: value}})
