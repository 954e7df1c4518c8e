# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's own tests on one rank, by their own runner: mpi4py_suite.py starts it.

    python mpi4py_rank.py TESTS ARRAYS TYPES RESULTS OPTION...

TESTS is the folder of mpi4py's tests, and each OPTION one of their runner's. ARRAYS is the kind of
array that they take: `numpy`, `cupy`, or `stand-in`, which has stand_in_cupy.py imported as CuPy.
TYPES are the letters of the arrays' types, or `all`. Each test that ends leaves a line of JSON in
RESULTS/RANK.jsonl at once: where a rank hangs, the last line names the test before.
"""

import faulthandler
import importlib
import importlib.util
import json
import sys
import time
import traceback
import unittest
from pathlib import Path
from typing import Any, TextIO

BACKENDS = {"numpy": ["numpy"], "stand-in": ["cupy"], "cupy": ["cupy", "dlpack-cupy"]}
GOOD, SKIPPED, WRONG = "good", "skipped", "wrong"


class Lines(unittest.TestResult):
    """Writes each test that ends as one line."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self.file = file
        self.ended, self.why, self.parts, self.since = GOOD, "", 0, 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.ended, self.why, self.parts, self.since = GOOD, "", 0, time.process_time()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self._write(test, self.ended, self.why)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        if self.ended == GOOD:
            self.ended, self.why = SKIPPED, reason
        if not isinstance(test, unittest.TestCase):
            self._write(test, SKIPPED, reason)  # a whole class or module

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._wrong(test, err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._wrong(test, err)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.ended, self.why = WRONG, "it is expected to fail, and did not"

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        self.parts += 1
        if err is not None:
            self._wrong(test, err, f"{subtest}: ")

    def _wrong(self, test: Any, err: Any, part: str = "") -> None:
        why = part + "".join(traceback.format_exception(*err))
        if not isinstance(test, unittest.TestCase):
            self._write(test, WRONG, why)
        elif self.ended != WRONG:  # the first reason of several
            self.ended, self.why = WRONG, why

    def _write(self, test: Any, ended: str, why: str) -> None:
        line = {
            "test": test.id(),
            "ended": ended,
            "why": why,
            "parts": self.parts,
            "cpu_s": round(time.process_time() - self.since, 3),
        }
        print(json.dumps(line), file=self.file, flush=True)


class Runner:
    """Runs a suite with arrays of some backends and types alone."""

    def __init__(self, file: TextIO, backends: list[str], types: str) -> None:
        self.file, self.backends, self.types = file, backends, types

    def run(self, suite: unittest.TestSuite) -> Lines:
        """Called by unittest's program, once the tests are loaded."""
        arrays = importlib.import_module("arrayimpl")
        chosen = [each for each in arrays.ArrayBackends if each.backend in self.backends]
        arrays.ArrayBackends[:] = chosen
        for backend in chosen if self.types != "all" else ():
            backend.TypeMap = {
                letter: of_mpi for letter, of_mpi in backend.TypeMap.items() if letter in self.types
            }
        lines = Lines(self.file)
        suite.run(lines)
        return lines


def take_device(arrays: str, rank: int) -> None:
    """Has this rank use a device of its own, as far as there are enough."""
    if arrays == "stand-in":
        file = Path(__file__).with_name("stand_in_cupy.py")
        spec = importlib.util.spec_from_file_location("cupy", file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["cupy"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["cupy"])
    cupy = importlib.import_module("cupy")
    cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount()).use()


def attach_host_memory(mpi: Any) -> None:
    """Has the tests attach host memory for MPI_Bsend in the place of an array on a device, which
    the layer refuses."""
    attach = mpi.Attach_buffer

    def attach_host(memory: Any) -> None:
        on_device = hasattr(getattr(memory, "array", memory), "__cuda_array_interface__")
        attach(bytearray(memory.size * memory.itemsize) if on_device else memory)

    mpi.Attach_buffer = attach_host


def main(tests: str, arrays: str, types: str, results: str, *options: str) -> None:
    """Ends the process as their runner does: with 0 where all went well."""
    faulthandler.enable()
    sys.path.insert(0, tests)
    mpi = importlib.import_module("mpi4py.MPI")
    rank = mpi.COMM_WORLD.Get_rank()
    words = ["main.py", "--quiet", *options]
    if arrays != "numpy":
        words.append("--cupy")
        take_device(arrays, rank)
        attach_host_memory(mpi)
        # mpi4py leaves out what libraries with support of their own do wrong: these have none.
        importlib.import_module("mpiunittest").is_mpi_gpu = lambda *_: False
    with (Path(results) / f"{rank}.jsonl").open("w") as file:
        runner = Runner(file, BACKENDS[arrays], types)
        importlib.import_module("main").main(module=None, argv=words, testRunner=runner)


if __name__ == "__main__":
    main(*sys.argv[1:])
