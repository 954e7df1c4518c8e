# SPDX-License-Identifier: Apache-2.0
"""`nearpeak run`: on stand-ins, and for real where a library is installed."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from mpi_launches import LIMIT

from nearpeak.launching import mps, paths, programs
from nearpeak.launching.foreground import run_in_foreground
from nearpeak.libraries import discover, launch
from nearpeak.libraries.library import CommandLine, Library
from nearpeak.machine import doctor
from nearpeak.machine.machine import Diagnosis

FLAGS = ("CXX", "CXXFLAGS", "LDFLAGS")
NEARPEAK = str(Path(sys.executable).with_name("nearpeak"))
Nearpeak = Callable[..., tuple[int, str, str]]


def check_two_hosts(hosts: list[str], shell: str | None) -> list[str]:
    """Without trying whether they answer."""
    return hosts if len(hosts) == 2 else CHECK_HOSTS(hosts, shell)


CHECK_HOSTS = paths.check_hosts


def test_a_benchmark_that_is_named_twice_needs_a_plus(command: Nearpeak) -> None:
    words = ["put_bw", "--win", "created", "put_bw", "--win", "allocated"]
    code, out, err = command("run", *words)
    assert (code, out) == (2, "")
    assert "put_bw is named twice: begin the second one with a +" in err
    assert err.count("\n") == 1


def test_a_second_library_is_not_taken_for_the_first(nearpeak: Nearpeak) -> None:
    code, out, err = nearpeak("run", "latency", "--mpi", "one", "--mpi", "two")
    assert (code, out) == (2, "")
    assert err == (
        "nearpeak: nearpeak run starts one library: give one --mpi; several are compared by"
        " `nearpeak study --mpi one --mpi two`\n"
    )


def test_run_prints_its_line_and_the_programs_exit_status(
    nearpeak: Nearpeak,
) -> None:
    words = ["latency", "--mpi", "one", "--sizes", "8", "--calls", "blocking", "--reuse", "fixed"]
    code, _, err = nearpeak("run", *words)
    assert code == 0
    assert "latency --buffers H,H --sizes 8 --calls blocking" in err
    code, _, err = nearpeak("run", *words, "--settings-env", "NEARPEAK_FAKE=wrong")
    assert code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("latncy",), "unknown benchmark 'latncy'; did you mean 'latency'?"),
        (("allreduce", "--mpi", "one", "-n", "4"), "-n: the number of ranks is --ranks N, like"),
        (("allreduce", "--mpi", "one", "-np4"), "-np4: the number of ranks is --ranks N, like"),
        (
            ("latency", "--mpi", "one", "--hosts", "localhost,localhost2", "--ranks", "5"),
            "--ranks 5: 2 hosts have as many ranks each: give a multiple of 2",
        ),
        (("latency", "--mpi", "three"), "unknown MPI library 'three'"),
        (("latency", "--mpi", "one@x"), "unknown settings 'x' of fake; there are: default"),
        (("osu_latency", "--mpi", "one"), "OMB's osu_latency is called latency here"),
        (("latency",), "name a library with --mpi, one of `nearpeak mpi list`"),
        ((), "name a benchmark, like `nearpeak run latency"),
        (("latency", "--mpi", "one", "--calls", "bad"), "nearpeak-mpi: bad is refused"),
        (("latency", "--mpi", "one", "--calls=bad"), "nearpeak-mpi: --calls=bad is refused"),
        (("latency", "--mpi", "one", "--path", "x"), "unknown path 'x'"),
        (
            ("latency", "--mpi", "one", "--path", "host-memory node0"),
            "host-memory node0: ceilings are measured there, and no MPI; choose a path between"
            " ranks: host-host same-numa, host-host tcp-loop",
        ),
        (("latency", "--mpi", "one", "--hosts", "a"), "name two different hosts"),
        (("allreduce", "--mpi", "one", "--ranks", "4096"), "--ranks 4096: no path has so many"),
        (
            ("allreduce", "--mpi", "one", "--ranks", "3", "--path", "x"),
            "--ranks chooses a path by itself: leave out one of --path and --ranks",
        ),
        (
            ("latency", "--mpi", "one", "--oversubscribe"),
            "--oversubscribe is of as many ranks as --ranks says: give --ranks N, or leave",
        ),
        (
            ("latency", "--mpi", "one", "--buffers", "H,H,H"),
            "--buffers: 'H,H,H' names 3 buffers alike: give H for all ranks",
        ),
        (("latency", "--mpi", "one", "--settings-env", "A"), "'A': write NAME=VALUE"),
        (("latency", "--mpi", "one", "-o", "x"), "`--jsonl FILE` keeps its records"),
        (("latency", "--mpi", "one", "--jsonl", "/"), "--jsonl / is a folder: name a file"),
    ],
)
def test_bad_input_of_run_is_one_line(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(paths, "check_hosts", check_two_hosts)
    code, _, err = nearpeak("run", *words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "fake", "why"),
    [
        ((), "misplaced", "rank 0 ran on CPUs [99], wanted [0]"),
        ((), "misplaced and hang", "rank 0 ran on CPUs [99], wanted [0]"),
        (("--hosts", "a,b"), "one host", "all ranks ran on host h, not on a and b"),
        (("--reversed", "+", "latency"), "misplaced", "rank 0 ran on CPUs [99], wanted [1]"),
        ((), "nowhere", "it did not say where it ran"),
    ],
)
def test_a_launch_that_ran_elsewhere_is_not_believed(
    nearpeak: Nearpeak,
    standins: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    fake: str,
    why: str,
) -> None:
    if "--hosts" in words:
        between = standins.host_path("a", "b")
        monkeypatch.setattr(paths, "discover_paths", lambda *_: ([between], []))
        monkeypatch.setattr(paths, "check_hosts", lambda *_: ["a", "b"])
    line = ["run", "latency", "--mpi", "one", "--settings-env", f"NEARPEAK_FAKE={fake}"]
    code, _, err = nearpeak(*line, "--sizes", "8", *words)
    assert code == 1
    assert err.splitlines()[-1] == f"nearpeak: no figure of this launch counts: {why}"


def test_doctor_is_asked_for_the_ranks_of_a_host_alone(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def examine(*, ranks: int, **_: object) -> list[object]:
        asked.append(ranks)
        return []

    monkeypatch.setattr(doctor, "examine", examine)
    monkeypatch.setattr(paths, "check_hosts", lambda *_: ["a", "b"])
    nearpeak("run", "allreduce", "--mpi", "one", "--hosts", "a,b", "--ranks", "4")
    assert asked == [2]


def test_a_launch_with_another_library_is_not_believed(nearpeak: Nearpeak) -> None:
    line = ["run", "latency", "--mpi", "one", "--sizes", "8"]
    code, _, err = nearpeak(*line, "--settings-env", "NEARPEAK_FAKE_LIBRARY=Fake 2")
    assert code == 1
    assert err.endswith("counts: it ran with Fake 2, wanted Fake 1\n")
    code, _, _ = nearpeak(*line, "--settings-env", "NEARPEAK_FAKE_LIBRARY=Fake 1")
    assert code == 0


def test_what_a_user_records_is_looked_at_from_where_it_begins(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    line = ["run", "latency", "--mpi", "one", "--sizes", "8", "--jsonl", str(file)]
    code, _, _ = nearpeak(*line, "--settings-env", "NEARPEAK_FAKE=misplaced")
    assert code == 1
    before = len(file.read_text().splitlines())
    code, _, _ = nearpeak(*line)
    assert code == 0
    assert len(file.read_text().splitlines()) > before


@pytest.mark.parametrize("word", ["--tolerance", "--check"])
def test_what_has_no_records_is_not_asked_where_it_ran(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """nearpeak-mpi refuses --jsonl beside --solve."""
    asked = []

    def start(line: CommandLine, places: list[object], *_: object) -> int:
        asked.append((line.argv, places))
        return 0

    monkeypatch.setattr("nearpeak.launching.foreground.run_in_foreground", start)
    value = ["1e-3"] if word == "--tolerance" else []
    code, _, _ = nearpeak("run", "latency", "--mpi", "one", word, *value)
    assert code == 0
    [(argv, places)] = asked
    assert places == []
    assert "--jsonl" not in argv
    assert (argv[-2:] == ["--solve", "0.001"]) == (word == "--tolerance")


def test_a_launch_that_never_starts_its_ranks_is_ended(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "launcher"
    launcher.write_text("#!/bin/sh\necho 'waiting for node2: no route' >&2\nexec sleep 600\n")
    launcher.chmod(0o755)
    tools = dataclasses.replace(
        programs.TOOLS, command_line=lambda *_: CommandLine(argv=[str(launcher)], env={})
    )
    monkeypatch.setattr(programs, "TOOLS", tools)
    code, _, err = nearpeak("run", "latency", "--mpi", "one", "--launch-limit", "1s")
    assert code == 1
    assert err.splitlines()[-2:] == [
        "waiting for node2: no route",
        "nearpeak: the launch had no record and no figure for 1 s, so it was ended; the last that "
        "it said: waiting for node2: no route (--launch-limit gives it longer)",
    ]
    code, _, err = nearpeak("run", "latency", "--mpi", "one", "--launch-limit", "soon")
    assert code == 2
    assert "--launch-limit: " in err


SAID = "Abort(143): error: no such device"


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (f"echo '{SAID}' >&2; exit 143", 1, f"sh ended with exit status 143): {SAID}; see what it"),
        ("exit 130", 1, "sh ended with exit status 130): ended by SIGINT: it did not say why; see"),
        ("exit 3", 1, "sh ended with exit status 3): it did not say why; see what it said above"),
        ("kill -9 $$", 1, "the launch failed (sh): ended by SIGKILL: it did not say why; see"),
        ("echo nearpeak-mpi: no device >&2; exit 2", 2, "nearpeak-mpi: no device"),
        ("echo no host >&2; exit 2", 1, "sh ended with exit status 2): no host; see what it said"),
        (
            "echo '# NOT SOLVED after 1'; exit 1",
            1,
            "the problem was not solved (sh ended with exit status 1) after 1",
        ),
        (
            """echo '{"record": "problem", "status": "wrong data"}' > r.jsonl; exit 3""",
            3,
            "nearpeak: wrong data was received (sh ended with exit status 3): see the table",
        ),
    ],
)
def test_how_a_launch_failed_is_said_at_the_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    code: int,
    said: str,
) -> None:
    """A status above 127 would say that we were ended by a signal."""
    monkeypatch.chdir(tmp_path)
    line = CommandLine(argv=["sh", "-c", script], env={})
    assert run_in_foreground(line, [], Path("r.jsonl"), 60) == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("nearpeak")
    assert said in last


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "interrupted by SIGTERM")],
)
def test_ctrl_c_ends_a_launch(tmp_path: Path, number: signal.Signals, said: str) -> None:
    """With all that it started; the exit status is the shell's for it, and what its launcher says
    of it is left out."""
    program = tmp_path / "run.py"
    program.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from nearpeak.libraries.library import CommandLine\n"
        "from nearpeak.launching import process\n"
        "from nearpeak.launching.foreground import run_in_foreground\n"
        "process.TERM_GRACE_SECONDS = 1  # then its sleep is killed\n"
        "script = 'trap \"echo TERMINATED; exit 9\" TERM; echo begun >&2; sleep 600 & wait'\n"
        "line = CommandLine(argv=['sh', '-c', script], env={})\n"
        "sys.exit(run_in_foreground(line, [], Path('none'), 600))\n"
    )
    process = subprocess.Popen(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    process.send_signal(number)
    assert process.communicate(timeout=LIMIT) == ("", f"nearpeak: {said}\n")
    assert process.returncode == 128 + number


def test_a_path_with_mps_runs_under_a_daemon(
    nearpeak: Nearpeak, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = standins.gpu_path("gpu-gpu same-gpu mps", mps=True)
    monkeypatch.setattr(paths, "discover_paths", lambda *_: ([path], []))
    begun = []

    @contextlib.contextmanager
    def daemon() -> Iterator[None]:
        begun.append("daemon")
        yield

    monkeypatch.setattr(mps, "daemon", daemon)
    monkeypatch.setattr(launch, "shell_line", lambda line: str(line.env))
    words = ["latency", "--mpi", "one", "--path", path.id, "--buffers", "D,D", "--sizes", "8"]
    code, _, err = nearpeak("run", *words)
    assert code == 0
    assert begun == ["daemon"]
    assert str(mps.environment(mps=True))[1:-1] in err


def test_without_mps_its_path_is_refused(
    nearpeak: Nearpeak, standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = standins.gpu_path("gpu-gpu same-gpu mps", mps=True)
    monkeypatch.setattr(paths, "discover_paths", lambda *_: ([path], []))
    monkeypatch.setattr(mps, "MPS_CONTROL", "no-such-daemon")
    code, _, err = nearpeak("run", "latency", "--mpi", "one", "--path", path.id, "--buffers", "D,D")
    assert code == 2
    assert err.splitlines()[-1].endswith(
        "no-such-daemon was not found on PATH: leave out the paths with mps"
    )


def run_for_real(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NEARPEAK, "run", *words], capture_output=True, text=True, timeout=LIMIT, check=False
    )


@pytest.fixture(params=["openmpi", "mpich"])
def library(request: pytest.FixtureRequest, installed: Callable[[str], Any]) -> str:
    """The name of a library, installed if need be."""
    installed(request.param)
    return str(request.param)


@pytest.mark.usefixtures("own_cpus")
def test_a_real_launch_prints_its_table(library: str) -> None:
    options = ["--sizes", "8,1K", "--slot-ms", "5", "--calls", "nonblocking"]
    done = run_for_real("latency", "--mpi", library, *options)
    assert done.returncode == 0, done.stderr
    assert "nearpeak-mpi latency --buffers H,H --sizes 8,1K" in done.stderr
    assert "# window:" not in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["8", "1024"]
    assert all(float(row[1]) > 0 for row in rows)


def test_the_ceiling_has_the_headings_of_a_library_and_names_its_methods() -> None:
    words = ["--sizes", "8,1K,1M", "--slot-ms", "5", "--limit-s", "1"]
    done = run_for_real("latency", "--mpi", "ceiling", *words)
    assert done.returncode == 0, done.stderr
    assert "nearpeak-native pair --cpus " in done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first == "# ceiling: at each size the best method, which stands at the end"
    assert re.match(
        r"# nearpeak-native \S+ latency: time of one message .*; calls blocking;", second
    )
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == ["8", "1024", "1048576"]
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", row[-1]) for row in rows), rows  # its method


def test_what_a_library_lacks_is_said(tmp_path: Path, installed: Callable[[str], Library]) -> None:
    whole = installed("mpich").prefix
    for file in whole.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "nearpeak-lacks.txt").write_text("a table\n")
    done = run_for_real("latency", "--mpi", str(tmp_path), "--sizes", "8", "--slot-ms", "1")
    assert done.returncode == 0, done.stderr
    assert "is not as its makers ship it: it lacks a table\n" in done.stderr


def test_so_many_ranks(library: str) -> None:
    words = ["--ranks", "3", "--oversubscribe", "--sizes", "33", "--slot-ms", "1"]
    done = run_for_real("jacobi2d", "--mpi", library, *words)
    assert done.returncode == 0, done.stderr
    [row] = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    assert row[0] == "33"


@pytest.mark.usefixtures("own_cpus")
def test_every_value_of_every_axis_moves_the_data(library: str, tmp_path: Path) -> None:
    """Of all messages between pairs of ranks, in a few launches: each takes the next value of all
    its axes. Others have files of their own in tests/mpi."""
    from nearpeak.libraries.build import build_mpi
    from nearpeak.libraries.discover import resolve
    from nearpeak.libraries.launch import command_line, environment
    from nearpeak.libraries.library import Launch, Rank

    found = resolve(library)
    program = [str(build_mpi(found))]
    told = subprocess.run(
        [*program, "--describe"],
        env={**os.environ, **environment(found)},
        capture_output=True,
        check=True,
    )
    sizes = [1, 1000, 65537, 1 << 20]
    axes = {
        benchmark["name"]: {axis["name"]: axis["values"] for axis in benchmark["axes"]}
        for benchmark in json.loads(told.stdout)["benchmarks"]
        if benchmark["family"] == "pt2pt"
        and any(axis["name"] == "staging" for axis in benchmark["axes"])
    }
    for own in axes.values():
        del own["staging"]  # about devices: tests/mpi/test_staging.py
    for turn in range(max(len(values) for own in axes.values() for values in own.values())):
        chosen = {
            name: {axis: values[turn % len(values)] for axis, values in own.items()}
            for name, own in axes.items()
        }
        file = tmp_path / f"{turn}.jsonl"
        words = [word for name, own in chosen.items() for word in (name, *options(own))]
        words += ["--sizes", ",".join(map(str, sizes))]
        # Buffers that rotate are as few on every machine.
        words += ["--slot-ms", "1", "--least-samples", "3", "--in-flight", "4M", "--cache", "4M"]
        words += ["--jsonl", str(file)]
        ranks = [Rank(cpus=[cpu]) for cpu in sorted(os.sched_getaffinity(0))[:2]]
        line = command_line(found, Launch(program=[*program, *words], ranks=ranks))
        done = subprocess.run(
            line.argv,
            env={**os.environ, **line.env},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        records = [json.loads(text) for text in file.read_text().splitlines()][1:]
        cases = [record for record in records if record["record"] != "case"]
        for case in cases:
            # Small messages in rotating buffers may be more than a library can have requests for.
            assert case["record"] == "samples" or "a request for each" in case["message"], words
        for name, own in chosen.items():
            mine = [case for case in cases if case["benchmark"] == name]
            assert {case["size_bytes"] for case in mine} == set(sizes), words
            assert all(own.items() <= case["axes"].items() for case in mine), words


def options(axes: dict[str, str]) -> list[str]:
    return [word for name, value in axes.items() for word in (f"--{name}", value)]


@pytest.mark.parametrize("library", ["mpich"], indirect=True)  # of all: tests/mpi
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jsonl", "/nosuch/file"), "nearpeak-mpi: cannot write /nosuch/file"),
        (("--window", "0"), "nearpeak-mpi: --window"),
        (("--in-flight", "1e6"), "nearpeak-mpi: '1e6' is not a size: give bytes, like 8,"),
        (
            ("-m", "1:4M", "-W", "32"),
            "-m is --sizes LOW:HIGH, -W is --window N; see nearpeak run latency --help",
        ),
        (("-d", "cuda", "D", "D"), "-d is not needed, D D is --buffers D,D; see nearpeak run lat"),
    ],
)
def test_bad_input_of_the_program_ends_with_status_2(
    command: Nearpeak, library: str, words: tuple[str, ...], said: str
) -> None:
    code, _, err = command("run", "latency", "--mpi", library, "--sizes", "8", *words)
    assert code == 2
    assert err.count("nearpeak-mpi: ") == 1
    assert said in err


def test_a_cached_program_runs_without_a_compiler(library: str, tmp_path: Path) -> None:
    from nearpeak.libraries.build import build_mpi
    from nearpeak.libraries.discover import resolve

    build_mpi(resolve(library))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "bash", "env", "cat", "taskset", "hostname"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    bare = {key: value for key, value in os.environ.items() if key not in FLAGS}
    done = subprocess.run(
        [NEARPEAK, "run", "latency", "--mpi", library, "--sizes", "8", "--slot-ms", "5"],
        env={**bare, "PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Compiling" not in done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "8"


@pytest.mark.parametrize("library", ["mpich"], indirect=True)  # the program says it
def test_large_messages_have_a_smaller_window_and_a_line_says_so(library: str) -> None:
    options = ["--sizes", "1K,2M", "--slot-ms", "1", "--limit-s", "1"]
    done = run_for_real("bw", "--mpi", library, *options)
    assert done.returncode == 0, done.stderr
    assert (
        "# window: fewer than 64 messages from 2M on, as at most 64M are in flight; "
        "--in-flight 128M keeps 64, as OMB does"
    ) in done.stdout
    words = ["latency", "--mpi", library, "--sizes", "8", "--slot-ms", "1", "--window", "4"]
    ignored = "# window: latency has none, --window changes nothing"
    assert ignored in run_for_real(*words).stdout


@pytest.mark.parametrize("words", [("--mpi", "one"), ()])
def test_help_with_a_benchmark_shows_its_options(
    nearpeak: Nearpeak, words: tuple[str, ...]
) -> None:
    code, out, _ = nearpeak("run", "latency", *words, "--help")
    assert code == 0
    assert "--settings-env" in out
    assert "OPTIONS of latency --help" in out


def test_without_a_library_help_is_that_of_the_ceilings(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discover, "find_libraries", list)
    code, out, _ = nearpeak("run", "latency", "-h")
    assert code == 0
    assert "OPTIONS of pair --help" in out


def test_run_says_which_path_it_chose(nearpeak: Nearpeak) -> None:
    code, _, err = nearpeak("run", "latency", "--mpi", "one", "--sizes", "8")
    assert code == 0
    assert err.startswith("Path host-host same-numa: ")
    code, _, err = nearpeak(
        "run", "allreduce", "--mpi", "one", "--sizes", "8", "--path", "host-all 4"
    )
    assert code == 0
    assert err.startswith("Path host-all 4: ")
    code, _, err = nearpeak("run", "bw", "--mpi", "one", "--path", "host-all 4")
    assert code == 2
    assert "bw runs on exactly 2 ranks" in err


def test_run_warns_of_what_doctor_finds_bad_once_all_is_known_to_be_right(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Diagnosis(severity="bad", id="load", message="too much load", hint="end it"),
        Diagnosis(severity="warn", id="smt", message="siblings", hint="ask for whole cores"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda **_: found)
    words = ("latency", "--sizes", "8", "--mpi")
    for library in ("one", "ceiling"):
        code, out, err = nearpeak("run", *words, library)
        assert code == 0
        assert err.splitlines()[1] == "machine:    too much load; end it"
        assert "siblings" not in err
        assert "too much load" not in out
    code, _, err = nearpeak("run", *words, "three")
    assert (code, err.count("\n")) == (2, 1)


def test_run_warns_only_of_settings_files_that_the_library_may_read(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Diagnosis(severity="bad", id="settings-file", message=file, settings_prefix=prefix)
        for file, prefix in (("ucx.conf", "UCX_"), (".nccl.conf", "NCCL_"))
    ]
    monkeypatch.setattr(doctor, "examine", lambda **_: found)
    for library, files in (("one", ["ucx.conf"]), ("ceiling", [])):
        _, _, err = nearpeak("run", "latency", "--sizes", "8", "--mpi", library)
        assert [file for file in ("ucx.conf", ".nccl.conf") if file in err] == files


def test_run_tells_of_inherited_variables_that_change_what_is_measured(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in doctor.settings_in(os.environ):
        monkeypatch.delenv(name)
    for name, value in {"FI_PROVIDER": "tcp", "UCX_TLS": "tcp", "I_MPI_SHM": "off"}.items():
        monkeypatch.setenv(name, value)  # the last one is Intel MPI's
    words = ("latency", "--sizes", "8")
    code, out, err = nearpeak("run", *words, "--mpi", "one")
    assert code == 0
    [line] = [line for line in err.splitlines() if "inherited from" in line]
    assert line == (
        "nearpeak: inherited from your shell, and not one's own settings:"
        " FI_PROVIDER=tcp UCX_TLS=tcp; unset them to measure the library as it is"
    )
    assert err.index(line) < err.index(" latency ")  # before the launch
    assert "inherited from" not in out
    _, _, err = nearpeak("run", *words, "--mpi", "one", "--settings-env", "UCX_TLS=all")
    assert "settings: FI_PROVIDER=tcp;" in err  # what is given is not inherited
    _, _, err = nearpeak("run", *words, "--mpi", "ceiling")
    assert "inherited from" not in err


def test_the_load_is_looked_at_before_anything_is_built(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler is load of our own."""
    done: list[str] = []

    def looks(**_: Any) -> list[Diagnosis]:
        done.append("look")
        return []

    def builds(library: Library) -> Path:
        done.append("build")
        return known(library)

    known = programs.TOOLS.mpi_program
    tools = dataclasses.replace(programs.TOOLS, mpi_program=builds)
    monkeypatch.setattr(programs, "TOOLS", tools)
    monkeypatch.setattr(doctor, "examine", looks)
    code, _, _ = nearpeak("run", "latency", "--sizes", "8", "--mpi", "one")
    assert code == 0
    assert done[:2] == ["look", "build"]


