# SPDX-License-Identifier: Apache-2.0
"""Builds the measuring programs on first use, and keeps them in the cache by fingerprint.

What they share (CORE) is compiled once, and kept there as a program is.

A bundle brings them prebuilt: they are taken while the sources and mpi.h are those they were built
from, so that no compiler is needed.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.libraries import catalogue, glibc
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.model import Library

SHOWN_LINES = 40  # of the compiler's output, when it fails
PREBUILT = "prebuilt"  # folder of the cache
# The compiler's own libraries may be newer here than where a prebuilt program is to run.
PORTABLE = ["-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc"]


@dataclass(frozen=True)
class Kit:
    """What nearpeak-mpi is compiled and linked with."""

    header: Path  # mpi.h
    library: Path  # libmpi.so.N


def build_mpi(library: Library) -> Path:
    """nearpeak-mpi for this library: one build for all that share mpi.h and SONAME.

    nearpeak-native for what that stands in for. UserError when there is no compiler, it fails, or
    the cache folder cannot be written.
    """
    if is_native(library):
        return build_native()
    return _build_mpi(kit_for(library), own_benchmarks())


@functools.cache
def build_native() -> Path:
    """nearpeak-native; errors as build_mpi."""
    return _prebuilt(NATIVE) or _build(NATIVE)


def prebuild(cache: Path, libraries: list[Library]) -> None:
    """Puts nearpeak-native and nearpeak-mpi for these libraries into `cache`, to run elsewhere too.

    Errors as build_mpi.
    """
    for target in dict.fromkeys([NATIVE, *(_mpi(kit_for(library)) for library in libraries)]):
        there = cache / PREBUILT / target.identity()
        there.mkdir(parents=True, exist_ok=True)
        portable = dataclasses.replace(
            target, options=(*target.options, *PORTABLE), parts=(*target.parts, b"portable")
        )
        shutil.copy2(_build(portable), there / target.program)


@dataclass(frozen=True)
class Target:
    """A program or CORE, and what its build depends on besides sources and compiler."""

    program: str  # its file
    options: tuple[str, ...] = ()  # for cmake
    parts: tuple[bytes, ...] = ()

    def identity(self) -> str:
        """Names it where the compiler does not matter: the same sources, parts and machine."""
        kind = [self.program.encode(), platform.machine().encode()]
        return fingerprint(sources(), [*kind, *self.parts])


CORE = Target("libnearpeak_core.a")  # needs no MPI
NATIVE = Target("nearpeak-native")


def own_benchmarks() -> Path | None:
    """The folder of benchmarks that are not Nearpeak's: $NEARPEAK_BENCHMARKS. UserError where it
    is none."""
    named = os.environ.get("NEARPEAK_BENCHMARKS")
    if not named:
        return None
    folder = Path(named).resolve()
    if not folder.is_dir():
        raise UserError(f"NEARPEAK_BENCHMARKS is {named}, which is no folder: correct or unset it")
    return folder


def _mpi(kit: Kit, own: Path | None = None) -> Target:
    options = [
        f"-DNEARPEAK_MPI_INCLUDE={kit.header.parent}",
        f"-DNEARPEAK_MPI_LIBRARY={kit.library}",
    ]
    # Which library of the ABI it links with does not matter, only the name it will look for.
    parts = [kit.header.read_bytes(), kit.library.name.encode()]
    if own:
        options.append(f"-DNEARPEAK_BENCHMARKS={own}")
        parts += [file.read_bytes() for file in sorted(own.glob("*.cpp"))]
    return Target("nearpeak-mpi", tuple(options), tuple(parts))


@functools.cache
def _build_mpi(kit: Kit, own: Path | None) -> Path:
    target = _mpi(kit, own)
    return _prebuilt(target) or _build(target)


def _prebuilt(target: Target) -> Path | None:
    """The program that a bundle brought, if it is there and this machine's glibc will do."""
    if not (folders.cache() / PREBUILT).is_dir():
        return None
    file = folders.cache() / PREBUILT / target.identity() / target.program
    return file if file.is_file() and glibc.needed([file]) <= glibc.here() else None


def kit_for(library: Library) -> Kit:
    """The library's own header and library; where it has no header, those of the catalogue's
    library of its ABI, which is installed for that.
    """
    header = own_header(library)
    if header:
        return Kit(header, library.libmpi)
    catalogue.add(library.abi)  # the catalogue's libraries of these names have these ABIs
    lender = resolve(library.abi)
    header = own_header(lender)
    if header is None:
        raise UserError(
            f"no mpi.h for {library.name}: install its development package, "
            f"or remove {lender.prefix} and run `nearpeak mpi add {library.abi}`"
        )
    same_name = lender.libmpi.name == library.libmpi.name
    return Kit(header, lender.libmpi if same_name else library.libmpi)


