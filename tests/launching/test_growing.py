# SPDX-License-Identifier: Apache-2.0
"""Lines are read whole, each once, while their file grows."""

from pathlib import Path

from nearpeak.launching.growing import GrowingLines


def test_whole_lines_are_taken_once_and_a_half_one_waits(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    lines = GrowingLines(file)
    assert lines.read() == []
    for text, whole in (("a\nb", [b"a"]), ("c", []), ("\n\nd", [b"bc", b""]), ("", [])):
        with file.open("a") as opened:
            opened.write(text)
        assert lines.read() == whole
    assert lines.waiting() == b"d"


def test_what_came_before_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("of others\nown\n")
    assert GrowingLines(file, len("of others\n")).read() == [b"own"]
