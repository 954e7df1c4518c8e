# SPDX-License-Identifier: Apache-2.0
"""A search by real launches of a library whose settings are planted."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from made_libraries import made_profile
from mpi_launches import LIMIT, measured_with, one_library

from nearpeak.cli.main import main
from nearpeak.findings.build import build_results
from nearpeak.launching.programs import TOOLS
from nearpeak.libraries import settings
from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.launch import SEARCH_PATHS, join_paths, needed
from nearpeak.libraries.library import Library
from nearpeak.libraries.rules import Range, Table, rules_text
from nearpeak.libraries.tunables import Offered, Threshold, Tunable, installed, library_tunables
from nearpeak.planning.gate import Preparation
from nearpeak.planning.prepare import prepare as prepare_study
from nearpeak.tune import calibrate, confirm, launches, prepare, run, thresholds, trials
from nearpeak.tune.candidates import together
from nearpeak.tune.hints import Hints
from nearpeak.tune.journal import Asked, Checked, Hinted, Trial, TuneJournal, read
from nearpeak.tune.trials import LIMIT_SECONDS
from nearpeak.tune.tuned import Tuned
from nearpeak.tune.written import write

UCX_RATE = re.compile(r"([\d.]+)MBps")
NAMES = ("FAST", "CORRUPT", "REFUSED", "HANG", "NOTHING")
PREFIX = "NEARPEAK_PLANT_"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def plant(
    monkeypatch: pytest.MonkeyPatch, faulty: Path, names: Sequence[str], seconds: int = 1
) -> None:
    """A library that has these settings and no others. Each launch of the search counts so many
    seconds, however long it takes here."""
    offered = [
        Offered(
            Tunable(
                name=f"{PREFIX}{name}", component="planted", summary="", values=["y"], source="x"
            ),
            there=True,
            default="n",
        )
        for name in names
    ]
    monkeypatch.setattr(prepare, "offered", lambda _: offered)
    clock = itertools.count(step=seconds)
    monkeypatch.setattr(trials, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(run, "hints", lambda *_: Hints([], over_ucx=False))
    monkeypatch.setenv("LD_PRELOAD", str(faulty))


def in_host_memory(mpi: str, targets: str, seconds: float) -> Asked:
    """A search for these targets."""
    return Asked(mpi=mpi, targets=targets, path=None, buffers="H,H", budget_seconds=seconds, seed=1)


@one_library
def test_what_is_planted_is_found_refused_or_survived(
    faulty: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plant(monkeypatch, faulty, NAMES)
    monkeypatch.setattr(trials, "LEAST_LIMIT", 3.0)
    asked = in_host_memory("mpich", "latency:8", 240.0)
    prepared = run.prepare(asked)
    guards = [each for each in prepared.launches.guards if each.benchmark.name == "latency"]
    prepared = replace(prepared, launches=replace(prepared.launches, guards=guards, others={}))
    assert [candidate.label for candidate in prepared.candidates] == [
        f"{PREFIX}{name}=y" for name in NAMES
    ]
    folder = tmp_path / "tuned"
    journal = TuneJournal(folder, run.begin(prepared))
    outcome = run.search(prepared, journal, lambda _: None, lambda _: None)
    journal.close()
    taken = {name.removeprefix(PREFIX) for name in outcome.taken}
    assert taken - {"NOTHING"} == {"FAST"}  # which may be left by chance
    refused = {label.removeprefix(PREFIX): why for label, why in outcome.refused.items()}
    assert refused["HANG=y"] == "the launch did not end within 3 s"
    assert refused["REFUSED=y"].startswith("exit status 1")
    assert "wrong data: byte 17 of 4096" in refused["CORRUPT=y"]
    records = read(folder)
    assert {type(record) for record in records[1:]} == {Hinted, Trial, Checked}
    again = TuneJournal(folder)
    launched = len(again.records)
    assert run.search(prepared, again, lambda _: None, lambda _: None) == outcome
    assert len(again.records) == launched  # all of it was played back


@one_library
def test_a_threshold_is_put_where_two_protocols_cross(
    faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They cross near 50 KB."""
    plant(monkeypatch, faulty, ["LIMIT"])
    (offered,) = prepare.offered(None)
    threshold = Threshold(short=str(1 << 30), long="1")
    limit = msgspec.structs.replace(offered.tunable, values=["1024"], threshold=threshold)
    monkeypatch.setattr(prepare, "offered", lambda _: [offered._replace(tunable=limit)])
    asked = in_host_memory("mpich", "latency:8", 240.0)
    prepared = run.prepare(asked)
    found = thresholds.measure(
        prepared.launches, prepared.thresholds, lambda _: None, LIMIT_SECONDS, lambda: 1000.0
    )
    ((name, value),) = found
    assert name == f"{PREFIX}LIMIT"
    assert 1 << 14 < int(value) < 1 << 18


