# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the study's tests: stand-ins for launches (standins.py)."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="session")
def standins() -> ModuleType:
    """The module standins.py (tests are no package)."""
    if "study_standins" not in sys.modules:
        file = Path(__file__).with_name("standins.py")
        spec = importlib.util.spec_from_file_location("study_standins", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["study_standins"] = module
        spec.loader.exec_module(module)
    return sys.modules["study_standins"]


@pytest.fixture
def study(tmp_path: Path, standins: ModuleType) -> Any:
    """An empty study folder with stand-in tools."""
    return standins.Study(tmp_path / "study", standins.make_tools(tmp_path))
