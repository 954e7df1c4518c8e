# SPDX-License-Identifier: Apache-2.0
"""Ranks that see only their own GPU."""

from collections import Counter
from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.sources import SLURM_GPUS
from nearpeak.observations.observed import Launch
from nearpeak.results.results import Fact

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
GPU = "gpu"


def find(view: View) -> Iterator[Noticed]:
    """Yields launches on several GPUs whose first rank, which is recorded, saw only one."""
    values = Counter(
        (name, launch.conditions[f"env {name}"])
        for launch in view.launches
        if _several(launch)
        for name in VISIBLE
        if _is_single(launch.conditions.get(f"env {name}", ""))
    )
    facts = [
        Fact(of="devices", name=name, value=value, launches=launches)
        for (name, value), launches in sorted(values.items())
    ]
    if facts:
        yield Noticed(facts)


def _several(launch: Launch) -> bool:
    return launch.place.ends.count(GPU) > 1 and not launch.place.shared


def _is_single(devices: str) -> bool:
    return len([device for device in devices.split(",") if device.strip()]) == 1


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"Launches on several GPUs could see one: {it.facts('=')}."


RULE = Rule(
    name="visible_devices",
    tells="Launches on several GPUs had one visible device in CUDA_VISIBLE_DEVICES or"
    " HIP_VISIBLE_DEVICES, so that a library may find no way from one GPU to the other (IPC).",
    find=find,
    origin="placement",
    headline="launches on several GPUs could see one",
    sentence=sentence,
    action="Let each rank see all GPUs of its host.",
    remedy="Let each rank see all GPUs of its host, and choose its own by its local rank (Slurm:"
    " --gpus in place of --gpus-per-task, or --gpu-bind=none).",
    sources=[SLURM_GPUS],
)
