# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the study's tests."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs


@pytest.fixture
def study(tmp_path: Path, standins: ModuleType) -> Any:
    """An empty study folder with stand-in tools."""
    return standins.Study(tmp_path / "study", standins.make_tools(tmp_path))


@pytest.fixture(scope="session")
def dgx() -> Machine:
    """A recorded DGX H100."""
    return from_sysfs(Path(__file__).parents[1] / "machines" / "dgx-h100.txt")
