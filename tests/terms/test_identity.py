# SPDX-License-Identifier: Apache-2.0
"""The keys of everything: equal when they say the same, whatever order they were written in."""

import msgspec
import pytest

from nearpeak.terms.identity import CEILING, Axes, Case, Curve, Place, Who

BW = Curve(benchmark="bw", metric="bw", buffers="H,H", axes={"reuse": "fixed", "calls": "blocking"})


def test_axes_are_equal_in_any_order_and_hashable():
    one, other = Axes({"a": "1", "b": "2"}), Axes({"b": "2"}, a="1")
    assert one == other
    assert hash(one) == hash(other)
    assert list(other) == ["a", "b"]


def test_a_key_is_never_changed():
    axes = Axes(a="1")
    for change in (
        lambda: axes.update(a="2"),
        lambda: axes.pop("a"),
        lambda: axes.__setitem__("a", "2"),
        lambda: axes.__delitem__("a"),
    ):
        with pytest.raises(TypeError, match="never changed"):
            change()
    assert axes == {"a": "1"}


def test_axes_are_ordered_by_name_and_value():
    assert sorted([Axes(a="2"), Axes(a="1", b="0"), Axes()]) == [
        Axes(),
        Axes(a="1", b="0"),
        Axes(a="2"),
    ]


def test_a_case_comes_back_from_json_as_the_same_key():
    case = BW.at(8)
    again = msgspec.json.decode(msgspec.json.encode(case), type=Case)
    assert {case: "found"}[again] == "found"
    assert type(again.axes) is Axes


def test_a_curve_and_its_cases():
    assert BW.at(8).curve == BW
    assert sorted([BW.at(16), BW.at(8)]) == [BW.at(8), BW.at(16)]
    assert hash(BW.at(8)) != hash(BW.at(16))


def test_a_case_is_not_changed():
    with pytest.raises(AttributeError):
        BW.at(8).x = 9  # type: ignore[misc]


def test_figure_names_the_metric_where_it_is_another():
    assert BW.figure == "bw"
    rate = Curve(benchmark="mbw_mr", metric="mr", buffers="H,H", axes={})
    assert rate.figure == "mbw_mr mr"


def test_label_leaves_out_default_settings():
    assert Who("openmpi").label == "openmpi"
    assert Who("openmpi", "dmabuf-off").label == "openmpi@dmabuf-off"
    assert CEILING.label == "ceiling"


def test_kind_is_of_the_memories_and_not_of_the_name():
    assert Place(path="anything", ends=("host", "gpu")).kind == "host-gpu"
