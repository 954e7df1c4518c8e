# SPDX-License-Identifier: Apache-2.0
"""Signals that are taken are given back."""

import signal

import pytest

from nearpeak.signals import handled


def test_they_are_given_back_whatever_happens() -> None:
    got: list[int] = []
    before = signal.getsignal(signal.SIGTERM)

    def fail() -> None:
        with handled([signal.SIGTERM], lambda number, _: got.append(number)):
            signal.raise_signal(signal.SIGTERM)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert got == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is before
