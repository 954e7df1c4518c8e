# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a message of a window takes with the layer, on the fake driver.

Both ranks run under valgrind's callgrind (apt-get install valgrind), and each finds what it waits
for, so that two runs differ by few instructions: a saving of one in a thousand shows. Each line has
one end of a message of one size: instructions of the layer, of the MPI library, of libc with the
rest, and of the fake driver with what that calls; then calls into the MPI library, into the driver,
of malloc and of locks. Of the real driver only the number of calls means something.

    make unit                                          # the fake driver and compiler
    .venv/bin/python benchmarks/layer_instructions.py --sizes 4096,65536
    .venv/bin/python benchmarks/layer_instructions.py --layer OTHER/libnearpeak-layer.so

--keep FOLDER keeps what callgrind_annotate reads: functions by their instructions.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.libraries.build import build_layer, compiler, kit_for
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank, Settings
from nearpeak.libraries.preload import before_others

HERE = Path(__file__).parent
WARM_UP = 40  # windows
RANK = {"mpich": "PMI_RANK", "openmpi": "OMPI_COMM_WORLD_RANK"}  # by ABI
DRIVER, KERNELS = "libfakecuda.so", "fake-kernels"


@dataclass
class Costs:
    """The counts of callgrind for one rank."""

    own: Counter[str] = field(default_factory=Counter)  # instructions by object
    driver: int = 0  # those of calls into the driver
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # by object and function


def read(file: Path) -> Costs:
    """Callgrind's format: a name stands behind its number where it occurs first."""
    costs, names = Costs(), dict[tuple[str, str], str]()
    here, called, is_call = "", ("", ""), False

    def named(kind: str, text: str) -> str:
        number, _, name = text.partition(" ")
        return names.setdefault((kind, number), Path(name).name if kind == "ob" else name)

    for line in file.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            here = named("ob", value)
        elif key == "fn":
            named("fn", value)
            called = (here, "")
        elif key == "cob":
            called = (named("ob", value), "")
        elif key == "cfn":
            called = (called[0], named("fn", value))
        elif key == "calls":
            costs.calls[called] += int(value.split()[0])
            is_call = True
        elif re.match(r"[+*\d-]", line):
            count = int(line.split()[1])
            if not is_call:
                costs.own[here] += count
            elif called[0] == DRIVER and here != DRIVER:
                costs.driver += count
            if is_call:
                called, is_call = (here, ""), False
    return costs


def launch(library: Library, layer: Path, fakes: Path, words: list[str], folder: Path) -> None:
    """Runs the program window under callgrind on both ranks."""
    kit, program = kit_for(library), folder / "window"
    source = HERE / "plain" / "window.c"
    line = [*compiler(), "-xc", "-O2", f"-I{kit.header.parent}", str(source), "-xnone", "-o"]
    subprocess.run([*line, str(program), str(kit.library), "-ldl"], check=True)
    steps = folder / "steps"
    steps.write_bytes(bytes(4096))
    counted = f"--callgrind-out-file={folder}/%q{{{RANK[library.abi]}}}"
    valgrind = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--quiet", counted]
    variables = {
        "LD_PRELOAD": before_others(layer),
        "NEARPEAK_CUDA_LIBRARY": str(fakes / DRIVER),
        "NEARPEAK_NVRTC_LIBRARY": str(fakes / "libfakenvrtc.so"),
        "NEARPEAK_FAKE_CUDA": "reachable=1",
        "NEARPEAK_LAYER_REPORT": "1",
    }
    cpus = sorted(os.sched_getaffinity(0))
    made = command_line(
        library,
        Launch(
            program=[*valgrind, str(program), *words, str(steps)],
            ranks=[Rank(cpus=[cpus[i % len(cpus)]]) for i in range(2)],
            settings=Settings(env=variables),
        ),
    )
    environment = {**os.environ, **made.env}
    done = subprocess.run(
        made.argv, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0 or " batches" not in done.stderr:
        raise UserError(f"the launch failed, or nothing went in batches:\n{done.stderr}")


def lines(size: int, folder: Path, layer: str, messages: int, windows: int) -> list[str]:
    """Returns a line for the receiver, and one for the sender."""
    out = []
    for end, file in (("receiver", folder / "1"), ("sender", folder / "0")):
        costs = read(file)
        own = costs.own
        kernels = sum(count for name, count in own.items() if name.startswith(KERNELS))
        mpi = sum(count for name, count in own.items() if name.startswith("libmpi"))
        driver = costs.driver - kernels
        rest = own.total() - kernels - own[layer] - mpi - driver
        counts = [own.total() - kernels, own[layer], mpi, rest, driver]

        def calls(objects: str, names: str, costs: Costs = costs) -> int:
            return sum(
                count
                for (name, function), count in costs.calls.items()
                if name.startswith(objects) and re.match(names, function)
            )

        met = [
            calls("libmpi", "PMPI_"),
            calls(DRIVER, "cu[A-Z]"),
            calls("libc.", "malloc$"),
            calls("libc.", "pthread_mutex_lock"),
        ]
        cells = [f"{count / (messages * windows):8.0f}" for count in counts]
        cells += [f"{count / (messages * (WARM_UP + windows)):8.2f}" for count in met]
        out.append(f"{size:8} {end:9}" + "".join(cells))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", default="mpich")
    parser.add_argument("--layer", type=Path, help="default: that of this checkout")
    parser.add_argument("--fakes", type=Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--sizes", default="4096,65536")
    parser.add_argument("--messages", type=int, default=64, help="of a window")
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    library = resolve(given.mpi)
    layer = given.layer.resolve() if given.layer else build_layer(library)
    names = ("all", "layer", "MPI", "libc", "driver", "to MPI", "to drv.", "malloc", "locks")
    print(" " * 18 + "".join(f"{name:>8}" for name in names))
    for size in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory() as made:
            folder = (given.keep / str(size)).resolve() if given.keep else Path(made)
            folder.mkdir(parents=True, exist_ok=True)
            words = [str(number) for number in (size, given.messages, WARM_UP, given.windows)]
            launch(library, layer, given.fakes.resolve(), words, folder)
            for line in lines(size, folder, layer.name, given.messages, given.windows):
                print(line, flush=True)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"layer_instructions: {error}")
