# SPDX-License-Identifier: Apache-2.0
"""What `make stress` lists."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

REPORT = '<testsuite><testcase classname="t" name="one">{}</testcase></testsuite>'
FAILED = '<failure message="assert 2 == 3"/>'


@pytest.fixture(scope="module")
def stress() -> ModuleType:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        import stress
    finally:
        sys.path.pop(0)
    return stress


def rounds(stress: ModuleType, folder: Path, *bodies: str | None) -> list[str]:
    """The differences of rounds in which the one test left this body; None: no report."""
    for number, body in enumerate(bodies):
        (folder / str(number)).mkdir()
        if body is not None:
            (folder / str(number) / "lane.xml").write_text(REPORT.format(body))
    return stress.differences(
        [stress.read(folder / str(number), "lane") for number in range(len(bodies))]
    )


@pytest.mark.parametrize("body", ["", "<skipped/>"])
def test_the_same_in_all_rounds_is_not_listed(
    stress: ModuleType, tmp_path: Path, body: str
) -> None:
    assert rounds(stress, tmp_path, body, body, body) == []


def test_a_failure_is_listed_with_each_round(stress: ModuleType, tmp_path: Path) -> None:
    assert rounds(stress, tmp_path, "", FAILED, None) == [
        "lane: t::one\n  round 1: passed\n  round 2: assert 2 == 3\n  round 3: not run"
    ]


def test_what_fails_every_time_is_listed(stress: ModuleType, tmp_path: Path) -> None:
    assert len(rounds(stress, tmp_path, FAILED, FAILED)) == 1


def test_load_ends_with_its_block(stress: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    popen = stress.subprocess.Popen

    def start(*words: object) -> object:
        started.append(popen(*words))
        return started[-1]

    monkeypatch.setattr(stress.subprocess, "Popen", start)
    with stress.load():
        assert started
        assert all(loop.poll() is None for loop in started)
    assert all(loop.poll() is not None for loop in started)
