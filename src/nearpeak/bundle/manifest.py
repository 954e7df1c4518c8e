# SPDX-License-Identifier: Apache-2.0
"""manifest.json: the contents of a bundle and its requirements of a machine."""

import hashlib
import itertools
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import msgspec

import nearpeak
from nearpeak.errors import UserError
from nearpeak.libraries import glibc
from nearpeak.numbers import printable

FOLDER = "nearpeak-bundle"  # what the archive unpacks to
NAME = "manifest.json"
SCHEMA = 2
Version = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\d+)*$")]


class Manifest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A bundle, as it was made."""

    schema: int
    nearpeak: str  # version
    python: Version  # that it needs, like 3.12
    machine: str  # as `uname -m` names it
    glibc: Version  # the oldest that all of it runs with
    parts: dict[str, Version]  # the same of each part, like python -> 2.27
    libraries: dict[str, str]  # name -> version
    lacks: dict[str, str]  # name -> what was left out of a library that its vendor ships
    packages: dict[str, str]  # Python packages: name -> version
    files: dict[str, str]  # path in the bundle -> SHA-256; of a link, of what it points to


def make(
    folder: Path,
    python: str,
    libraries: dict[str, str],
    packages: dict[str, str],
    lacks: dict[str, str],
) -> Manifest:
    """The manifest of a folder that is complete but for its manifest."""
    files = list(filter(Path.is_file, sorted(folder.rglob("*"))))
    needed: dict[str, glibc.Version] = {}
    for file in itertools.filterfalse(Path.is_symlink, files):
        part = _part(file.relative_to(folder))
        needed[part] = max(glibc.needed([file]), needed.get(part, (0, 0)))
    return Manifest(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        python=python,
        machine=platform.machine(),
        glibc=glibc.text(max(needed.values(), default=(0, 0))),
        parts={part: glibc.text(version) for part, version in needed.items() if any(version)},
        libraries=libraries,
        lacks=lacks,
        packages=packages,
        files={str(file.relative_to(folder)): _hash(file) for file in files},
    )


def read(folder: Path) -> Manifest:
    """The manifest in a folder; UserError when there is none that can be read."""
    try:
        manifest = decoded((folder / NAME).read_bytes())
    except OSError as error:
        raise UserError(f"{folder} is not a bundle ({NAME}: {error.strerror})") from None
    except ValueError as error:
        raise UserError(f"{folder} is not a bundle ({NAME}: {printable(str(error))})") from None
    if manifest.schema != SCHEMA:
        raise UserError(f"{folder} is a bundle of schema {manifest.schema}, not {SCHEMA}")
    return manifest


def decoded(content: bytes) -> Manifest:
    """The manifest in a file; ValueError without one."""
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def problems(folder: Path) -> list[str]:
    """The problems that keep an unpacked bundle from running here, a line each."""
    manifest = read(folder)
    lines = []
    for name, wanted in manifest.files.items():
        file = folder / name
        if not is_inside(name):
            lines.append(f"{printable(name)} leads out of the bundle: get it from its source again")
        elif not file.is_file():
            lines.append(f"{name} is missing: unpack the bundle again")
        elif _hash(file) != wanted:
            lines.append(f"{name} is damaged: unpack the bundle again")
    if manifest.machine != platform.machine():
        lines.append(f"the bundle is for {manifest.machine}, this machine is {platform.machine()}")
    needed = tuple(int(part) for part in manifest.glibc.split("."))
    if glibc.installed() < needed:
        lines.append(f"it needs glibc {manifest.glibc}, here is {glibc.text(glibc.installed())}")
    if not python_for(manifest.python):
        lines.append(f"it needs Python {manifest.python}: set NEARPEAK_PYTHON to one")
    return lines


def is_inside(name: str) -> bool:
    """True if a path is relative and stays where it begins, judged only by its text."""
    return name != "" and not name.startswith("/") and ".." not in name.split("/")


def python_for(version: str) -> str | None:
    """The Python that the bundle's start script would take, if there is one of this version."""
    names = (os.environ.get("NEARPEAK_PYTHON", ""), "python3", f"python{version}")
    programs = filter(None, map(shutil.which, names))
    return next((program for program in programs if _version(program) == version), None)


def _part(file: Path) -> str:
    """The part of a bundle that a file belongs to: `python`, `cache/build`, `cache/mpi/NAME`."""
    depth = {"cache/mpi": 3, "cache/build": 2}.get("/".join(file.parts[:2]), 1)
    return "/".join(file.parts[:depth])


def _version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()
