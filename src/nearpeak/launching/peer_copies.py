# SPDX-License-Identifier: Apache-2.0
"""Compares every byte of copies between the GPUs of this machine, and the errors that their links
count meanwhile: a link may be wrong or repeat itself while every call succeeds."""

import itertools
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.launching.process import run_captured
from nearpeak.libraries.build import build_native
from nearpeak.machine.gpus.link_errors import count_link_errors
from nearpeak.machine.machine import Diagnosis, Machine
from nearpeak.machine.patient import bad, ok, warn
from nearpeak.machine.states import find_nvml
from nearpeak.numbers import count, listed
from nearpeak.terms.command_words import check_word
from nearpeak.terms.logs import last_line
from nearpeak.terms.sizes import format_bytes

CHECK, ERRORS = "gpu-copies", "gpu-link-errors"
SECONDS = 180.0  # for drivers to start on all GPUs, and the copies
WAYS = {
    "ce": "copy engine of the sender",
    "ce-pull": "copy engine of the receiver",
    "sm": "kernel of the sender",
    "sm-pull": "kernel of the receiver",
}


class Copied(msgspec.Struct, kw_only=True, frozen=True, rename={"source": "from"}):
    """A line of `nearpeak-native peers` (docs/reference/programs.md): that a copy begins or has
    returned, or what came of all by one way."""

    source: int  # place in --devices of the GPU that has the bytes
    to: int  # of the one that gets them
    way: str
    bytes: int
    status: Literal["copying", "returned", "right", "wrong data", "skipped", "failed"]
    message: str = ""
    offset: int = 0  # of the first wrong byte
    expected: int = 0
    got: int = 0
    wrong_bytes: int = 0

    @property
    def compared(self) -> bool:
        """Says if this line is what came of the copies."""
        return self.status not in ("copying", "returned")

    @property
    def detail(self) -> str:
        """The fault of this copy; empty if it has none."""
        if self.status != "wrong data":
            return self.message
        return (
            f"{self.wrong_bytes} of {self.bytes} bytes are wrong, the first at offset"
            f" {self.offset} ({self.got:#04x} instead of {self.expected:#04x})"
        )


class Run(NamedTuple):
    """The lines of `nearpeak-native peers`."""

    lines: Sequence[Copied]
    end: str = ""  # why it ended before all was compared; empty if it did not


def compare_copies(machine: Machine) -> list[Diagnosis]:
    """The findings about copies between every two GPUs of this machine, on which it runs."""
    gpus = machine.gpus
    if len(gpus) < 2:
        return [ok(CHECK, "fewer than two GPUs: there is nothing to copy between")]
    nvml = find_nvml() if any(gpu.vendor == "nvidia" for gpu in gpus) else None
    before = count_link_errors(nvml) if nvml else {}
    try:
        run = _run([gpu.uuid for gpu in gpus])
    except UserError as error:
        return [
            warn(
                CHECK,
                f"copies between GPUs could not be compared: {error}",
                "see `nearpeak build`, and `nearpeak-native devices --verbose`",
            )
        ]
    after = count_link_errors(nvml) if nvml else {}
    return [
        *_judge(run, [gpu.index for gpu in gpus]),
        *_grown(before, after, {gpu.uuid: gpu.index for gpu in gpus}),
    ]


def _run(devices: Sequence[str]) -> Run:
    """The copies between these GPUs; UserError where none was begun."""
    line = [str(build_native()), "peers", "--devices", ",".join(map(check_word, devices))]
    try:
        done = run_captured(line, SECONDS)
        output, end = done.stdout, last_line(done.stderr, f"exit status {done.returncode}")
    except subprocess.TimeoutExpired as late:
        output, end = late.stdout or b"", f"no end within {SECONDS:.0f} s"
    except OSError as error:
        raise UserError(str(error)) from None
    lines = list(_decoded(output))
    if not lines:
        raise UserError(end)
    compared = {(one.source, one.to, one.way) for one in lines if one.compared}
    pairs = itertools.permutations(range(len(devices)), 2)
    return Run(lines, "" if compared == {(*pair, way) for pair in pairs for way in WAYS} else end)


def _decoded(output: bytes) -> Iterator[Copied]:
    """The lines up to one within which the program was ended."""
    for text in output.splitlines():
        try:
            yield msgspec.json.decode(text, type=Copied)
        except UNDECODABLE:
            return


