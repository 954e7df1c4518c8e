# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle."""

import lzma
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import msgspec

from nearpeak.bundle import manifest, trim, wheels
from nearpeak.bundle.manifest import FOLDER
from nearpeak.errors import UserError, closest
from nearpeak.files import is_read_only, replacing
from nearpeak.libraries import build, catalogue
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library
from nearpeak.libraries.whole import faults
from nearpeak.numbers import count

SUFFIX = ".tar.xz"
PRESET = 4  # of xz: higher ones take much longer for little
# Scripts of jobs start the program by its name, which is that of the start script.
ENTRY = """\
import sys
from pathlib import Path

from nearpeak.cli.main import main

sys.argv[0] = str(Path(__file__).resolve().parents[1] / "nearpeak")
main()
"""


@dataclass(frozen=True)
class Made:
    """A bundle that was written, with about how many of its bytes each part takes."""

    size_bytes: int
    parts: dict[str, int]
    manifest: manifest.Manifest


def make(
    names: Sequence[str],
    python: str,
    archive: Path,
    *,
    imb: bool = False,
    processor: str | None = None,
    own_compiler: bool = False,
) -> Made:
    """Writes the archive for these libraries of the catalogue and this Python (like 3.12).

    With `processor`, the tables for other single processors are left out. `own_compiler` as for
    build.copy_programs.
    UserError when a part is not available, or a library is not whole.
    """
    if not archive.name.endswith(SUFFIX):
        raise UserError(f"cannot write {archive}: a bundle is a {SUFFIX[1:]}, name it NAME{SUFFIX}")
    if not archive.parent.is_dir():
        raise UserError(f"cannot write {archive}: there is no folder {archive.parent}")
    if is_read_only(archive.parent):
        raise UserError(f"cannot write {archive}: {archive.parent} is read-only")
    wanted = closure(names)
    checkout = build.sources().parent
    if not (checkout / "requirements.lock").is_file():
        raise UserError(f"a bundle is made from a checkout, and {checkout} is not one")
    with tempfile.TemporaryDirectory(prefix="nearpeak-bundle-") as temporary:
        folder = Path(temporary) / FOLDER
        for name in names:
            catalogue.add(name)
        prefixes = {entry.prefix for entry in wanted}
        _check(processor, prefixes)
        libraries = [resolve(name) for name in names]
        for library in libraries:
            _check_whole(library)
        packages = wheels.lay_out(checkout, python, folder / "python")
        _program(folder, python)
        build.copy_programs(libraries, folder / "cache", own_compiler=own_compiler)
        lacks = {}
        for prefix in prefixes:
            target = folder / "cache/mpi" / prefix.name
            lacks[prefix] = trim.copy(prefix, target, imb=imb, processor=processor)
        versions = {entry.name: entry.version for entry in wanted}
        lacking = {entry.name: lacks[entry.prefix] for entry in wanted if lacks[entry.prefix]}
        made = manifest.make(folder, python, versions, packages, lacking)
        text = msgspec.json.format(msgspec.json.encode(made))
        (folder / manifest.NAME).write_bytes(text)
        parts = _pack(folder, archive)
    return Made(archive.stat().st_size, parts, made)


def _check(processor: str | None, prefixes: Iterable[Path]) -> None:
    """UserError for a processor that no library has tables for."""
    available = sorted(set().union(*map(trim.processors, prefixes)))
    if processor and processor not in available:
        hint = closest(processor, available) if available else ": leave the option out"
        raise UserError(f"no library here has tables for the processor {processor!r}{hint}")


def _check_whole(library: Library) -> None:
    """UserError for a library with a module that no machine could load.

    A module that lacks a driver here may load on the other machine.
    """
    broken = [fault for fault in faults(library) if not fault.driver]
    if broken:
        others = f"; and {count(len(broken) - 1, 'module')} more" if broken[1:] else ""
        raise UserError(f"cannot bundle {library.name}: {broken[0].text}{others}")


def closure(names: Sequence[str]) -> list[catalogue.Entry]:
    """The entries of these libraries and of what they need; UserError for one that is none."""
    entries: dict[str, catalogue.Entry] = {}
    for name in names:
        if name not in catalogue.libraries():
            available = ", ".join(catalogue.libraries())
            raise UserError(f"cannot bundle {name!r}: choose of the catalogue's {available}")
    left = list(names)
    while left:
        entry = catalogue.entry(left.pop(0))
        entries[entry.name] = entry
        left += [name for name in (entry.base, *entry.needs) if name and name not in entries]
    return list(entries.values())


def _program(folder: Path, python: str) -> None:
    """The program, the sources of what it builds, and the script that starts it."""
    package = Path(str(resources.files("nearpeak")))
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "src/nearpeak", ignore=ignored)
    (folder / "src/__main__.py").write_text(ENTRY)
    ignored = shutil.ignore_patterns("tests", ".*")
    shutil.copytree(build.sources(), folder / "bench", ignore=ignored)
    shutil.copytree(build.preloaded_sources(), folder / "preload", ignore=ignored)
    text = (package / "bundle/start.sh").read_text("utf-8")
    text = text.replace("@PYTHON@", python).replace("@MACHINE@", platform.machine())
    start = folder / "nearpeak"
    start.write_text(text)
    start.chmod(0o755)


def _pack(folder: Path, archive: Path) -> dict[str, int]:
    """Writes the archive, and says what each part of the folder takes of it, about."""
    parts: dict[str, int] = {}
    places = [*sorted((folder / "cache/mpi").iterdir()), folder / "cache/build"]
    places += [file for file in sorted(folder.iterdir()) if file.name != "cache"]
    try:
        with (
            replacing(archive) as raw,
            lzma.LZMAFile(raw, "wb", preset=PRESET) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for place in places:
                before = raw.tell()
                name = str(place.relative_to(folder))
                tar.add(place, f"{FOLDER}/{name}", filter=_anonymous)
                parts[name] = raw.tell() - before
    except OSError as error:
        raise UserError(f"cannot write {archive}: {error.strerror}") from None
    return parts


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Files belong to whoever unpacks them."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
