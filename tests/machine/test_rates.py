# SPDX-License-Identifier: Apache-2.0
"""The least of rates of which some are not known."""

import pytest

from nearpeak.machine.rates import bottleneck, least


@pytest.mark.parametrize(
    ("rates", "of_known", "of_all"),
    [
        ([2.0, 1.0], 1.0, 1.0),
        ([2.0, None], 2.0, None),
        ([None, 0.0], 0.0, None),
        ([None], None, None),
        ([], None, None),
    ],
)
def test_the_least(rates: list[float | None], of_known: float | None, of_all: float | None) -> None:
    assert least(rates) == of_known
    assert bottleneck(iter(rates)) == of_all
