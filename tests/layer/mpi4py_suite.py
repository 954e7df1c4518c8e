# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests, with and without the layer: a suite that nobody here wrote.

test_mpi4py.py runs what takes least, with arrays on the fake driver. By hand this runs all files
and types that make sense, with a real driver and the CuPy of the environment on GPUs, and says
which tests are right without the layer, with arrays of numpy, and not with it:

    .venv/bin/python tests/layer/mpi4py_suite.py --mpi mpich --mpi openmpi --arrays numpy
    .venv/bin/python tests/layer/mpi4py_suite.py --mpi mpich --mpi openmpi --arrays cupy

With `--arrays stand-in` arrays are in the memory of whatever driver NEARPEAK_CUDA_LIBRARY names.
Exit status: 1 where a test differs.
"""

import argparse
import collections
import fnmatch
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.libraries.preload import command_line

HERE = Path(__file__).parent
PINNED = ("--no-deps", "--require-hashes", "--requirement")
PIP = (sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check")
ENDING_S = 10  # for a launcher to end its ranks
STILL_S = 240  # how long no test may end: other tests and programs share the CPUs
RANKS = 2

# Of no use here: they start further programs, or call next to nothing of MPI.
FILES_LEFT_OUT = {"test_spawn", "test_dynproc", "test_util_pool", "test_package", "test_doc"}
# What the layer refuses with memory of a device: files and partitioned messages.
FILES_REFUSED = {"test_io", "test_p2p_buf_part"}
# An address that is in a datatype the layer does not see.
TESTS_REFUSED = ("*.test*AlltoallwBottom",)
# By hand alone, as they take most of the time and tell the layer least: datatypes made and taken
# apart; files; each way to name a buffer, in messages of a rank to itself.
LONG_FILES = {"test_datatype", "test_io", "test_msgspec", "test_util_dtlib"}
# Those of communicators that were duplicated are those of the communicators again.
LONG_TESTS = ("*Dup.*",)
# Integers, numbers and pairs of them, of 1, 8 and 32 bytes: two of the last are longer than the
# layer's inline limit.
FEW_TYPES = "bdG"


class Pin(msgspec.Struct, frozen=True):
    """The version of mpi4py and its hashes (mpi4py_suite.toml)."""

    version: str
    sha256: dict[str, str]


@dataclass(frozen=True)
class Suite:
    """mpi4py as it is imported, and the folder of its tests."""

    package: Path
    tests: Path


def fetched() -> Suite:
    """mpi4py from the package index, once for all runs, in the cache of what Nearpeak installs.

    UserError where no index answers or there is no wheel for this machine.
    """
    pin = msgspec.toml.decode((HERE / "mpi4py_suite.toml").read_text(), type=Pin)
    home = folders.cache() / "tests" / f"mpi4py-{pin.version}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
        try:
            _fetch(pin, new)
            new.rename(home)
        except OSError:
            if not home.exists():  # otherwise another process was faster
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return Suite(home / "package", home / f"mpi4py-{pin.version}" / "test")


def _fetch(pin: Pin, folder: Path) -> None:
    machine = platform.machine()
    if machine not in pin.sha256:
        raise UserError(f"mpi4py {pin.version} is pinned without a wheel for {machine}")
    wanted = {
        machine: ("install", "--no-compile", "--only-binary=:all:", "--target", folder / "package"),
        # pip asks every archive what it needs, here without fetching what would build it.
        "source": ("download", "--no-binary=:all:", "--no-build-isolation", "--dest", folder),
    }
    for what, words in wanted.items():
        requirements = folder / f"{what}.txt"
        requirements.write_text(f"mpi4py=={pin.version} --hash=sha256:{pin.sha256[what]}\n")
        command = [*PIP, *map(str, words), *PINNED, str(requirements)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["pip said nothing"]
            raise UserError(f"mpi4py {pin.version} cannot be fetched: {said[-1]}")
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(folder)  # its hash is the pinned one


@dataclass(frozen=True)
class Choice:
    """Which tests run, and with which arrays."""

    arrays: str  # "numpy", "stand-in" or "cupy"
    short: bool

    @property
    def files_left_out(self) -> set[str]:
        """The names of files, without `.py`."""
        device = FILES_REFUSED if self.arrays != "numpy" else set()
        return FILES_LEFT_OUT | device | (LONG_FILES if self.short else set())

    @property
    def tests_left_out(self) -> tuple[str, ...]:
        """Patterns of what they are called."""
        device = TESTS_REFUSED if self.arrays != "numpy" else ()
        return device + (LONG_TESTS if self.short else ())

    def has(self, test: str) -> bool:
        """Whether this test is to run."""
        file = test.partition(".")[0]
        left_out = any(fnmatch.fnmatchcase(test, each) for each in self.tests_left_out)
        return file not in self.files_left_out and not left_out

    def options(self) -> list[str]:
        """The same for the runner of mpi4py's tests."""
        files = [f"^{re.escape(file)}[.]py$" for file in sorted(self.files_left_out)]
        pairs = [("-e", each) for each in files] + [("-x", each) for each in self.tests_left_out]
        return [word for pair in pairs for word in pair]


