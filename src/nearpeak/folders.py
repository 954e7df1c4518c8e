# SPDX-License-Identifier: Apache-2.0
"""Nearpeak's folders: the cache of what it installs and builds, and the user's state."""

import os
from pathlib import Path


def cache() -> Path:
    """The cache folder: $NEARPEAK_CACHE, else $XDG_CACHE_HOME/nearpeak, else ~/.cache/nearpeak.

    Absolute, as compilers and launchers run in other folders; not created here. MPI libraries go
    to `mpi/NAME-VERSION`, built programs to `build/FINGERPRINT`.
    """
    if chosen := os.environ.get("NEARPEAK_CACHE"):
        return expanded(chosen).absolute()  # no shell may have expanded it
    base = os.environ.get("XDG_CACHE_HOME") or str(home() / ".cache")
    return Path(base).absolute() / "nearpeak"


def state() -> Path:
    """The folder of this user's state: $XDG_STATE_HOME/nearpeak, else ~/.local/state/nearpeak. Not
    created here, and not shared as a cache may be."""
    base = os.environ.get("XDG_STATE_HOME") or str(home() / ".local" / "state")
    return Path(base).absolute() / "nearpeak"


def home() -> Path:
    """This user's home folder; one that does not exist for a user without an account, as in some
    containers."""
    return expanded("~") if expanded("~").is_absolute() else Path("/nonexistent")


def searched(variable: str) -> list[Path]:
    """The folders of a search path in the environment."""
    return [Path(folder) for folder in os.environ.get(variable, "").split(":") if folder]


def expanded(path: str) -> Path:
    """A path with `~` and `~NAME` as home folders, as far as these are known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
