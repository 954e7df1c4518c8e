# SPDX-License-Identifier: Apache-2.0
"""Finds modules of the libraries in an unpacked bundle that do not load on this machine."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from nearpeak.bundle import manifest
from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.whole import faults, not_whole

CACHE = "NEARPEAK_CACHE"


def problems(folder: Path) -> list[str]:
    """A line for each module; UserError when the folder is no bundle.

    Nothing of a library that this Nearpeak has in another version: that in the bundle looks at it.
    """
    names = [name for name in manifest.read(folder).libraries if name in catalogue.libraries()]
    with _cache_in(folder):
        return [line for name in names for line in _of_library(name)]


def _of_library(name: str) -> list[str]:
    if not catalogue.entry(name).installed:
        return []
    try:
        library = resolve(name)
    except UserError as error:
        return [str(error)]
    again = "unpack the bundle again"  # which has no package index to install from
    broken = faults(library)
    return [
        not_whole(library, fault if fault.driver else replace(fault, remedy=again))
        for fault in broken
    ]


@contextlib.contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Takes the bundle's cache for that of this process."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(folder.absolute() / "cache")
    try:
        yield
    finally:
        os.environ.pop(CACHE)
        if before is not None:
            os.environ[CACHE] = before
