# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests with the layer, on the fake driver: what is right without it is so with it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from mpi4py_suite import Choice, Ended, Run, Suite, differences, fetched, run
from mpi_launches import cpus_of, sharing

from nearpeak.errors import UserError
from nearpeak.libraries.library import Library

# Arrays of these tests are short. With one library all goes as it does by itself, between ranks
# that take turns on a device; with the other, on a device each, what goes so when it is long.
WAYS = {
    "openmpi": {"NEARPEAK_FAKE_CUDA": "devices=1"},
    "mpich": {"NEARPEAK_LAYER_DIRECT": "1", "NEARPEAK_LAYER_LONG": "61"},
}
SENT = re.compile(r"rank \d: sent (\d+) by envelope")


@dataclass
class Trial:
    """The suite with one library."""

    suite: Suite
    library: Library
    fake_cuda: Path
    without: Run

    def with_layer(self, arrays: str) -> Run:
        """The same with the layer, and arrays of some kind."""
        return run(
            self.suite,
            msgspec.structs.replace(self.library, layer=True),
            Choice(arrays, short=True),
            {
                **sharing(cpus_of(2)),
                "NEARPEAK_CUDA_LIBRARY": str(self.fake_cuda),
                "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
                "NEARPEAK_LAYER": "require",
                "NEARPEAK_LAYER_REPORT": "1",
                **WAYS[self.library.name],
            },
        )


@pytest.fixture(scope="session", params=WAYS)
def trial(
    request: pytest.FixtureRequest, installed: Callable[[str], Library], fake_cuda: Path
) -> Trial:
    """With each library in turn."""
    library = installed(request.param)
    try:
        suite = fetched()
    except UserError as error:
        pytest.skip(str(error))
    without = run(suite, library, Choice("numpy", short=True), sharing(cpus_of(2)))
    assert without.counts()["good"] > 1000, without.said
    return Trial(suite, library, fake_cuda, without)


def test_arrays_of_numpy(trial: Trial) -> None:
    found = trial.with_layer("numpy")
    assert differences(trial.without, found) == {}, found.said


def test_arrays_on_devices(trial: Trial) -> None:
    """Without the layer the library would read them as host memory, and crash: what it does with
    arrays of numpy is what must be done."""
    found = trial.with_layer("stand-in")
    assert differences(trial.without, found) == {}, found.said
    sent = [int(number) for number in SENT.findall(found.said)]
    assert len(sent) == 2, found.said
    assert min(sent) > 0, found.said


def made(choice: Choice, **ended: str) -> Run:
    """A run by hand: how the tests of one file ended."""
    return Run(choice, {f"test_op.{name}": Ended(how, how, 0) for name, how in ended.items()}, "")


class TestWhatDiffers:
    def test_what_is_right_must_be_so(self) -> None:
        choice = Choice("numpy", short=True)
        without = made(choice, a="good", b="good", c="good", d="good", e="wrong", f="skipped")
        found = made(choice, a="good", b="wrong", c="skipped", d="not", e="wrong", f="skipped")
        wrong = differences(without, found)
        assert wrong == {
            "test_op.b": "wrong: wrong",
            "test_op.c": "skipped: skipped",
            "test_op.d": "not: not",
        }

    def test_a_test_that_did_not_run(self) -> None:
        choice = Choice("numpy", short=True)
        assert differences(made(choice, a="good"), made(choice)) == {"test_op.a": "not: "}

    def test_what_runs_with_arrays_on_devices_alone(self) -> None:
        without = made(Choice("numpy", short=False), a="skipped")
        device = Choice("cupy", short=False)
        found = made(device, a="wrong", b="wrong", c="good")
        assert set(differences(without, found)) == {"test_op.a", "test_op.b"}

    def test_what_is_left_out_on_devices(self) -> None:
        name = "testAlltoallwBottom"
        without = made(Choice("numpy", short=False), **{name: "good"})
        assert differences(without, made(Choice("numpy", short=False))) != {}
        assert differences(without, made(Choice("cupy", short=False))) == {}
