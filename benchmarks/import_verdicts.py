# SPDX-License-Identifier: Apache-2.0
"""Reruns the verdicts of `nearpeak import` on public threads.

`python benchmarks/import_verdicts.py` prints the tables of docs/methods/import-verdicts.md. Nothing
is measured: the inputs are in tests/appraisal/threads, written by hand after the threads.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from nearpeak.appraisal.judge import appraise
from nearpeak.appraisal.known import Hardware, data, named
from nearpeak.appraisal.rules import all_rules
from nearpeak.findings.build import results_of
from nearpeak.numbers import number, percent
from nearpeak.observations.merged import File, merge
from nearpeak.report.appraisals import lines
from nearpeak.results.results import Appraisal

PATHS = {
    "copy": "NVLink, messages and copies",
    "ring": "NVLink, rings of NCCL (busbw)",
    "allreduce": "allreduce inside (busbw)",
    "host": "NVLink, host to GPU",
    "pcie": "PCIe, 16 lanes",
    "nic": "a NIC",
}
FOLDER = Path(__file__).parents[1] / "tests" / "appraisal" / "threads"


class Thread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A public thread with a table, and the verdict that it should get."""

    file: str
    thread: str  # repository and number
    asked: str
    machine: str  # as --machine takes it; empty: the table alone
    state: str
    rule: str  # of the first reason; empty: none
    answer: str
    agrees: str
    found: str

    @property
    def address(self) -> str:
        """Its address."""
        return f"https://github.com/{self.thread.replace('#', '/issues/')}"


class Threads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them."""

    thread: list[Thread]


def threads() -> list[Thread]:
    """Read threads.toml."""
    return msgspec.toml.decode((FOLDER / "threads.toml").read_bytes(), type=Threads).thread


def appraised(thread: Thread) -> Appraisal:
    """The verdict on the table of a thread."""
    observations = merge([File(thread.file, FOLDER / f"{thread.file}.txt")])
    hardware = named(thread.machine) if thread.machine else Hardware()
    return appraise(results_of(observations), observations, hardware)[0]


def table() -> Iterator[str]:
    """Yield the rows of the table."""
    yield "| Thread, hardware named | Asked | Verdict | Later answer | Agrees | Found |"
    yield "|---|---|---|---|---|---|"
    for thread in threads():
        appraisal = appraised(thread)
        verdict = next(line for line in lines(appraisal) if line.startswith("Verdict: "))
        rules = ", ".join(f"`{reason.rule}`" for reason in appraisal.reasons[:1])
        short = verdict.removeprefix("Verdict: ").removesuffix(".").partition(". ")[0]
        short = short.removesuffix(" what such hardware sustains").partition(":")[0]
        name = f"[{thread.thread}]({thread.address})"
        cells = [
            f"{name}, {thread.machine}" if thread.machine else name,
            thread.asked,
            f"{short}; {rules}" if rules else short,
            thread.answer,
            thread.agrees,
            thread.found,
        ]
        yield f"| {' | '.join(cells)} |"


def rule_table() -> Iterator[str]:
    """Yield the rows of the table of rules."""
    yield "| Rule | Looks for |"
    yield "|---|---|"
    for name, rule in all_rules().items():
        yield f"| `{name}` | {rule.about} |"


def known_table() -> Iterator[str]:
    """Yield the rows of the table of known rates."""
    yield "| Path | GPUs | Rate | Source |"
    yield "|---|---|---|---|"
    for one in data().ceiling:
        rate = f"{number(one.gbs)} GB/s" if one.gbs else f"{percent(one.share)} % of nominal"
        text, address = one.source.text, one.source.address
        source = f"[{text}]({address})" if address else text
        fewest = [f"from {one.ranks} ranks on"] if one.ranks else []
        path = ", ".join([PATHS[one.of], *one.tools, *fewest])
        yield f"| {path} | {', '.join(one.gpus) or 'all'} | {rate} | {source} |"


if __name__ == "__main__":
    print("\n".join([*known_table(), "", *rule_table(), "", *table()]))
