# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the study's tests."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_modules(no_modules: None) -> None:
    """For every test here."""


@pytest.fixture
def study(tmp_path: Path, standins: ModuleType) -> Any:
    """An empty study folder with stand-in tools."""
    return standins.Study(tmp_path / "study", standins.make_tools(tmp_path))
