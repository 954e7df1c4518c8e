# SPDX-License-Identifier: Apache-2.0
"""The families of MPI libraries: one file each, found by itself
(docs/contributing/adding-a-library.md)."""

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from nearpeak.libraries.library import Library, Settings


def no_environment(_library: Library) -> dict[str, str]:
    """The environment of a family that needs nothing."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of libraries. `environment` adds to that of every library (launch.py)."""

    name: str  # the name of its file
    title: str
    version_pattern: str  # matches MPI_Get_library_version; group 1 is the version
    abi: str = ""  # "openmpi" or "mpich"; "", as of the next three: it is no MPI
    header_mark: str = ""  # a word that only this ABI's mpi.h has
    launcher: str = ""  # the name of a file in launchers/,
    older_launcher: tuple[int, str] | None = None  # and before this major version
    launcher_mark: str = r"(?!)"  # a pattern in what its launcher says to --version
    # PMI types by which its ranks may find each other under srun, the likeliest first, by srun's
    # names; (): the site's default.
    pmi: tuple[str, ...] = ()
    environment: Callable[[Library], dict[str, str]] = field(default=no_environment)
    # Turns its own binding off: launches bind ranks by themselves.
    unbound: dict[str, str] = field(default_factory=dict)
    network_only: Settings | None = None  # forces TCP between ranks of one host; None: unknown
    gpu: Settings | None = None  # makes it take GPU buffers; None: nothing is needed
    gpu_off: dict[str, str] = field(default_factory=dict)  # switches that off
    components: tuple[str, ...] = ()  # that read its variables: files of libraries/tunables
    # No MPI, but measured by nearpeak-native instead of a library: the ceilings,
    native: Library | None = None
    mode: str | None = None  # or libraries that this mode of it loads,
    backend: str = ""  # on devices of this backend: "hip"; "" is CUDA
    scope: str = ""  # a sentence that limits what is measured; "": everything

    def version(self, version_text: str) -> str | None:
        """The version in a library's version text, or None if it is of another family."""
        match = re.search(self.version_pattern, version_text)
        return match.group(1) if match else None

    def launcher_of(self, version: str) -> str:
        """The launcher of this version: the name of a file in launchers/."""
        if self.older_launcher and (major := re.match(r"\d+", version)):
            first, older = self.older_launcher
            return older if int(major[0]) < first else self.launcher
        return self.launcher


@functools.cache
def all_families() -> dict[str, Family]:
    """Every family by name."""
    families = {}
    for module in pkgutil.iter_modules(__path__):
        family: Family = importlib.import_module(f"{__name__}.{module.name}").FAMILY
        families[family.name] = family
    return families


def is_native(library: Library) -> bool:
    """True if nearpeak-native replaces this library, which has no build and no launcher."""
    return is_ceiling(library) or mode_of(library) is not None


def is_ceiling(library: Library) -> bool:
    """True if the ceilings replace this library."""
    family = all_families().get(library.family)
    return family is not None and family.native is not None


def mode_of(library: Library) -> str | None:
    """The mode of nearpeak-native that loads this library; None: nearpeak-mpi does."""
    family = all_families().get(library.family)
    return family.mode if family else None


def natives() -> dict[str, Library]:
    """The ceilings that nearpeak-native measures instead of a library, by name."""
    libraries = [family.native for family in all_families().values() if family.native]
    return {library.name: library for library in libraries}


def recognise(version_text: str) -> tuple[Family, str] | None:
    """The family and the version of a library by its version text; None for an unknown one."""
    for family in all_families().values():
        version = family.version(version_text)
        if version is not None:
            return family, version
    return None
