# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of planning."""

import pytest


@pytest.fixture(autouse=True)
def _no_modules(no_modules: None) -> None:
    """For every test here."""
