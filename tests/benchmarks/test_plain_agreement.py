# SPDX-License-Identifier: Apache-2.0
"""The plain witness: what it may share with bench/, and how its output and OMB's become a table."""

import importlib
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from nearpeak.libraries import catalogue

FOLDER = Path(__file__).parents[2] / "benchmarks"
PROGRAM = FOLDER / "plain" / "plain.c"
MOST_LINES = 100


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/plain_agreement.py, which imports the modules beside it."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("plain_agreement")


def test_the_program_is_short_and_shares_nothing_with_ours() -> None:
    text = PROGRAM.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert re.findall(r'#include "', text) == []
    included = re.findall(r"#include <(.*)>", text)
    assert {"mpi.h", "cuda_runtime_api.h"} < set(included)


def test_every_library_of_the_catalogue_has_its_makers_defaults(plain: ModuleType) -> None:
    assert set(plain.MAKERS) == set(catalogue.libraries())


def test_variables_of_gpus_are_set_where_there_are_gpu_buffers(plain: ModuleType) -> None:
    needed_by = plain.makers.needed_by
    host = [each.name for each in needed_by("intel", gpu_buffers=False, gpus=True)]
    device = [each.name for each in needed_by("intel", gpu_buffers=True, gpus=True)]
    assert set(device) - set(host) == {"I_MPI_OFFLOAD"}
    assert all("{" not in each.value for each in needed_by("intel", gpu_buffers=True, gpus=True))


def test_settings_of_the_shell_are_left_out(plain: ModuleType) -> None:
    shell, left_out = plain.makers.without_settings({"UCX_TLS": "tcp", "PATH": "/bin"})
    assert (shell, left_out) == ({"PATH": "/bin"}, ["UCX_TLS"])


def test_lines_of_the_plain_program(plain: ModuleType) -> None:
    said = "gpu 1 0000:17:00.0\n8 B 0.25 us 0.5 GB/s\nsomething else\n"
    assert plain.read_plain(said) == {("latency", 8): 0.25, ("bw", 8): 0.5}


def test_lines_of_omb(plain: ModuleType) -> None:
    said = "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n8     0.31\n16    0.32\n"
    assert plain.read_omb(said) == {8: 0.31, 16: 0.32}


def test_one_launch_of_omb_doubles_its_sizes_in_one_window(plain: ModuleType) -> None:
    sizes = [8, 1 << 10, 1 << 16, 1 << 20, 1 << 24]
    latency = plain.groups(sizes, "D,D", False)
    assert [group.sizes for group in latency] == [(8, 1 << 10, 1 << 16), (1 << 20, 1 << 24)]
    windows = plain.groups(sizes, "H,H", True)
    assert [(group.sizes[-1], group.window) for group in windows] == [
        (1 << 16, 64),
        (1 << 20, 64),
        (1 << 24, 4),
    ]
    assert [group.sizes for group in plain.groups([8, 24], "H,H", False)] == [(8,), (24,)]


def test_ratios_are_within_rounds_and_rows_outside_are_marked(plain: ModuleType) -> None:
    key = ("latency", 8)
    values = {
        (plain.NEARPEAK, key): {0: 1.0, 1: 2.0, 2: 4.0},
        (plain.PLAIN, key): {0: 1.0, 1: 2.5, 2: 4.0, 3: 9.0},
        (plain.OMB, key): {0: 2.0, 1: 4.0},
    }
    [row] = plain.rows_of(values, [8, 16])
    assert row.ratios == {plain.PLAIN: (1.0, 1.0, 1.25), plain.OMB: (2.0, 2.0, 2.0)}
    assert row.outside
    assert row.mark == "*"
    del values[plain.OMB, key]
    [row] = plain.rows_of(values, [8, 16])
    assert not row.outside
    assert row.mark == "?"
    assert row.medians == {plain.NEARPEAK: 2.0, plain.PLAIN: 3.25}


def test_six_rounds_within_the_tolerance_are_not_marked(plain: ModuleType) -> None:
    key = ("latency", 8)
    theirs = dict(enumerate([1.01, 0.99, 1.02, 0.98, 1.0, 1.01]))
    values = {(plain.NEARPEAK, key): dict.fromkeys(range(6), 1.0), (plain.PLAIN, key): theirs}
    [row] = plain.rows_of(values, [8])
    assert row.mark == " "


def test_variables_of_our_side_can_be_changed(plain: ModuleType) -> None:
    env = {"A": "1", "B": "2"}
    assert plain.edited(env, ["A", "B=3", "C=4"]) == {"B": "3", "C": "4"}
    argv = ["mpirun", "-x", "A", "-x", "B", "-n", "2", "program"]
    assert plain.with_flags(argv, env, ["A", "C=4"]) == [
        *("mpirun", "-x", "C", "-x", "B"),
        *("-n", "2", "program"),
    ]


@pytest.mark.parametrize(
    ("library", "host_rank", "plain_gpus", "omb_gpus"),
    [
        ("openmpi-cuda", "own", ["1", "0"], ["GPU-b", "GPU-a"]),
        ("openmpi-cuda", "same", ["0", "0"], ["GPU-a"]),
        ("openmpi-cuda", "none", ["-", "0"], ["GPU-a"]),
        ("intel", "own", ["1", "0"], []),
        ("intel", "same", ["0", "0"], ["GPU-a"]),
    ],
)
def test_who_takes_which_gpu(
    plain: ModuleType, library: str, host_rank: str, plain_gpus: list[str], omb_gpus: list[str]
) -> None:
    gpus = [SimpleNamespace(uuid=f"GPU-{x}", index=i, ordinal=None) for i, x in enumerate("ab")]
    ends = [SimpleNamespace(gpu=None), SimpleNamespace(gpu="GPU-a")]
    case = plain.Case(library, "H,D", host_rank, SimpleNamespace(ends=ends), gpus)
    assert [plain.ordinal(gpu) for gpu in plain.gpus_of(case, host_rank)] == plain_gpus
    assert plain.visible(case) == omb_gpus


@pytest.mark.parametrize(("gpus", "host_rank"), [(["a", "b"], "own"), (["a"], "none")])
def test_with_one_gpu_the_hosts_rank_holds_what_nearpeak_run_gives_it(
    plain: ModuleType, gpus: list[str], host_rank: str
) -> None:
    single = SimpleNamespace(path=SimpleNamespace(host_device="none"))
    assert plain.usual_host_rank(single, gpus) == host_rank
