# SPDX-License-Identifier: Apache-2.0
"""What launchers, terminals and editors put around a line; all lines are written by hand."""

from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.observations import printed
from nearpeak.observations.load import load
from nearpeak.observations.printed import lines_of

TOOLS = ("osu", "imb", "nccl-tests", "perftest", "nvbandwidth", "ucx_perftest")
# As each launcher, or tool, puts it before a line.
TAGS = {
    "srun -l": "0: ",
    "srun -l of 128 tasks": "  0: ",
    "mpiexec -l": "[0] ",
    "mpiexec -prepend-pattern": "[0@node17] ",
    "mpirun --tag-output": "[1,0]<stdout>:",
    "mpirun --timestamp-output": "Fri Mar  7 09:05:01 2025<stdout>:",
    "both": "Fri Mar  7 09:05:01 2025[1,0]<stdout>:",
    "--output tag": "[1,0]<stdout>: ",
    "--output tag-detailed": "[1,0][node17:4711]<stdout>: ",
    "--output tag-fullname": "[prterun-node17-4711@1,0]<stdout>: ",
    "--output tag,timestamp": "[Fri Mar  7 09:05:01 2025][1,0]<stdout>: ",
    "a service": "2025-03-07T09:05:01.123456Z ",
    "a service, and mpirun": "2025-03-07 09:05:01,123 [1,0]<stdout>:",
    "ts": "Mar 07 09:05:01 ",
    "[clock]": "[09:05:01] ",
    "Ray": "(worker1, rank=1, pid=2769, ip=10.0.0.2) ",
    "colours": "\x1b[1;32m",
    "colours without their escape": "[32m",
    "a margin": "      ",
}


def figures(text: str | bytes, folder: Path) -> list[float]:
    file = folder / "out.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = load(file)
    assert {launch.status for launch in found.launches} == {"ok"}
    return [round(each.summary.median, 4) for each in found.observed]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("tag", TAGS)
def test_tags_are_taken_off_for_every_tool(
    outputs: Any, tool: str, tag: str, tmp_path: Path
) -> None:
    text = "".join(f"{TAGS[tag]}{line}\n" for line in outputs.BY_TOOL[tool].splitlines())
    assert figures(text, tmp_path) == [1.1]


# What no list could name: {n} is another number in each line.
MARGINS = {
    "a quotation": "> ",
    "of a quotation": "> > ",
    "kubectl logs --prefix": "[pod/bench-launcher-x{n}k/launcher] ",
    "containers": "head-1  | ",
    "clush, and pdsh": "node{n}: ",
    "PALS": "x1000c0s{n}b0n0.cluster.example {n}: ",
    "a journal": "May 01 12:00:{n:02} node17 bench[4711]: ",
    "a job of CI": "2025-03-07T09:05:{n:02}.123456Z 01O ",
    "a program that logs": "[2025-03-07, 09:05:{n:02} UTC] {{runner.py:93}} INFO - ",
    "seconds": "17145612{n}.125 ",
    "numbers of lines": "{n}| ",
    "comments": "## ",
}
LISTS = {"JSON": '  "{line}",', "a notebook": '  "{line}\\n",', "Python": "  '{line}',"}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("margin", MARGINS)
def test_what_all_lines_have_before_them_is_taken_off(
    outputs: Any, tool: str, margin: str, tmp_path: Path
) -> None:
    lines = outputs.BY_TOOL[tool].splitlines()
    text = "".join(f"{MARGINS[margin].format(n=n)}{line}\n" for n, line in enumerate(lines, 8))
    assert figures(f"Hello,\n\n{text}\nBye.\n", tmp_path) == [1.1]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_strings_are_read(outputs: Any, tool: str, kind: str, tmp_path: Path) -> None:
    lines = outputs.BY_TOOL[tool].splitlines()
    text = "".join(f"{LISTS[kind].format(line=line)}\n" for line in lines)
    assert figures(f"[\n{text}]\n", tmp_path) == [1.1]


@pytest.mark.parametrize("tool", TOOLS)
def test_blanks_and_line_ends_of_web_pages_are_none(
    outputs: Any, tool: str, tmp_path: Path
) -> None:
    for text in (
        outputs.BY_TOOL[tool].replace(" ", "\N{NO-BREAK SPACE}"),
        outputs.BY_TOOL[tool].replace("\n", "<br>\n"),
        outputs.BY_TOOL[tool].replace("\n", "\n<br />\n"),
    ):
        assert figures(text, tmp_path) == [1.1]


