# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders of tests share."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs

ROOT = Path(__file__).parents[1]


def load_helper(name: str, path: Path) -> ModuleType:
    """Loads a helper file of the tests as module `name` (tests are no package)."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# What --resume knows of earlier runs of these tests.
os.environ["XDG_STATE_HOME"] = str(ROOT / "build" / "tests-state")
# Open MPI's btl/ofi sleeps for a second in each process when it is closed, used or not.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")
# And its mtl/ofi has libfabric look through all symbols of the kernel, in each process.
os.environ.setdefault("OMPI_MCA_mtl", "^ofi")
# Ranks share their CPUs with each other and with other tests: who waits gives way.
for name in ("OMPI_MCA_mpi_yield_when_idle", "MPIR_CVAR_CH4_PROGRESS_THROTTLE", "I_MPI_WAIT_MODE"):
    os.environ.setdefault(name, "1")
# In each process UCX patches the code of the calls that map memory, which takes as long as all else
# until MPI is ready. It need not hear of them where no adapter has memory registered.
os.environ.setdefault("UCX_MEM_MMAP_HOOK_MODE", "none")
# Intel's launcher has several ways to look at the machine: the usual one takes a quarter of the CPU
# time of a short launch.
os.environ.setdefault("I_MPI_HYDRA_TOPOLIB", "ipl")
# In each process numpy's OpenBLAS starts a thread for each CPU, which looks for work for a while.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests import them by their names.
load_helper("made_libraries", Path(__file__).parent / "libraries" / "made_libraries.py")
mpi_launches = load_helper("mpi_launches", Path(__file__).parent / "mpi" / "launches.py")
load_helper("study_in_jobs", Path(__file__).parent / "study" / "in_jobs.py")
browsers = load_helper("browser", Path(__file__).parent / "browser.py")
load_helper("commands", Path(__file__).parent / "commands.py")
load_helper("answers", Path(__file__).parent / "answers.py")
load_helper("made_tables", Path(__file__).parent / "appraisal" / "made_tables.py")
load_helper("import_verdicts", ROOT / "benchmarks" / "import_verdicts.py")
load_helper("prose", Path(__file__).parent / "prose.py")
load_helper("planted", Path(__file__).parent / "planted.py")
load_helper("definitions", Path(__file__).parent / "definitions.py")
load_helper("chains", Path(__file__).parent / "chains.py")
load_helper("made_nodes", Path(__file__).parent / "nodes" / "made.py")
load_helper("made_trace", Path(__file__).parent / "trace" / "made.py")
load_helper("layer_programs", Path(__file__).parent / "layer" / "programs.py")
load_helper("house_words", Path(__file__).parent / "words.py")
load_helper("mpi4py_suite", Path(__file__).parent / "layer" / "mpi4py_suite.py")
load_helper("fake_gpus", Path(__file__).parent / "machine" / "fake_gpus.py")
load_helper("made_counters", Path(__file__).parent / "findings" / "made_counters.py")
load_helper("fake_nvml", Path(__file__).parent / "machine" / "fake_nvml.py")
load_helper("picture_gallery", Path(__file__).parent / "picture" / "gallery.py")
netns_hosts = load_helper("netns_hosts", Path(__file__).parent / "netns" / "hosts.py")
load_helper("site_assemble", ROOT / "site" / "assemble.py")
two_users_helper = load_helper("two_users", Path(__file__).parent / "two_users.py")
slurm_cluster = load_helper("slurm_cluster", Path(__file__).parent / "slurm" / "cluster.py")
flux_cluster = load_helper("flux_cluster", Path(__file__).parent / "flux" / "cluster.py")


@pytest.fixture
def two_users() -> Iterator[Any]:
    """A folder of two users (tests/two_users.py); skips where nobody can be both."""
    if os.geteuid() != 0:
        pytest.skip(two_users_helper.NOT_ROOT)
    with tempfile.TemporaryDirectory(prefix="nearpeak-users-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        try:
            os.chown(folder, two_users_helper.OTHER, -1)
            os.chown(folder, 0, -1)
        except OSError:  # in a container that has one user alone
            pytest.skip(two_users_helper.NOT_ROOT)
        yield two_users_helper.TwoUsers(Path(folder))


def hosts_of(folder: Path, number: int, bridges: int = 1) -> Iterator[Any]:
    """So many test hosts joined by a network (tests/netns/hosts.py); skips where it cannot be."""
    hosts = netns_hosts.made(folder, number, bridges)
    try:
        made = hosts.__enter__()
    except netns_hosts.CannotMakeHosts as error:
        pytest.skip(f"no test hosts: {error}")
    try:
        yield made
    finally:
        hosts.__exit__(None, None, None)


@pytest.fixture(scope="session")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two of them, the same for all tests."""
    yield from hosts_of(tmp_path_factory.mktemp("two-hosts"), 2)


