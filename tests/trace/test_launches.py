# SPDX-License-Identifier: Apache-2.0
"""Real applications under `nearpeak trace`: what it says they called is what they called."""

import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from mpi_launches import LIMIT

from nearpeak.cli.main import main
from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.build import build_mpi, compiler
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.trace.trace import Trace

HERE = Path(__file__).parent
# The driver knows one part of the memory: what is at odd addresses of the application's buffers.
FAKE_CUDA = """
extern "C" int cuPointerGetAttributes(unsigned count, const int* attributes, void** answers,
                                      unsigned long long) {
  if (count != 1 || attributes[0] != 2) return 1;
  *static_cast<unsigned*>(answers[0]) = 2;
  return 0;
}
"""
# Without an MPI library of its own.
LOADING = """
#include <dlfcn.h>
int main(int argc, char** argv) {
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 9;
  return reinterpret_cast<int (*)(int, char**)>(dlsym(library, "application"))(argc - 1, argv + 1);
}
"""


@dataclass
class Traced:
    """What a traced launch has left."""

    code: int
    out: str
    err: str
    trace: Trace | None

    def calls(self) -> dict[tuple[str, int | None, str], tuple[int, int]]:
        """Calls and bytes, by operation, smallest of a class and place of the other rank."""
        assert self.trace is not None, (self.out, self.err)
        found = {}
        for entry in self.trace.entries:
            assert 0 <= entry.longest_seconds <= entry.seconds
            name = f"{entry.operation}({entry.made_by})" if entry.made_by else entry.operation
            found[name, entry.size_bytes, entry.peer] = (entry.calls, entry.bytes)
        return found


@dataclass
class Tracer:
    """Launches of one library under `nearpeak trace`."""

    library: Library
    folder: Path
    known: Callable[..., str]

    def compiled(self, *flags: str) -> str:
        """known.c."""
        return self.known(self.library, *flags)

    def run(
        self,
        *program: str,
        ranks: int = 2,
        options: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
    ) -> Traced:
        file = self.folder / "trace.json"
        cpus = sorted(os.sched_getaffinity(0))
        places = [Rank(cpus=[cpus[-1 if rank % 2 else 0]]) for rank in range(ranks)]
        settings = Settings(env=env or {})
        launch = Launch(program=list(program), ranks=places, settings=settings)
        line = command_line(self.library, launch)
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        words = ["trace", "-o", str(file), *options, "--", *line.argv]
        said = [self.folder / name for name in ("out", "err")]
        code = forked(words, self.folder, {**line.env, "TMPDIR": str(temporary)}, said)
        assert list(temporary.glob("nearpeak-trace-*")) == []
        trace = msgspec.json.decode(file.read_bytes(), type=Trace) if file.exists() else None
        out, err = (text.read_text(errors="replace") for text in said)
        return Traced(code, out, err, trace)


