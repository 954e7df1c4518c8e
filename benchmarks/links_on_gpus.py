# SPDX-License-Identifier: Apache-2.0
"""How long do the checks of links take on this machine's GPUs, and what do they see?

Runs `nearpeak machine --check` with and without `--copies`, `nearpeak-native peers` by itself, and
readings of NVIDIA's library, each with its seconds. Nothing of it is judged. It needs two GPUs, and
a checkout or a bundle (docs/how-to/bundle.md):

    .venv/bin/python benchmarks/links_on_gpus.py .venv/bin/nearpeak
    B=$PWD/nearpeak-bundle; NEARPEAK_CACHE=$B/cache NEARPEAK_BENCH=$B/bench \\
      PYTHONPATH=$B/src:$B/python python3 benchmarks/links_on_gpus.py $B/nearpeak
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nearpeak.libraries.build import build_native
from nearpeak.machine.discover import discover
from nearpeak.machine.gpus.link_errors import OF_LINK, count_link_errors
from nearpeak.machine.gpus.nvml import MAX_LINKS, NvmlClient, ask
from nearpeak.machine.pcie_links import links_to
from nearpeak.machine.states import StateReader, find_nvml
from nearpeak.machine.tree import read_tree

TIMES = 3
ALL_LINKS = 0xFFFFFFFF  # as a scope


def run(words: Sequence[str]) -> None:
    """Runs a command, and prints its output, exit status and seconds."""
    begin = time.perf_counter()
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, check=False)
    seconds = time.perf_counter() - begin
    print(f"== {' '.join(words)}: exit status {ended.returncode}, {seconds:.2f} s", flush=True)


def timed(name: str, call: Callable[[], Any]) -> Any:
    """Calls several times, and prints the ms of each."""
    spent = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        answer = call()
        spent.append((time.perf_counter() - begin) * 1e3)
    print(f"== {name}: {', '.join(f'{ms:.1f}' for ms in spent)} ms", flush=True)
    return answer


def pcie(nvml: Any) -> None:
    """Prints what NVIDIA's library and the kernel say of the PCIe links now."""
    facts = ask(nvml, {})
    for name, text in facts.items():
        if "pcie" in name or "performance_state" in name or "uncorrected" in name:
            print(f"{name}: {text}")
    machine, tree = discover(), read_tree(Path("/"))
    for gpu in machine.gpus:
        print(gpu.pci, links_to(tree, gpu.pci, machine.virtual))


def main() -> None:
    """Runs all of it."""
    nearpeak = sys.argv[1:] or ["nearpeak"]
    native = str(build_native())
    uuids = [gpu.uuid for gpu in discover().gpus]
    nvml = find_nvml()
    if nvml is None or len(uuids) < 2:
        raise SystemExit("this needs two GPUs of NVIDIA and their driver")
    print("== PCIe at rest")
    pcie(nvml)
    run([*nearpeak, "machine", "--check"])
    run([*nearpeak, "machine", "--check", "--copies"])
    run([native, "peers", "--devices", ",".join(uuids)])
    print("== PCIe after copies")
    pcie(nvml)
    run([native, "peers", "--devices", ",".join(uuids), "--size", "1G"])
    counts = timed("counts of errors on links", lambda: count_link_errors(nvml))
    for uuid, errors in counts.items():
        print(uuid, {name: count for name, count in errors.items() if count} or "none", len(errors))
    nvml.nvmlInit()
    device = nvml.nvmlDeviceGetHandleByIndex(0)
    client = NvmlClient(nvml)
    for scopes in (range(MAX_LINKS), [ALL_LINKS]):
        wanted = [(field, scope) for field in OF_LINK for scope in scopes]
        answered = timed(f"{len(wanted)} fields", partial(client.fields, device, wanted))
        print(f"{len(answered)} answered")
    nvml.nvmlShutdown()
    reader = StateReader()
    state = timed("state of all GPUs, as around a launch", lambda: reader.read([0], uuids))
    print([gpu.errors for gpu in state.gpus])
    reader.close()


if __name__ == "__main__":
    main()
