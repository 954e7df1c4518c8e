# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and a study of each in which every path was measured (gallery.py)."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.machine.machine import Machine
from nearpeak.picture.measured import Measured


def _load() -> ModuleType:
    name = "picture_gallery"  # tests are no package
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("gallery.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY: Any = _load()


@pytest.fixture
def gallery() -> Any:
    """The module gallery.py."""
    return GALLERY


@pytest.fixture(params=GALLERY.NAMES)
def machine(request: pytest.FixtureRequest) -> Machine:
    """Every recorded machine."""
    found: Machine = GALLERY.recorded(str(request.param))
    return found


@pytest.fixture
def recorded() -> Callable[[str], Machine]:
    """Gives a machine of tests/machines by its name."""
    found: Callable[[str], Machine] = GALLERY.recorded
    return found


@pytest.fixture
def made_up() -> Callable[[Machine], list[Measured]]:
    """Gives what a study of every path of a machine might have measured."""
    found: Callable[[Machine], list[Measured]] = GALLERY.made_up
    return found
