# SPDX-License-Identifier: Apache-2.0
"""Facts that changed from session to session."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from nearpeak.compare.load import load_side
from nearpeak.history.courses import Fact
from nearpeak.history.facts import changes, concerns
from nearpeak.terms.identity import CEILING, Who

MakeSides = Callable[..., Path]


def test_they_have_the_session_and_both_values(make_sides: MakeSides) -> None:
    made = [
        make_sides("a", day=1, blocks=1, nvidia="1"),
        make_sides("b", day=2, blocks=1, nvidia="2", variables={"UCX_TLS": "tcp"}),
        make_sides("c", day=3, blocks=1, nvidia="2", libraries=("alpha", "beta")),
    ]
    found = changes(load_side(made), {(0, 0): 0, (1, 0): 1, (2, 0): 2})
    assert [(fact.session, fact.part, fact.name, fact.before, fact.now) for fact in found] == [
        (1, "driver", "nvidia", "1", "2"),
        (1, "variable", "UCX_TLS", "none", "tcp"),
        (2, "variable", "UCX_TLS", "tcp", "none"),
    ]


def test_a_night_without_a_library_or_its_variables_hides_no_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mpich = {"library": {"mpich version": "5"}}
    recorded = [
        {"library": {"intel version": "19", "mpich version": "5"}, "variable": {"UCX_TLS": "rc"}},
        mpich,
        {"library": {"intel version": "20", "mpich version": "5"}, "variable": {"UCX_TLS": "tcp"}},
    ]
    monkeypatch.setattr("nearpeak.history.facts._facts", lambda _, session: recorded[session])
    study = cast(Any, None)
    found = changes([study], {(0, session): session for session in range(3)})
    assert [(fact.session, fact.name, fact.before, fact.now) for fact in found] == [
        (2, "intel version", "19", "20"),
        (2, "UCX_TLS", "rc", "tcp"),
    ]


def fact(part: str, name: str) -> Fact:
    return Fact(session=1, part=part, name=name, before="1", now="2")


def test_a_library_concerns_itself_alone() -> None:
    mpich, other = Who("mpich", "default"), Who("openmpi", "default")
    for one in (fact("library", "mpich version"), fact("build", "nearpeak-mpi mpich")):
        assert concerns(one, mpich)
        assert not concerns(one, other)
        assert not concerns(one, CEILING)
    assert concerns(fact("library", "mpich@tuned settings"), Who("mpich", "tuned"))
    assert concerns(fact("driver", "nvidia"), CEILING)
    assert concerns(fact("machine", "bios"), other)
