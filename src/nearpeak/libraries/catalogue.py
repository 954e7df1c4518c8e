# SPDX-License-Identifier: Apache-2.0
"""The catalogue of libraries that Nearpeak can install, each in a private folder."""

import functools
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError, closest
from nearpeak.files import is_folder, make_private, says_full
from nearpeak.owners import check_kept

INHERITED = ("family", "wheel", "version", "sha256")  # by an entry from its base


class Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One installable library, or something that libraries need."""

    name: str
    summary: str
    wheel: str
    version: str
    sha256: dict[str, str]  # by architecture
    family: str = ""  # empty: it holds no MPI
    base: str = ""  # the library that it runs, with `env`
    needs: list[str] = []
    gpus: str = ""  # vendor of the GPUs it is made for: without one it sends host memory only
    env: dict[str, str] = {}  # {NAME} in a value stands for the folder of an entry
    network: dict[str, str] = {}  # forces TCP between ranks of one host; empty: as its family

    @property
    def prefix(self) -> Path:
        """The folder of its installation, which may not exist yet."""
        return folders.cache() / "mpi" / f"{self.base or self.name}-{self.version}"

    @property
    def installed(self) -> bool:
        """True if it and its needs are installed: a prefix is complete or absent."""
        return is_folder(self.prefix) and all(entry(name).installed for name in self.needs)

    @property
    def environment(self) -> dict[str, str]:
        """`env`, with the folders in it."""
        folder = {other.name: str(other.prefix) for other in entries().values()}
        return {
            name: re.sub(r"{([\w-]+)}", lambda match: folder[match[1]], value)
            for name, value in self.env.items()
        }


@functools.cache
def entries() -> dict[str, Entry]:
    """Every entry by name, as catalogue.toml lists them."""
    text = (resources.files("nearpeak.libraries") / "catalogue.toml").read_text("utf-8")
    tables = msgspec.toml.decode(text)
    made = {}
    for name, table in tables.items():
        lender = tables.get(table.get("base", ""), {})
        lent = {key: lender[key] for key in INHERITED if key in lender}
        made[name] = msgspec.convert({**lent, **table, "name": name}, Entry)
    return made


def libraries() -> dict[str, Entry]:
    """The entries that are MPI libraries."""
    return {name: library for name, library in entries().items() if library.family}


def entry(name: str) -> Entry:
    """The entry of this name; UserError for a name that is not in the catalogue."""
    if name not in entries():
        raise UserError(f"the catalogue has no library {name!r}{closest(name, libraries())}")
    return entries()[name]


def add(name: str) -> Path:
    """Installs a library and its needs, unless they are installed; returns its prefix.

    pip checks the pinned hashes. The prefix is made under another name and renamed when it is
    complete. UserError when there is no wheel for this machine, no index answers, the cache
    folder cannot be written, or others can exchange what is there.
    """
    wanted = entry(name)
    for other in [wanted.base, *wanted.needs]:
        if other:
            add(other)
    if wanted.installed:
        check_kept(wanted.prefix)
        return wanted.prefix
    machine = platform.machine()
    if machine not in wanted.sha256:
        raise UserError(
            f"{name} {wanted.version} has no wheel for {machine} (only for "
            f"{', '.join(wanted.sha256)}): choose another library"
        )
    home = wanted.prefix.parent
    try:
        make_private(home)
        temporary = Path(tempfile.mkdtemp(prefix=f".{wanted.prefix.name}-", dir=home))
    except OSError as error:
        raise UserError(
            f"cannot write to {home} ({error.strerror}): set NEARPEAK_CACHE to a folder that can"
        ) from error
    try:
        _install(wanted, temporary)
        temporary.chmod(0o755)
        try:
            temporary.rename(wanted.prefix)
        except OSError:
            if not wanted.installed:  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return wanted.prefix


def _install(wanted: Entry, prefix: Path) -> None:
    requirements = prefix / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{value}" for value in wanted.sha256.values())
    requirements.write_text(f"{wanted.wheel}=={wanted.version} {hashes}\n")
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--no-warn-script-location", "--no-compile"),
        *("--no-deps", "--ignore-installed", "--only-binary", ":all:", "--require-hashes"),
        # A library is a complete prefix; anything else lies in its own Python package.
        *("--prefix" if wanted.family else "--target", str(prefix)),
        *("--requirement", str(requirements)),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        umask=0o022,  # others may use a library and not write it
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        if says_full(done.stderr):
            raise UserError(
                f"no space is left to install {wanted.wheel} in {prefix.parent}: free some, or "
                "name a folder of another disk in NEARPEAK_CACHE"
            )
        errors = (
            [line for line in lines if line.startswith("ERROR")] or lines or ["pip said nothing"]
        )
        raise UserError(
            f"cannot install {wanted.wheel} {wanted.version}: make sure that a package index can "
            f"be reached (pip said: {errors[-1].removeprefix('ERROR: ')}), or bring everything "
            "from a machine where one is, with `nearpeak bundle`"
        )
