# SPDX-License-Identifier: Apache-2.0
"""Runs lanes of the Makefile beside a loaded machine, several times, and lists what differs.

    python tests/stress.py REPORTS ROUNDS LANE...

Two busy loops on each CPU, at the usual priority, take most of the machine, and the lanes run side
by side. Each round leaves its reports in REPORTS/ROUND. The status is 1 if any test failed in any
round, or was there in only some of them.
"""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alone import Test, read, unreported

LOOPS = 2  # busy ones on each CPU


@contextmanager
def load() -> Iterator[None]:
    """Keeps every CPU of this process busy."""
    # Each ends with this process, however that ends.
    command = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass"]
    loops = [subprocess.Popen(command) for _ in range(LOOPS * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(folder: Path, lanes: Sequence[str]) -> list[Test]:
    """Runs these lanes once. The reports hold the results, so the statuses are ignored."""
    words = ["--no-print-directory", "--keep-going", f"--jobs={len(lanes)}", "--output-sync=target"]
    subprocess.run(["make", *words, *lanes, f"REPORTS={folder}"], check=False)
    return [test for lane in lanes for test in read(folder, lane)]


def differences(rounds: Sequence[Sequence[Test]]) -> list[str]:
    """A line for each test that did not pass, or was not skipped, in every round."""
    outcomes: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for number, tests in enumerate(rounds, 1):
        for test in tests:
            said = "skipped" if test.skipped else test.reason or "passed"
            outcomes[test.lane, test.name][number] = said
    numbers = range(1, len(rounds) + 1)
    return [
        f"{lane}: {name}"
        + "".join(f"\n  round {number}: {by_round.get(number, 'not run')}" for number in numbers)
        for (lane, name), by_round in outcomes.items()
        if [*by_round.values()] not in (["passed"] * len(rounds), ["skipped"] * len(rounds))
    ]


def main(folder: Path, number: int, lanes: Sequence[str]) -> int:
    """Runs the rounds, prints the differences and returns the exit status."""
    with load():
        rounds = [run(folder / str(each), lanes) for each in range(1, number + 1)]
    lines = differences(rounds)
    lines += [f"{lane}: no report" for lane in unreported(lanes, rounds[0])]
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{number} rounds of {len(rounds[0])} tests beside load: {len(lines)} differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
