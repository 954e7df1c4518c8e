# SPDX-License-Identifier: Apache-2.0
"""Asking libraries for their version: real ones, and ones that crash, hang or are none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.libraries import identify
from nearpeak.libraries.identify import CannotIdentify, version_text
from nearpeak.libraries.library import Library

ASKED = 'extern "C" int MPI_Get_library_version(char*, int*)'


def test_real_libraries_name_themselves(library: Library) -> None:
    assert library.version in version_text(library.libmpi, {})


def test_text_is_kept_whole(speaking: Callable[[str], Path]) -> None:
    text = "Some MPI\n\tversion 1 – with\n\nlines " + 5000 * "x"
    assert version_text(speaking(text), {}) == text


def test_environment_reaches_it(shared_object: Callable[[str], Path]) -> None:
    code = "#include <cstdlib>\n#include <cstring>\n" + ASKED.replace("char*", "char* text")
    file = shared_object(code + ' { strcpy(text, getenv("NEARPEAK_TEST_WORD")); return 0; }')
    assert version_text(file, {"NEARPEAK_TEST_WORD": "a b"}) == "a b"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("#include <cstdlib>\n" + ASKED + " { abort(); }", "signal 6"),
        ("#include <unistd.h>\n" + ASKED + " { sleep(60); return 0; }", "no answer within"),
        (ASKED + " { return 1; }", "MPI_Get_library_version failed"),
        ("int other;", "undefined symbol"),
    ],
)
def test_what_cannot_be_asked_says_why(
    shared_object: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    monkeypatch.setattr(identify, "LIMIT_SECONDS", 2.0)
    with pytest.raises(CannotIdentify, match=reason):
        version_text(shared_object(code), {})


def test_no_library_at_all(tmp_path: Path) -> None:
    (tmp_path / "libmpi.so.40").write_text("INPUT(libmpi.so.12)")
    with pytest.raises(CannotIdentify, match=r"libmpi\.so\.40"):
        version_text(tmp_path / "libmpi.so.40", {})
