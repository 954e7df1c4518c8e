# SPDX-License-Identifier: Apache-2.0
"""Runs each test that failed in `make test` once more, by itself, and judges the run.

    python tests/alone.py REPORTS

REPORTS is the folder in which each lane of the Makefile has left LANE.xml (JUnit). `make LANE
AGAIN=yes` runs the failed tests of one lane, and leaves LANE-alone.xml. The lanes run one after the
other, so that no other test competes. The status is 1 if a test fails again, or if more than MOST
tests failed at first: then none runs again, as no result could save the run.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

MOST = 5  # failures that a loaded machine may explain
WIDTH = 160  # of a printed reason


class Test(NamedTuple):
    """One test of a lane. `reason`: the first line of its failure, None if it did not fail."""

    lane: str
    name: str
    skipped: bool
    reason: str | None


def read(folder: Path, lane: str, suffix: str = "") -> list[Test]:
    """Reads a report of pytest or ctest; a lane that left none has no tests."""
    file = folder / f"{lane}{suffix}.xml"
    cases = ElementTree.parse(file).iter("testcase") if file.exists() else []
    return [
        Test(lane, _name(case), case.find("skipped") is not None, _reason(case)) for case in cases
    ]


def _name(case: ElementTree.Element) -> str:
    group, name = case.get("classname", ""), case.get("name", "")
    return name if group in ("", name) else f"{group}::{name}"


def _reason(case: ElementTree.Element) -> str | None:
    failure = next((element for element in case if element.tag in ("failure", "error")), None)
    if failure is None:
        return None
    # ctest knows only that its program failed: a line of doctest says where.
    errors = re.findall(r".*\bERROR: .*", case.findtext("system-out", ""))
    lines = [*errors, *failure.get("message", "").splitlines(), "no reason given"]
    return next(line.strip() for line in lines if line.strip())[:WIDTH]


def make_again(lane: str) -> None:
    """Runs the failed tests of a lane. Its report holds the result, so the status is ignored."""
    subprocess.run(["make", "--no-print-directory", lane, "AGAIN=yes"], check=False)


def judge(folder: Path, rerun: Callable[[str], object] = make_again) -> int:
    """Runs the failed tests of all lanes again, prints the verdict, and returns the exit status."""
    lanes = sorted(file.stem for file in folder.glob("*.xml") if not file.stem.endswith("-alone"))
    tests = [test for lane in lanes for test in read(folder, lane)]
    failed = [test for test in tests if test.reason is not None]
    if len(failed) > MOST:
        again = failed
        print(f"More than {MOST} tests failed, so none ran again:", *_lines(failed), sep="\n")
    else:
        passed = {
            (lane, test.name)
            for lane in sorted({test.lane for test in failed})
            for test in _alone(folder, lane, rerun)
            if test.reason is None and not test.skipped
        }
        again = [test for test in failed if (test.lane, test.name) not in passed]
        alone = [test for test in failed if test not in again]
        for heading, those in (("passed alone", alone), ("failed again", again)):
            if those:
                print(f"{heading}; the first failure:", *_lines(those), sep="\n")
    skipped = sum(test.skipped for test in tests)
    print(f"{len(tests) - skipped - len(again)} passed, {len(again)} failed, {skipped} skipped")
    return 1 if again or not tests else 0


def _alone(folder: Path, lane: str, rerun: Callable[[str], object]) -> list[Test]:
    rerun(lane)
    return read(folder, lane, "-alone")


def _lines(tests: Iterable[Test]) -> Iterator[str]:
    for test in tests:
        yield f"  {test.lane}: {test.name}"
        yield f"    {test.reason}"


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # in order with make
    sys.exit(judge(Path(sys.argv[1])))
