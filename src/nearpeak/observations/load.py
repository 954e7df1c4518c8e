# SPDX-License-Identifier: Apache-2.0
"""The one door to observations, whatever they come from."""

from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.observations.observed import Observations
from nearpeak.observations.sources import all_sources


def load(place: Path) -> Observations:
    """What is observed in a folder or a file; UserError where nothing is, or it cannot be read."""
    for source in all_sources():
        if source.recognises(place):
            return source.load(place)
    if not place.exists():
        raise UserError(f"{place}: no such folder; give the folder that `nearpeak study` wrote")
    known = ", ".join(source.name for source in all_sources())
    raise UserError(f"{place} holds no observations: give {known}")
