# SPDX-License-Identifier: Apache-2.0
"""What a library says of itself when it is asked, and what of that is known to be a protocol."""

import re
from collections.abc import Iterator, Mapping, Sequence

from nearpeak.libraries.library import Library
from nearpeak.observations.explained import Said

MOST_LINES = 400
# By family; UCX serves several of them (docs of UCX 1.13 and later: UCX_PROTO_INFO; Intel MPI's
# developer reference: I_MPI_DEBUG; MPICH: README.envvar; Open MPI: its MCA parameters).
UCX = {"UCX_PROTO_INFO": "used"}
ASKED: Mapping[str, Mapping[str, str]] = {
    "intel": {"I_MPI_DEBUG": "10"},
    "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1", **UCX},
    "mvapich": {**UCX},
    "openmpi": {
        "OMPI_MCA_pml_base_verbose": "10",
        "OMPI_MCA_smsc_base_verbose": "10",
        "OMPI_MCA_coll_base_verbose": "5",
        **UCX,
    },
}
# [1795612994.976846] [vm:1550 :0]   | what |: processes print at once, line by line.
_UCX_LINE = re.compile(r"\[[\d.]+\] \[(?P<process>\S+:\d+) *:\d+\] +(?P<text>[|+].*[|+])$")
_UCX_ROW = re.compile(
    r"\| +(?P<count>\d+) \| +(?P<low>\w+)(\.\.(?P<high>\w+))? \| (?P<how>.*?) +\| (?P<by>.*?) +\|"
)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_OWN = re.compile(r"#|\d+ +\d")  # rows of our own tables


def asked(library: Library) -> dict[str, str]:
    """The variables that make it speak; none where nobody knows."""
    return dict(ASKED.get(library.family, {}))


def understood(size_bytes: int, env: Mapping[str, str], text: str) -> Said:
    """Its words, without those of our own program, and the protocols of this size among them."""
    lines = [line for line in text.splitlines() if line.strip() and not _OWN.match(line)]
    return Said(
        size_bytes=size_bytes,
        asked=" ".join(f"{name}={value}" for name, value in env.items()),
        protocols=list(dict.fromkeys(protocols(lines, size_bytes))),
        lines=lines[:MOST_LINES],
    )


def protocols(lines: Sequence[str], size_bytes: int) -> Iterator[str]:
    """Of UCX, those that messages of this size went by: `tagged message by ucp_tag_send*(multi)
    from host memory: eager short, sysv/memory`."""
    titles: dict[str, str] = {}  # of the table that a process is at
    for line in lines:
        if not (found := _UCX_LINE.match(line)):
            continue
        process, text = found["process"], found["text"]
        if row := _UCX_ROW.fullmatch(text):
            low, high = _size(row["low"]), _size(row["high"] or row["low"])
            if int(row["count"]) and low <= size_bytes <= high:
                yield f"{titles.get(process, '')}: {row['how']}, {row['by']}"
        elif text.startswith("| ") and not text.startswith("| Count "):
            titles[process] = text.strip("| ")


def _size(text: str) -> float:
    if text == "inf":
        return float("inf")
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    return float(found[1]) * _UNITS[found[2]] if found else float("nan")
