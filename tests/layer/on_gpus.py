# SPDX-License-Identifier: Apache-2.0
"""Are the layer's messages and windows as the standard says on the GPUs of this machine, too?

Runs the cases of messages.cpp, begun.cpp, windows.cpp, chunks.cpp and streams.cpp, which tests run
on the fake driver, with each library and the layer; ranks have one GPU, or two in turn. Says which
cases are not good and why, with the exit status 1. Those that ask the fake driver are left out.

    .venv/bin/python tests/layer/on_gpus.py --mpi mpich --mpi openmpi
    .venv/bin/python tests/layer/on_gpus.py --mpi intel --ranks 3 --mps
    .venv/bin/python tests/layer/on_gpus.py --mpi mpich --memory chunks
    .venv/bin/python tests/layer/on_gpus.py --mpi mpich --ranks 2 --apart
"""

import argparse
import contextlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from programs import CONTAINER, CONTAINER_OF_USERS, MPICH_IN_CONTAINERS, cases_of, compiled

from nearpeak.launching import mps
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.libraries.preload import command_line

ASK_THE_FAKE: dict[str, set[str]] = {
    "messages": {"asked", "let_go"},
    "begun": set(),
    "windows": {"let_go", "apart", "elsewhere", "untried"},
    "chunks": {"given_back", "no_room"},
    "streams": set(),
}
STREAM = "NEARPEAK_LAYER_STREAM"  # without it nobody knows which bytes come
# Starts a program with so many words, but for rank 0 without the others.
BUT_RANK_0 = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != 0 ] || shift "$0"; exec "$@"'
# Between containers, unless memory is in chunks.
WINDOWS = {"windows": set(cases_of("windows")), "streams": {"windows"}}
THREADS = {"one thread": [], "several threads": ["--multiple"]}
LIMIT = 120.0  # seconds for a launch
DRIVER = os.environ.get("NEARPEAK_CUDA_LIBRARY", "libcuda.so.1")


@dataclass(frozen=True)
class Setting:
    """`shared`: under the daemon of MPS. `container`: starts what runs in one, on all ranks but
    the first; or nothing."""

    shared: bool
    container: tuple[str, ...]


def container() -> tuple[str, ...]:
    """Raises SystemExit where the machine allows none."""
    for words in (CONTAINER, CONTAINER_OF_USERS):
        tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return words
    raise SystemExit(f"no PID namespace can be made on this machine: {tried.stderr.strip()}")


def launch(library: Library, words: list[str], ranks: int, setting: Setting) -> tuple[str, str]:
    """What a launch printed, and its errors: with the last line why it ended, if it did not by
    itself."""
    cpus = sorted(os.sched_getaffinity(0))
    of_program = {STREAM: "legacy"} if Path(words[0]).name == "streams" else {}
    if setting.container:
        of_program |= MPICH_IN_CONTAINERS
        before = ["sh", "-c", BUT_RANK_0, str(len(setting.container)), *setting.container]
    else:
        before = []
    started = Launch(
        program=[*before, *words],
        ranks=[Rank(cpus=[cpus[rank % len(cpus)]]) for rank in range(ranks)],
        settings=Settings(env={"NEARPEAK_CUDA_LIBRARY": DRIVER, **of_program}),
        gpu=True,
    )
    line = command_line(library, started)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen(
            line.argv,
            env={**os.environ, **mps.environment(mps=setting.shared), **line.env},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        ) as process:
            try:
                status = f"exit status {process.wait(LIMIT)}"
            except subprocess.TimeoutExpired:
                process.terminate()
                status = f"not ended after {LIMIT:.0f} s"
        out.seek(0)
        err.seek(0)
        return out.read(), err.read() + status


def try_cases(
    library: Library, program: list[str], cases: list[str], ranks: int, setting: Setting
) -> Iterator[str]:
    """Yields why a case is not good; those after it have a launch of their own."""
    left = cases
    while left:
        out, err = launch(library, [*program, *left], ranks, setting)
        good = len(re.findall(r"^\w+: good$", out, re.MULTILINE))
        if good == len(left):
            return
        told = [line for line in err.splitlines() if f"{left[good]}: line" in line]
        yield f"{left[good]}: {' | '.join(told or err.splitlines()[-4:])}"
        left = left[good + 1 :]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", action="append", required=True, help="a library; repeatable")
    parser.add_argument("--ranks", type=int, action="append", help="default: 2 and 3")
    parser.add_argument("--mps", action="store_true", help="under a daemon of MPS")
    parser.add_argument("--memory", help="of the device: plain, pool, chunks, own_chunks")
    parser.add_argument("--apart", action="store_true", help="ranks in PID namespaces of their own")
    chosen = parser.parse_args()
    setting = Setting(shared=chosen.mps, container=container() if chosen.apart else ())
    bad = 0
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if chosen.mps:
            stack.enter_context(mps.daemon())
        for name in chosen.mpi:
            library = resolve(f"{name}+layer")
            for program in ASK_THE_FAKE:
                left_out = set(ASK_THE_FAKE[program])
                if chosen.apart and chosen.memory != "chunks":
                    left_out |= WINDOWS.get(program, set())
                cases = [each for each in dict.fromkeys(cases_of(program)) if each not in left_out]
                if not cases:
                    continue
                own = folder / name
                own.mkdir(exist_ok=True)
                made = compiled(library, program, own)
                for ranks, threads in itertools.product(chosen.ranks or (2, 3), THREADS):
                    since = time.monotonic()
                    memory = ["--memory", chosen.memory] if chosen.memory else []
                    words = [str(made), *THREADS[threads], *memory]
                    why = list(try_cases(library, words, cases, ranks, setting))
                    bad += len(why)
                    print(
                        f"{program}, {name}+layer, {ranks} ranks of {threads}:"
                        f" {len(cases) - len(why)} of {len(cases)} cases are good"
                        f" ({time.monotonic() - since:.0f} s)"
                    )
                    for line in why:
                        print(f"  {line}")
                    sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