@dataclass(frozen=True)
class Ended:
    """How a test ended: "good", "skipped", "wrong", or "not" where some rank did not come to its
    end."""

    how: str
    why: str
    cpu_s: float  # of all ranks


@dataclass(frozen=True)
class Run:
    """What a launch has left: how each test ended, and what the ranks said on standard error."""

    choice: Choice
    tests: dict[str, Ended]
    said: str
    status: int = 0  # of the launcher

    def counts(self) -> collections.Counter[str]:
        """How many tests ended in which way."""
        return collections.Counter(one.how for one in self.tests.values())


def run(suite: Suite, library: Library, choice: Choice, env: Mapping[str, str]) -> Run:
    """Runs the tests on two ranks, with the layer where the library has it.

    A launch in which no test ends for STILL_S is ended; its tests are not.
    """
    with tempfile.TemporaryDirectory() as name:
        results, cpus = Path(name), sorted(os.sched_getaffinity(0))
        types = FEW_TYPES if choice.short else "all"
        words = [HERE / "mpi4py_rank.py", suite.tests, choice.arrays, types, results]
        variables = {
            **env,
            "PYTHONPATH": str(suite.package),
            "MPI4PY_MPIABI": library.abi,
            "MPI4PY_LIBMPI": str(library.libmpi),
        }
        launch = Launch(
            program=[sys.executable, *map(str, words), *choice.options()],
            ranks=[Rank(cpus=[cpus[rank * (len(cpus) - 1)]]) for rank in range(RANKS)],
            settings=Settings(env=variables),
            gpu=True,
        )
        line = command_line(library, launch)
        with tempfile.TemporaryFile("w+") as said:
            with subprocess.Popen(
                line.argv,
                env={**os.environ, **line.env},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            ) as process:
                _wait(process, results)
            said.seek(0)
            return Run(choice, _read(results), said.read(), process.returncode)


def _wait(process: subprocess.Popen[bytes], results: Path) -> None:
    before = -1
    while True:
        try:
            process.wait(STILL_S)
            return
        except subprocess.TimeoutExpired:
            now = sum(file.stat().st_size for file in results.iterdir())
            if now == before:
                _end(process)
                return
            before = now


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks the launcher to end its ranks, then ends all of them."""
    process.terminate()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _read(results: Path) -> dict[str, Ended]:
    lines: dict[str, list[dict[str, str]]] = collections.defaultdict(list)
    for rank in range(RANKS):
        file = results / f"{rank}.jsonl"
        text = file.read_text() if file.exists() else ""
        for line in text[: text.rfind("\n") + 1].splitlines():  # the last may be torn
            one = json.loads(line)
            lines[one["test"]].append(one)
    ended = {}
    for test, ranks in lines.items():
        hows = {one["ended"] for one in ranks}
        worst = next(each for each in ("wrong", "skipped", "good") if each in hows)
        how = worst if len(ranks) == RANKS or worst == "wrong" else "not"
        why = next((one["why"] for one in ranks if one["ended"] == worst), "")
        ended[test] = Ended(how, why, sum(float(one["cpu_s"]) for one in ranks))
    return ended


def differences(without: Run, found: Run) -> dict[str, str]:
    """Why a test is not right that is so without the layer or is skipped there, by its name."""
    wrong = {}
    if found.status and not without.status:
        wrong["the launch"] = f"its status is {found.status}"
    for test, before in without.tests.items():
        if before.how != "good" or not found.choice.has(test):
            continue
        now = found.tests.get(test, Ended("not", "", 0))
        if now.how != "good":
            wrong[test] = f"{now.how}: {now.why}"
    for test, now in found.tests.items():
        before = without.tests.get(test, Ended("skipped", "", 0))
        if now.how in ("wrong", "not") and before.how == "skipped":
            wrong[test] = f"{now.how}: {now.why}"
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", action="append", required=True, help="a library; repeatable")
    parser.add_argument(
        "--arrays", action="append", required=True, choices=["numpy", "stand-in", "cupy"]
    )
    parser.add_argument("--short", action="store_true", help="what test_mpi4py.py runs")
    chosen = parser.parse_args()
    suite, bad = fetched(), 0
    driver = os.environ.get("NEARPEAK_CUDA_LIBRARY", "libcuda.so.1")
    env = {"NEARPEAK_CUDA_LIBRARY": driver, "NEARPEAK_LAYER": "require"}
    for name in chosen.mpi:
        without = run(suite, resolve(name), Choice("numpy", chosen.short), {})
        print(f"{name}, numpy: {dict(without.counts())}", flush=True)
        for arrays in chosen.arrays:
            found = run(suite, resolve(f"{name}+layer"), Choice(arrays, chosen.short), env)
            wrong = differences(without, found)
            print(
                f"{name}+layer, {arrays}: {dict(found.counts())}, {len(wrong)} differ", flush=True
            )
            for test, why in wrong.items():
                print(f"  {test}: {why}")
            if wrong:
                print(found.said[-4000:])
            bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
