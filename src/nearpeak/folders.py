# SPDX-License-Identifier: Apache-2.0
"""Where Nearpeak keeps what it installs and builds."""

import os
from pathlib import Path


def cache() -> Path:
    """The cache folder: $NEARPEAK_CACHE, else $XDG_CACHE_HOME/nearpeak, else ~/.cache/nearpeak.

    Absolute, as compilers and launchers run in other folders; not created here. MPI libraries go
    to `mpi/NAME-VERSION`, built programs to `build/FINGERPRINT`.
    """
    if own := os.environ.get("NEARPEAK_CACHE"):
        return expanded(own).absolute()  # where no shell has done that
    base = os.environ.get("XDG_CACHE_HOME") or str(home() / ".cache")
    return Path(base).absolute() / "nearpeak"


def state() -> Path:
    """The folder of what Nearpeak keeps of this user: $XDG_STATE_HOME/nearpeak, else
    ~/.local/state/nearpeak. Not created here, and not shared as a cache may be."""
    base = os.environ.get("XDG_STATE_HOME") or str(home() / ".local" / "state")
    return Path(base).absolute() / "nearpeak"


def home() -> Path:
    """This user's home folder; where nobody knows it, as of a container's number without an
    account, one that is not there."""
    return expanded("~") if expanded("~").is_absolute() else Path("/nonexistent")


def expanded(path: str) -> Path:
    """A path with `~` and `~NAME` as home folders, as far as these are known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
