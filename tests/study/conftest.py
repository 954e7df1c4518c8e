# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the study's tests."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.libraries import whole


@pytest.fixture(autouse=True)
def _no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins have no modules, and those of real libraries need not be looked at."""
    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules())


@pytest.fixture
def study(tmp_path: Path, standins: ModuleType) -> Any:
    """An empty study folder with stand-in tools."""
    return standins.Study(tmp_path / "study", standins.make_tools(tmp_path))
