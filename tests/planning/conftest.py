# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of planning."""

import pytest

from nearpeak.libraries import whole


@pytest.fixture(autouse=True)
def _no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins have no modules, and those of real libraries need not be looked at."""
    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules())
