# SPDX-License-Identifier: Apache-2.0
"""Operations that failed because ranks could not share device memory (IPC)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import SLURM_GPUS, of_ucx
from nearpeak.results.results import Fact
from nearpeak.terms.awareness import Awareness, listed
from nearpeak.terms.buffers import in_gpu
from nearpeak.terms.identity import Who
from nearpeak.terms.logs import without_addresses
from nearpeak.terms.outcomes import GOOD, NOT_TRIED

# Names of the handles by which processes share device memory.
HANDLES = re.compile(r"(cu|cuda|hip|ze)(Mem)?Ipc|_ipc_|\bIPC\b", re.IGNORECASE)
WORDS = 160  # characters of a message at most: its end, with the last error


def find(view: View) -> Iterator[Noticed]:
    """Yields one fact for each library, from the trials before the study.

    None if each operation works as the only one of a job: then the reason is another one, which the
    table of operations shows.
    """
    failed: dict[Who, dict[str, list[Awareness]]] = defaultdict(lambda: defaultdict(list))
    for trial in view.observations.trials:
        bad = trial.status not in (GOOD, NOT_TRIED) or trial.after_others
        if bad and in_gpu(trial.buffers) and HANDLES.search(trial.message):
            who = Who(trial.library, trial.settings)
            failed[who][_last(trial.message)].append(trial)
    for who, alike in failed.items():
        if all(trial.status == GOOD for trials in alike.values() for trial in trials):
            continue
        facts = [_fact(message, trials) for message, trials in alike.items()]
        yield Noticed(facts, who, command=next(iter(alike.values()))[0].command)


def _fact(message: str, trials: Iterable[Awareness]) -> Fact:
    operations = listed((trial.buffers, trial.operation) for trial in trials)
    return Fact(of="operation", name=operations, value=message)


def _last(message: str) -> str:
    """The last line that names the handles."""
    lines = [line.strip() for line in message.splitlines() if HANDLES.search(line)]
    return without_addresses(lines[-1])[-WORDS:]


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return (
        f"{it.who.label}: a rank could not reach device memory of another one (IPC):"
        f" {it.facts(' (', ')')}."
    )


RULE = Rule(
    name="ipc",
    tells="An operation with device buffers failed, and not only after others in one job, with an"
    " error about the handles by which processes share device memory (CUDA IPC).",
    find=find,
    origin="settings",
    headline="a rank could not reach device memory of another one (IPC)",
    sentence=sentence,
    action="Look at containers, hidden GPUs and memory pools that keep ranks from sharing memory.",
    remedy="Look at what keeps ranks from sharing device memory: containers with process namespaces"
    " of their own, GPUs that a rank cannot see, memory of pools (cudaMallocAsync) or of"
    " cuMemCreate; or turn IPC off for these operations.",
    settings=[
        Setting("intel", "I_MPI_OFFLOAD_IPC", "0", "no CUDA IPC between ranks"),
        Setting("ucx", "UCX_TLS", "^cuda_ipc", "no CUDA IPC between ranks"),
    ],
    sources=[
        of_ucx(7110, "no handles of memory of pools and of cuMemCreate"),
        SLURM_GPUS,
    ],
)
