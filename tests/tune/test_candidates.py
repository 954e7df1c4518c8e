# SPDX-License-Identifier: Apache-2.0
"""What a search tries of what an installation offers."""

from typing import Any

import msgspec
import pytest

from nearpeak.libraries.library import UNSET
from nearpeak.libraries.tunables import Offered, Tunable, of_component
from nearpeak.tune.candidates import (
    Candidate,
    agreeing,
    by_variable,
    candidates,
    chosen_with,
    possible,
    together,
    with_named,
)


def setting(name: str, there: bool | None = True, **more: Any) -> Offered:
    table = {"name": name, "component": "x", "summary": "", "values": ["1"], "source": "x", **more}
    made = msgspec.convert(table, Tunable)
    return Offered(made, there=there, default="2")


def labels(offered: list[Offered], *, gpu: bool = False, given: str = "") -> list[str]:
    given_values = dict.fromkeys(given.split(), "own")
    found = possible(offered, ["latency"], given_values, gpu=gpu, network=False)
    return [each.label for each in candidates(found)]


def test_what_needs_a_gpu_comes_first_where_there_is_one() -> None:
    offered = [setting("ANY"), setting("GPU", needs=["gpu"]), setting("WIRE", needs=["network"])]
    assert labels(offered) == ["ANY=1"]
    assert labels(offered, gpu=True) == ["GPU=1", "ANY=1"]


@pytest.mark.parametrize(
    ("offered", "found"),
    [
        (setting("X", there=False), []),
        (setting("X", there=None), ["X=1"]),  # it cannot be asked
        (setting("X", **{"for": ["bcast"]}), []),
        (setting("X", **{"for": ["bcast", "latency"]}), ["X=1"]),
        (setting("X", values=["1", "2", "3"]), ["X=1", "X=3"]),  # less its default
        (setting("GIVEN"), []),
        (setting("X", **{"with": {"GIVEN": "other"}}), []),
        (setting("X", **{"with": {"GIVEN": "own"}}), ["GIVEN=own X=1"]),
    ],
)
def test_what_cannot_matter_is_left_out(offered: Offered, found: list[str]) -> None:
    assert labels([offered], given="GIVEN") == found


def test_a_variable_that_nearpeak_gives_is_left_out_by_name() -> None:
    offered = [setting("X", values=["1", UNSET]), setting("GPU", values=[UNSET], needs=["gpu"])]
    assert labels(offered) == ["X=1", "without X"]
    assert labels(offered, gpu=True) == ["without GPU", "X=1", "without X"]
    assert labels(offered, gpu=True, given="GPU X") == []
    both = together([Candidate((("X", UNSET),)), Candidate((("X", "1"), ("Y", "2")))])
    assert both.label == "without X"  # of two values of one variable the first one


def test_the_first_values_of_all_come_before_the_second_ones() -> None:
    offered = [setting("X", values=["1", "3"]), setting("Y", values=["1", "3"])]
    assert labels(offered) == ["X=1", "Y=1", "X=3", "Y=3"]


def test_what_a_value_needs_is_set_with_it() -> None:
    (found,) = candidates([setting("X", **{"with": {"RULES": "y"}})])
    assert (found.label, found.variable) == ("RULES=y X=1", "X")


def test_what_is_named_comes_first() -> None:
    known = [Candidate((("A", "1"),)), Candidate((("RULES", "y"), ("B", "1")))]
    found, first = with_named(known, [("B", "1"), ("C", "5"), ("SET", "1")], {"SET"})
    assert [each.label for each in found] == ["RULES=y B=1", "C=5", "A=1"]
    assert first == 2


def test_what_moves_no_message_is_tried_with_what_chooses_it() -> None:
    own, other = Candidate((("UCX_TLS", "sm"),)), Candidate((("CELLS", "64"),))
    choice = Candidate((("OMPI_MCA_pml", "ucx"),))
    with_it = Candidate((("OMPI_MCA_pml", "ucx"), ("UCX_TLS", "sm")))
    assert chosen_with([own, other, choice], "ucx", ["UCX_TLS"]) == [with_it, other, choice]
    assert chosen_with([own, other], "ucx", ["UCX_TLS"]) == [own, other]


def test_several_are_one() -> None:
    one, three = Candidate((("A", "1"),)), Candidate((("C", "4"),))
    two = Candidate((("A", "3"), ("B", "2")))
    assert together([one, two, three]).label == "A=1 C=4"
    assert agreeing([three, two, one]) == [one, three]  # the way that two needs another value of
    assert together([]).env == ()
    values = [Candidate(((name, value),)) for name, value in ("A1", "B1", "A2")]
    assert by_variable(values) == {"A": [values[0], values[2]], "B": [values[1]]}


def test_values_of_gpus_are_for_buffers_in_a_gpu() -> None:
    (tls,) = [each for each in of_component("ucx") if each.name == "UCX_TLS"]
    for gpu in (False, True):
        chosen = possible(
            [Offered(tls, there=True, default="all")], ["latency"], {}, gpu=gpu, network=False
        )
        labels = " ".join(each.label for each in candidates(chosen))
        assert "UCX_TLS=^cma" in labels
        assert ("cuda" in labels, "gdr_copy" in labels) == (gpu, gpu)
