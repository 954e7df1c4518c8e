# SPDX-License-Identifier: Apache-2.0
"""Which GPU the rank with the host's memory holds, in a plan that says it and in an older one."""

from types import ModuleType

import msgspec
import pytest

from nearpeak.terms.path import DataPath, rank_devices


@pytest.mark.parametrize(
    ("device", "held", "words"),
    [
        ("GPU-0", "own", "the host's rank holds a GPU of its own"),
        ("GPU-1", "same", "the host's rank holds the same GPU, time-sliced"),
        ("-", "none", "the host's rank holds no GPU"),
    ],
)
def test_the_host_s_end_says_what_its_rank_holds(
    standins: ModuleType, device: str, held: str, words: str
) -> None:
    path: DataPath = standins.gpu_path("host-gpu near", device=device)
    assert path.host_device == path.place.host_device == held
    assert path.place.held == words
    assert path.description == path.summary == ""  # discovery writes it
    assert rank_devices(path.ends) == [device, "GPU-1"]
    assert rank_devices(path.ends[::-1]) == ["GPU-1", device]
    assert not path.shares_gpu


def test_an_older_plan_gave_both_ranks_one_gpu(standins: ModuleType) -> None:
    """What it measured must not read as anything else."""
    old = msgspec.to_builtins(standins.gpu_path("host-gpu near"))
    for end in old["ends"]:
        del end["device"]
    path = msgspec.convert(old, DataPath)
    assert path.host_device == "same"
    assert rank_devices(path.ends) == ["GPU-1", "GPU-1"]
    assert path.description == "; the host's rank holds the same GPU, time-sliced"
    assert path.place != standins.gpu_path("host-gpu near", device="GPU-0").place


def test_between_hosts_each_rank_had_the_gpu_of_its_own_host(standins: ModuleType) -> None:
    path = standins.gpu_path("host-gpu two-nodes")
    ends = [
        msgspec.structs.replace(end, host=host) for end, host in zip(path.ends, "ab", strict=True)
    ]
    assert msgspec.structs.replace(path, ends=tuple(ends)).host_device == "own"


def test_other_paths_have_no_such_rank(standins: ModuleType) -> None:
    for path in (standins.data_path(), standins.gpu_path(), standins.wide_path(4, gpus=True)):
        assert (path.host_device, path.place.held) == ("", "")
