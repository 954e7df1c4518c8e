# SPDX-License-Identifier: Apache-2.0
"""Builds the measuring programs on first use, and keeps them in the cache by fingerprint.

A program's fingerprint covers its sources, mpi.h and the kind of processor, and not the compiler. A
node with another compiler, or none, can use programs that were built on a login node or came in a
bundle. The code that programs share (CORE) is compiled once, and kept for one compiler.
"""

import contextlib
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.files import disk_is_full, make_private, says_full
from nearpeak.libraries import catalogue, glibc, portable, standard_abi
from nearpeak.libraries.compiling import run_shown
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.families import all_families, is_native
from nearpeak.libraries.library import Library
from nearpeak.locks import acquire
from nearpeak.owners import check_kept

SHOWN_LINES = 40  # of the compiler's output, when it fails
BUILT = "build"  # folder of the cache
COMPILER = "compiler"  # file beside a program that names its compiler


@dataclass(frozen=True)
class Kit:
    """The header and library that nearpeak-mpi is compiled and linked with."""

    header: Path  # mpi.h
    library: Path  # libmpi.so.N


def build_mpi(library: Library) -> Path:
    """nearpeak-mpi for this library: one build for all that share mpi.h and SONAME.

    nearpeak-native for libraries that it replaces. UserError when there is no compiler, it fails,
    or the cache folder cannot be written.
    """
    if is_native(library):
        return build_native()
    return _build_mpi(kit_for(library), own_benchmarks(), library.name)


def build_trace(library: Library) -> Path:
    """Builds the library that `nearpeak trace` preloads into programs; errors as build_mpi."""
    return _program(_preloaded(kit_for(library), library.name, TRACE))


def build_layer(library: Library) -> Path:
    """Builds the layer, which moves device buffers of programs; errors as build_mpi."""
    return _program(_preloaded(kit_for(library), library.name, LAYER))


def build_explain() -> Path:
    """Builds the library that `nearpeak explain` preloads; errors as build_mpi."""
    return _program(EXPLAIN)


def build_queries() -> Path:
    """Builds the library that `nearpeak layer --only-queries` preloads; errors as build_mpi."""
    return _program(QUERIES)


@functools.cache
def build_native() -> Path:
    """nearpeak-native; errors as build_mpi."""
    return _program(NATIVE)


def needs_compilers_libraries(program: Path) -> bool:
    """True if a program needs the run-time library of its compiler (libstdc++.so)."""
    return b"libstdc++.so" in program.read_bytes()


def copy_programs(libraries: list[Library], cache: Path, *, own_compiler: bool = False) -> None:
    """Copies the programs and preloaded libraries of these libraries into another cache folder.

    Other machines find them there. They are built for glibc.PORTABLE, or by this machine's
    compiler. UserError as build_mpi, where the portable compiler cannot be installed, and where a
    program of this machine's compiler would need that compiler's libraries.
    """
    kits = [(kit_for(library), library.name) for library in libraries]
    targets = [_mpi(kit, None, name) for kit, name in kits]
    targets += [_preloaded(kit, name, file) for kit, name in kits for file in (TRACE, LAYER)]
    for target in dict.fromkeys([NATIVE, EXPLAIN, QUERIES, *targets]):
        program = _program(target) if own_compiler else _build(replace(target, portable=True))
        if needs_compilers_libraries(program):
            raise UserError(
                f"{program} needs libstdc++.so of this machine's compiler: install its static "
                f"library (dnf install libstdc++-static), remove {program.parent} and try again"
            )
        destination = cache / BUILT / target.identity()
        destination.mkdir(parents=True, exist_ok=True)
        for name in (target.program, COMPILER):
            shutil.copy2(program.with_name(name), destination / name)


def compiler_of(program: Path) -> str:
    """The compiler that built a program, by its version text; "" where it was not recorded."""
    try:
        return program.with_name(COMPILER).read_text("utf-8").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Target:
    """A program or CORE, and what its build depends on other than sources and compiler."""

    program: str  # its file
    options: tuple[str, ...] = ()  # for cmake
    parts: tuple[bytes, ...] = ()
    portable: bool = False  # built to run with glibc.PORTABLE
    words: str = field(default="", compare=False)  # for people, instead of `program`

    @property
    def called(self) -> str:
        """Its name for people."""
        return self.words or self.program

    @property
    def tools(self) -> list[str]:
        """The C++ compiler; UserError without one."""
        return portable.compiler() if self.portable else compiler()

    def identity(self) -> str:
        """The same for the same sources, parts and kind of processor."""
        kind = [self.program.encode(), platform.machine().encode()]
        parts = [*kind, *self.parts]
        if private := PRELOADED.get(self.program):
            others = {folder for names in PRELOADED.values() for folder in names} - {*private}
            parts.append(fingerprint(preloaded_sources(), [], {"tests", *others}).encode())
        return fingerprint(sources(), parts)