def test_what_the_program_says_of_a_good_command_line_is_told_before_the_launch(
    nearpeak: Nearpeak,
) -> None:
    line = ["run", "latency", "--mpi", "one", "--sizes", "8", "bw", "--calls", "noted"]
    _, _, err = nearpeak(*line)
    told, begun = (err.index(words) for words in ("calls is for bw", "Path host-host"))
    assert told < begun


@pytest.mark.parametrize("words", [("--sizes", "8"), ()])
def test_what_has_no_sizes_is_said_to_have_none(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """As in a study, it is measured all the same."""
    describe = programs.describe_library

    def unsized(*given: Any) -> Any:
        told = describe(*given)
        known = [
            msgspec.structs.replace(benchmark, sized=benchmark.name != "allreduce")
            for benchmark in told.benchmarks
        ]
        return msgspec.structs.replace(told, benchmarks=known)

    monkeypatch.setattr(programs, "describe_library", unsized)
    note = "has no sizes: it is measured once, whatever --sizes says"
    code, _, err = nearpeak("run", "allreduce", "--mpi", "one", *(words or ("--window", "1")))
    assert code == 0, err
    assert (f"nearpeak: allreduce {note}\n" in err) == bool(words)
    _, _, err = nearpeak("run", "latency", "--mpi", "one", "--sizes", "8")
    assert note not in err


def test_run_measures_the_ceiling_as_a_library(nearpeak: Nearpeak) -> None:
    code, _, err = nearpeak("run", "latency", "--mpi", "ceiling", "--sizes", "8")
    assert code == 0
    assert "pair --cpus 0,1 --metrics latency --as-library --sizes 8" in err
