# SPDX-License-Identifier: Apache-2.0
"""How `make test` judges tests that fail beside others: by real runs of its lanes."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
# Tests that fail the first time, tests that fail always, and one that passes.
HEAD = """
from pathlib import Path

def first(number):
    mark = Path(__file__).with_name(f"ran-{number}")
    before = mark.exists()
    mark.touch()
    assert before, "only the first time"

def test_good():
    pass
"""
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "BESIDE", "AGAIN", "REPORTS")
FIRST = "def test_first_{0}():\n    first({0})\n"
ALWAYS = "def test_always_{0}():\n    assert False\n"


def planted(*, first: int, always: int) -> str:
    tests = [FIRST.format(number) for number in range(first)]
    return HEAD + "\n".join([*tests, *(ALWAYS.format(number) for number in range(always))])


@pytest.fixture(scope="module")
def alone() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        import alone
    finally:
        sys.path.pop(0)
    return alone


@pytest.fixture
def lane(tmp_path: Path) -> Callable[..., int]:
    """Runs pytest-rest of the Makefile on the planted tests; its exit status."""

    def run(*words: str) -> int:
        command = ["make", "-C", str(ROOT), "--old-file=.venv/tools", "pytest-rest", *words]
        command += [f"PYTEST={sys.executable} -m pytest", f"REPORTS={tmp_path}/reports"]
        command += [f"PART_rest={tmp_path}/test_planted.py"]
        # What the make above was told is not for this one.
        env = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode

    return run


@pytest.fixture
def judged(
    alone: ModuleType, lane: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str]]]:
    """Plants so many tests that fail first, and always; the status and what is printed."""

    def run(first: int, always: int) -> tuple[int, list[str]]:
        (tmp_path / "test_planted.py").write_text(planted(first=first, always=always))
        assert lane("BESIDE=others") == 0
        status = alone.judge(tmp_path / "reports", ["pytest-rest"], lambda _: lane("AGAIN=yes"))
        return status, capsys.readouterr().out.splitlines()

    return run


def test_a_test_that_fails_only_the_first_time_is_named_and_passes(
    judged: Callable[..., tuple[int, list[str]]],
) -> None:
    status, lines = judged(first=1, always=0)
    assert status == 0
    assert lines[0] == "passed alone; the first failure:"
    assert lines[1].endswith("test_planted::test_first_0")
    assert "only the first time" in lines[2]
    assert lines[3:] == ["2 passed, 0 failed, 0 skipped"]


def test_a_test_that_fails_always_fails_the_run(
    judged: Callable[..., tuple[int, list[str]]],
) -> None:
    status, lines = judged(first=1, always=1)
    assert status == 1
    assert lines[3] == "failed again; the first failure:"
    assert lines[4].endswith("test_planted::test_always_0")
    assert lines[-1] == "2 passed, 1 failed, 0 skipped"


def test_six_that_fail_the_first_time_fail_the_run(
    judged: Callable[..., tuple[int, list[str]]], tmp_path: Path
) -> None:
    status, lines = judged(first=6, always=0)
    assert status == 1
    assert lines[0] == "More than 5 tests failed, so none ran again:"
    assert lines[-1] == "1 passed, 6 failed, 0 skipped"
    assert not (tmp_path / "reports" / "pytest-rest-alone.xml").exists()


def test_without_other_lanes_a_failure_fails_the_lane(
    lane: Callable[..., int], tmp_path: Path
) -> None:
    (tmp_path / "test_planted.py").write_text(planted(first=0, always=1))
    assert lane() != 0


def test_tests_that_cannot_be_collected_fail_the_lane(
    lane: Callable[..., int], tmp_path: Path
) -> None:
    (tmp_path / "test_planted.py").write_text("import nothing_of_this_name")
    assert lane("BESIDE=others") != 0


def test_a_lane_that_reports_no_second_result_has_failed_again(
    alone: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sanitize.xml").write_text(
        '<testsuite><testcase name="nearpeak-tests" classname="nearpeak-tests" status="fail">'
        '<failure message="Failed"/><system-out>TEST CASE:  a meeting\n'
        "meeting_test.cpp:7: ERROR: CHECK( 1 == 2 ) is NOT correct!\n</system-out>"
        "</testcase></testsuite>"
    )
    assert alone.judge(tmp_path, ["sanitize"], lambda _: None) == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        "failed again; the first failure:",
        "  sanitize: nearpeak-tests",
        "    meeting_test.cpp:7: ERROR: CHECK( 1 == 2 ) is NOT correct!",
    ]


def test_a_lane_that_dies_before_its_report_fails(
    alone: ModuleType, lane: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lane("BESIDE=others", "PYTEST=false") != 0
    assert alone.judge(tmp_path, ["pytest-rest"]) == 1
    assert capsys.readouterr().out.startswith("without a report: pytest-rest\n")


REPORT = """<testsuite><testcase name="nearpeak-tests" classname="nearpeak-tests" status="{status}">
{element}<system-out>{printed}</system-out></testcase></testsuite>"""
PASSED = REPORT.format(status="run", element="", printed="")


def judged_when_it_passes_alone(alone: ModuleType, folder: Path, report: str) -> int:
    (folder / "sanitize.xml").write_text(report)

    def passes(lane: str) -> None:
        (folder / f"{lane}-alone.xml").write_text(PASSED)

    return alone.judge(folder, ["sanitize"], passes)


@pytest.mark.parametrize(
    ("status", "element", "printed"),
    [
        (
            "fail",
            '<failure message="Failed"/>',
            "==7==ERROR: AddressSanitizer: heap-use-after-free",
        ),
        ("fail", '<failure message="Failed"/>', "x.cpp:7: ERROR: CHECK( 1 == 2 )\n" * 6),
        ("notrun", '<skipped message="Unable to find executable"/>', ""),
    ],
)
def test_what_load_cannot_explain_is_not_excused(
    alone: ModuleType, tmp_path: Path, status: str, element: str, printed: str
) -> None:
    report = REPORT.format(status=status, element=element, printed=printed)
    assert judged_when_it_passes_alone(alone, tmp_path, report) == 1


def test_memory_that_a_test_asks_for_and_does_not_get_is_no_crash(
    alone: ModuleType, tmp_path: Path
) -> None:
    report = REPORT.format(
        status="fail",
        element='<failure message="Failed"/>',
        printed="==7==WARNING: AddressSanitizer failed to allocate 0x80000000001000 bytes\n"
        "x.cpp:7: ERROR: CHECK( 1 == 2 )\n",
    )
    assert judged_when_it_passes_alone(alone, tmp_path, report) == 0
