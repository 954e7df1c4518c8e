# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle."""

import lzma
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import msgspec

from nearpeak.bundle import manifest, trim, wheels
from nearpeak.bundle.manifest import FOLDER
from nearpeak.errors import UserError
from nearpeak.libraries import build, catalogue
from nearpeak.libraries.discover import resolve

LIMIT_BYTES = 60_000_000
PRESET = 4  # of xz: higher ones take much longer and are not needed for the limit
ENTRY = "from nearpeak.cli.main import main\n\nmain()\n"


@dataclass(frozen=True)
class Made:
    """A bundle that was written, with about how many of its bytes each part takes."""

    size_bytes: int
    parts: dict[str, int]
    manifest: manifest.Manifest


def make(names: Sequence[str], python: str, archive: Path, *, imb: bool = False) -> Made:
    """Writes the archive for these libraries of the catalogue and this Python (like 3.12).

    UserError when something cannot be had, or the archive would be larger than LIMIT_BYTES.
    """
    if not archive.parent.is_dir():
        raise UserError(f"cannot write {archive}: there is no folder {archive.parent}")
    wanted = _closure(names)
    checkout = build.sources().parent
    if not (checkout / "requirements.lock").is_file():
        raise UserError(f"a bundle is made from a checkout, and {checkout} is not one")
    with tempfile.TemporaryDirectory(prefix="nearpeak-bundle-") as temporary:
        folder = Path(temporary) / FOLDER
        packages = wheels.lay_out(checkout, python, folder / "python")
        _program(folder, python)
        for name in names:
            catalogue.add(name)
        build.copy_programs([resolve(name) for name in names], folder / "cache")
        for prefix in {entry.prefix for entry in wanted}:
            trim.copy(prefix, folder / "cache/mpi" / prefix.name, imb=imb)
        versions = {entry.name: entry.version for entry in wanted}
        made = manifest.make(folder, python, versions, packages)
        text = msgspec.json.format(msgspec.json.encode(made))
        (folder / manifest.NAME).write_bytes(text)
        parts = _pack(folder, archive)
    return Made(archive.stat().st_size, parts, made)


def _closure(names: Sequence[str]) -> list[catalogue.Entry]:
    """The entries of these libraries and of what they need; UserError for one that is none."""
    found: dict[str, catalogue.Entry] = {}
    for name in names:
        if name not in catalogue.libraries():
            there = ", ".join(catalogue.libraries())
            raise UserError(f"cannot bundle {name!r}: choose of the catalogue's {there}")
    left = list(names)
    while left:
        entry = catalogue.entry(left.pop(0))
        found[entry.name] = entry
        left += [name for name in (entry.base, *entry.needs) if name and name not in found]
    return list(found.values())


def _program(folder: Path, python: str) -> None:
    """The program, the sources of the measuring programs, and the script that starts it."""
    package = Path(str(resources.files("nearpeak")))
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "src/nearpeak", ignore=ignored)
    (folder / "src/__main__.py").write_text(ENTRY)
    shutil.copytree(build.sources(), folder / "bench", ignore=shutil.ignore_patterns("tests", ".*"))
    text = (package / "bundle/start.sh").read_text("utf-8")
    text = text.replace("@PYTHON@", python).replace("@MACHINE@", platform.machine())
    start = folder / "nearpeak"
    start.write_text(text)
    start.chmod(0o755)


def _pack(folder: Path, archive: Path) -> dict[str, int]:
    """Writes the archive, and says what each part of the folder takes of it, about."""
    parts: dict[str, int] = {}
    places = [*sorted((folder / "cache/mpi").iterdir()), folder / "cache/build"]
    places += [one for one in sorted(folder.iterdir()) if one.name != "cache"]
    temporary = archive.with_name(f".{archive.name}.part")
    try:
        with temporary.open("wb") as raw:
            with (
                lzma.LZMAFile(raw, "wb", preset=PRESET) as packed,
                tarfile.open(fileobj=packed, mode="w") as tar,
            ):
                for place in places:
                    before = raw.tell()
                    name = str(place.relative_to(folder))
                    tar.add(place, f"{FOLDER}/{name}", filter=_anonymous)
                    parts[name] = raw.tell() - before
            size = raw.tell()
        if size > LIMIT_BYTES:
            sizes = ", ".join(f"{name} {bytes_ / 1e6:.1f}" for name, bytes_ in parts.items())
            raise UserError(
                f"the bundle would be {size / 1e6:.1f} MB, more than {LIMIT_BYTES / 1e6:.0f}: "
                f"leave a library out (MB: {sizes})"
            )
        temporary.replace(archive)
    except OSError as error:
        raise UserError(f"cannot write {archive}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return parts


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Files belong to whoever unpacks them."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
