# SPDX-License-Identifier: Apache-2.0
"""Draws the way of a record, and of a message through the layer, step by step for the docs.

    python tests/chains.py record > docs/images/life-of-a-record.svg
    python tests/chains.py message > docs/images/life-of-a-message.svg

A step whose function its file does not define is an error.
"""

import html
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from definitions import BENCH, PACKAGE, PRELOAD, ROOT, in_file

WIDTH, LEFT, TOP = 900, 150, 10
ROW, BOX = 62, 48
FONT = "font-family='sans-serif' font-size='13'"


class Step(NamedTuple):
    """One function, and what it does."""

    file: str  # below its folder
    function: str
    does: str

    @property
    def folder(self) -> Path:
        """The study's Python, the C++ of the layer, or that of the programs."""
        if self.file.endswith(".py"):
            return PACKAGE
        return PRELOAD if self.file.startswith("layer/") else BENCH


class Actor(NamedTuple):
    """Steps that one process does in a row."""

    name: str
    colour: str
    steps: list[Step]


STUDY, RANK, REPORT = "#e8eef6", "#e9f4e6", "#f8efdd"
RECORD = [
    Actor(
        "nearpeak study",
        STUDY,
        [
            Step(
                "planning/commands.py",
                "make_command",
                "makes the launch's command line, with --jsonl FILE",
            ),
            Step(
                "launching/process.py",
                "run_tree",
                "starts the ranks, ends what hangs, calls back a few times a second",
            ),
        ],
    ),
    Actor(
        "rank 0 of nearpeak-mpi",
        RANK,
        [
            Step("benchmark/runner.cpp", "Runner::run", "sets one case up: buffers, requests"),
            Step("sampling/sampler.cpp", "Sampler::measure", "warms up, then times the samples"),
            Step(
                "benchmark/runner.cpp", "Runner::verify", "compares the received with the sent data"
            ),
            Step("record/record.cpp", "RecordWriter::samples", "makes one JSON line per metric"),
            Step("record/record.cpp", "RecordWriter::line", "appends the whole line to FILE"),
        ],
    ),
    Actor(
        "nearpeak study",
        STUDY,
        [
            Step("launching/growing.py", "GrowingLines.read", "reads the new lines of FILE"),
            Step(
                "launching/program_records.py",
                "SamplesRecord",
                "has the fields of the line, which is decoded into it",
            ),
            Step("study/launched.py", "Launched.take", "checks the record against the plan"),
            Step("study/journal.py", "StudyJournal.append", "appends it to records.jsonl"),
        ],
    ),
    Actor(
        "nearpeak report",
        REPORT,
        [
            Step("study/journal.py", "read_records", "reads records.jsonl and checks its digests"),
            Step(
                "observations/sources/study.py",
                "load",
                "chooses the try of each launch that counts, and the records to believe",
            ),
            Step(
                "observations/observed.py",
                "Summary",
                "has the median of the samples: the launch median",
            ),
            Step("results/ceilings.py", "find", "finds the best method without MPI, by block"),
            Step(
                "results/cells.py",
                "summarise",
                "makes the cell: median of launch medians, fraction of the ceiling",
            ),
            Step("statistics/intervals.py", "interval", "gives the 95 % confidence interval"),
            Step("findings/find.py", "find", "applies the findings rules to the cells"),
            Step("report/page.py", "render", "makes the HTML report"),
            Step("results/build.py", "write_results", "writes results.json"),
        ],
    ),
]