def test_a_number_right_before_a_line_is_no_margin(outputs: Any, tmp_path: Path) -> None:
    text = "".join(f"x12{line}\n" for line in outputs.BY_TOOL["osu"].splitlines())
    with pytest.raises(UserError, match="holds no observations"):
        figures(text, tmp_path)


def test_a_crash_behind_a_margin_is_found(outputs: Any, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(
        "".join(f"> {line}\n" for line in outputs.BY_TOOL["osu"].splitlines())
        + "> Segmentation fault\n"
    )
    [launch] = load(tmp_path / "out.txt").launches
    assert launch.status == "crashed"


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_read_however_it_was_stored(outputs: Any, tool: str, tmp_path: Path) -> None:
    text = outputs.BY_TOOL[tool]
    for stored in (
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r\r\n").encode(),
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        "\n".join(line.strip() for line in text.splitlines()).encode(),  # margins are lost
        "".join(f"\x1b[0m{line}\x1b[K\x1b[0m\n" for line in text.splitlines()).encode(),
        b"mpirun: some words\rof a progress bar\n" + text.encode(),
    ):
        assert figures(stored, tmp_path) == [1.1]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("[0] 32        [0]     1.32", "32             1.32"),
        ("8   [1,0]<stdout>:  1.32", "8     1.32"),
        ('<stdout rank="0">8   1.32&#010;</stdout>', "8   1.32"),
        ("Device 0: GPU A", "Device 0: GPU A"),
        ("Final:   10000  0.285", "Final:   10000  0.285"),
        ("[thread 0]   56427  0.791", "[thread 0]   56427  0.791"),  # no figure of the end
        (" Mtu             : 4096[B]", "Mtu             : 4096[B]"),
        ("x" * 1001, ""),
    ],
)
def test_what_else_is_within_a_line(line: str, left: str) -> None:
    assert lines_of(line) == [left]


@pytest.mark.parametrize(
    "tag",
    ["[1,0]<stdout>:", "Fri Mar  7 09:05:01 2025[1,0]<stdout>:", "[1,0][node17:4711]<stdout>:"],
)
def test_a_lost_end_of_a_line_is_found_between_two_tags(tag: str) -> None:
    assert lines_of(f"{tag}8     42.27{tag}16     83.66\n") == ["8     42.27", "16     83.66", ""]
    assert lines_of("[1,0]<stdout>:8 [1,0]<stdout>: 42.27") == ["8  42.27"]


def test_lines_keep_their_numbers() -> None:
    assert lines_of("one\r\n\r\n0: two\n") == ["one", "", "two", ""]


def test_a_pipe_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tmp_path.is_dir()
    monkeypatch.setattr(printed, "MOST_BYTES", 1 << 10)
    with pytest.raises(UserError, match="/dev/zero has more than 64 MiB: give the output"):
        load(Path("/dev/zero"))


JSON = """\
{"nvbandwidth": {"version": "v0.8", "testcases": [{
  "name": "host_to_device_memcpy_ce", "status": "Passed",
  "bandwidth_matrix": [
    ["1.10"]
  ]
}]}}
"""


@pytest.mark.parametrize(
    "stored",
    [
        JSON.encode(),
        b"\xef\xbb\xbf" + JSON.encode(),
        JSON.encode("utf-16"),
        b"mpirun: {a warning}\n" + JSON.encode() + b"\nDone.\n",
        "".join(f"1: {line}\n" for line in JSON.splitlines()).encode(),
        "".join(f"[1,0]<stdout>:{line}\n" for line in JSON.splitlines()).encode(),
    ],
)
def test_json_is_found_among_other_lines(stored: bytes, tmp_path: Path) -> None:
    assert figures(stored, tmp_path) == [1.1]


@pytest.mark.parametrize("other", ["{", "{'HOME': '/'}", '{"a": 1}', "}"])
def test_other_braces_are_no_json(outputs: Any, other: str, tmp_path: Path) -> None:
    for text in outputs.BY_TOOL.values():
        assert figures(f"{other}\n{text}", tmp_path) == [1.1]
