# SPDX-License-Identifier: Apache-2.0
"""A library without GPU support, over a GPU-aware transport."""

from collections import defaultdict
from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import NOT_AWARE
from nearpeak.results.results import Fact
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import GOOD

MESSAGES = "pt2pt"  # the family that the transport does by itself
FAULTS = ("SIGSEGV", "SIGBUS")  # of a CPU that accesses a device address


def find(view: View) -> Iterator[Noticed]:
    """Yields libraries whose device messages work, and whose other operations end by faults."""
    tried: dict[Who, list[Awareness]] = defaultdict(list)
    for trial in view.observations.trials:
        if in_gpu(trial.buffers) and not trial.host_device:
            tried[Who(trial.library, trial.settings)].append(trial)
    for who, trials in tried.items():
        messages = [trial for trial in trials if _family(view, trial) == MESSAGES]
        if not messages or any(trial.status != GOOD for trial in messages):
            continue
        faults = [trial for trial in trials if _is_fault(trial)]
        if faults:
            facts = [
                Fact(
                    of="operation",
                    name=f"{trial.buffers} {trial.operation}",
                    value=trial.message,
                )
                for trial in faults
            ]
            yield Noticed(facts, who, command=faults[0].command)


def _is_fault(trial: Awareness) -> bool:
    return trial.status == "crashed" and any(name in trial.message for name in FAULTS)


def _family(view: View, trial: Awareness) -> str:
    benchmark = view.benchmarks.get(trial.operation)
    return benchmark.family if benchmark else ""


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.who.label}: messages of device buffers work, and other operations crash:"
        f" {it.facts(' (', end=')')}."
    )


RULE = Rule(
    name="without_cuda",
    tells="All messages of device buffers work that were tried, but other operations end by SIGSEGV"
    " or SIGBUS: the CPU reads a device's address, as the library is not built for the device and"
    " only its transport is.",
    find=find,
    origin="software",
    headline="messages of device buffers work, other operations crash",
    sentence=sentence,
    action="Take a library that is built for the device.",
    remedy="Take a library that is built for the device (Open MPI: ompi_info says"
    " mpi_built_with_cuda_support), or copy the data of such operations to the host.",
    sources=[NOT_AWARE],
)
