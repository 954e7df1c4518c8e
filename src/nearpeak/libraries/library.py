# SPDX-License-Identifier: Apache-2.0
"""MPI libraries, their settings, and one launch of them."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from nearpeak.terms.identity import Who
from nearpeak.terms.private import FreeText, Kept, Public, Variables

# The value, in a search, of a variable that Nearpeak gives launches and this one does without.
UNSET = "<unset>"


class Settings(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A named set of environment variables and launcher flags; `default` is empty."""

    name: FreeText = "default"  # `default` has none of the following
    env: Variables = {}  # environment variables
    flags: list[FreeText] = []  # of the launcher
    # variables that Nearpeak gives launches of the library, and that these leave out, unless `env`
    # sets them
    unset: list[FreeText] = []
    summary: FreeText = ""  # effect of the settings, in a line

    def kept_of(self, given: Mapping[str, str]) -> dict[str, str]:
        """Returns the variables of `given` that these settings do not leave out."""
        return {name: value for name, value in given.items() if name not in self.unset}

    def changed(self, env: Mapping[str, str]) -> "Settings":
        """The same with these variables, each with a value or `UNSET`."""
        values = {**self.env, **env}
        return msgspec.structs.replace(
            self,
            env={name: value for name, value in values.items() if value != UNSET},
            unset=[
                *(name for name in self.unset if name not in env),
                *(name for name, value in env.items() if value == UNSET),
            ],
        )


class Library(msgspec.Struct, kw_only=True, frozen=True):
    """One installation of an MPI library, as it described itself when it was run."""

    name: FreeText  # unique in a study: the catalogue's name, or the user's
    family: Public  # `openmpi`, `mpich`, `intel`, `mvapich`, ...
    version: Kept  # of the library
    version_text: FreeText  # `MPI_Get_library_version`, complete
    abi: Public  # `openmpi` or `mpich`: the fitting build of nearpeak-mpi
    prefix: Path  # folder of its installation
    origin: Public  # `installed` (by Nearpeak), `path`, `prefix`, `module` or `given`
    # Made anew each time, as a JSON Schema cannot state a path as default:

    # program that starts its ranks
    launcher: Path = msgspec.field(default_factory=lambda: Path("mpirun"))
    # the shared library, named by its SONAME
    libmpi: Path = msgspec.field(default_factory=lambda: Path("libmpi.so"))
    # its environment in addition to its family's: that of its module or catalogue entry
    env: Variables = {}
    # settings that force the network, instead of its family's; null: those
    network_only: Settings | None = None
    pmi: FreeText = ""  # value of `--mpi` if srun is the launcher; empty: srun's default
    entry: FreeText = ""  # of the catalogue, which installed it; empty: none
    # parts left out that its developers ship and that it may open; empty: none
    lacks: FreeText = ""
    broken: list[FreeText] = []  # a line for each of its modules that should load here and does not
    layer: bool = False  # the layer is loaded before it (docs/how-to/layer.md)


class Discovery(msgspec.Struct):
    """The libraries that were discovered, a line for each unusable one, and a note for each that is
    started in an unusual way."""

    libraries: list[Library] = []
    problems: list[str] = []
    notes: list[str] = []


def lacking_words(name: str, lacks: str) -> str:
    """A sentence that names the parts left out of a library."""
    return f"{name} is not as its makers ship it: it lacks {lacks}"


class Rank(msgspec.Struct, kw_only=True, frozen=True):
    """The place of one rank: a host (None: this one) and the logical CPUs it is bound to."""

    cpus: list[int]
    host: str | None = None


class Launch(msgspec.Struct, kw_only=True, frozen=True):
    """One program to start on every rank."""

    program: list[str]  # argv
    ranks: list[Rank]
    settings: Settings = Settings()
    network_only: bool = False  # force the network transport, also between ranks of one host
    gpu: bool = False  # some rank's buffers are in a GPU: add its family's settings for that
    remote_shell: str | None = None  # program called as `SHELL HOST COMMAND...`; None: ssh
    env: dict[str, str] = {}  # for the program, in addition to that of library and settings


class CommandLine(msgspec.Struct, kw_only=True, frozen=True):
    """A launch made concrete by the library's launcher: run `argv` with `env` added."""

    argv: list[str]
    env: dict[str, str]


class Contender(msgspec.Struct, kw_only=True, frozen=True):
    """A library with one of its settings."""

    library: Library  # the library
    settings: Settings  # its settings

    @property
    def who(self) -> Who:
        """Its key."""
        return Who(self.library.name, self.settings.name)

    @property
    def label(self) -> str:
        """The label of its key."""
        return self.who.label
