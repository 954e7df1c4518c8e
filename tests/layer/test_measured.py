# SPDX-License-Identifier: Apache-2.0
"""nearpeak-mpi with the layer before a library that would crash on device buffers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi

CALLS = ("nonblocking", "blocking", "persistent")
SHAPES = ("vector", "nas_lu", "nas_mg")
MOVED = re.compile(r"(\d+) of datatypes")
QUICK = ("--sizes", "8,100001", "--slot-ms", "1", "--in-flight", "4M", "--cache", "4M")


def launched(
    application: Any, words: list[str], nvrtc: Path | None = None, fake: str = "", **env: str
) -> str:
    """What a launch between two ranks has said on stderr."""
    env["NEARPEAK_LAYER_REPORT"] = "1"
    if nvrtc is not None:
        env["NEARPEAK_NVRTC_LIBRARY"] = str(nvrtc)
    program = replace(application, program=build_mpi(application.library))
    done = program.run(*words, fake=fake, env=env)
    assert done.code == 0, (done.out, done.err)
    return done.err


def measured(file: Path, said: str, kernels: bool = False) -> list[dict[str, Any]]:
    """The samples of a launch; `kernels`: which packed."""
    records = [json.loads(text) for text in file.read_text().splitlines()]
    assert not [record for record in records if record["record"] == "problem"]
    samples = [record for record in records if record["record"] == "samples"]
    assert all(record["verified"] for record in samples)
    if kernels:
        assert min(int(found) for found in MOVED.findall(said)) > 0, said
    return samples


@pytest.mark.parametrize("buffers", ["D,D", "H,D"])
def test_what_arrives_is_what_was_sent(application: Any, tmp_path: Path, buffers: str) -> None:
    """Each form of a window of messages both ways: the program verifies the payload."""
    file = tmp_path / "records.jsonl"
    whole = ("--buffers", buffers, *QUICK, "--jsonl", str(file))
    words = ["latency", *whole]
    for calls in CALLS:
        words += ["+", "bibw", "--calls", calls, *whole]
    samples = measured(file, launched(application, words))
    assert {record["size_bytes"] for record in samples} == {8, 100001}
    assert {record["benchmark"] for record in samples} == {"latency", "bibw"}
    assert {record["axes"]["calls"] for record in samples} == {*CALLS}


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
def test_what_is_tried_is_done_once(application: Any) -> None:
    """Where it is measured an iteration repeats it up to 64 times. Windows of 64 messages, and
    pings that are answered, in eight rounds of both ways to call the library."""
    words = ["probe", "--buffers", "D,D", "--operations", "mbw_mr,multi_lat", "--sizes", "8"]
    said = launched(application, words, NEARPEAK_LAYER_INLINE="61")
    sent = re.findall(r"(\d+) through host memory \(0 in parts\); rec", said)
    assert sorted(map(int, sent)) == [8 * 2, 8 * 2 * (64 + 1)]


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
def test_datatypes_of_applications(application: Any, tmp_path: Path, fake_nvrtc: Path) -> None:
    """Regular ones, by a kernel."""
    file = tmp_path / "records.jsonl"
    words = []
    for shape in SHAPES:
        words += ["+", shape, "--buffers", "D,D", *QUICK, "--budget-ms", "10000"]
        words += ["--jsonl", str(file)]
    said = launched(application, words[1:], fake_nvrtc, "reachable=1,mps=1")
    samples = measured(file, said, kernels=True)
    assert {record["benchmark"] for record in samples} == {*SHAPES}


def test_a_solution_has_the_same_bits_staged_and_with_the_layer(
    application: Any, tmp_path: Path, fake_nvrtc: Path
) -> None:
    """And as with buffers that every library can send."""
    ways = {"host": "H,H", "staged": "D,D --staging pinned", "layer": "D,D"}
    found = {}
    for way, buffers in ways.items():
        file = tmp_path / f"{way}.json"
        words = ["jacobi2d", "--solve", "1e-1", "--sizes", "33", "--buffers", *buffers.split()]
        launched(application, [*words, "--solution", str(file)], fake_nvrtc, "reachable=1")
        found[way] = json.loads(file.read_text())
    assert found["host"] == found["staged"] == found["layer"]


def test_halos_arrive(application: Any, tmp_path: Path, fake_nvrtc: Path) -> None:
    """Packed by kernels of the application, and as datatypes by the layer."""
    file = tmp_path / "records.jsonl"
    words = []
    side = "40"  # faces of so many blocks that the layer waits for the compiler
    for pack in ("kernel", "direct"):
        words += ["+", "halo3d", "--pack", pack, "--sizes", side, "--buffers", "D,D", *QUICK[2:]]
        words += ["--jsonl", str(file)]
    said = launched(application, words[1:], fake_nvrtc, "reachable=1,mps=1")
    samples = measured(file, said, kernels=True)
    assert {record["axes"]["pack"] for record in samples} == {"kernel", "direct"}