CORE = Target("libnearpeak_core.a", words="what the measuring programs share")  # needs no MPI
NATIVE = Target("nearpeak-native")
TRACE = "libnearpeak-trace.so"
LAYER = "libnearpeak-layer.so"
EXPLAIN = Target("libnearpeak-explain.so")  # one for all libraries
QUERIES = Target("libnearpeak-queries.so")  # one for all libraries, too
# Targets without CORE, and their folders of preloaded_sources(), of which no program has any.
PRELOADED = {
    TRACE: ("calls", "trace"),
    LAYER: ("calls", "layer"),
    EXPLAIN.program: ("explain",),
    QUERIES.program: ("queries",),
}


def own_benchmarks() -> Path | None:
    """The folder of the user's benchmarks: $NEARPEAK_BENCHMARKS. UserError where it is none."""
    named = os.environ.get("NEARPEAK_BENCHMARKS")
    if not named:
        return None
    folder = Path(named).resolve()
    if not folder.is_dir():
        raise UserError(
            f"NEARPEAK_BENCHMARKS is {named}, which is not a folder: correct or unset it"
        )
    return folder


def _mpi(kit: Kit, benchmarks: Path | None, library: str, program: str = "nearpeak-mpi") -> Target:
    options = [
        f"-DNEARPEAK_MPI_INCLUDE={kit.header.parent}",
        f"-DNEARPEAK_MPI_LIBRARY={kit.library}",
        f"-DNEARPEAK_MPI_RUNPATH={_runpath(kit.library.parent)}",
    ]
    # The library of the ABI that it links with does not matter, only its name does.
    parts = [kit.header.read_bytes(), kit.library.name.encode()]
    if benchmarks:
        options.append(f"-DNEARPEAK_BENCHMARKS={benchmarks}")
        parts += [file.read_bytes() for file in sorted(benchmarks.glob("*.cpp"))]
    label = f"{program} for {library}"
    return Target(program, tuple(options), tuple(parts), words=label)


def _preloaded(kit: Kit, library: str, program: str) -> Target:
    return _mpi(kit, None, library, program)


def _runpath(library: Path) -> str:
    """The folder in which a program looks for its MPI library without LD_LIBRARY_PATH.

    A folder of the cache is relative to the program, so that both can be moved together.
    """
    cache = folders.cache()
    if library.is_relative_to(cache):
        return f"$ORIGIN/../../{library.relative_to(cache)}"
    return str(library)


@functools.cache
def _build_mpi(kit: Kit, benchmarks: Path | None, library: str) -> Path:
    return _program(_mpi(kit, benchmarks, library))


def _program(target: Target) -> Path:
    return _find(target) or _build(target)


def _find(target: Target) -> Path | None:
    """The program in the cache that runs here, if there is one.

    Without a compiler, one that was built with other CXX, CXXFLAGS or LDFLAGS will do. UserError
    where there is neither a program nor a compiler.
    """
    program = _kept(target) / target.program
    if _runs_here(program):
        return program
    try:
        compiler()
    except UserError:
        builds = sorted((folders.cache() / BUILT).glob(f"{target.identity()}*/{target.program}"))
        for other in builds:
            if _runs_here(other):
                return other
        if builds:
            needed, installed = map(glibc.text, (glibc.needed(builds), glibc.installed()))
            raise UserError(
                f"{builds[0]} needs glibc {needed}, this machine has {installed} and no C++"
                " compiler: run `nearpeak build` on a machine with this glibc or an older one"
            ) from None
        raise
    return None


def _runs_here(program: Path) -> bool:
    """True if a built file is there, and this machine's glibc is new enough for it. UserError where
    others can exchange it."""
    if not program.is_file():
        return False
    check_kept(program)
    return glibc.needed([program]) <= glibc.installed()


