#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exits with 1 when a test was skipped for a reason that skips.txt does not have.

    .ci/skips.py REPORT...

A report is pytest's (JUnit's XML) or a log of ctest, where a C++ test says `skipped: REASON`.
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
    if report.suffix == ".xml":
        return [one.get("message", "") for one in ElementTree.parse(report).iter("skipped")]
    return re.findall(r"MESSAGE: skipped: (.*)", report.read_text(encoding="utf-8"))


if __name__ == "__main__":
    found = [(file, reason) for file in sys.argv[1:] for reason in skipped(Path(file))]
    wrong = [f"{file}: {reason}" for file, reason in found if reason not in allowed()]
    if wrong:
        sys.exit("\n".join([f"Skipped for a reason that {LIST} does not have:", *wrong]))
    print(f"{len(found)} tests were skipped, each for a reason that {LIST} has.")