SENDER, RECEIVER = STUDY, RANK
MESSAGE = [
    Actor(
        "sender, in MPI_Send",
        SENDER,
        [
            Step("layer/intercept/calls.cpp", "Call", "is the MPI_Send that the application calls"),
            Step("layer/intercept/counted.inc", "SENDS", "has what the layer does in MPI_Send"),
            Step(
                "layer/world/world.hpp", "find", "asks the driver whether the buffer is on a device"
            ),
            Step("layer/protocol/send.hpp", "send", "sends by envelope if it can, then waits"),
            Step(
                "layer/protocol/send.cpp",
                "offer",
                "takes a slot if the receiver can open this memory; else: copies it",
            ),
            Step(
                "layer/copy/sharing.cpp",
                "Devices::handle_of",
                "exports the allocation as IPC handle",
            ),
            Step(
                "layer/protocol/send.cpp",
                "offer_in",
                "fills the slot in shared memory, sends the envelope: MPI_Isend of 61 bytes",
            ),
        ],
    ),
    Actor(
        "receiver, in MPI_Recv",
        RECEIVER,
        [
            Step(
                "layer/protocol/receive.hpp",
                "post_receive",
                "posts MPI_Irecv into host memory, with room for an envelope",
            ),
            Step(
                "layer/protocol/complete.cpp",
                "wait",
                "waits for that request and serves other requests",
            ),
            Step(
                "layer/protocol/taken.cpp",
                "settle",
                "sees that an envelope came instead of the message",
            ),
            Step("layer/protocol/taken.cpp", "take", "changes the slot from offered to taken"),
            Step(
                "layer/copy/sharing.cpp",
                "Devices::opened",
                "opens the IPC handle, once for each allocation",
            ),
            Step(
                "layer/protocol/taken.cpp",
                "fetch",
                "chooses batch, persistent copy kernel or copy engine",
            ),
            Step(
                "layer/copy/devices.cpp",
                "Devices::copy_between_devices",
                "copies from the sender's into the receiver's device buffer",
            ),
            Step(
                "layer/protocol/receive_copies.cpp",
                "wait_copy",
                "waits for a copy that is still under way, and marks its slot as done",
            ),
        ],
    ),
    Actor(
        "sender, in MPI_Send",
        SENDER,
        [
            Step("layer/protocol/send.cpp", "await_offered", "looks at the slot again and again"),
            Step("layer/protocol/offered.cpp", "look_at_offered", "sees that the slot is done"),
            Step(
                "layer/protocol/offered.cpp",
                "release_offered",
                "frees the slot, and MPI_Send returns",
            ),
        ],
    ),
]
CHAINS = {"record": RECORD, "message": MESSAGE}


class UnknownStepError(Exception):
    """A step names what its file does not define."""


def check(step: Step) -> None:
    """UnknownStepError if the file or the function is not there."""
    file = step.folder / step.file
    if not file.is_file():
        raise UnknownStepError(f"{step.file} is not there")
    if step.function not in in_file(file):
        raise UnknownStepError(f"{step.file} defines no {step.function}")


def draw(actors: list[Actor]) -> str:
    """The chain from top to bottom: the process at the left, a box for each step."""
    rows = sum(len(actor.steps) for actor in actors)
    height = ROW * rows + TOP
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' {FONT}>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
    ]
    boxes = [(actor, step) for actor in actors for step in actor.steps]
    for row, (actor, step) in enumerate(boxes):
        check(step)
        y = TOP + ROW * row
        parts += _box(y, actor, step)
        if row:
            parts.append(_arrow(y))
    row = 0
    for actor in actors:
        parts += _name(TOP + ROW * row, actor.name)
        row += len(actor.steps)
    return "\n".join([*parts, "</svg>"])


def _box(y: int, actor: Actor, step: Step) -> list[str]:
    name = html.escape(step.function)
    file = (step.folder / step.file).relative_to(ROOT)
    return [
        f"<rect x='{LEFT}' y='{y}' width='{WIDTH - LEFT - TOP}' height='{BOX}' rx='4'"
        f" fill='{actor.colour}' stroke='#5577aa'/>",
        f"<text x='{LEFT + 12}' y='{y + 20}' fill='#222' font-weight='bold'>{name}</text>",
        f"<text x='{WIDTH - 22}' y='{y + 20}' fill='#555' text-anchor='end'>{file}</text>",
        f"<text x='{LEFT + 12}' y='{y + 39}' fill='#222'>{html.escape(step.does)}</text>",
    ]


def _arrow(y: int) -> str:
    x, start = LEFT + 40, y - (ROW - BOX)
    return (
        f"<path d='M{x} {start} V{y - 5}' stroke='#5577aa'/>"
        f"<path d='M{x - 4} {y - 6} h8 l-4 6 z' fill='#5577aa'/>"
    )


def _name(y: int, name: str) -> list[str]:
    return [
        f"<text x='{TOP}' y='{y + 20 + 18 * line}' fill='#222'>{html.escape(words)}</text>"
        for line, words in enumerate(textwrap.wrap(name, 18))
    ]


if __name__ == "__main__":
    print(draw(CHAINS[sys.argv[1]]))
