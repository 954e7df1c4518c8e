# SPDX-License-Identifier: Apache-2.0
"""What a library says of itself when it is asked, and what of that is known to be a protocol."""

import re
from collections.abc import Iterator, Mapping, Sequence

from nearpeak.explain.explanation import Said
from nearpeak.libraries.library import Library

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
        "OMPI_MCA_btl_base_verbose": "10",
        "OMPI_MCA_smsc_base_verbose": "10",
        **UCX,
    },
}
_UCX_TITLE = re.compile(r"\| *(.*self cfg#\d+|.*cfg#\d+) *\| *(?P<what>\S.*?) *\|")
_UCX_ROW = re.compile(
    r"\| *(?P<count>\d+ *\|)? *(?P<low>\S+?)\.\.(?P<high>\S+) *\| *(?P<how>\S.*?) *"
    r"\| *(?P<by>\S.*?) *\|"
)
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30}


def asked(library: Library) -> dict[str, str]:
    """The variables that make it speak; none where nobody knows."""
    return dict(ASKED.get(library.family, {}))


def understood(size_bytes: int, env: Mapping[str, str], text: str) -> Said:
    """Its words, without those of our own program, and the protocols of this size among them."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return Said(
        size_bytes=size_bytes,
        asked=" ".join(f"{name}={value}" for name, value in env.items()),
        protocols=list(dict.fromkeys(protocols(lines, size_bytes))),
        lines=lines[:MOST_LINES],
    )


def protocols(lines: Sequence[str], size_bytes: int) -> Iterator[str]:
    """Of UCX: `tagged message by ucp_tag_send*(multi) from host memory: ... by sysv/memory`."""
    what = ""
    for line in lines:
        if title := _UCX_TITLE.search(line):
            what = title["what"]
        elif (row := _UCX_ROW.search(line)) and _size(row["low"]) <= size_bytes <= _size(
            row["high"]
        ):
            yield f"{what}: {row['how']} by {row['by']}"


def _size(text: str) -> float:
    if text == "inf":
        return float("inf")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?B?)", text)
    return float(found[1]) * _UNITS.get(found[2], 1) if found else float("nan")
