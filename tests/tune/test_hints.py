# SPDX-License-Identifier: Apache-2.0
"""What rules name for messages that were looked at."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import unknown
from nearpeak.observations.explained import Explanation, Said
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.tune import hints


def single(library: str, family: str, env: dict[str, str]) -> Any:
    ends = (
        Endpoint(memory="host", cpus=[0], numa_node=0),
        Endpoint(memory="gpu", cpus=[1], numa_node=0, gpu="0"),
    )
    return SimpleNamespace(
        library=made_library(library, family=family, version="1", env=env),
        settings=Settings(),
        machine=unknown(),
        path=DataPath(id="host-gpu near", summary="", transport="memory", ends=ends),
        benchmark=SimpleNamespace(name="latency"),
    )


Looked = Callable[..., hints.Hints]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch, by_hand: Any) -> Looked:
    """The hints for a message between host and GPU most of whose time are handles of memory."""

    def hints_for(one: Any, said: Sequence[Said] = ()) -> hints.Hints:
        handle = by_hand.part("call", "cuMemGetHandleForAddressRange", 40.0, count=2.0)
        close = by_hand.part("call", "close", 27.0, count=2.0)
        found = by_hand.explained(handle, close, size=8)
        found = msgspec.structs.replace(
            found, library=one.library.name, version=one.library.version, said=list(said)
        )
        monkeypatch.setattr(hints, "explain", lambda *_, **__: found)
        return hints.hints(one, [8], lambda _: None, 9.0)

    return hints_for


def test_what_takes_the_time_names_its_setting(looked: Looked) -> None:
    ucx = single("openmpi-cuda", "openmpi", {"OMPI_MCA_pml": "ucx"})
    assert ("UCX_CUDA_COPY_DMABUF", "n") in looked(ucx).named


@pytest.mark.parametrize(
    ("asked", "protocols", "env", "over_ucx"),
    [
        ("UCX_PROTO_INFO=used", ["tagged message: eager short, sysv/memory"], {}, True),
        ("UCX_PROTO_INFO=used", [], {}, False),  # as of Open MPI that takes ob1
        ("UCX_PROTO_INFO=used", [], {"UCX_TLS": "sm"}, False),
        ("UCX_PROTO_INFO=used", [], {"OMPI_MCA_pml": "ucx"}, True),
        ("NCCL_DEBUG=INFO", ["AllReduce: RING"], {}, None),
    ],
)
def test_whether_messages_go_over_ucx_is_what_it_says_itself(
    looked: Looked,
    asked: str,
    protocols: list[str],
    env: dict[str, str],
    *,
    over_ucx: bool | None,
) -> None:
    said = [Said(size_bytes=8, asked=asked, protocols=protocols, lines=[])]
    one = single("openmpi-cuda", "openmpi", env)
    assert looked(one, said).over_ucx is over_ucx


def test_without_a_look_the_variables_alone_say_it() -> None:
    for env in ({"OMPI_MCA_pml": "ucx"}, {"UCX_TLS": "sm"}):
        one = single("openmpi", "openmpi", env)
        assert hints.hints(one, [], pytest.fail, 9.0) == ([], ("OMPI_MCA_pml" in env) or None)


def test_another_librarys_setting_is_not_named(looked: Looked) -> None:
    found = looked(single("intel", "intel", {})).named
    assert [name for name, _ in found if name.startswith("UCX_")] == []


@pytest.mark.parametrize(
    ("size", "env", "memory", "acts"),
    [
        (4096, {}, "host", True),
        (2048, {}, "host", False),
        (4096, {"OMPI_MCA_pml": "ucx"}, "host", False),
        (4096, {"OMPI_MCA_btl_sm_eager_limit": "2048"}, "host", False),
        (4096, {}, "gpu", False),
    ],
)
def test_a_setting_that_acts_at_such_sizes_is_named(
    monkeypatch: pytest.MonkeyPatch, size: int, env: dict[str, str], memory: Any, *, acts: bool
) -> None:
    one = single("openmpi", "openmpi", env)
    ends = tuple(msgspec.structs.replace(end, memory=memory) for end in one.path.ends)
    one.path = msgspec.structs.replace(one.path, ends=ends)

    def fails(*_: object, **__: object) -> Explanation:
        raise LaunchFailed("nothing is known of what it does")

    monkeypatch.setattr(hints, "explain", fails)
    found = hints.hints(one, [64, size], lambda _: None, 9.0).named
    assert found == [("OMPI_MCA_btl_sm_eager_limit", "8192")] * acts


def test_what_cannot_be_looked_at_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, launches: int, limit_seconds: float) -> Explanation:
        assert (launches, limit_seconds) == (1, 9)
        raise LaunchFailed("signal 11")

    monkeypatch.setattr(hints, "explain", fails)
    told: list[str] = []
    assert hints.hints(single("intel", "intel", {}), [8], told.append, 9.0) == ([], None)
    assert told == ["Nothing is known of what its messages go through: signal 11"]
