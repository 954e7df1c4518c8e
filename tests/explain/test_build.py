# SPDX-License-Identifier: Apache-2.0
"""The library that is loaded into ranks."""

import re
import subprocess

from nearpeak.libraries.build import build_explain, preloaded_sources


def test_it_has_what_stands_in_for_calls_and_nothing_else() -> None:
    text = (preloaded_sources() / "explain" / "host_calls.cpp").read_text(encoding="utf-8")
    calls = set(re.findall(r"^(?:REPLACED|WAITS)\([\w*]+, (\w+)", text, re.MULTILINE))
    calls |= set(re.findall(r'__asm__\(\s*"(\w+)"\)', text))
    assert len(calls) > 30
    told = subprocess.run(
        ["nm", "-D", "--defined-only", build_explain()], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1].partition("@")[0] for line in told.splitlines()}
    assert names == {*calls, "InitializeInjection", "nearpeak_explain_mark"}