def _judge(run: Run, indices: Sequence[int]) -> Iterator[Diagnosis]:
    """The findings about copies between GPUs of these indices."""
    latest = {(one.source, one.to, one.way): one for one in run.lines}.values()
    copies = [one for one in latest if one.compared]
    if run.end:
        yield _unfinished([one for one in latest if one.status == "copying"], run.end, indices)
    apart: dict[str, list[str]] = defaultdict(list)  # by the reason why none was made
    by_pair: dict[tuple[int, int], list[Copied]] = defaultdict(list)
    for copied in copies:
        by_pair[copied.source, copied.to].append(copied)
    for (source, to), made in sorted(by_pair.items()):
        name = f"GPU {indices[source]} to GPU {indices[to]}"
        for detail, ways in _alike(made, "wrong data"):
            yield bad(
                CHECK,
                f"{name}: {detail}, copied by the {ways}; every call succeeded",
                "do not trust any result over this link: keep libraries from copies between GPUs"
                " (NCCL_P2P_DISABLE=1, UCX_TLS=^cuda_ipc), try another driver, and boot with"
                " iommu=pt or the IOMMU off",
            )
        for detail, ways in _alike(made, "failed"):
            yield bad(CHECK, f"{name}: the copy by the {ways} failed: {detail}", "see dmesg")
        if all(one.status == "skipped" for one in made):
            apart[made[0].message].append(name)
    for reason, names in apart.items():
        yield warn(
            CHECK,
            f"{listed(names)}: no byte was compared, as there is no way between them: {reason}",
            "see the links of `nearpeak machine`; in a container, give its processes one IPC"
            " namespace (--ipc=host)",
        )
    if right := [one for one in copies if one.status == "right"]:
        ways = listed([WAYS.get(way, way) for way in dict.fromkeys(one.way for one in right)])
        directions = len({(one.source, one.to) for one in right})
        skipped = next((one.message for one in copies if one.status == "skipped"), "")
        yield ok(
            CHECK,
            f"all bytes of copies of {format_bytes(right[0].bytes)} arrived as sent in"
            f" {count(directions, 'direction')} between GPUs, by {ways}"
            + (f"; not tried elsewhere: {skipped}" if skipped else ""),
        )


def _unfinished(hung: Sequence[Copied], end: str, indices: Sequence[int]) -> Diagnosis:
    """The finding about a program that ended early while these copies were under way."""
    if not hung:
        return warn(
            CHECK,
            f"not all copies between GPUs were compared: {end}",
            "see dmesg, and check again",
        )
    names = [
        f"GPU {indices[one.source]} to GPU {indices[one.to]} by the {WAYS.get(one.way, one.way)}"
        for one in hung
    ]
    return bad(
        CHECK,
        f"{count(len(hung), 'copy')} did not return, and what was to follow was not compared:"
        f" {listed(names)} ({end})",
        "see dmesg; if it happens again, reset these GPUs or have them checked",
    )


def _alike(copies: Sequence[Copied], status: str) -> Iterator[tuple[str, str]]:
    """The details of copies that ended so, each with the ways that share it."""
    ways: dict[str, list[str]] = defaultdict(list)
    for copied in copies:
        if copied.status == status:
            ways[copied.detail].append(WAYS.get(copied.way, copied.way))
    return ((detail, listed(names)) for detail, names in ways.items())


def _grown(
    before: Mapping[str, Mapping[str, int]],
    after: Mapping[str, Mapping[str, int]],
    indices: Mapping[str, int],
) -> Iterator[Diagnosis]:
    """The errors that links of these GPUs, by UUID, have counted between two readings."""
    for uuid, index in indices.items():
        earlier = before.get(uuid, {})
        growth = {
            name: number - earlier[name]
            for name, number in after.get(uuid, {}).items()
            if number > earlier.get(name, number)
        }
        if growth:
            errors = listed([f"{name} {number}" for name, number in growth.items()])
            yield warn(
                ERRORS,
                f"GPU {index} counted errors on its links during a few copies: {errors}",
                "a link that repeats itself is slow: check again, and if the counts grow again"
                " (nvidia-smi nvlink -e, nvidia-smi -q -d PCIE), reset the GPU or have it checked",
            )
