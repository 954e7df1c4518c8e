# SPDX-License-Identifier: Apache-2.0
"""The one door to observations, whatever they come from."""

from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.observations.observed import Observations
from nearpeak.observations.sources import all_sources

MOST_BYTES = 64 << 20  # of a file: what tools print has some KiB


def load(place: Path) -> Observations:
    """What is observed in a folder or a file; UserError where nothing is, or it cannot be read."""
    if place.is_file() and place.stat().st_size > MOST_BYTES:
        raise UserError(f"{place} has more than 64 MiB: give the output of one program alone")
    try:
        empty = place.is_file() and not place.read_bytes().strip()
    except OSError as error:
        raise UserError(f"{place} cannot be read: {error.strerror}") from None
    if empty:
        raise UserError(f"{place} is empty: run the program again, with its output into that file")
    for source in all_sources():
        if source.recognises(place):
            return source.load(place)
    if not place.exists():
        raise UserError(f"{place}: no such folder; give the folder that `nearpeak study` wrote")
    known = ", ".join(source.name for source in all_sources())
    raise UserError(f"{place} holds no observations: give {known}")