def forked(words: list[str], folder: Path, env: dict[str, str], said: list[Path]) -> int:
    """The exit status of `nearpeak` in a folder, with its output in two files. A fork of this
    process, as to import everything anew takes as long as a launch; test_two_hosts.py does."""

    def run() -> None:
        os.chdir(folder)
        os.environ.update(env)
        tempfile.tempdir = None  # as TMPDIR says
        for number, file in enumerate(said, 1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["nearpeak", *words]
        main()

    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    child.join(LIMIT)
    child.kill()
    assert child.exitcode is not None, words
    return child.exitcode


@pytest.fixture(params=["openmpi", "mpich"])
def tracer(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    installed: Callable[[str], Library],
    known: Callable[..., str],
) -> Tracer:
    """Each library in turn, installed if need be."""
    return Tracer(installed(request.param), tmp_path, known)


one_library = pytest.mark.parametrize("tracer", ["mpich"], indirect=True)

BLOCKING = {
    ("MPI_Send", 512, "same host"): (100, 100_000),
    ("MPI_Recv", 512, "same host"): (100, 100_000),
    ("MPI_Ssend", 8, "same host"): (1, 12),
    ("MPI_Recv", 8, "same host"): (1, 12),
}


def expected(ranks: int) -> dict[tuple[str, int | None, str], tuple[int, int]]:
    """The calls of known.c."""
    gathered = {}
    for rank in range(ranks):
        key = ("MPI_Allgatherv", 1 << (rank + 1).bit_length() - 1, "none")
        calls, size = gathered.get(key, (0, 0))
        gathered[key] = (calls + 1, size + rank + 1)
    return {
        **BLOCKING,
        **gathered,
        ("MPI_Sendrecv", 64, "self"): (ranks, 64 * ranks),
        ("MPI_Send", 8, "none"): (ranks, 0),
        ("MPI_Irecv", 4096, "same host"): (10, 40_960),
        ("MPI_Isend", 4096, "same host"): (10, 40_960),
        ("MPI_Waitall", None, "none"): (10, 0),
        ("MPI_Send_init", None, "none"): (1, 0),
        ("MPI_Recv_init", None, "none"): (1, 0),
        ("MPI_Start(MPI_Send_init)", 512, "same host"): (7, 5600),
        ("MPI_Start(MPI_Recv_init)", 512, "same host"): (7, 5600),
        ("MPI_Wait", None, "none"): (14 + ranks, 0),
        ("MPI_Bsend", 4, "none"): (1, 0),
        ("MPI_Bsend", 8, "none"): (2, 0),
        ("MPI_Bsend", 16, "none"): (1, 0),
        ("MPI_Allreduce", 128, "none"): (10 * ranks, 1280 * ranks),
        ("MPI_Allreduce", 32, "none"): (ranks, 32 * ranks),
        ("MPI_Iallreduce", 256, "none"): (ranks, 256 * ranks),
        ("MPI_Bcast", 1024, "none"): (ranks, 1200 * ranks),
        ("MPI_Alltoall", 1 << (10 * ranks).bit_length() - 1, "none"): (ranks, 10 * ranks * ranks),
        ("MPI_Alltoallv", 1, "none"): (ranks, ranks),
        ("MPI_Barrier", None, "none"): (ranks, 0),
        ("MPI_Comm_dup", None, "none"): (ranks, 0),
        ("MPI_Comm_free", None, "none"): (ranks, 0),
        ("MPI_Sendrecv", 8, "same host"): (ranks, 8 * ranks),
        ("MPI_Win_create", None, "none"): (ranks, 0),
        ("MPI_Win_fence", None, "none"): (2 * ranks, 0),
        ("MPI_Win_free", None, "none"): (ranks, 0),
        ("MPI_Put", 2048, "same host"): (1, 2048),
    }


@pytest.mark.parametrize("tracer", ["openmpi", "mpich", "intel"], indirect=True)
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_call_is_counted(tracer: Tracer, ranks: int) -> None:
    done = tracer.run(tracer.compiled(), ranks=ranks)
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == expected(ranks)
    trace = done.trace
    assert trace is not None
    assert trace.library == f"{tracer.library.family} {tracer.library.version}"
    assert [rank.rank for rank in trace.ranks] == list(range(ranks))
    assert trace.expected == ranks
    assert datetime.now(timezone.utc) - datetime.fromisoformat(trace.started) < timedelta(hours=1)
    for rank in trace.ranks:
        assert rank.finalized
        assert 0 < rank.mpi_seconds < rank.run_seconds < LIMIT
        assert (rank.threads, rank.lost) == (1, 0)
        assert rank.world == rank.launched == ranks
        assert rank.waiting_seconds < rank.mpi_seconds
    assert sum(entry.seconds for entry in trace.entries) == pytest.approx(trace.mpi_seconds)
    assert sum(rank.bytes for rank in trace.ranks) == sum(entry.bytes for entry in trace.entries)
    assert trace.wall_seconds == max(rank.run_seconds for rank in trace.ranks)
    assert trace.missing == []
    assert "of MPI" in done.out
    assert "MPI_Finalize" not in done.out


def test_requests_communicators_and_files_are_counted(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "more", str(tracer.folder / "file"))
    assert done.code == 0, (done.out, done.err)
    communicators = {"split": 4, "create_group": 2, "idup": 2, "free": 16}
    assert done.calls() == {
        ("MPI_Send_init", None, "none"): (2, 0),
        ("MPI_Recv_init", None, "none"): (2, 0),
        ("MPI_Startall(MPI_Send_init)", 8, "same host"): (6, 48),
        ("MPI_Startall(MPI_Recv_init)", 16, "same host"): (6, 96),
        ("MPI_Waitall", None, "none"): (6, 0),
        ("MPI_Allreduce_init", None, "none"): (2, 0),
        ("MPI_Start(MPI_Allreduce_init)", 128, "none"): (4, 512),
        ("MPI_Psend_init", None, "none"): (1, 0),
        ("MPI_Precv_init", None, "none"): (1, 0),
        ("MPI_Start(MPI_Psend_init)", None, "same host"): (2, 0),
        ("MPI_Start(MPI_Precv_init)", 512, "same host"): (2, 1600),
        ("MPI_Pready", 64, "same host"): (2, 200),
        ("MPI_Pready_range", 256, "same host"): (2, 600),
        ("MPI_Pready_list", 256, "same host"): (2, 800),
        ("MPI_Parrived", None, "none"): (2, 0),
        ("MPI_Wait", None, "none"): (12, 0),
        **{(f"MPI_Comm_{name}", None, "none"): (n, 0) for name, n in communicators.items()},
        ("MPI_Sendrecv", 8, "same host"): (6, 48),
        ("MPI_Intercomm_create", None, "none"): (2, 0),
        ("MPI_Intercomm_merge", None, "none"): (2, 0),
        ("MPI_Cart_create", None, "none"): (2, 0),
        ("MPI_Cart_sub", None, "none"): (2, 0),
        ("MPI_Win_allocate_shared", None, "none"): (2, 0),
        ("MPI_Win_create_dynamic", None, "none"): (2, 0),
        ("MPI_Win_free", None, "none"): (4, 0),
        ("MPI_Pack", 16, "none"): (2, 32),
        ("MPI_Unpack", 16, "none"): (2, 32),
        ("MPI_Reduce_local", 16, "none"): (2, 32),
        ("MPI_File_open", None, "none"): (2, 0),
        ("MPI_File_write_at", 512, "none"): (2, 2000),
        ("MPI_File_sync", None, "none"): (2, 0),
        ("MPI_Barrier", None, "none"): (2, 0),
        ("MPI_File_read_at", 256, "none"): (2, 1000),
        ("MPI_File_iread_at", 64, "none"): (2, 200),
        ("MPI_File_write_at_all", 16, "none"): (2, 32),
        ("MPI_File_close", None, "none"): (2, 0),
    }
    assert done.trace is not None
    begun = {entry.operation for entry in done.trace.entries if entry.begins}
    assert {"MPI_Startall", "MPI_Pready", "MPI_File_iread_at", "MPI_Comm_idup"} <= begun
    assert not {"MPI_Sendrecv", "MPI_Wait", "MPI_File_read_at", "MPI_Pack"} & begun


def test_what_is_scattered_among_two_groups_has_the_counts_of_the_own_one(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "groups", ranks=3)
    assert done.code == 0, (done.out, done.err)
    calls = done.calls()
    scattered = {name: calls[name] for name in calls if name[0].startswith("MPI_Reduce_scatter")}
    assert scattered == {
        ("MPI_Reduce_scatter", 16, "none"): (3, 48),
        ("MPI_Reduce_scatter_block", 16, "none"): (3, 48),
    }


def test_more_than_an_int_counts(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "large")
    assert done.code == 0, (done.out, done.err)
    size = (2049 << 20, 1 << 31)
    calls = done.calls()
    assert calls["MPI_Send", size[1], "same host"] == (1, size[0])
    assert calls["MPI_Recv", size[1], "same host"] == (1, size[0])
    large = 2 if tracer.library.abi == "mpich" else 0
    assert calls["MPI_Send", 2 * size[1], "none"] == (2 + large, 0)


def test_a_message_to_nobody_has_a_size_and_moves_nothing(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "nobody")
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == {
        ("MPI_Sendrecv", 8, "none"): (2, 0),
        ("MPI_Isend", 16, "none"): (2, 0),
        ("MPI_Irecv", 32, "none"): (2, 0),
        ("MPI_Send_init", None, "none"): (2, 0),
        ("MPI_Start(MPI_Send_init)", 64, "none"): (2, 0),
        ("MPI_Wait", None, "none"): (6, 0),
        ("MPI_Win_create", None, "none"): (2, 0),
        ("MPI_Win_fence", None, "none"): (4, 0),
        ("MPI_Put", 128, "none"): (2, 0),
        ("MPI_Win_free", None, "none"): (2, 0),
    }
    assert done.trace is not None
    assert [rank.bytes for rank in done.trace.ranks] == [0, 0]


@pytest.mark.parametrize("tracer", ["openmpi"], indirect=True)
def test_the_launcher_of_another_library_is_told(tracer: Tracer) -> None:
    try:
        catalogue.add("mpich")
    except UserError as error:
        pytest.skip(f"mpich cannot be installed: {error}")
    other = Tracer(resolve("mpich"), tracer.folder, tracer.known)
    env = command_line(tracer.library, Launch(program=["-"], ranks=[Rank(cpus=[0])])).env
    done = other.run(tracer.compiled(), "next", options=("--mpi", "openmpi"), env=env)
    assert done.code == 0, (done.out, done.err)
    assert done.trace is not None
    assert [(rank.rank, rank.world, rank.launched) for rank in done.trace.ranks] == [(0, 1, 2)] * 2
    assert "it is not the launcher of openmpi" in " ".join(done.out.split())


def test_a_program_of_sessions_is_counted(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "session")
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == {
        ("MPI_Comm_create_from_group", None, "none"): (2, 0),
        ("MPI_Sendrecv", 8, "same host"): (2, 16),
        ("MPI_Comm_free", None, "none"): (2, 0),
    }
    assert done.trace is not None
    assert [(rank.rank, rank.finalized) for rank in done.trace.ranks] == [(0, True), (1, True)]


def quiet(done: Traced) -> list[bool]:
    """Which ranks came to their end, of a launch about which nothing was said."""
    assert (done.code, done.err) == (0, ""), done.out
    assert done.trace is not None
    for rank in done.trace.ranks:
        assert 0 < rank.mpi_seconds < rank.run_seconds
    return [rank.finalized for rank in done.trace.ranks]


@one_library  # Open MPI 5.0.11 crashes in its second session, also without tracing
def test_every_session_is_counted(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "sessions")
    assert quiet(done) == [True, True]
    assert done.calls() == {
        ("MPI_Comm_create_from_group", None, "none"): (4, 0),
        ("MPI_Sendrecv", 8, "same host"): (4, 32),
        ("MPI_Comm_free", None, "none"): (4, 0),
    }


@one_library  # likewise
def test_a_world_after_a_session_is_counted(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "session, then world")
    assert quiet(done) == [True, True]
    assert done.calls() == {("MPI_Bcast", 1024, "none"): (2000, 2000 * 1024)}


def test_a_world_outlives_the_session_that_was_there_before(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "world in session")
    assert quiet(done) == [True, True]
    assert done.calls() == {("MPI_Bcast", 1024, "none"): (2000, 2000 * 1024)}


def test_threads_are_counted_each_for_itself(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled("-pthread"), "threads")
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == {("MPI_Send", 16, "none"): (2 * 4001, 0)}
    assert done.trace is not None
    assert [rank.threads for rank in done.trace.ranks] == [5, 5]


def test_a_library_that_is_loaded_late_is_counted(tracer: Tracer) -> None:
    """As an interpreter does that is not linked with MPI."""
    loaded = tracer.compiled("-Dmain=application", "-shared", "-fPIC")
    source, program = tracer.folder / "late.cpp", str(tracer.folder / "late")
    source.write_text(LOADING)
    subprocess.run([*compiler(), str(source), "-o", program, "-ldl"], check=True)
    done = tracer.run(program, loaded, options=("--mpi", tracer.library.name))
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == expected(2)


@pytest.mark.parametrize("tracer", ["openmpi"], indirect=True)
def test_calls_of_the_profiling_interface_are_counted(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled("-DPROFILED"))
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == expected(2)


@pytest.mark.parametrize("tracer", ["intel"], indirect=True)
def test_a_fortran_program_is_counted(tracer: Tracer) -> None:
    fortran = shutil.which("gfortran")
    if fortran is None:
        pytest.skip("no Fortran compiler here")
    program, libmpi = tracer.folder / "known", tracer.library.libmpi
    binding = libmpi.with_name("libmpifort.so.12")
    words = ["-fallow-argument-mismatch", str(HERE / "known.f90"), "-o", str(program)]
    link = [str(binding), str(libmpi), "-Wl,--allow-shlib-undefined"]
    subprocess.run([fortran, *words, *link], cwd=tracer.folder, check=True)
    done = tracer.run(str(program))
    assert done.code == 0, (done.out, done.err)
    assert done.calls() == {
        ("MPI_Send", 512, "same host"): (100, 100_000),
        ("MPI_Recv", 512, "same host"): (100, 100_000),
        ("MPI_Barrier", None, "none"): (2, 0),
    }


@pytest.mark.parametrize("how", ["killed", "aborted"])
def test_a_crash_leaves_what_was_seen(tracer: Tracer, how: str) -> None:
    done = tracer.run(tracer.compiled(), how)
    assert done.code not in (0, 2), (done.out, done.err)
    assert done.code < 128
    calls = done.calls()
    assert calls.items() >= BLOCKING.items()
    assert calls["MPI_Barrier", None, "none"][0] >= 1
    assert "did not come to MPI_Finalize" in done.out
    told = re.search(r"ended with exit status (\d+)", done.out)
    assert told
    assert done.code == (int(told[1]) if int(told[1]) < 128 else 1)


@one_library
def test_the_exit_status_is_the_applications(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "failed")
    assert done.code == 7
    assert done.calls() == expected(2)


def beside_fake_cuda(tracer: Tracer) -> dict[str, str]:
    """The environment of a program that loads a driver."""
    source = tracer.folder / "cuda.cpp"
    source.write_text(FAKE_CUDA)
    words = ["-shared", "-fPIC", str(source), "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*compiler(), *words, "-o", "libcuda.so.1"], cwd=tracer.folder, check=True)
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": f"{tracer.folder}:{before}"}


@one_library
def test_buffers_of_a_device_are_told_apart(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "cuda", env=beside_fake_cuda(tracer))
    assert done.code == 0, (done.out, done.err)
    assert done.trace is not None
    with_buffers = {entry.memory for entry in done.trace.entries if entry.size_bytes is not None}
    assert with_buffers == {"device"}
    assert done.calls() == expected(2)


@one_library
def test_a_driver_may_be_loaded_late(tracer: Tracer) -> None:
    done = tracer.run(tracer.compiled(), "late", env=beside_fake_cuda(tracer))
    assert done.code == 0, (done.out, done.err)
    assert done.trace is not None
    memories = {(entry.size_bytes, entry.memory): entry.calls for entry in done.trace.entries}
    assert memories == {(8, "host"): 4, (16, "device"): 2}


@one_library
def test_what_is_measured_can_be_traced(tracer: Tracer) -> None:
    program = str(build_mpi(tracer.library))
    done = tracer.run(program, "latency", "--sizes", "8,1K", "--slot-ms", "1")
    assert done.code == 0, (done.out, done.err)
    calls = done.calls()
    for size in (8, 1024):
        sent, received = (calls[name, size, "same host"] for name in ("MPI_Send", "MPI_Recv"))
        assert sent == received
        assert sent[0] > 10
        assert sent[1] == sent[0] * size


def nearpeak(folder: Path, *words: str) -> tuple[int, list[str]]:
    """The exit status, and what was said on stderr."""
    out, err = folder / "out", folder / "err"
    code = forked(["trace", *words], folder, {}, [out, err])
    return code, err.read_text().splitlines()


def test_a_program_without_mpi_is_refused(tmp_path: Path) -> None:
    code, [line] = nearpeak(tmp_path, "--", "ls", "/")
    assert code == 2
    assert line.startswith("nearpeak: no program in `ls /` is linked with an MPI library")
    code, [line] = nearpeak(tmp_path, "--", "/nowhere/app")
    assert code == 2


@one_library
def test_a_program_that_calls_no_mpi_is_told(tracer: Tracer) -> None:
    assert tracer.library.name == "mpich"
    code, lines = nearpeak(tracer.folder, "--mpi", "mpich", "--", "true")
    assert code == 2
    assert "no process of `true` called MPI_Init" in lines[-1]


def test_an_unknown_library_is_refused(tmp_path: Path) -> None:
    code, [line] = nearpeak(tmp_path, "--mpi", "mpitch", "--", "true")
    assert code == 2
    assert "unknown MPI library 'mpitch'" in line