@pytest.fixture(scope="session")
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three of them, the same for all tests."""
    yield from hosts_of(tmp_path_factory.mktemp("three-hosts"), 3)


@pytest.fixture(scope="session")
def two_leaves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Four of them below two switches, the same for all tests."""
    yield from hosts_of(tmp_path_factory.mktemp("two-leaves"), 4, 2)


@pytest.fixture(scope="session")
def five_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Five of them, the same for all tests."""
    yield from hosts_of(tmp_path_factory.mktemp("five-hosts"), 5)


def running(cluster: ModuleType, hosts: Any, folder: Path) -> Iterator[Any]:
    """A cluster of a workload manager on these hosts; skips where it cannot be."""
    made = cluster.cluster(hosts, folder)
    try:
        started = made.__enter__()
    except cluster.CannotMakeCluster as error:
        pytest.skip(str(error))
    try:
        yield started
    finally:
        made.__exit__(None, None, None)


@pytest.fixture(scope="session")
def slurm(three_hosts: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Slurm of three test hosts (tests/slurm/cluster.py)."""
    yield from running(slurm_cluster, three_hosts, tmp_path_factory.mktemp("slurm"))


@pytest.fixture(scope="session")
def slurm_of_two_leaves(two_leaves: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Slurm of four test hosts that knows their switches."""
    yield from running(slurm_cluster, two_leaves, tmp_path_factory.mktemp("slurm-of-two-leaves"))


@pytest.fixture(scope="session")
def flux(three_hosts: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Flux of three test hosts (tests/flux/cluster.py)."""
    yield from running(flux_cluster, three_hosts, tmp_path_factory.mktemp("flux"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium (tests/browser.py); skips where there is none."""
    program = browsers.program()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(browsers.PROGRAMS)} is installed")
    found = browsers.Browser(program, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def environment_of_module(tmp_path: Path) -> Callable[[Path], dict[str, str]]:
    """What a module file sets, and puts before search paths, read by Tcl itself, with the commands
    of Environment Modules standing in."""
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("no tclsh here (package tcl)")

    def read(file: Path) -> dict[str, str]:
        stand_in = tmp_path / "stand_in.tcl"
        stand_in.write_text(
            "proc module-whatis {text} {}\n"
            "proc setenv {name value} {set ::found($name) $value}\n"
            'proc unsetenv {name} {set ::found($name) "<unset>"}\n'
            "proc prepend-path {name value} {\n"
            '  if {[info exists ::found($name)]} {append value ":" $::found($name)}\n'
            "  set ::found($name) $value\n"
            "}\n"
            "array set found {}\n"
            f"source {{{file}}}\n"
            'foreach name [array names found] {puts -nonewline "$name=$found($name)\\0"}\n'
        )
        done = subprocess.run([tclsh, str(stand_in)], capture_output=True, text=True, check=True)
        return dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)

    return read


@pytest.fixture
def before_the_lock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something happen just before the next lock of a file is taken, as by who had it."""
    lock = fcntl.flock

    def happens(what: Callable[[], object]) -> None:
        def late(file: int, how: int) -> None:
            monkeypatch.setattr(fcntl, "flock", lock)
            what()
            lock(file, how)

        monkeypatch.setattr(fcntl, "flock", late)

    return happens


@pytest.fixture
def without_flock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has flock fail with an errno, as on file systems that have no locks."""

    def fail(code: int) -> None:
        def refuse(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(fcntl, "flock", refuse)

    return fail


@pytest.fixture
def own_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ranks have a CPU each, where there are two."""
    for name, value in mpi_launches.own_cpus(mpi_launches.cpus_of(2)).items():
        monkeypatch.setenv(name, value)


def older_open_mpi() -> Any:
    """The machine's own Open MPI before version 5, such as Debian 12's; skips where none is."""
    from nearpeak.libraries import launch
    from nearpeak.libraries.discover import discover

    for found in discover().libraries:
        if found.family == "openmpi" and launch.launcher_of(found) == "orte":
            return found
    pytest.skip("Open MPI 4 is not installed")


@pytest.fixture(scope="session")
def installed() -> Callable[[str], Any]:
    """Gives a library of the catalogue, installed if it is not, or `openmpi-4`, the machine's own;
    skips where that cannot be."""

    def install(name: str) -> Any:
        from nearpeak.errors import UserError
        from nearpeak.libraries import catalogue
        from nearpeak.libraries.discover import resolve

        if name == "openmpi-4":
            return older_open_mpi()
        try:
            catalogue.add(name)
        except UserError as error:
            pytest.skip(f"{name} cannot be installed: {error}")
        return resolve(name)

    return install


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout. It is built of a copy, as what builds it writes beside the
    sources."""
    folder = tmp_path_factory.mktemp("packages")
    checkout = folder / "checkout"
    checkout.mkdir()
    sources = ("src", "bench", "preload")
    for name in ("pyproject.toml", "setup.py", "setup.cfg", "README.md", "LICENSE", *sources):
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, checkout / name, ignore=ignored)
        else:
            shutil.copyfile(source, checkout / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
    subprocess.run([*command, checkout], check=True, capture_output=True)
    [archive] = folder.glob("*.whl")
    return archive


FAKES = ROOT / "build" / "fakes"


def made_of(words: Sequence[str]) -> str:
    """A hash of what a compiler is told, of the sources and of what they include."""
    rules = subprocess.run([*words, "-MM"], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256("\0".join(words).encode())
    for word in rules.split():
        if word != "\\" and not word.endswith(":"):
            digest.update(Path(word).read_bytes())
    return digest.hexdigest()[:16]


def fake_library(name: str, *flags: str, parts: Sequence[str] = (), file: str = "") -> Path:
    """A stand-in for a vendor's library: bench/tests/accel/NAME.cpp and its parts, compiled once
    for all tests, in a folder of its own. `file`: its name, where that matters."""
    from nearpeak.libraries.build import compiler, sources

    files = [sources() / "tests" / "accel" / f"{part}.cpp" for part in (name, *parts)]
    flags = ("-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", *flags)
    words = [*compiler(), *flags, *map(str, files), "-ldl"]
    built = FAKES / f"{name}-{made_of(words)}" / (file or f"lib{name}.so")
    built.parent.mkdir(parents=True, exist_ok=True)
    with (built.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            new = built.with_suffix(".new")
            subprocess.run([*words, "-o", str(new)], check=True)
            new.rename(built)
    return built


@pytest.fixture(scope="session")
def fake_cuda() -> Path:
    """A CUDA driver without a GPU, for NEARPEAK_CUDA_LIBRARY."""
    return fake_library("fake_cuda")


@pytest.fixture(scope="session")
def fake_driver() -> Path:
    """A folder for LD_LIBRARY_PATH with the libraries of a CUDA driver that finds no device."""
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        built = fake_library("fake_driver", file=name)
    return built.parent


@pytest.fixture(scope="session")
def fake_nvrtc() -> Path:
    """A compiler of kernels for it, for NEARPEAK_NVRTC_LIBRARY; what it has compiled stays there,
    too."""
    return fake_library("fake_nvrtc", kernels_compiler())


def kernels_compiler() -> str:
    """The flag that tells fake_nvrtc.cpp its compiler."""
    from nearpeak.libraries.build import compiler

    return "-DCXX_COMPILER=" + ",".join(f'"{word}"' for word in compiler())


@pytest.fixture(scope="session")
def fake_cupti() -> Path:
    """A CUPTI for the fake driver, for NEARPEAK_CUPTI_LIBRARY."""
    return fake_library("fake_cupti")


@pytest.fixture(scope="session")
def fake_nvml() -> Path:
    """An NVML of the fake driver's GPUs, for NEARPEAK_NVML_LIBRARY."""
    return fake_library("fake_nvml")


@pytest.fixture(scope="session")
def fake_nccl() -> Path:
    """An NCCL for the fake driver, for --library and --mpi."""
    return fake_library("fake_nccl", file="libnccl.so.2")


@pytest.fixture(scope="session")
def old_nccl() -> dict[str, Path]:
    """NCCL for the fake driver without symmetric windows, and without registration."""
    return {
        "windows": fake_library("fake_nccl", "-DWITHOUT_WINDOWS", file="libnccl.so.2"),
        "registration": fake_library("fake_nccl", "-DWITHOUT_REGISTRATION", file="libnccl.so.2"),
    }


@pytest.fixture(scope="session")
def fake_hip() -> Path:
    """Both under HIP's names, for NEARPEAK_HIP_LIBRARY and NEARPEAK_HIPRTC_LIBRARY."""
    return fake_library("fake_hip", kernels_compiler(), parts=("fake_cuda", "fake_nvrtc"))


@pytest.fixture(scope="session")
def fake_perftest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with programs that stand for perftest's (fake_perftest.cpp)."""
    from nearpeak.libraries.build import compiler, sources

    folder = tmp_path_factory.mktemp("fake-perftest")
    source = sources() / "tests" / "programs" / "native" / "fake_perftest.cpp"
    names = ("ib_write_lat", "ib_send_lat", "ib_write_bw", "ib_read_bw")
    flags = ["-std=c++20", "-O1"]
    subprocess.run([*compiler(), *flags, str(source), "-o", str(folder / names[0])], check=True)
    for name in names[1:]:
        (folder / name).symlink_to(names[0])
    return folder


@pytest.fixture(scope="session")
def by_hand() -> ModuleType:
    """Cells for findings, made by hand (tests/findings/cells.py)."""
    return load_helper("finding_cells", Path(__file__).parent / "findings" / "cells.py")


@pytest.fixture
def no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins have no modules, and those of real libraries need not be looked at."""
    from nearpeak.libraries import whole

    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules())


@pytest.fixture(scope="session")
def standins() -> ModuleType:
    """Stand-ins for launches (tests/study/standins.py)."""
    return load_helper("study_standins", Path(__file__).parent / "study" / "standins.py")


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Any]:
    """Makes a study folder by hand; called with the names of the libraries
    (tests/observations/made_study.py)."""
    file = Path(__file__).parent / "observations" / "made_study.py"
    made = load_helper("made_study", file)
    return lambda *libraries: made.Study(tmp_path / "study", list(libraries or ("alpha",)))


@pytest.fixture(scope="session")
def made_applications() -> ModuleType:
    """Observations of an application (tests/observations/made_applications.py)."""
    file = Path(__file__).parent / "observations" / "made_applications.py"
    return load_helper("made_applications", file)


@pytest.fixture(scope="session")
def outputs() -> ModuleType:
    """One output of each tool that is imported (tests/observations/made_outputs.py)."""
    file = Path(__file__).parent / "observations" / "made_outputs.py"
    return load_helper("made_outputs", file)


@pytest.fixture
def make_sides(make_study: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    """Makes study folders to compare (tests/compare/made_sides.py); called with a name."""
    assert make_study
    made = load_helper("made_sides", Path(__file__).parent / "compare" / "made_sides.py")
    return lambda name, **options: made.study(tmp_path / name, **options)


@pytest.fixture(scope="session")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies of 24 nights, made by hand: alpha is 20 % slower from the 20th on, with a driver."""
    tests = Path(__file__).parent
    load_helper("made_study", tests / "observations" / "made_study.py")
    made = load_helper("made_sides", tests / "compare" / "made_sides.py")
    folder = tmp_path_factory.mktemp("history") / "nightly"
    folder.mkdir()
    for day in range(1, 25):
        late = day >= 20
        made.study(
            folder / f"{day:02}",
            day=day,
            factor=0.8 if late else 1.0,
            blocks=3,
            nvidia="590" if late else "580",
            cuda="13.0" if day < 5 else "13.1",
        )
    return folder


@pytest.fixture(scope="session")
def did() -> ModuleType:
    """What processes did with the tracer, by hand (tests/explain/made_events.py)."""
    return load_helper("made_events", Path(__file__).parent / "explain" / "made_events.py")


@pytest.fixture(scope="session")
def dgx() -> Machine:
    """A recorded DGX H100."""
    return from_sysfs(Path(__file__).parent / "machines" / "dgx-h100.txt")
