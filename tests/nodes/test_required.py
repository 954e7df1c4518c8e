# SPDX-License-Identifier: Apache-2.0
"""What is required of the usual pair of nodes: how it is read, and how it is judged."""

import pytest

from nearpeak.errors import UserError
from nearpeak.nodes.found import Curve, Metric, Mode
from nearpeak.nodes.required import check, judge, parse


def curve(metric: Metric, mode: Mode, usual: float) -> Curve:
    unit = "us" if metric == "latency_us" else "GB/s"
    return Curve(
        metric=metric, mode=mode, unit=unit, usual=usual, nodes=None, links=None, launches=None
    )


CURVES = [curve("latency_us", "together", 2.5), curve("bandwidth_gbs", "together", 22.0)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bandwidth>=20GB/s", ("bandwidth_gbs", "together", 20.0)),
        ("bandwidth >= 500 MB/s", ("bandwidth_gbs", "together", 0.5)),
        (" alone bandwidth>=20GB/s", ("bandwidth_gbs", "alone", 20.0)),
        ("together latency<=900ns", ("latency_us", "together", 0.9)),
    ],
)
def test_a_requirement_says_what_and_how_much(text: str, parts: tuple[str, str, float]) -> None:
    wanted = parse(text)
    assert (wanted.metric, wanted.mode, pytest.approx(wanted.amount)) == parts
    assert wanted.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a requirement of nodes: write 'bandwidth>=20GB/s'"),
        ("bw>=20GB/s", "is not a requirement of nodes"),
        ("bandwidth>20GB/s", "is not a requirement of nodes"),
        ("bandwidth>=20", "bandwidth is measured in GB/s: write bandwidth>=NUMBERGB/s"),
        ("bandwidth>=20us", "bandwidth is measured in GB/s"),
        ("bandwidth<=20GB/s", "bandwidth is measured in GB/s"),
        ("latency>=3us", "latency is measured in us: write latency<=NUMBERus"),
        ("latency<=0us", "latency is measured in us"),
        ("bandwidth>=20GB/s strict", "the usual pair has no interval: leave 'strict' out"),
    ],
)
def test_what_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        check([text], alone=True)
    assert str(error.value).startswith(f"--require {text!r}")
    assert said in str(error.value)


def test_alone_is_refused_where_pairs_are_not_measured_alone() -> None:
    check(["alone latency<=3us", "latency<=3us"], alone=True)
    check(["latency<=3us"], alone=False)
    with pytest.raises(UserError, match="leave 'alone' out"):
        check(["alone latency<=3us"], alone=False)


def test_the_usual_pair_meets_or_misses_it() -> None:
    wanted = ["latency<=2.5us", "latency<=2us", "bandwidth>=22GB/s", "bandwidth>=22.1GB/s"]
    judged = judge(wanted, CURVES)
    assert [each.requirement for each in judged] == wanted
    assert [each.met for each in judged] == [True, False, True, False]
    assert [each.value for each in judged] == [2.5, 2.5, 22.0, 22.0]


def test_what_was_not_measured_is_missed() -> None:
    [judged] = judge(["alone latency<=3us"], CURVES)
    assert (judged.met, judged.value) == (False, None)
    assert judge([], CURVES) == []
