# SPDX-License-Identifier: Apache-2.0
"""Makes a library report its protocols, and parses its output."""

import re
from collections.abc import Iterator, Mapping, Sequence

from nearpeak.libraries.library import Library
from nearpeak.numbers import count
from nearpeak.observations.explained import Said

MOST_LINES = 400
# By family; UCX serves several of them (docs of UCX 1.13 and later: UCX_PROTO_INFO; Intel MPI's
# developer reference: I_MPI_DEBUG; MPICH: README.envvar; Open MPI: its MCA parameters; NCCL's
# documentation: NCCL_DEBUG_SUBSYS).
UCX = {"UCX_PROTO_INFO": "used"}
NCCL = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING"}
REPORTING: Mapping[str, Mapping[str, str]] = {
    "intel": {"I_MPI_DEBUG": "10"},
    "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1", **UCX},
    "mvapich": {**UCX},
    "nccl": NCCL,
    "openmpi": {
        "OMPI_MCA_pml_base_verbose": "10",
        "OMPI_MCA_smsc_base_verbose": "10",
        "OMPI_MCA_coll_base_verbose": "5",
        "OMPI_MCA_mpi_show_mca_params": "file,api,enviro",  # all that are not its defaults
        **UCX,
    },
    "rccl": NCCL,
}
# [1795612994.976846] [vm:1550 :0] | text |: lines of concurrent processes are interleaved.
_UCX_LINE = re.compile(r"\[[\d.]+\] \[(?P<process>\S+:\d+) *:\d+\] +(?P<text>[|+].*[|+])$")
_UCX_ROW = re.compile(
    r"\| +(?P<count>\d+) \| +(?P<low>\w+)(\.\.(?P<high>\w+))? \| (?P<how>.*?) +\| (?P<by>.*?) +\|"
)
# host:1550:1561 [0] NCCL INFO text: as of 2.24
_NCCL_LINE = re.compile(r"\[\d+\] NCCL INFO (?P<text>.+)$")
_NCCL_CALL = re.compile(r"(?P<call>\w+( \[[\w ]+\])?): (?P<bytes>\d+) Bytes -> (?P<how>.+)")
_NCCL_HOW = re.compile(
    r"Algo (?P<algorithm>\w+) proto (?P<protocol>\w+)"
    r" channel{Lo\.\.Hi}={(?P<low>\d+)\.\.(?P<high>\d+)}"
)
# Over a network each end prints its line: that of the sender is enough.
_NCCL_WAY = re.compile(
    r"Channel (?P<channel>[\d/]+) : (?P<from>\d+)\[\w+\] -> (?P<to>\d+)\[\w+\]"
    r" (\[send\] )?via (?P<by>\S+)"
)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_OWN = re.compile(r"#|\d+ +\d")  # rows of our tables


def reporting_variables(library: Library) -> dict[str, str]:
    """The variables that make the library report its protocols; empty if unknown."""
    return dict(REPORTING.get(library.family, {}))


def parse_output(size_bytes: int, env: Mapping[str, str], text: str) -> Said:
    """The output without lines of our program, and the protocols of this size in it."""
    lines = [line for line in text.splitlines() if line.strip() and not _OWN.match(line)]
    return Said(
        size_bytes=size_bytes,
        asked=" ".join(f"{name}={value}" for name, value in env.items()),
        protocols=list(dict.fromkeys(protocols(lines, size_bytes))),
        lines=lines[:MOST_LINES],
    )


def protocols(lines: Sequence[str], size_bytes: int) -> Iterator[str]:
    """The protocols of messages of this size, as UCX and NCCL print them."""
    yield from _of_ucx(lines, size_bytes)
    yield from _of_nccl(lines, size_bytes)


def _of_ucx(lines: Sequence[str], size_bytes: int) -> Iterator[str]:
    """`tagged message by ucp_tag_send*(multi) from host memory: eager short, sysv/memory`."""
    titles: dict[str, str] = {}  # of the current table of each process
    for line in lines:
        if not (match := _UCX_LINE.match(line)):
            continue
        process, text = match["process"], match["text"]
        if row := _UCX_ROW.fullmatch(text):
            low, high = _size(row["low"]), _size(row["high"] or row["low"])
            if int(row["count"]) and low <= size_bytes <= high:
                yield f"{titles.get(process, '')}: {row['how']}, {row['by']}"
        elif text.startswith("| ") and not text.startswith("| Count "):
            titles[process] = text.strip("| ")


def _of_nccl(lines: Sequence[str], size_bytes: int) -> Iterator[str]:
    """Operations of this size, `AllReduce: RING, LL128, 24 channels`, and routes between ranks.

    Routes are of any size: `rank 0 to rank 1: P2P/CUMEM, 24 channels`.
    """
    ways: dict[tuple[str, str, str], set[str]] = {}  # the channels
    for line in lines:
        if not (match := _NCCL_LINE.search(line)):
            continue
        text = match["text"]
        if (call := _NCCL_CALL.fullmatch(text)) and int(call["bytes"]) == size_bytes:
            description = call["how"]
            if choice := _NCCL_HOW.fullmatch(description):
                channels = int(choice["high"]) - int(choice["low"]) + 1
                description = (
                    f"{choice['algorithm']}, {choice['protocol']}, {count(channels, 'channel')}"
                )
            yield f"{call['call']}: {description}"
        elif way := _NCCL_WAY.match(text):
            ways.setdefault((way["from"], way["to"], way["by"]), set()).add(way["channel"])
    for (sender, receiver, by), used in ways.items():
        yield f"rank {sender} to rank {receiver}: {by}, {count(len(used), 'channel')}"


def _size(text: str) -> float:
    if text == "inf":
        return float("inf")
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return float(match[1]) * _UNITS[match[2]] if match else float("nan")
