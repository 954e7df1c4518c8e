# SPDX-License-Identifier: Apache-2.0
"""What is refused before a program is built, and what only a program can refuse."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.launching.names import check_family, check_name


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("osu_bw", "OMB's osu_bw is called bw here"),
        ("osu_bw_persistent", "OMB's osu_bw_persistent is `bw --calls persistent` here"),
        ("osu_nccl_allreduce", "OMB's osu_nccl_allreduce is `allreduce --mpi nccl` here"),
        ("osu_init", "there is nothing like OMB's osu_init here"),
        ("osu_latency_mp", "there is nothing like OMB's osu_latency_mp here"),
        ("latncy", "unknown benchmark 'latncy'; did you mean 'latency'?"),
    ],
)
def test_names_of_omb_get_the_line_that_they_are_here(name: str, answer: str) -> None:
    with pytest.raises(UserError) as error:
        check_name(name)
    assert str(error.value).startswith(answer)


def test_a_benchmark_is_known_by_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CMakeLists.txt").touch()
    monkeypatch.setenv("NEARPEAK_BENCH", str(tmp_path))
    new = ["rput_latency", "bcast_last", "ibcast_last"]
    for name in new:
        with pytest.raises(UserError, match=f"unknown benchmark '{name}'; did you mean"):
            check_name(name)
    (tmp_path / "rma").mkdir()
    (tmp_path / "rma" / "rput_latency.cpp").write_text('{.name = "rput_latency"}')
    (tmp_path / "collective").mkdir()
    (tmp_path / "collective" / "own.cpp").write_text('{.name = "bcast_last"}')
    for name in new:
        check_name(name)
    with pytest.raises(UserError, match="unknown benchmark 'rput_latncy'"):
        check_name("rput_latncy")
    for name in ("irput_latency", ""):  # only collective operations have forms beside computation
        with pytest.raises(UserError, match="unknown benchmark"):
            check_name(name)


def test_what_a_user_brings_along_only_a_program_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in (check_name, check_family):
        with pytest.raises(UserError):
            check("mine")
    monkeypatch.setenv("NEARPEAK_BENCHMARKS", str(tmp_path))
    check_name("mine")
    check_family("mine")
