# SPDX-License-Identifier: Apache-2.0
"""What the output of a launch says of its end."""

from pathlib import Path

from nearpeak.study.logs import crash_words, last_words


def test_what_a_launch_said_cannot_steer_a_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\n\x1b[2Jgone\x07 \xff\tend\n")
    for words in (last_words(log), crash_words(139, log)):
        assert "gone" in words
        assert words.isprintable()
    log.write_bytes(b"ended by signal: 11 \x1b]0;title\x07\n")
    assert crash_words(1, log).startswith("ended by SIGSEGV: ")
    assert crash_words(1, log).isprintable()
