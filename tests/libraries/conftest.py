# SPDX-License-Identifier: Apache-2.0
"""Real MPI libraries, installed in the user's cache, and made-up ones for discovery."""

import functools
import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries.build import compiler, kit_for
from nearpeak.libraries.library import Library

PATH = os.environ["PATH"]  # before any test takes the compiler away
COMPILER = compiler()

# An MPI program: each rank says where it is; with arguments, ranks 0 and 1 exchange messages.
WHERE = r"""
#include <mpi.h>
#include <sched.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = argc > 1 ? atoi(argv[1]) : 0, times = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<char> data(size);
  for (int i = 0; i < times; i++) {
    if (rank == 0) MPI_Send(data.data(), size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data.data(), size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  char line[1000], host[100];
  gethostname(host, sizeof host);
  const char* word = getenv("NEARPEAK_TEST_WORD");
  int used = snprintf(line, 900, "rank %d|%s|%s|", rank, host, word ? word : "");
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < 64; cpu++)
    if (CPU_ISSET(cpu, &set)) used += snprintf(line + used, 900 - used, "%d ", cpu);
  used += snprintf(line + used, 900 - used, "|\n");
  if (write(1, line, used) != used) return 1;
  MPI_Finalize();
}
"""


@pytest.fixture(params=["openmpi", "openmpi-4", "openmpi-cuda", "mpich", "intel"])
def library(request: pytest.FixtureRequest, installed: Callable[[str], Library]) -> Library:
    """Each installable library in turn."""
    return installed(request.param)


@pytest.fixture
def mpich(installed: Callable[[str], Library]) -> Library:
    """MPICH, installed if it is not."""
    return installed("mpich")


@pytest.fixture
def intel(installed: Callable[[str], Library]) -> Library:
    """Intel MPI, installed if it is not."""
    return installed("intel")


@pytest.fixture(scope="session")
def where(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Library], str]:
    """The program above, built for a library."""

    @functools.cache
    def build(header: Path, shared: Path) -> str:
        folder = tmp_path_factory.mktemp("where")
        (folder / "where.cpp").write_text(WHERE)
        flags = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{header.parent}"]
        link = [str(shared), "-Wl,--allow-shlib-undefined"]
        command = [*COMPILER, *flags, "where.cpp", "-o", "where", *link]
        subprocess.run(command, cwd=folder, check=True)
        return str(folder / "where")

    def for_library(library: Library) -> str:
        kit = kit_for(library)
        return build(kit.header, kit.library)

    return for_library


@pytest.fixture(scope="session")
def shared_object(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles a piece of C++ to a shared object."""

    @functools.cache
    def build(code: str) -> Path:
        folder = tmp_path_factory.mktemp("shared")
        (folder / "code.cpp").write_text(code)
        command = [*COMPILER, "-shared", "-fPIC", "code.cpp", "-o", "code.so"]
        subprocess.run(command, cwd=folder, env={**os.environ, "PATH": PATH}, check=True)
        return folder / "code.so"

    return build


@pytest.fixture(scope="session")
def speaking(shared_object: Callable[[str], Path]) -> Callable[[str], Path]:
    """A shared object that says a text when it is asked for its version."""

    def build(text: str) -> Path:
        literal = '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'
        return shared_object(
            "#include <cstring>\n"
            'extern "C" int MPI_Get_library_version(char* text, int* length) {\n'
            f"  strcpy(text, {literal}); *length = strlen(text); return 0; }}\n"
        )

    return build


@pytest.fixture
def fake_library(speaking: Callable[[str], Path]) -> Callable[..., Path]:
    """Puts a made-up library (shared object and launcher) into a prefix."""

    def make(
        prefix: Path,
        text: str,
        *,
        says: str,
        soname: str = "libmpi.so.12",
        lib: str = "lib",
        launcher: str = "mpirun",
    ) -> Path:
        (prefix / lib).mkdir(parents=True, exist_ok=True)
        (prefix / lib / soname).write_bytes(speaking(text).read_bytes())
        (prefix / "bin").mkdir(exist_ok=True)
        program = prefix / "bin" / launcher
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        return prefix

    return make


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no MPI library at all: nothing on PATH, in prefixes, modules or the cache."""
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("nearpeak.libraries.discover.USUAL_PREFIXES", ())
    monkeypatch.setattr("nearpeak.libraries.modules.START_FILES", ())
    for name in list(os.environ):
        if name.endswith(("MPI_ROOT", "MPI_HOME", "MPI_DIR", "MPICH_DIR")) or "module" in name:
            monkeypatch.delenv(name)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "env", "cat"):
        found = Path("/usr/bin") / name
        if found.exists():
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    return tmp_path


@pytest.fixture
def module_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """A made-up `module`: what `avail` prints (to stderr, as Tcl modules do), what `load` does."""

    def make(avail: str, load: str) -> None:
        listing = tmp_path / "avail"
        listing.write_text(textwrap.dedent(avail))
        body = f'() {{ case "$1" in -t) cat {listing} >&2 ;; load) {load} ;; esac; }}'
        monkeypatch.setenv("BASH_FUNC_module%%", body)

    return make
