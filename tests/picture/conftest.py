# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and a study of each in which every path was measured (gallery.py)."""

from collections.abc import Callable

import picture_gallery
import pytest

from nearpeak.machine.machine import Machine
from nearpeak.picture.measured import Measured


@pytest.fixture(params=picture_gallery.NAMES)
def machine(request: pytest.FixtureRequest) -> Machine:
    """Every recorded machine."""
    return picture_gallery.recorded(request.param)


@pytest.fixture
def recorded() -> Callable[[str], Machine]:
    """Gives a machine of tests/machines by its name."""
    return picture_gallery.recorded


@pytest.fixture
def made_up() -> Callable[[Machine], list[Measured]]:
    """Gives what a study of every path of a machine might have measured."""
    return picture_gallery.made_up