@one_library
@pytest.mark.usefixtures("measured_library")
def test_an_application_is_measured_and_confirmed() -> None:
    asked = in_host_memory("mpich", "jacobi2d:128,jacobi2d:256,latency:8", 3600.0)
    prepared = run.prepare(asked)
    small, large, message = prepared.launches.measure({}, LIMIT_SECONDS)
    assert (small.unit, small.better, message.unit) == ("us", "lower", "us")
    assert 0 < small.value < large.value
    assert any("ALLREDUCE" in each.variable for each in prepared.candidates)  # which it calls
    assert set(prepared.launches.curve({}, [8, 64], LIMIT_SECONDS)) == {8, 64}
    options = confirm.options(
        prepared.mpi,
        [prepared.single.settings],
        prepared.paths,
        prepared.launches.targets,
        prepared.usual,
        600.0,
    )
    _, plan = prepare_study(options, Preparation(TOOLS, lambda _: None, dry_run=True))
    assert plan.problem_sizes == {"jacobi2d": [128, 256]}
    measured = {
        plan.variants[number].benchmark
        for each in plan.launches
        for group in each.groups
        for number in group.variants
    }
    assert {"jacobi2d", "latency"} <= measured


@measured_with("openmpi")
def test_ucx_takes_the_ceilings_that_are_measured(
    measured_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = in_host_memory("openmpi", "latency:8", 120.0)
    prepared = run.prepare(asked)
    told: list[str] = []
    ceilings = calibrate.measure(prepared.single, prepared.calibrated, told.append, LIMIT_SECONDS)
    assert "memcpy" in {ceiling.name for ceiling in ceilings}, told
    values = calibrate.values(prepared.calibrated, ceilings)
    env = dict(together(values).env)
    assert {"UCX_BCOPY_BW", "UCX_POSIX_BW"} <= set(env)
    (value,) = prepared.launches.measure(env, LIMIT_SECONDS)
    assert value.value > 0
    for name, text in env.items():
        monkeypatch.setenv(name, text)
    read_by_ucx = installed(measured_library)["ucx"]
    assert read_by_ucx is not None
    for name, text in env.items():
        (wrote,), (has,) = UCX_RATE.findall(text), UCX_RATE.findall(read_by_ucx.values[name])
        assert float(has) == pytest.approx(float(wrote), abs=0.01)


def mpirun(
    library: Library,
    loaded: dict[str, str],
    preloaded: str = "",
    words: Sequence[str] = ("latency", "--sizes", "4K"),
) -> subprocess.CompletedProcess[str]:
    """As a user types it, with what a module file sets alone; tests may run as root."""
    search = {
        name: join_paths(loaded[name], os.environ.get(name, ""))
        for name in SEARCH_PATHS
        if name in loaded
    }
    measure = [str(build_mpi(library)), *words, "--slot-ms", "1"]
    program = ["env", f"LD_PRELOAD={preloaded}", *measure]
    return subprocess.run(
        ["mpirun", "-n", "2", *program],
        env={**os.environ, **ROOT, **loaded, **search},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def module_of(
    library: Library, folder: Path, env: dict[str, str], files: dict[str, str] | None = None
) -> Path:
    """The module file of a profile of a library with these variables; `files`: as of it."""
    write(made_profile(env=env, files=files or {}, needed=needed(library, gpu=False)), folder)
    return folder / "modulefile"


def test_mpirun_takes_the_settings_of_the_module_file_alone(
    measured_library: Library,
    faulty: Path,
    tmp_path: Path,
    environment_of_module: Callable[[Path], dict[str, str]],
) -> None:
    """The planted setting changes what messages hold."""

    def measured(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        module = module_of(measured_library, tmp_path, env)
        return mpirun(measured_library, environment_of_module(module), str(faulty))

    without = measured({})
    assert without.returncode == 0, without.stderr
    done = measured({f"{PREFIX}CORRUPT": "y"})
    assert done.returncode != 0
    assert "wrong data: byte 17 of 4096" in done.stdout


@pytest.mark.parametrize(
    ("measured_library", "anyway"),
    [("openmpi", ""), ("openmpi-cuda", "pml=ucx")],
    indirect=["measured_library"],
)
def test_a_library_says_that_it_has_the_settings_of_the_module_file(
    measured_library: Library,
    anyway: str,
    tmp_path: Path,
    environment_of_module: Callable[[Path], dict[str, str]],
) -> None:
    """What Open MPI prints of parameters that are set from outside, also of those that Nearpeak
    sets for it in any case."""
    env = {"OMPI_MCA_btl_sm_eager_limit": "8192", "OMPI_MCA_mpi_show_mca_params": "enviro"}
    loaded = environment_of_module(module_of(measured_library, tmp_path, env))
    done = mpirun(measured_library, loaded)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.search(r"btl_sm_eager_limit=8192 \(environment\)", said), said
    assert f"{anyway} (environment)" in said, said


@measured_with("openmpi")
def test_open_mpi_takes_the_rules_of_its_file(
    measured_library: Library,
    tmp_path: Path,
    environment_of_module: Callable[[Path], dict[str, str]],
) -> None:
    """It refuses an algorithm that there is not, of the second operation, from 1000 bytes on."""
    tables = [
        Table(name="allreduce", operation=2, ranks=2, ranges=[Range(first=0, algorithm=3)]),
        Table(
            name="bcast",
            operation=7,
            ranks=2,
            ranges=[Range(first=0), Range(first=1000, algorithm=99)],
        ),
    ]
    source = tmp_path / "tried.conf"
    source.write_text(rules_text(tables, "by 1 test"))
    (tunable,) = (each for each in library_tunables(measured_library) if each.file)
    env = tunable.env(str(source))
    module = module_of(measured_library, tmp_path / "tuned", env, {tunable.name: tunable.file})
    source.unlink()  # what the module file names lies beside it
    words = ("bcast", "--sizes", "8,4K")
    done = mpirun(measured_library, environment_of_module(module), words=words)
    assert re.search(r"^8 ", done.stdout, flags=re.MULTILINE), done.stderr
    assert not re.search(r"^4096 |^4 KiB", done.stdout, flags=re.MULTILINE)
    assert "MPI_ERR_ARG" in done.stderr


@one_library
def test_the_whole_command(
    measured_library: Library,
    faulty: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    plant(monkeypatch, faulty, ["FAST", "NOTHING"], seconds=6)
    monkeypatch.setattr(launches, "GUARD_SIZES", "8,4K")
    monkeypatch.setattr(launches, "PRICED_SIZES", [8, 4096])
    # A study of six short launches, however long they take here.
    options = confirm.options
    few = {"budget_seconds": None, "launches": 6, "benchmarks": ["latency"], "sizes": [8, 4096]}
    monkeypatch.setattr(
        confirm, "options", lambda *words, **more: replace(options(*words, **more), **few)
    )
    folder = tmp_path / "tuned"
    words = ["tune", "--mpi", "mpich", "--for", "latency:8", "--budget", "7m", "--seed", "1"]
    monkeypatch.setattr(sys, "argv", ["nearpeak", *words, "-o", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code in (0, None), said.err
    found = msgspec.json.decode((folder / "tune.json").read_bytes(), type=Tuned)
    assert found.env, said.out
    # The machine's load decides what the study says; tests/runs/test_tune.py has what follows.
    here = "only-" + found.path.replace(" ", "-") + "-H-H"
    expected = {
        "taken": {folder: found.env},
        "taken here alone": {folder / here: found.env},
        "not taken": {},
    }[found.verdict]
    if found.free and found.free.taken and found.verdict != "taken":
        expected[folder] = found.free.env
    written = {file.parent for file in folder.rglob("profile.toml")}
    assert written == set(expected)
    for profile, env in expected.items():
        file = profile / "profile.toml"
        assert settings.find(measured_library, str(file)).env == env
        assert f"--mpi mpich@{file}" in said.out
    assert (folder / "study" / "report.html").stat().st_size > 0
    results = build_results(folder / "study")
    measured = {cell.who.settings for cell in results.cells if cell.who.library == "mpich"}
    assert measured == {"default", "tuned", *(["tuned-everywhere"] if found.free else [])}
