# SPDX-License-Identifier: Apache-2.0
"""What a source of observations is."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from nearpeak.observations.observed import Observations


class Source(NamedTuple):
    """One kind of files, or of folders, that hold observations."""

    name: str  # for people, in errors: "a folder of `nearpeak study`"
    recognises: Callable[[Path], bool]  # whether it is this kind, by a quick look; never an error
    load: Callable[[Path], Observations]  # UserError where it cannot be read
