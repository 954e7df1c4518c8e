# SPDX-License-Identifier: Apache-2.0
"""Ranks that yield their core while they wait."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.messages import calls, worst
from nearpeak.findings.sentences import of_message
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import of_mpich, of_openmpi

LEAST = 0.3  # of the time of a message
CALLS = {"sched_yield", "usleep", "nanosleep", "clock_nanosleep"}


def find(view: View) -> Iterator[Noticed]:
    """Yields messages with yields or sleeps of `LEAST` or more, and no other event."""
    yield from worst(view, lambda message: calls(message, CALLS), LEAST)


RULE = Rule(
    name="yields",
    tells="For a third or more of a message's time nothing is seen but that ranks give their core"
    " away or sleep (sched_yield, usleep). Another rank may be at work by its own instructions"
    " meanwhile: each finding states how much of that time it spent outside of traced calls.",
    find=find,
    origin="settings",
    headline="{it.short}: {it.parts}",
    sentence=of_message,
    action="Let the library look again at once where each rank has a core of its own.",
    remedy="Where each rank has a core of its own, let the library look again at once. MPICH gives"
    " the core away in its progress loop; no setting is known that keeps it from that.",
    settings=[Setting("openmpi", "OMPI_MCA_mpi_yield_when_idle", "0", "ranks keep their cores")],
    sources=[
        of_mpich(1597, "what yielding costs"),
        of_mpich(7638, "what the progress loop does while it waits"),
        of_openmpi(3971, "without yields, srun has the latency of mpirun (mpi_yield_when_idle)"),
    ],
)
