# SPDX-License-Identifier: Apache-2.0
"""What other tools printed, through the command."""

import csv
import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearpeak.cli.import_ import HELP
from nearpeak.observations.sources import all_tools, nvbandwidth, ucx_perftest

Nearpeak = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "imported-output.md"
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
    text = f"{HEAD}8     1.10\n"
    (tmp_path / "one.txt").write_text(text)
    (tmp_path / "copy.txt").write_bytes(text.replace("\n", "\r\n").encode())  # of another system
    for word, other in (("a=one.txt", "one.txt"), ("copy.txt", "copy.txt")):
        code, out, err = nearpeak("import", "one.txt", word, "-o", "here")
        told = f"one.txt and {other} hold the same: give the output of each run once"
        assert (code, out, err) == (2, "", f"nearpeak: {told}\n")
    assert not (tmp_path / "here").exists()


def test_standard_input_is_a_file(nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch) -> None:
    for word, name in (("-", "stdin"), ("mpich=-", "mpich")):
        text = io.TextIOWrapper(io.BytesIO(f"{HEAD}8     1.10\n".encode()))
        monkeypatch.setattr(sys, "stdin", text)
        code, out, err = nearpeak("import", word, "-o", "here")
        assert (code, err) == (0, "")
        assert "1.10" in out
        [library] = json.loads(Path("here/results.json").read_text())["libraries"]
        assert library["name"] == name


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (None, "- is empty: run the program again"),  # closed: the command opens it as empty
        (io.BytesIO(b"\n"), "- is empty: run the program again"),
        (io.BytesIO(b"of another tool\n"), "- holds no observations: give "),
    ],
)
def test_standard_input_with_nothing_to_read_is_one_line(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, stdin: Any, message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin and io.TextIOWrapper(stdin))
    code, out, err = nearpeak("import", "-")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"nearpeak: {message}")


@pytest.mark.parametrize("how", ["a FIFO", "a descriptor"])
def test_pipes_are_read(nearpeak: Nearpeak, tmp_path: Path, how: str) -> None:
    """As a shell's process substitution makes them; once, for they cannot be read twice."""
    text = f"{HEAD}8     1.10\n".encode()
    if how == "a FIFO":
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[text])
        writer.start()
        code, out, err = nearpeak("import", "mpich=pipe")
        writer.join()
    else:
        end, other = os.pipe()
        os.write(other, text)
        os.close(other)
        code, out, err = nearpeak("import", f"mpich=/dev/fd/{end}")
        os.close(end)
    assert (code, err) == (0, "")
    assert "1.10" in out


def test_a_payload_that_was_wrong_is_status_1(nearpeak: Nearpeak, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(f"{HEAD[:-1]}  Validation\n8   1.00  Fail\n")
    assert nearpeak("import", "bad.txt")[0] == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nowhere.txt", "nowhere.txt: no such file; give what a tool printed, or NAME=FILE"),
        ("=one.txt", "=one.txt: give FILE, or NAME=FILE"),
        ("folder", "folder is a folder: give the file in it that a tool's output is in"),
        ("other.txt", "other.txt holds no observations: give "),
        ("cut.txt", "cut.txt, line 3: '8     1.1' is not a whole row of the table"),
        ("binary.bin", "binary.bin holds no observations: give "),
        ("empty.txt", "empty.txt is empty: run the program again"),
        ("new.txt", "new.txt is of nvbandwidth 'v7.0'; read are v0.2, v0.4, v0.5, v0.6, v"),
        ("huge.txt", "huge.txt has more than 64 MiB: give the output of one program alone"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    nearpeak: Nearpeak, tmp_path: Path, word: str, message: str
) -> None:
    (tmp_path / "other.txt").write_text("of another tool\n")
    (tmp_path / "cut.txt").write_text(f"{HEAD}8     1.1")
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)) * 4096)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "new.txt").write_text("nvbandwidth Version: v7.0\n")
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


