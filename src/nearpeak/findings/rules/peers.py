# SPDX-License-Identifier: Apache-2.0
"""GPUs with a link that they may not use."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import Reference
from nearpeak.results.results import Fact, Source

LINKS = ("nvlink", "xgmi", "pcie-switch")


def find(view: View) -> Iterator[Noticed]:
    """Yields the pairs of this machine, if the study measured between GPUs."""
    facts = [
        Fact(of="devices", name=f"GPUs {link.one}-{link.other}", value=f"{link.kind}: {link.peer}")
        for link in view.observations.machine.gpu_links
        if link.kind in LINKS and link.peer
    ]
    if facts and any(set(cell.place.ends) == {"gpu"} for cell in view.cells):
        yield Noticed(facts)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"GPUs are joined by a link, but one cannot reach the other's memory: {it.facts()}."


RULE = Rule(
    name="peers",
    tells="Two GPUs are joined by NVLink, xGMI or a PCIe switch, but the driver does not let one"
    " reach the memory of the other: no library can use IPC between them.",
    find=find,
    origin="hardware",
    headline="GPUs are joined by a link, but cannot reach each other's memory",
    sentence=sentence,
    action="Start nvidia-fabricmanager, or turn ACS off.",
    remedy="Start nvidia-fabricmanager if there is an NVSwitch; for PCIe turn ACS off in the"
    " firmware.",
    sources=[
        Reference(
            Source(
                text="NVIDIA, Fabric Manager user guide: it sets up the NVSwitch between GPUs",
                address="https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
            )
        ),
    ],
)
