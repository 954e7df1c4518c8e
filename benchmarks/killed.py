# SPDX-License-Identifier: Apache-2.0
"""Kills runs with SIGKILL at random moments, resumes them, and looks for what was lost or left.

    python benchmarks/killed.py [--command study] [--moments 100] [--library mpich] [--seed 1]
    python benchmarks/killed.py --command nodes --hosts a,b,c --remote-shell SHELL

A small study, tune, conform or nodes in host memory is begun in a folder of its own. Each moment
kills the process that measures, of a new run or of one that is resumed, after a random time up to
twice what a launch takes. Then nothing that it started may run, nothing may be left in its
temporary folder or in /dev/shm, every record that stood in its journals must stand there still, and
the next one must resume it. In the end the run is completed and reported. It asserts no time. Exit
status 1: something was lost or left.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nearpeak.watch import watcher

LIMIT = 120.0  # seconds for what hangs: to end, and to complete
SPAN = 8.0  # seconds up to which a moment is chosen
MAIN = "from nearpeak.cli.main import main; main()"


# What begins each run, and the file that says that it has begun.
BEGIN = {
    "study": (
        "--benchmark latency --sizes 8,4096 --launches 8 --slot-ms 2",
        "plan.json",
    ),
    "conform": ("--quick --operations latency,put,allreduce --buffers H,H", "conform.jsonl"),
    "tune": ("--for latency:8 --budget 2m", "tune.jsonl"),
    "nodes": ("--slot-ms 2 --large 32K --launches 4", "nodes.jsonl"),
}
BAD = {"conform": 1, "nodes": 1}  # their status where something of the library is bad
HOST_PATH = ("--path", "host-host same-numa")


def command(folder: Path, options: argparse.Namespace) -> list[str]:
    """The run's, or that which resumes it: as a job script does, by what says that it has begun."""
    begin, file = BEGIN[options.command]
    words = [sys.executable, "-c", MAIN, options.command, "-o", str(folder)]
    if (folder / file).exists() and (folder / file).stat().st_size:
        return [*words, "--resume"]
    words += ["--mpi", options.library, *begin.split()]
    if options.command in ("study", "tune"):
        words += HOST_PATH
    if options.hosts:
        words += ["--hosts", options.hosts, "--remote-shell", options.remote_shell]
    return words


def journals(folder: Path) -> dict[Path, bytes]:
    """Read the journals of a run."""
    return {file: file.read_bytes() for file in folder.rglob("*.jsonl")}


def marked(mark: str) -> set[int]:
    """The processes with a variable that a study and all that it starts have."""
    found = set()
    for pid in watcher.processes():
        try:
            if f"KILLED_BY={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


def wait_until_none(mark: str) -> set[int]:
    """Wait for the processes of a run to end; return those that run at the limit all the same."""
    ends = time.monotonic() + LIMIT
    while (left := marked(mark)) and time.monotonic() < ends:
        time.sleep(0.05)
    return left


def one(folder: Path, options: argparse.Namespace, chance: random.Random, number: int) -> list[str]:
    """Kills one run, and says what was lost or left."""
    mark = f"{os.getpid()}-{number}"
    temporary = options.tmp / f"t{number}"
    temporary.mkdir()
    segments: set[str] = set()
    with (options.tmp / "said").open("ab") as said:
        process = subprocess.Popen(
            command(folder, options),
            env={**os.environ, "KILLED_BY": mark, "TMPDIR": str(temporary)},
            stdout=said,
            stderr=said,
        )
        try:
            process.wait(chance.uniform(0, SPAN))
        except subprocess.TimeoutExpired:
            segments = watcher.mapped(marked(mark))
            before = journals(folder)
            process.send_signal(signal.SIGKILL)
            process.wait()
        else:
            before = journals(folder)
    wrong = []
    if process.returncode not in (-signal.SIGKILL, 0, BAD.get(options.command, 0)):
        wrong.append(f"ended with {process.returncode}")
    if left := wait_until_none(mark):
        wrong.append(f"running: {sorted(left)}")
    after = journals(folder)
    for file, content in before.items():
        if not after.get(file, b"").startswith(content):
            wrong.append(f"{file.name} lost what it had")
    ends = time.monotonic() + LIMIT  # the watcher has no mark
    while time.monotonic() < ends and (
        [*temporary.iterdir()] or segments & watcher.own_segments().keys()
    ):
        time.sleep(0.05)
    wrong += [f"left: {each}" for each in temporary.rglob("*")]
    wrong += [f"left in /dev/shm: {each}" for each in segments & watcher.own_segments().keys()]
    wrong += [f"put aside: {each.name}" for each in folder.glob("*.damaged-*")]
    return wrong


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", choices=BEGIN, default="study")
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--library", default="mpich")
    parser.add_argument("--hosts")
    parser.add_argument("--remote-shell", default="ssh")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tmp", type=Path)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    bad = complete = 0
    with tempfile.TemporaryDirectory(prefix="killed-", dir=options.tmp) as name:
        options.tmp = Path(name)
        folder = options.tmp / "run0"
        for number in range(options.moments):
            wrong = one(folder, options, chance, number)
            bad += bool(wrong)
            if wrong:
                print(f"moment {number}: {'; '.join(wrong)}", flush=True)
            # Now and then a new one, as most of a study's begin is passed but once.
            if chance.random() < 0.3:
                complete += completed(folder, options)
                folder = options.tmp / f"run{number + 1}"
        complete += completed(folder, options)
        if bad:
            print((options.tmp / "said").read_text(errors="replace")[-4000:])
    print(f"{options.moments} moments, {bad} with something lost or left; {complete} completed")
    return 1 if bad else 0


def completed(folder: Path, options: argparse.Namespace) -> bool:
    """Completes and reports a run; RuntimeError where that fails. A search has no report of its own
    where nothing was found."""
    runs = [command(folder, options)]
    if options.command != "tune":
        runs.append([sys.executable, "-c", MAIN, "report", str(folder)])
    for words in runs:
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, timeout=10 * LIMIT
        )
        if done.returncode not in (0, BAD.get(options.command, 0)):
            raise RuntimeError(f"{words}: {done.returncode}: {done.stderr[-2000:]}")
    return True


if __name__ == "__main__":
    sys.exit(main())