def test_what_cannot_be_opened_is_one_line(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_text(f"{HEAD}8     1.10\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    code, _, err = nearpeak("import", "secret.txt", "-o", "here")
    assert (code, err) == (2, "nearpeak: secret.txt cannot be read: Permission denied\n")


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Path:
    made = make_study("alpha")
    for block in range(6):
        made.ceiling(block, {("latency", "flags", 8): 0.5})
        made.launch(block, "alpha", "latency", {8: 1.0})
    folder: Path = made.write()
    return folder


def test_what_a_study_lacks_is_measured_there(
    nearpeak: Nearpeak, study: Path, tmp_path: Path
) -> None:
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     1.25\n")
    (study / "records.jsonl").write_text(
        "".join((study / "records.jsonl").read_text().splitlines(keepends=True)[:-1])
    )
    _, out, _ = nearpeak("import", "omb.txt", "--beside", "study", "-o", "here")
    assert "nearpeak study --resume -o study" in out
    assert "--resume -o study" in (tmp_path / "here" / "report.html").read_text()


def test_a_time_that_was_too_short_to_be_told_has_no_percentage(
    nearpeak: Nearpeak, study: Path, tmp_path: Path
) -> None:
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     0.00\n")
    code, _, err = nearpeak("import", "omb.txt", "--beside", study.name, "-o", "here")
    assert code == 0, err
    cells = json.loads((tmp_path / "here" / "results.json").read_text())["cells"]
    assert [cell["fraction"] for cell in cells if cell["who"]["library"] == "omb"] == [None]


def test_csv_has_no_number_of_ranks_where_the_file_has_none(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    title = "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
    (tmp_path / "omb.txt").write_text(f"{title}8     1.25\n")
    code, out, err = nearpeak("report", "omb.txt", "--csv")
    assert code == 0, err
    [row] = csv.DictReader(io.StringIO(out))
    assert (row["benchmark"], row["ranks"]) == ("allreduce", "")


def test_what_is_known_of_several_files_is_told_of_each(
    nearpeak: Nearpeak, study: Path, tmp_path: Path
) -> None:
    assert study.is_dir()
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     1.25\n")
    (tmp_path / "bw.txt").write_text(
        "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n8     40.26\n"
    )
    code, out, _ = nearpeak("import", "omb.txt", "bw.txt", "--beside", "study")
    text = " ".join(out.split())
    assert code == 0
    assert "omb: Imported from OSU micro-benchmarks:" in text
    assert "bw: Imported from OSU micro-benchmarks:" in text
    assert "fewer than 6 launches" not in text  # the study's have six


def test_figures_stand_beside_those_of_a_study(
    nearpeak: Nearpeak, study: Path, tmp_path: Path
) -> None:
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     1.25\n")
    before = sorted(path.name for path in study.iterdir())
    code, out, err = nearpeak("import", "omb.txt", "--beside", "study", "-o", "here")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "Imported figures, beside this study's, host-host same-numa" in text
    assert "omb latency, 8 B, µs 1.25 1.00 0.500 40.0 mean, not median alpha" in text
    page = (tmp_path / "here" / "report.html").read_text()
    assert '<h3 id="imported">' in page
    results = json.loads((tmp_path / "here" / "results.json").read_text())
    assert [info["name"] for info in results["libraries"]] == ["alpha", "omb"]
    assert [found["fraction"] for found in results["imported"]] == [0.4]
    assert sorted(path.name for path in study.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--path", "x"], "--path says where on a study: give --beside STUDY too"),
        (["--beside", "nowhere"], "--beside nowhere: no such folder; give that of a study"),
        (["--beside", "."], ".: no records.jsonl there; give the folder that `nearpeak study` wro"),
        (["--beside", "study", "--path", "=x"], "--path =x: give the id of a path of the study, o"),
        (["--beside", "study", "--path", "omb="], "--path omb=: give the id of a path of the stud"),
        (["--beside", "study", "--path", "y=x"], "--path y=...: no file is called so, but omb"),
        (["--beside", "study", "--path", "x"], "study has no path 'x'; there are: host-host same-"),
        (
            ["alpha=other.txt", "--beside", "study"],
            "alpha is a library of study, too: call the file",
        ),
    ],
)
def test_a_study_that_it_cannot_stand_beside_is_one_line(
    nearpeak: Nearpeak, study: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    assert study.is_dir()
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     1.25\n")
    (tmp_path / "other.txt").write_text(f"{HEAD}8     1.50\n")
    code, out, err = nearpeak("import", "omb.txt", *words, "-o", "here")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"nearpeak: {message}")
    assert not (tmp_path / "here").exists()


def test_every_importer_is_described() -> None:
    """With what it takes of a file that does not say it, and the names that it goes by."""
    text = DOCS.read_text("utf-8")
    names = [sys.modules[tool.load.__module__].WHO.library for tool in all_tools()]
    headings = "\n".join(line for line in text.splitlines() if line.startswith("## "))
    for name in names:
        heading = re.search(rf"^## (?:(.+) \()?{name}\b", headings, re.MULTILINE)
        assert heading, name
        assert (heading[1] or name) in HELP
    for test in ucx_perftest.BY_NAME:
        assert f"`{test}`" in text
    ends = [*nvbandwidth.DEFAULT_MIB][:: len(nvbandwidth.DEFAULT_MIB) - 1]
    for version, mib in nvbandwidth.DEFAULT_MIB.items():
        assert f"{mib} MiB" in text
        assert (version[1:] in text) or version not in ends  # in the midst of a span


def test_it_does_not_write_over_a_study(nearpeak: Nearpeak, study: Path, tmp_path: Path) -> None:
    (tmp_path / "omb.txt").write_text(f"{HEAD}8     1.25\n")
    before = {path.name: path.read_bytes() for path in study.iterdir() if path.is_file()}
    code, out, err = nearpeak("import", "omb.txt", "-o", "study")
    assert (code, out) == (2, "")
    assert err == "nearpeak: -o study: holds a study, whose results would be lost; give another\n"
    assert {path.name: path.read_bytes() for path in study.iterdir() if path.is_file()} == before


NCCL = Path(__file__).parents[1] / "appraisal" / "threads" / "nccl-tests-119.txt"


def test_a_verdict_is_the_end_of_the_output(nearpeak: Nearpeak) -> None:
    code, out, err = nearpeak("import", str(NCCL), "--machine", "4x200g", "-o", "here")
    assert (code, err) == (0, "")
    *_, figure, known, verdict = out.strip().splitlines()
    assert figure.startswith("  Figure: nccl-tests allreduce")
    assert known.endswith("96.0 GB/s by 4 NICs of 200 Gb/s.")
    assert verdict == "  Verdict: 99.7 %, near what such hardware sustains."
    [appraisal] = json.loads(Path("here/results.json").read_text())["appraisals"]
    assert (appraisal["state"], appraisal["machine"]) == ("near", "a100x8-nvlink+4x200g")
    assert appraisal["sustained"][0]["source"]["text"]
    page = Path("here/report.html").read_text()
    assert "Is this good?" in page
    assert "96.0 GB/s by 4 NICs of 200 Gb/s" in page


def test_a_verdict_is_that_of_standard_input(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NCCL.read_bytes())))
    code, out, _ = nearpeak("import", "-", "--machine", "4x200g")
    assert (code, "Verdict: 99.7 %" in out) == (0, True)


