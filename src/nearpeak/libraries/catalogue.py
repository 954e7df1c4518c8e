# SPDX-License-Identifier: Apache-2.0
"""The catalogue of MPI libraries that Nearpeak installs by itself, each in a private prefix."""

import functools
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One installable library."""

    family: str
    summary: str
    wheel: str
    version: str
    sha256: dict[str, str]  # by architecture
    needs: list[str] = []
    name: str = ""

    @property
    def prefix(self) -> Path:
        """Where it is installed, or would be."""
        return folders.cache() / "mpi" / f"{self.name}-{self.version}"

    @property
    def installed(self) -> bool:
        """Whether it is there: the prefix appears whole or not at all."""
        return self.prefix.is_dir()


@functools.cache
def entries() -> dict[str, Entry]:
    """Every entry by name, as catalogue.toml lists them."""
    text = (resources.files("nearpeak.libraries") / "catalogue.toml").read_text("utf-8")
    return {
        name: msgspec.convert({**table, "name": name}, Entry)
        for name, table in tomllib.loads(text).items()
    }


def entry(name: str) -> Entry:
    """The entry of this name; UserError for a name that is not in the catalogue."""
    if name not in entries():
        raise UserError(f"unknown library {name!r}: the catalogue has {', '.join(entries())}")
    return entries()[name]


def add(name: str) -> Path:
    """Installs a library and those it needs, unless they are there; returns its prefix.

    pip checks the pinned hashes. The prefix is made under another name and renamed when it is
    complete. UserError when there is no wheel for this machine, no index answers, or the cache
    folder cannot be written.
    """
    wanted = entry(name)
    for other in wanted.needs:
        add(other)
    if wanted.installed:
        return wanted.prefix
    machine = platform.machine()
    if machine not in wanted.sha256:
        raise UserError(
            f"{name} {wanted.version} has no wheel for {machine} (only for "
            f"{', '.join(wanted.sha256)}): choose another library"
        )
    home = wanted.prefix.parent
    try:
        home.mkdir(parents=True, exist_ok=True)
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
        *("--prefix", str(prefix), "--requirement", str(requirements)),
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said or ["pip said nothing"]
        raise UserError(
            f"cannot install {wanted.wheel} {wanted.version}: make sure that a package index can "
            f"be reached (pip said: {errors[-1].removeprefix('ERROR: ')})"
        )
