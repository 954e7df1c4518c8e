# SPDX-License-Identifier: Apache-2.0
"""Links of GPUs and NICs that had fewer lanes, less speed or fewer NVLinks than they can have."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import diagnosed
from nearpeak.findings.sources import Reference, issue
from nearpeak.machine.link_doctor import NVLINK, PCIE


def find(view: View) -> Iterator[Noticed]:
    """The links in which doctor missed lanes or speed before the study.

    The theoretical rates of paths are those of what was left of them, so that no fraction shows it.
    """
    if facts := [*view.doctor(PCIE), *view.doctor(NVLINK)]:
        yield Noticed(facts)


RULE = Rule(
    name="links",
    tells="Before the study a PCIe link of a GPU or NIC had fewer lanes, or less speed, than both"
    " of its ends can do, or a GPU fewer active NVLinks than its model or its siblings. The"
    " theoretical rate of a path is that of the lanes and links that are left: its fraction does"
    " not show what is missing.",
    find=find,
    origin="hardware",
    headline="{it.diagnosis}",
    sentence=diagnosed,
    action="Have the link looked at, then measure again.",
    remedy="See `nearpeak machine --check --copies` and dmesg, reset the GPUs or seat the card"
    " anew, then measure again.",
    sources=[
        Reference(
            issue("NVIDIA/NVSentinel", 890, "PCIe links that trained down are silent", "NVSentinel")
        ),
        Reference(issue("NVIDIA/DCGM", 198, "diagnostics pass with all NVLinks down", "DCGM")),
    ],
)