def test_a_machine_that_is_not_known_writes_nothing(nearpeak: Nearpeak, tmp_path: Path) -> None:
    code, out, err = nearpeak("import", str(NCCL), "--machine", "h10x8-nvlink", "-o", "here")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "did you mean 'h100'?" in err
    assert not (tmp_path / "here").exists()


SHIPPED = Path(__file__).parents[2] / "examples" / "h200x2-shipped"


@pytest.mark.parametrize(("mbs", "verdict"), [(350_000.0, "near"), (180_000.0, "below")])
def test_beside_a_study_its_ceiling_is_the_reference(
    nearpeak: Nearpeak, tmp_path: Path, mbs: float, verdict: str
) -> None:
    table = f"# OSU MPI-CUDA Latency Test v7.2\n{DEVICES}\n# Size Latency (us)\n16777216 {{:.2f}}\n"
    us = 16777216 / mbs
    (tmp_path / "latency.txt").write_text(table.format(us))
    words = ("import", "latency.txt", "--beside", str(SHIPPED), "--path", "gpu-gpu nvlink")
    code, out, _ = nearpeak(*words)
    assert code == 0
    assert f"gpu-gpu nvlink, as {SHIPPED} measured" in out.replace("\n", " ").replace("  ", " ")
    assert f"%, {verdict} " in out


@pytest.mark.parametrize(
    ("path", "buffers", "mbs", "machine", "verdict"),
    [
        ("host-gpu near", "HD", 6_560, "h200x2-nvlink", "12.0 %, below"),
        ("gpu-gpu nvlink", "DD", 120_000, "", "32.6 %, below"),
        (
            "host-host same-numa",
            "HH",
            27_000,
            "",
            "unsure. This table alone cannot tell: what caches",
        ),
    ],
)
def test_a_window_of_one_buffer_has_a_verdict_beside_a_study(
    nearpeak: Nearpeak,
    tmp_path: Path,
    path: str,
    buffers: str,
    mbs: int,
    machine: str,
    verdict: str,
) -> None:
    """OMB's, where the study gave each message its own."""
    names = {"H": "HOST (H)", "D": "DEVICE (D)"}
    (tmp_path / "bw.txt").write_text(
        "# OSU MPI-CUDA Bandwidth Test v7.2\n"
        f"# Send Buffer on {names[buffers[0]]} and Receive Buffer on {names[buffers[1]]}\n"
        f"# Size Bandwidth (MB/s)\n16777216 {mbs:.2f}\n"
    )
    words = ["import", "bw.txt", "--beside", str(SHIPPED), "--path", path]
    code, out, err = nearpeak(*words, *(["--machine", machine] if machine else []))
    assert (code, err) == (0, "")
    assert f"  Verdict: {verdict}" in out
    assert "--machine" not in out  # whatever the hardware is, its ceiling was measured
    assert "Next: nearpeak study -o here;" not in out  # that was done


DEVICES = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)"


def test_a_name_of_a_gpu_cannot_steer_the_terminal_or_the_page(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    text = NCCL.read_text().replace("NVIDIA A100-SXM4-40GB", "<b>\x1b[31mGPU")
    (tmp_path / "hostile.txt").write_text(text.replace("pod01", "node"))
    code, out, _ = nearpeak("import", "hostile.txt", "-o", "here")
    assert (code, "\x1b" in out) == (0, False)
    assert "<b>GPU" not in Path("here/report.html").read_text()


def test_verdicts_of_several_files_name_theirs(nearpeak: Nearpeak) -> None:
    other = NCCL.with_name("nccl-527-one-host.txt")
    code, out, err = nearpeak("import", f"one={NCCL}", f"two={other}", "--verbose")
    figures = [line for line in out.splitlines() if line.startswith("  Figure: ")]
    assert (code, err) == (0, "")
    assert sorted(line.split()[1] for line in figures) == ["one,", "two,"]