def kit_for(library: Library) -> Kit:
    """The library and its header; without a header, that of the catalogue's library of its ABI.

    The catalogue's library is installed for that.
    """
    header = own_header(library)
    if header:
        return Kit(header, library.libmpi)
    standard = library.abi == standard_abi.NAME
    needed = standard_abi.HEADER if standard else "mpi.h"
    # The catalogue's libraries of these names have these ABIs.
    name = standard_abi.LENDER if standard else library.abi
    if not catalogue.entry(name).installed:
        print(
            f"{library.name} in {library.prefix} has no {needed} (install its development package,"
            f" as libopenmpi-dev or mpich-devel): to build for it, {name} is installed from the "
            "package index, for its header alone",
            file=sys.stderr,
            flush=True,
        )
    catalogue.add(name)
    lender = standard_abi.by_it(resolve(name)) if standard else resolve(name)
    header = own_header(lender)
    if header is None:
        raise UserError(
            f"no {needed} for {library.name}: install its development package, "
            f"or remove {lender.prefix} and run `nearpeak mpi add {name}`"
        )
    same_name = lender.libmpi.name == library.libmpi.name
    return Kit(header, lender.libmpi if same_name else library.libmpi)


def own_header(library: Library) -> Path | None:
    """The mpi.h of a library, or mpi_abi.h; None for an installation without one, or with another
    library's."""
    prefix, folder = library.prefix, library.libmpi.parent
    name, mark = "mpi.h", all_families()[library.family].header_mark
    if library.abi == standard_abi.NAME:
        name, mark = standard_abi.HEADER, standard_abi.HEADER_MARK
    candidates = [
        prefix / "include",
        folder / library.family / "include",  # Debian's Open MPI
        *sorted(prefix.glob(f"include/{library.family}-*")),  # Red Hat's
        *sorted(Path("/usr/include").glob(f"{prefix.name}-*")),
        prefix / "include" / folder.name / library.family,  # Debian's MPICH
    ]
    for candidate in candidates:
        header = candidate / name
        if header.is_file() and mark in header.read_text("utf-8", errors="replace"):
            return header
    return None


def sources() -> Path:
    """The folder of the measuring programs: $NEARPEAK_BENCH, else the wheel's, else the checkout's.

    UserError where it is none.
    """
    named = os.environ.get("NEARPEAK_BENCH")
    package = Path(__file__).parents[1]
    brought = package / "bench"
    default = brought if brought.is_dir() else package.parents[1] / "bench"
    folder = Path(named).resolve() if named else default
    if not (folder / "CMakeLists.txt").is_file():
        raise UserError(
            f"no measuring programs in {folder}: set NEARPEAK_BENCH to the bench folder of a "
            "checkout of Nearpeak"
        )
    return folder


def preloaded_sources() -> Path:
    """The folder of what is preloaded into applications, beside that of the measuring programs."""
    return sources().with_name("preload")


def compiler() -> list[str]:
    """The C++ compiler as a command: $CXX, else the first of c++, g++, clang++ on PATH."""
    named = os.environ.get("CXX")
    if named:
        try:
            command = shlex.split(named)
        except ValueError as error:  # a quotation mark that is not closed
            raise UserError(f"CXX is {named!r} ({error}): correct or unset it") from None
        if not command or shutil.which(command[0]) is None:
            raise UserError(f"the C++ compiler {named!r} (CXX) was not found: correct or unset CXX")
        return command
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise UserError(
        "the measuring programs are not built yet, and no C++ compiler was found: install one "
        "(apt-get install g++, dnf install gcc-c++), set CXX, or run `nearpeak build` on a machine "
        "that has one and shares this cache folder"
    )


def fingerprint(
    folder: Path, parts: list[bytes], without: Collection[str] = frozenset({"tests"})
) -> str:
    """A hash of the sources in a folder, `without` some folders in it, and of `parts`."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and name.parts[0] not in without and not file.name.startswith("."):
            digest.update(f"{name}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def _kept(target: Target) -> Path:
    """The folder of a build: named by its identity, and by CXX and flags where they are set.

    The name for CORE, which programs are linked with, and for portable builds contains the compiler
    too.
    """
    chosen = [os.environ.get(name, "") for name in ("CXX", "CXXFLAGS", "LDFLAGS")]
    if target.program == CORE.program or target.portable:
        chosen += [shlex.join(target.tools), _compiler_version(target.tools)]
    name = target.identity()
    if any(chosen):
        name += f"-{hashlib.sha256(repr(chosen).encode()).hexdigest()[:8]}"
    return folders.cache() / BUILT / name


def _compiler_version(tools: list[str]) -> str:
    """The output of the compiler's --version."""
    output = subprocess.run([*tools, "--version"], capture_output=True, check=False).stdout
    return output.decode(errors="replace")


def _build(target: Target) -> Path:
    kept, program = _kept(target), target.program
    if _runs_here(kept / program):
        return kept / program
    try:
        make_private(kept.parent)
        with _lock(kept.with_suffix(".lock"), target):
            if not _runs_here(kept / program):
                _make(target, kept)
    except OSError as error:
        raise UserError(
            f"cannot write to {kept.parent} ({error.strerror}): set NEARPEAK_CACHE to a folder "
            "that can"
        ) from error
    check_kept(kept / program)
    return kept / program


