# SPDX-License-Identifier: Apache-2.0
"""Tuning tables that a library looked for and did not load."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import explanations
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Fact, Source
from nearpeak.terms.identity import Who

# Intel MPI with I_MPI_DEBUG (2021.19), which reports other missing files, too, and Open MPI with
# coll_base_verbose (5.0.11). Open MPI's component `tuned` does not report a missing file, and MPICH
# does not start without a file that is named to it.
_NOT_FOUND = re.compile(r'File "(?P<table>[^"]+)" not found')
_NOT_LOADED = (
    re.compile(r'Tuning file "(?P<table>[^"]+)" was not loaded'),
    re.compile(r"cannot open .*\w+_rules_filename=(?P<table>\S+?)(?=\.? |\.?$)"),
)
_LOADED = re.compile(r'Load tuning file: "(?P<table>[^"]+)"')
# In the name of Intel MPI's tables for processors without specific ones.
_GENERIC = "generic"


def find(view: View) -> Iterator[Noticed]:
    """Yields one fact for each library with settings, from its protocol report."""
    lacking = {
        (library.who, library.version): library.lacks for library in view.observations.libraries
    }
    noticed: dict[Who, Noticed] = {}
    for explained in explanations(view):
        who = explained.who
        lacks = lacking[who, explained.version]
        for report in explained.said:
            if who not in noticed and (facts := list(_missed(report.lines, lacks))):
                command = f"{report.asked} {explained.command}"
                noticed[who] = Noticed(facts, who, command=command)
    yield from noticed.values()


def _missed(lines: Sequence[str], lacks: str) -> Iterator[Fact]:
    """Each table once, with the line of the report."""
    messages: dict[str, str] = {}
    for line in lines:
        for pattern in _NOT_LOADED:
            if match := pattern.search(line):
                messages.setdefault(match["table"], match[0])
        if (match := _NOT_FOUND.search(line)) and _for_tuning(match["table"], lines):
            messages.setdefault(match["table"], match[0])
        if lacks and (match := _LOADED.search(line)):
            table = match["table"]
            if _GENERIC in PurePosixPath(table).name:
                messages.setdefault(table, f"{match[0]} (it lacks {lacks})")
    for table, message in messages.items():
        yield Fact(of="table", name=table, value=message)


def _for_tuning(file: str, lines: Sequence[str]) -> bool:
    """True if another line names the file as a tuning table, or as I_MPI_TUNING."""
    return any(file in line and "tuning" in line.replace(file, "").lower() for line in lines)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    quoted = "; ".join(fact.value for fact in it.finding.facts)
    return f"{it.who.label} runs without a table that its tuning may need. It says: {quoted}."


RULE = Rule(
    name="tuning_tables",
    tells="A library said, when `nearpeak explain` asked it, that it did not find or load a table"
    " of its tuning that it looked for: one for its collective operations, without which it takes"
    " other algorithms. Or it took a generic one, and tables of some processors were left out of"
    " it. Known are the words of Intel MPI, and of Open MPI's component `han`.",
    find=find,
    origin="settings",
    headline="runs without a table that its tuning may need",
    sentence=sentence,
    action="Install the library with its tables, or unset the variable that names one.",
    remedy="Name a table that is there, or unset the variable that names it; install the library"
    " with its tables (Intel MPI: opt/mpi/etc); make a bundle without --for-processor.",
    sources=[
        Reference(
            Source(
                text="Intel MPI Library, developer reference, autotuning: tables that depend on the"
                " platform, made for some of them, and I_MPI_TUNING_BIN, which names one",
                address="https://software.intel.com/content/www/us/en/develop/documentation/"
                "mpi-developer-reference-linux/top/environment-variable-reference/"
                "tuning-environment-variables/autotuning.html",
            ),
            components=("intel",),
        ),
        Reference(
            Source(
                text="Open MPI, tuning collectives: a file of rules by which algorithms are chosen",
                address="https://docs.open-mpi.org/en/v5.0.x/tuning-apps/coll-tuned.html",
            ),
            components=("openmpi",),
        ),
    ],
)