def own_header(library: Library) -> Path | None:
    """The mpi.h that belongs to a library, or None: a run time alone, or another library's."""
    prefix, folder = library.prefix, library.libmpi.parent
    mark = all_families()[library.family].header_mark
    candidates = [
        prefix / "include",
        folder / library.family / "include",  # Debian's Open MPI
        *sorted(prefix.glob(f"include/{library.family}-*")),  # Red Hat's
        *sorted(Path("/usr/include").glob(f"{prefix.name}-*")),
        prefix / "include" / folder.name / library.family,  # Debian's MPICH
    ]
    for candidate in candidates:
        header = candidate / "mpi.h"
        if header.is_file() and mark in header.read_text("utf-8", errors="replace"):
            return header
    return None


def sources() -> Path:
    """The folder of the measuring programs: $NEARPEAK_BENCH, else that of the checkout."""
    named = os.environ.get("NEARPEAK_BENCH")
    folder = Path(named) if named else Path(__file__).parents[3] / "bench"
    if not (folder / "CMakeLists.txt").is_file():
        raise UserError(
            f"no measuring programs in {folder}: set NEARPEAK_BENCH to the bench folder of a "
            "checkout of Nearpeak"
        )
    return folder


def compiler() -> list[str]:
    """The C++ compiler as a command: $CXX, else the first of c++, g++, clang++ on PATH."""
    named = os.environ.get("CXX")
    if named:
        command = shlex.split(named)
        if not command or shutil.which(command[0]) is None:
            raise UserError(f"the C++ compiler {named!r} (CXX) was not found: correct or unset CXX")
        return command
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise UserError(
        "no C++ compiler was found: install one (apt-get install g++, dnf install gcc-c++), "
        "or set CXX"
    )


def fingerprint(folder: Path, parts: list[bytes]) -> str:
    """A hash of the sources in a folder, and of `parts`."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and name.parts[0] != "tests" and not file.name.startswith("."):
            digest.update(f"{name}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _kept(target: Target) -> Path:
    """The folder of its build: named by sources, compiler and all that both are given."""
    said = subprocess.run([*compiler(), "--version"], capture_output=True, check=False).stdout
    flags = [os.environ.get(name, "").encode() for name in ("CXXFLAGS", "LDFLAGS")]
    tools = shlex.join(compiler()).encode()
    parts = [tools, said, *flags, target.program.encode(), *target.parts]
    return folders.cache() / "build" / fingerprint(sources(), parts)


def _build(target: Target) -> Path:
    kept, program = _kept(target), target.program
    if (kept / program).exists():
        return kept / program
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with _lock(kept.with_suffix(".lock")):
            if not (kept / program).exists():
                _make(target, kept)
    except OSError as error:
        raise UserError(
            f"cannot write to {kept.parent} ({error.strerror}): set NEARPEAK_CACHE to a folder "
            "that can"
        ) from error
    return kept / program


def _make(target: Target, kept: Path) -> None:
    """Builds in a temporary folder; `kept`, with the program and the log, appears at once."""
    folder, tools, program = sources(), compiler(), target.program
    core = [] if target == CORE else [f"-DNEARPEAK_CORE={_build(CORE)}"]
    print(f"Building {program} ...", file=sys.stderr, flush=True)
    cmake, ninja = _tool("cmake"), _tool("ninja")
    temporary = Path(tempfile.mkdtemp(prefix=".building-", dir=kept.parent))
    try:
        tree, result = temporary / "tree", temporary / "result"
        result.mkdir()
        log = result / "build.log"
        configure = [
            *(cmake, "-S", str(folder), "-B", str(tree), "-G", "Ninja"),
            *(f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_BUILD_TYPE=Release"),
            *(*core, *target.options),
        ]
        build = [cmake, "--build", str(tree), "--target", program]
        environment = {**os.environ, "CXX": shlex.join(tools)}
        with log.open("wb") as output:
            for command in (configure, build):
                done = subprocess.run(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                if done.returncode:
                    break
        if done.returncode:
            failed = kept.with_suffix(".log")
            log.replace(failed)
            lines = failed.read_text("utf-8", errors="replace").splitlines()
            print(*lines[-SHOWN_LINES:], sep="\n", file=sys.stderr)
            raise UserError(
                f"{program} could not be built with {shlex.join(tools)}: see {failed}, or set CXX "
                "to another compiler"
            )
        if _kept(target) != kept:
            raise UserError(f"{folder} changed while {program} was built: start again")
        shutil.copy2(tree / program, result / program)
        if kept.exists():  # without the program: of no use
            shutil.rmtree(kept)
        result.rename(kept)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _tool(name: str) -> str:
    """A build tool: the one installed beside this Python, else the one on PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise UserError(f"{name} was not found: install it with `python -m pip install {name}`")
    return found


@contextlib.contextmanager
def _lock(file: Path) -> Iterator[None]:
    """Holds a lock file; a second process waits until the first has built."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
