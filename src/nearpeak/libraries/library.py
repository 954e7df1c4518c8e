# SPDX-License-Identifier: Apache-2.0
"""MPI libraries, their settings, and one launch of them."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from nearpeak.terms.identity import Who

# In a search, which gives each variable a value: the launch does without what Nearpeak gives.
UNSET = "<unset>"


class Settings(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A named set of environment variables and launcher flags; `default` is empty."""

    name: str = "default"
    env: dict[str, str] = {}
    flags: list[str] = []
    # Names of variables that Nearpeak gives launches (given.toml), and these do without, but for
    # what `env` sets.
    unset: list[str] = []
    summary: str = ""  # what they change, in a line

    def kept_of(self, given: Mapping[str, str]) -> dict[str, str]:
        """Returns what Nearpeak gives a launch without what these settings leave out."""
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

    name: str  # unique in a study; the catalogue's name, or what the user called it
    family: str  # "openmpi", "mpich", "intel", "mvapich", ...: the name of its file in families/
    version: str
    version_text: str  # MPI_Get_library_version, whole
    abi: str  # "openmpi" or "mpich": which build of nearpeak-mpi fits
    prefix: Path
    origin: str  # "installed" (by us), "path", "prefix", "module" or "given"
    # What starts its ranks. (Made anew each time, as a JSON Schema cannot state a path.)
    launcher: Path = msgspec.field(default_factory=lambda: Path("mpirun"))
    # The shared library itself, named by its SONAME.
    libmpi: Path = msgspec.field(default_factory=lambda: Path("libmpi.so"))
    # What it needs in the environment beyond its family's: its module's, its catalogue entry's.
    env: dict[str, str] = {}
    network_only: Settings | None = None  # in place of its family's
    pmi: str = ""  # what srun, where it is the launcher, is told of by --mpi; "": its default
    entry: str = ""  # of the catalogue, which installed it; "": none did
    lacks: str = ""  # what was left out of it, that its makers ship and it opens on some machine
    broken: list[str] = []  # its modules that do not load here and should, a line each (whole.py)
    layer: bool = False  # whether the layer is loaded before it (docs/layer.md)


class Discovery(msgspec.Struct):
    """What was found, one line for each that looked like a library but could not be used, and one
    for each that is not used as one would expect."""

    libraries: list[Library] = []
    problems: list[str] = []
    notes: list[str] = []


def lacking_words(name: str, lacks: str) -> str:
    """Says of a library what was left out of it."""
    return f"{name} is not as its makers ship it: it lacks {lacks}"


class Rank(msgspec.Struct, kw_only=True, frozen=True):
    """Where one rank runs: a host (None: this one) and the logical CPUs it is bound to."""

    cpus: list[int]
    host: str | None = None


class Launch(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be started: one program on every rank."""

    program: list[str]  # argv
    ranks: list[Rank]
    settings: Settings = Settings()
    network_only: bool = False  # force the network transport, also between ranks of one host
    gpu: bool = False  # some rank's buffers are in a GPU: add what its family needs for that
    remote_shell: str | None = None  # program called as `SHELL HOST COMMAND...`; None: ssh
    env: dict[str, str] = {}  # for the program, beside what library and settings need


class CommandLine(msgspec.Struct, kw_only=True, frozen=True):
    """A launch made concrete by the library's launcher: run `argv` with `env` added."""

    argv: list[str]
    env: dict[str, str]


class Contender(msgspec.Struct, kw_only=True, frozen=True):
    """A library with one of its settings."""

    library: Library
    settings: Settings

    @property
    def who(self) -> Who:
        """Its key."""
        return Who(self.library.name, self.settings.name)

    @property
    def label(self) -> str:
        """As `Who` has it."""
        return self.who.label
