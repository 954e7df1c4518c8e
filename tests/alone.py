# SPDX-License-Identifier: Apache-2.0
"""Runs each test that failed in `make test` once more, by itself, and judges the run.

    python tests/alone.py REPORTS LANE...

REPORTS is the folder in which each lane of the Makefile has left LANE.xml (JUnit). `make LANE
AGAIN=yes` runs the failed tests of one lane, and leaves LANE-alone.xml. The lanes run one after the
other, so that no other test competes. The status is 1 if a test fails again, if a lane has no tests
or if more than MOST tests failed at first: then none runs again, as no result could save the run.
What a sanitizer reports is never excused.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

MOST = 5  # failures that a loaded machine may explain
WIDTH = 160  # of a printed reason
# A test asks for more memory than there is, which AddressSanitizer warns of: no crash.
CRASH = re.compile(
    r".*(?:Sanitizer(?! failed to allocate)|runtime error:|SEGFAULT|SIGSEGV|SIGABRT|SIGBUS).*"
)


class Test(NamedTuple):
    """One test of a lane. `reason`: the first line of its failure, None if it did not fail.
    `failures`: how many, of a program with many tests. `excused`: load may explain them."""

    lane: str
    name: str
    skipped: bool
    reason: str | None
    failures: int = 1
    excused: bool = True


def read(folder: Path, lane: str, suffix: str = "") -> list[Test]:
    """Reads a report of pytest or ctest; a lane that left none has no tests."""
    file = folder / f"{lane}{suffix}.xml"
    cases = ElementTree.parse(file).iter("testcase") if file.exists() else []
    return [_test(lane, case) for case in cases]


def _test(lane: str, case: ElementTree.Element) -> Test:
    group, own = case.get("classname", ""), case.get("name", "")
    name = own if group in ("", own) else f"{group}::{own}"
    if case.get("status") == "notrun":  # of ctest: its program is missing
        return Test(lane, name, False, "not run", excused=False)
    failure = next((element for element in case if element.tag in ("failure", "error")), None)
    if failure is None:
        return Test(lane, name, case.find("skipped") is not None, None)
    # ctest knows only that its program failed: lines of doctest and of sanitizers say where.
    message, printed = failure.get("message", ""), case.findtext("system-out", "")
    grave = CRASH.findall("\n".join([printed, message, failure.text or ""]))
    errors = re.findall(r".*\bERROR: .*", printed)
    lines = [*grave, *errors, *message.splitlines(), "no reason given"]
    reason = next(line.strip() for line in lines if line.strip())[:WIDTH]
    return Test(lane, name, False, reason, max(1, len(errors)), not grave)


def unreported(lanes: Sequence[str], tests: Sequence[Test]) -> list[str]:
    """The lanes without a test, as they left no report."""
    reported = {test.lane for test in tests}
    return [lane for lane in lanes if lane not in reported]


def make_again(lane: str) -> None:
    """Runs the failed tests of a lane. Its report holds the result, so the status is ignored."""
    subprocess.run(["make", "--no-print-directory", lane, "AGAIN=yes"], check=False)


def judge(folder: Path, lanes: Sequence[str], rerun: Callable[[str], object] = make_again) -> int:
    """Runs the failed tests of all lanes again, prints the verdict, and returns the exit status."""
    tests = [test for lane in lanes for test in read(folder, lane)]
    missing = unreported(lanes, tests)
    failed = [test for test in tests if test.reason is not None]
    if sum(test.failures for test in failed) > MOST:
        again = failed
        print(f"More than {MOST} tests failed, so none ran again:", *_lines(failed), sep="\n")
    else:
        passed = {
            (lane, test.name)
            for lane in sorted({test.lane for test in failed})
            for test in _alone(folder, lane, rerun)
            if test.reason is None and not test.skipped
        }
        again = [
            test for test in failed if not test.excused or (test.lane, test.name) not in passed
        ]
        alone = [test for test in failed if test not in again]
        for heading, those in (("passed alone", alone), ("failed again", again)):
            if those:
                print(f"{heading}; the first failure:", *_lines(those), sep="\n")
    if missing:
        print("without a report:", *missing)
    skipped = sum(test.skipped for test in tests)
    print(f"{len(tests) - skipped - len(again)} passed, {len(again)} failed, {skipped} skipped")
    return 1 if again or missing else 0


def _alone(folder: Path, lane: str, rerun: Callable[[str], object]) -> list[Test]:
    rerun(lane)
    return read(folder, lane, "-alone")


def _lines(tests: Iterable[Test]) -> Iterator[str]:
    for test in tests:
        yield f"  {test.lane}: {test.name}"
        yield f"    {test.reason}"


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # in order with make
    sys.exit(judge(Path(sys.argv[1]), sys.argv[2:]))
