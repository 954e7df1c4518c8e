# SPDX-License-Identifier: Apache-2.0
"""Where Nearpeak keeps what it makes."""

from pathlib import Path

import pytest

from nearpeak import folders


def test_the_cache_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    for told, meant in (
        ("/cache", "/cache"),
        ("cache", f"{tmp_path}/cache"),
        ("~/cache", "/home/me/cache"),
    ):
        monkeypatch.setenv("NEARPEAK_CACHE", told)
        assert folders.cache() == Path(meant)
    monkeypatch.delenv("NEARPEAK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    assert folders.cache() == tmp_path / "xdg/nearpeak"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folders.cache() == Path("/home/me/.cache/nearpeak")


def test_the_state_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("NEARPEAK_CACHE", "/shared")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert folders.state() == Path("/state/nearpeak")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert folders.state() == Path("/home/me/.local/state/nearpeak")
