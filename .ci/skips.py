#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exits with 1 when a test was skipped for a reason that skips.txt does not have.

    .ci/skips.py REPORT...

A report is JUnit's XML, of pytest or of ctest. In the latter a C++ test prints `skipped: REASON`.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).with_name("skips.txt")


def allowed() -> set[str]:
    """The reasons of skips.txt."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def skipped(report: Path) -> list[str]:
    """The reason of every test that was skipped."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    reasons = [one.get("message", "") for case in cases for one in case.iter("skipped")]
    printed = "\n".join(case.findtext("system-out", "") for case in cases)
    return reasons + re.findall(r"MESSAGE: skipped: (.*)", printed)


if __name__ == "__main__":
    found = [(file, reason) for file in sys.argv[1:] for reason in skipped(Path(file))]
    wrong = [f"{file}: {reason}" for file, reason in found if reason not in allowed()]
    if wrong:
        sys.exit("\n".join([f"Skipped for a reason that {LIST} does not have:", *wrong]))
    print(f"{len(found)} tests were skipped, each for a reason that {LIST} has.")
