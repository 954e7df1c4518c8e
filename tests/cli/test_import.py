# SPDX-License-Identifier: Apache-2.0
"""What other tools printed, through the command."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Nearpeak = Callable[..., tuple[int, str, str]]
HEAD = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"


def test_files_become_results_and_a_page(nearpeak: Nearpeak, tmp_path: Path) -> None:
    for name, value in (("one.txt", "1.10"), ("other=x.txt", "1.30")):
        (tmp_path / name).write_text(f"{HEAD}8     {value}\n")
    code, out, err = nearpeak("import", "mpich=one.txt", "other=x.txt", "-o", "here")
    assert (code, err) == (0, "")
    assert "1.10" in out
    assert "% of" not in out  # nothing was measured without MPI
    assert (tmp_path / "here" / "report.html").is_file()
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert [info["name"] for info in results["libraries"]] == ["mpich", "other=x"]


def test_one_run_is_no_two_launches(nearpeak: Nearpeak, tmp_path: Path) -> None:
    for name in ("one.txt", "copy.txt"):
        (tmp_path / name).write_text(f"{HEAD}8     1.10\n")
    for word, other in (("a=one.txt", "one.txt"), ("copy.txt", "copy.txt")):
        code, out, err = nearpeak("import", "one.txt", word, "-o", "here")
        told = f"one.txt and {other} hold the same: give the output of each run once"
        assert (code, out, err) == (2, "", f"nearpeak: {told}\n")
    assert not (tmp_path / "here").exists()


def test_a_payload_that_was_wrong_is_status_1(nearpeak: Nearpeak, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(f"{HEAD[:-1]}  Validation\n8   1.00  Fail\n")
    assert nearpeak("import", "bad.txt")[0] == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nowhere.txt", "nowhere.txt: no such file; give what a tool printed, or NAME=FILE"),
        ("=one.txt", "=one.txt: give FILE, or NAME=FILE"),
        ("other.txt", "other.txt holds no observations: give "),
        ("cut.txt", "cut.txt, line 3: '8     1.1' is not a whole row of the table"),
        ("huge.txt", "huge.txt has more than 64 MiB: give the output of one program alone"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    nearpeak: Nearpeak, tmp_path: Path, word: str, message: str
) -> None:
    (tmp_path / "other.txt").write_text("of another tool\n")
    (tmp_path / "cut.txt").write_text(f"{HEAD}8     1.1")
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(1 << 30)
    code, out, err = nearpeak("import", word, "-o", "here")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"nearpeak: {message}")
    assert not (tmp_path / "here").exists()


def test_report_names_this_command(nearpeak: Nearpeak, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(f"{HEAD}8     1.10\n")
    code, _, err = nearpeak("report", "one.txt")
    assert (code, err) == (
        2,
        "nearpeak: one.txt is a file: nearpeak import one.txt reads what tools print\n",
    )
