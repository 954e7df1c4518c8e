# SPDX-License-Identifier: Apache-2.0
"""Which glibc files need."""

import sys
from pathlib import Path

from nearpeak.libraries import glibc


def test_the_newest_symbol_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0GLIBC_2.9\0GLIBC_2.17\0GLIBC_2.2.5\0")
    (tmp_path / "b").write_bytes(b"\x7fELF\0GLIBC_2.34\0GLIBCXX_3.4.30\0GLIBC_PRIVATE\0")
    (tmp_path / "c").write_bytes(b"text that names GLIBC_9.9\0")
    files = [tmp_path / name for name in "abc"]
    assert glibc.needed(files) == (2, 34)
    assert glibc.needed(files[2:]) == (0, 0)
    assert glibc.text((2, 34)) == "2.34"


def test_relocations_that_an_old_loader_does_not_know_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0GLIBC_2.4\0GLIBC_ABI_DT_RELR\0")
    assert glibc.needed([tmp_path / "a"]) == (2, 36)


def test_what_runs_here_needs_no_newer_one() -> None:
    assert (2, 0) < glibc.needed([Path(sys.executable).resolve()]) <= glibc.installed()
