# SPDX-License-Identifier: Apache-2.0
"""The command line of a case, and its line in a file of cases."""

import pytest

from nearpeak.launching import trials
from nearpeak.terms.trials import TrialCase

SIZES = [8, 4 << 20]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (TrialCase("H,H", "put"), "--sizes 8,4M"),
        (TrialCase("H,H", "put", check="inplace"), "--checks inplace --sizes 8,4M"),
        (TrialCase("H,H", "put", check="grow"), "--checks grow"),
        (
            TrialCase("H,H", "put", "huge", 1, "churn"),
            "--allocators huge --offsets 1 --checks churn",
        ),
    ],
)
def test_sizes_are_of_checks_that_look_at_messages_of_them(case: TrialCase, words: str) -> None:
    told = " ".join(trials.probe_options(case, SIZES))
    assert told == f"--buffers H,H --operations put {words}"


def test_a_line_of_a_file_has_all_of_a_case() -> None:
    case = TrialCase("M,M", "allreduce", "managed-pool", 0, "inplace", 3)
    assert trials.line(case, SIZES) == "M,M managed-pool allreduce 0 inplace 8,4M"


@pytest.mark.parametrize("value", [b'"\xff"}', 100_000 * b"["])
def test_a_line_that_cannot_be_decoded_is_left_out(value: bytes) -> None:
    job = trials.Job([TrialCase("H,H", "put")], lambda _: SIZES, lambda _: None, lambda *_: None)
    job._take(b'{"record":"probe","z":' + value)
    assert job.ended == []