def _make(target: Target, kept: Path) -> None:
    """Builds in a temporary folder; `kept`, with the program and the log, appears at once.

    NATIVE also builds a missing CORE, as both together take less time.
    """
    core = replace(CORE, portable=target.portable)
    if target.program == NATIVE.program:
        shared = _kept(core)
        with _lock(shared.with_suffix(".lock"), core):
            if not _runs_here(shared / core.program):
                _compile({core: shared, target: kept}, [])
                return
    without_core = target.program in (CORE.program, *PRELOADED)
    _compile({target: kept}, [] if without_core else [f"-DNEARPEAK_CORE={_build(core)}"])


def _compile(folders_of: dict[Target, Path], core: list[str]) -> None:
    """Builds the targets in this order, in one tree and by one compiler.

    `core`: cmake's option for the place of CORE.
    """
    folder = sources()
    first = next(iter(folders_of))
    tools = first.tools
    names = " and ".join(target.called for target in folders_of)
    cmake, ninja = _tool("cmake"), _tool("ninja")
    last = list(folders_of.values())[-1]
    prefix = f".building-{last.name}-"
    for left_behind in last.parent.glob(f"{prefix}*"):  # by killed processes: the lock is ours
        shutil.rmtree(left_behind, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=last.parent))
    try:
        tree, log = temporary / "tree", temporary / "build.log"
        configure = [
            *(cmake, "-S", str(folder), "-B", str(tree), "-G", "Ninja"),
            *(f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_BUILD_TYPE=Release"),
            *(*core, *(option for target in folders_of for option in target.options)),
            *([portable.CMAKE] if first.portable else []),
        ]
        targets = [target.program for target in folders_of]
        build = [cmake, "--build", str(tree), "--target", *targets]
        # ccache, where it is used, ignores the changing name of the folder, and keeps objects that
        # use a precompiled header only with this sloppiness.
        ccache = {
            "CCACHE_BASEDIR": str(temporary),
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
            **os.environ,
        }
        environment = {**ccache, "CXX": shlex.join(tools)}
        if first.portable:
            environment |= portable.environment()
        if run_shown(names, (configure, build), environment, log):
            failed = last.with_suffix(".log")
            log.replace(failed)
            output = failed.read_text("utf-8", errors="replace")
            if says_full(output) or disk_is_full(failed.parent):
                raise UserError(
                    f"no space is left to build {names} in {failed.parent}: free some, or name a "
                    "folder of another disk in NEARPEAK_CACHE"
                )
            lines = output.splitlines()
            print(*lines[-SHOWN_LINES:], sep="\n", file=sys.stderr)
            raise UserError(
                f"{names} could not be built with {shlex.join(tools)}: see {failed}, and if that "
                "compiler is too old for C++20, set CXX to another one"
            )
        for target, kept in folders_of.items():
            if _kept(target) != kept:
                raise UserError(f"{folder} changed while {names} was built: start again")
        for target, kept in folders_of.items():
            _keep(target, tree, log, kept)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _keep(target: Target, tree: Path, log: Path, kept: Path) -> None:
    """Lets the folder of a build appear at once, with all that belongs to it."""
    result = tree.parent / target.program
    result.mkdir()
    shutil.copy2(tree / target.program, result / target.program)
    for path in (result, result / target.program):  # whatever the umask is
        path.chmod(0o755)
    shutil.copy2(log, result / log.name)
    first_line, _, _ = _compiler_version(target.tools).partition("\n")
    (result / COMPILER).write_text(f"{first_line}\n", "utf-8")
    if kept.exists():  # without the program, or with one that does not run here
        shutil.rmtree(kept)
    result.rename(kept)


def _tool(name: str) -> str:
    """A build tool: the one installed beside this Python, else the one on PATH."""
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if program is None:
        raise UserError(f"{name} was not found: install it with `python -m pip install {name}`")
    return program


@contextlib.contextmanager
def _lock(file: Path, target: Target) -> Iterator[None]:
    """Holds a lock file; a second process waits until the first has built, and says so."""

    def waiting(held: str) -> None:
        message = f"Waiting for another process, which compiles {target.called}"
        print(message + (f" ({held})" if held else ""), file=sys.stderr, flush=True)

    with file.open("w") as handle:
        lock = acquire(handle.fileno(), file, waiting)
        try:
            yield
        finally:
            lock.release()
