# SPDX-License-Identifier: Apache-2.0
"""Does `nearpeak compare` find a library that was made 10 % slower, and nothing where none was?

Measures short studies of one library in host memory, plain and slowed in turn: slowed by
slow_mpi.c, preloaded. Then compares three of one kind with three of the other (a change that is
to be found), and three plain ones with three others (none is). Each turn begins a new trial, so
that neighbouring trials share sessions. What the exit status, the terminal, the page and the JUnit
file say is checked and counted.

    .venv/bin/python benchmarks/compare_trial.py mpich --turns 22 -o /tmp/trial

Folders that are there already are not measured again; with --turns 0 nothing is measured.
"""

import argparse
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import msgspec

from nearpeak.compare.compared import Compared
from nearpeak.libraries.build import compiler

NEARPEAK = (sys.executable, "-c", "from nearpeak.cli.main import main; main()")
STUDY = ("--paths", "host-host same-numa", "--slot-ms", "20")
SHIM = Path(__file__).with_name("slow_mpi.c")
PLAIN, SLOWED = "plain", "slowed"


class Told(NamedTuple):
    """What one comparison said."""

    status: int
    terminal: bool  # whether each of them names a regression
    page: bool
    junit: bool
    cells: int  # of libraries, compared
    slower: int  # of them, judged so
    ratio: float  # of the library


def measure(folder: Path, study: list[str], turns: int, share: float) -> None:
    """A plain and a slowed study in each turn."""
    shim = folder / "libslow_mpi.so"
    subprocess.run(
        [*compiler(), "-x", "c", "-O2", "-shared", "-fPIC", str(SHIM), "-o", str(shim), "-ldl"],
        check=True,
    )
    shares = {PLAIN: 0.0, SLOWED: share}
    for turn in range(turns):
        for kind in sorted(shares, reverse=bool(turn % 2)):
            target = folder / f"{kind}-{turn:02}"
            if (target / "results.json").exists():
                continue
            words = [*NEARPEAK, "study", *study, *STUDY, "-o", str(target)]
            # Preloaded in either case, so that the share alone makes the difference.
            slower = {"LD_PRELOAD": str(shim.resolve()), "NEARPEAK_SLOWER": str(shares[kind])}
            subprocess.run(
                words, env={**os.environ, **slower}, check=True, stdout=subprocess.DEVNULL
            )
            print(f"{target} measured", flush=True)


def told(folder: Path, old: list[Path], new: list[Path]) -> Told:
    """One comparison, as a user and a CI system see it."""
    baseline = folder / "baseline"
    baseline.mkdir(exist_ok=True)
    for link in baseline.iterdir():
        link.unlink()
    for study in old:
        (baseline / study.name).symlink_to(study.resolve())
    files = {name: folder / f"compare.{name}" for name in ("json", "junit", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    words = [*NEARPEAK, "compare", str(baseline), *map(str, new), *options]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    compared = msgspec.json.decode(files["json"].read_bytes(), type=Compared)
    cells = [
        cell.change
        for library in compared.libraries
        for curve in library.curves
        for cell in curve.cells
    ]
    return Told(
        status=ran.returncode,
        terminal="\nRegressed: " in ran.stdout,
        page="<b>Regressed:" in files["html"].read_text(encoding="utf-8"),
        junit=ElementTree.parse(files["junit"]).getroot().get("failures") != "0",
        cells=len(cells),
        slower=sum(change.verdict == "slower" for change in cells),
        ratio=compared.libraries[0].change.ratio,
    )


def report(name: str, found: list[Told]) -> None:
    """One kind of comparison, in figures."""
    if not found:
        return
    cells, slower = sum(told.cells for told in found), sum(told.slower for told in found)
    ratios = ", ".join(f"{told.ratio:.3f}" for told in found)
    print(
        f"{name}: {len(found)} trials; status 1 in {sum(told.status == 1 for told in found)},"
        f" named in the terminal in {sum(told.terminal for told in found)}, on the page in"
        f" {sum(told.page for told in found)}, in JUnit in {sum(told.junit for told in found)};"
        f" slower: {slower} of {cells} cells; new/old {ratios}"
    )


def main() -> None:
    """Measures, compares and prints the counts."""
    parser = argparse.ArgumentParser(description="Plants a loss and looks whether it is found.")
    parser.add_argument("mpi", help="the library, as `nearpeak study --mpi` takes it")
    parser.add_argument("--turns", type=int, default=22, help="a plain and a slowed study each")
    parser.add_argument("--sessions", type=int, default=3, help="of each side of a comparison")
    parser.add_argument("--share", type=float, default=0.1, help="of the time in MPI on top")
    parser.add_argument("--benchmarks", default="latency,bw", help="as `nearpeak study` has it,")
    parser.add_argument("--sizes", default="8,1K,4K,16K,64K", help="this")
    parser.add_argument("--launches", default="12", help="and this")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder for all of it")
    options = parser.parse_args()
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    study = [
        *("--mpi", options.mpi, "--benchmarks", options.benchmarks),
        *("--sizes", options.sizes, "--launches", options.launches),
    ]
    measure(folder, study, options.turns, options.share)
    plain = sorted(file.parent for file in folder.glob(f"{PLAIN}-*/results.json"))
    slowed = sorted(file.parent for file in folder.glob(f"{SLOWED}-*/results.json"))
    count = options.sessions
    starts = range(min(len(plain), len(slowed)) - count + 1)
    report("planted", [told(folder, plain[i : i + count], slowed[i : i + count]) for i in starts])
    pairs = range(len(plain) - 2 * count + 1)
    alike = [plain[i : i + 2 * count] for i in pairs]
    report("alike", [told(folder, six[::2], six[1::2]) for six in alike])
    report("one session each, alike", [told(folder, [a], [b]) for a, b in pairwise(plain)])


if __name__ == "__main__":
    main()
