# SPDX-License-Identifier: Apache-2.0
"""nearpeak-mpi with the layer before a library that would crash on device buffers."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.library import Launch, Rank, Settings
from nearpeak.libraries.preload import command_line

LIMIT = 120  # seconds
CALLS = ("nonblocking", "blocking", "persistent")
QUICK = ("--sizes", "8,100001", "--slot-ms", "1", "--in-flight", "4M", "--cache", "4M")


@pytest.mark.parametrize("buffers", ["D,D", "H,D"])
def test_what_arrives_is_what_was_sent(application: Any, tmp_path: Path, buffers: str) -> None:
    """Each form of a window of messages both ways: the program verifies the payload."""
    library, file = application.library, tmp_path / "records.jsonl"
    whole = ("--buffers", buffers, *QUICK, "--jsonl", str(file))
    words = ["latency", *whole]
    for calls in CALLS:
        words += ["+", "bibw", "--calls", calls, *whole]
    cpus = sorted(os.sched_getaffinity(0))
    fakes = {
        "NEARPEAK_CUDA_LIBRARY": str(application.fake_cuda),
        "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
    }
    launch = Launch(
        program=[str(build_mpi(library)), *words],
        ranks=[Rank(cpus=[cpus[0]]), Rank(cpus=[cpus[-1]])],
        settings=Settings(env=fakes),
    )
    line = command_line(library, launch)
    done = subprocess.run(
        line.argv,
        env={**os.environ, **line.env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    records = [json.loads(text) for text in file.read_text().splitlines()]
    assert not [record for record in records if record["record"] == "problem"]
    samples = [record for record in records if record["record"] == "samples"]
    assert {record["size_bytes"] for record in samples} == {8, 100001}
    assert {record["benchmark"] for record in samples} == {"latency", "bibw"}
    assert {record["axes"]["calls"] for record in samples} == {*CALLS}
    assert all(record["verified"] for record in samples)
