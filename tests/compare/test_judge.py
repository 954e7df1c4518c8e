# SPDX-License-Identifier: Apache-2.0
"""From figures to changes: which way is better, which session is whose, when it is a regression."""

import pytest

from nearpeak.compare.compared import PlaceChange
from nearpeak.compare.distances import Levelled
from nearpeak.compare.figures import Figures, Kind, Launch
from nearpeak.compare.judge import Both, judge
from nearpeak.terms.benchmarks import Better
from nearpeak.terms.identity import Case, Place, Who


def figures(values: dict[int, float], part: float = 0.5) -> Figures:
    """By session, with three launches each that scatter a little."""
    launches = {
        Launch(session, block): value * factor
        for session, value in values.items()
        for block, factor in enumerate((0.999, 1.0, 1.001))
    }
    fractions = {at: part * value for at, value in launches.items()}
    return Figures(set(), launches, fractions, set(), dict.fromkeys(launches, 60.0))


def changed(better: Better, factor: float, tolerance: float = 0.05) -> PlaceChange:
    kind = Kind("unit", "B", better, None)
    old, new = {0: 1.0, 1: 1.001, 2: 0.999}, {3: factor, 4: 1.001 * factor, 5: 0.999 * factor}
    cases = [
        Both(
            Case(benchmark="one", metric="one", buffers="H,H", axes={}, x=x),
            kind,
            figures(old),
            figures(new, part=0.25),
        )
        for x in (64, 8)
    ]
    owner = (Who("alpha"), Place(path="here"))
    [found] = judge({owner: Levelled(cases, [])}, [False] * 3 + [True] * 3, tolerance)
    return found


@pytest.mark.parametrize(
    ("better", "factor", "verdict"),
    [
        ("higher", 0.8, "slower"),
        ("higher", 1.25, "faster"),
        ("lower", 1.25, "slower"),
        ("lower", 0.8, "faster"),
        ("lower", 1.001, "equivalent"),
    ],
)
def test_what_is_better_depends_on_the_metric(better: Better, factor: float, verdict: str) -> None:
    found = changed(better, factor)
    ratio = factor if better == "higher" else 1 / factor
    for change in found.changes:
        assert change.verdict == verdict
        assert change.ratio == pytest.approx(ratio, rel=1e-3)
        assert change.regressed == (verdict == "slower")
        assert change.history == pytest.approx([1.0] * 3 + [ratio] * 3, rel=0.01)
    [curve] = found.curves
    assert [cell.case.x for cell in curve.cells] == [8, 64]
    for cell in curve.cells:
        assert (cell.old, cell.new) == pytest.approx((1.0, factor), rel=1e-3)
    assert found.of_ceiling is not None
    assert found.of_ceiling.ratio == pytest.approx(factor / 2, rel=1e-3)
    assert found.of_ceiling.cases == 2


def test_a_loss_within_the_tolerance_is_no_regression() -> None:
    assert changed("higher", 0.8).change.regressed
    found = changed("higher", 0.8, tolerance=0.3).change
    assert (found.verdict, found.regressed) == ("equivalent", False)
