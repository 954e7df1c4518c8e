# SPDX-License-Identifier: Apache-2.0
"""NEARPEAK_LAYER_STREAM: applications that leave it to MPI to wait for the default stream."""

from typing import Any

import pytest
from layer_programs import cases_of

CASES = cases_of("streams")
STREAM = "NEARPEAK_LAYER_STREAM"


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_is_in_the_stream_is_done_first(streams: Any, ranks: int) -> None:
    """Before memory of a device is read, and before it is written."""
    several = ["--multiple"] if ranks == 3 else []
    done = streams.run(*several, *CASES, ranks=ranks, env={STREAM: "legacy"})
    assert (done.good(), done.code) == (CASES, 0), (done.out, done.err)


@pytest.mark.parametrize("env", [{}, {STREAM: "none"}])
def test_by_default_it_is_done_later(streams: Any, env: dict[str, str]) -> None:
    """Others get what was there before: the cases say which bytes came."""
    done = streams.run(*CASES, env=env)
    assert (done.good(), done.code) == (CASES, 0), (done.out, done.err)


@pytest.mark.parametrize("streams", ["mpich"], indirect=True)
@pytest.mark.parametrize("memory", ["pool", "chunks", "own_chunks"])
def test_memory_that_is_no_contexts(streams: Any, memory: str) -> None:
    """It is that of the device's."""
    cases = ["sent", "received", "collectives", "of_another_context"]
    done = streams.run("--memory", memory, *cases, env={STREAM: "legacy"})
    assert (done.good(), done.code) == (cases, 0), (done.out, done.err)


@pytest.mark.parametrize("streams", ["mpich"], indirect=True)
class TestErrors:
    """Of the setting, and of what is in the stream."""

    def test_a_stream_that_there_is_not(self, streams: Any) -> None:
        done = streams.run("sent", env={STREAM: "default"})
        line = f"nearpeak layer: {STREAM} is 'default': give none or legacy"
        assert (done.code, set(done.said())) == (2, {line})

    def test_a_kernel_of_the_application_that_has_failed(self, streams: Any) -> None:
        done = streams.run("sent", env={STREAM: "legacy"}, fake="cuStreamQuery:700:1")
        assert done.code not in (0, 11, 139)
        assert any(
            line.endswith(
                "MPI_Send: cuStreamQuery of the default stream: CUDA_ERROR_ILLEGAL_ADDRESS"
            )
            for line in done.said()
        ), done.err
