# SPDX-License-Identifier: Apache-2.0
"""Where Nearpeak keeps what it installs and builds."""

import os
from pathlib import Path


def cache() -> Path:
    """The cache folder: $NEARPEAK_CACHE, else $XDG_CACHE_HOME/nearpeak, else ~/.cache/nearpeak.

    Not created here. MPI libraries go to `mpi/NAME-VERSION`, built programs to `build/FINGERPRINT`.
    """
    if own := os.environ.get("NEARPEAK_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "nearpeak"
