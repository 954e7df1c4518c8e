# SPDX-License-Identifier: Apache-2.0
"""Ranks of one host that may not read each other's memory."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import diagnosed
from nearpeak.findings.sources import Reference, of_openmpi, of_ucx
from nearpeak.results.results import Source

DOCTOR = "single-copy"


def find(view: View) -> Iterator[Noticed]:
    """Yields the facts of doctor, if ranks of one host were measured."""
    if any(cell.place.transport == "memory" for cell in view.cells) and (
        facts := view.doctor(DOCTOR)
    ):
        yield Noticed(facts)


RULE = Rule(
    name="single_copy",
    tells="Ranks of one host may not read each other's memory (process_vm_readv), so that libraries"
    " copy large messages twice, through shared memory.",
    find=find,
    origin="settings",
    headline="{it.diagnosis}",
    sentence=diagnosed,
    action="Allow process_vm_readv: ptrace_scope=0, or --cap-add=SYS_PTRACE in a container.",
    remedy="Where ptrace_scope is 0, or in a container: a seccomp profile that allows"
    " process_vm_readv, or --cap-add=SYS_PTRACE. Else: sysctl kernel.yama.ptrace_scope=0. `nearpeak"
    " machine --check` says which.",
    sources=[
        Reference(
            Source(
                text="Linux, process_vm_readv: it needs the permission to trace the other process",
                address="https://man7.org/linux/man-pages/man2/process_vm_readv.2.html",
            )
        ),
        of_ucx(3046, "CMA requires changes to kernel.yama.ptrace_scope"),
        of_openmpi(4948, "shared memory in a Docker container"),
    ],
)
