# SPDX-License-Identifier: Apache-2.0
"""Known hardware: models of GPUs, and what their links and NICs sustain (known.toml)."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from nearpeak.errors import UserError, closest
from nearpeak.numbers import count
from nearpeak.observations.clues import Clues
from nearpeak.results.results import Source

FILE = Path(__file__).with_name("known.toml")
Of = Literal["copy", "ring", "allreduce", "host", "pcie", "nic"]
Link = Literal["nvlink", "xgmi", "pcie"]
NVLINK, XGMI = "NVLink", "Infinity Fabric"
LANES = 16
# GB/s of a lane, one way, after its line code; of generation 3 on, doubled by each.
PCIE_3_LANE = 0.985
NAME = re.compile(
    r"(?:(?P<gpu>[a-z0-9]+)x(?P<count>\d{1,3})-(?P<link>nvlink|nv\d{1,2}|xgmi|pcie))?"
    r"(?P<plus>\+)?(?:(?P<nics>\d{1,2})x(?P<gbits>\d{1,4})g)?"
)


def nominal_pcie_gbs(generation: int) -> float:
    """The nominal rate of 16 lanes of a generation, one way."""
    return LANES * PCIE_3_LANE * float(2 ** (generation - 3))


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of GPUs; rates in GB/s, one way."""

    id: str
    name: str
    pattern: str
    pcie: int  # generation of its 16 lanes
    nvlink: float | None = None  # nominal, of all links together
    xgmi: float | None = None  # the same of AMD's Infinity Fabric
    bridge: float | None = None  # the same of a bridge of NVLink, which a card may have
    links: int = 0
    adds: bool = False  # NVSwitch adds up their numbers
    pair: tuple[int, ...] = ()  # links between two of them, on each kind of board
    domain: int = 0  # GPUs that NVLink joins over several hosts; 0: those of a host
    c2c: bool = False  # NVLink joins it with its CPU
    own_nic: bool = False  # a NIC on its board, so that PCIe of the host bounds no NIC

    @property
    def pcie_gbs(self) -> float:
        """The nominal rate of its lanes."""
        return nominal_pcie_gbs(self.pcie)

    @property
    def fabric(self) -> Link:
        """The link that joins all GPUs of a host."""
        return "nvlink" if self.nvlink else "xgmi" if self.xgmi else "pcie"


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measured rate of a kind of links."""

    of: Of
    gpus: tuple[str, ...]  # empty: all
    source: Source
    tools: tuple[str, ...] = ()  # whose figures it is for; empty: all
    ranks: int = 0  # fewest ranks that reach it
    gbs: float | None = None
    share: float | None = None  # of the nominal rate


class Nics(NamedTuple):
    """The NICs of a host, each of one rate."""

    number: int
    gbits: int  # of a port

    @property
    def gbs(self) -> float:
        """The nominal rate of one."""
        return self.gbits / 8

    @property
    def label(self) -> str:
        """`4 NICs of 200 Gb/s`."""
        return f"{count(self.number, 'NIC')} of {self.gbits} Gb/s"


@dataclass(frozen=True)
class Hardware:
    """The part of a machine that carries a figure, as far as it is known."""

    gpu: Gpu | None = None
    count: int | None = None  # GPUs of a host
    link: Link | None = None  # between them
    lanes: int | None = None  # NVLinks between two of them, as `nvidia-smi topo -m` has them
    nics: Nics | None = None  # None: not known
    named: bool = False  # by the user, not recognised

    @property
    def id(self) -> str:
        """Its name, as `--machine` takes it; empty where nothing is known."""
        link = f"nv{self.lanes}" if self.lanes else self.link
        gpus = f"{self.gpu.id}x{self.count}-{link}" if self.gpu and self.count else ""
        nics = f"{self.nics.number}x{self.nics.gbits}g" if self.nics else ""
        return "+".join(filter(None, [gpus, nics]))


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file."""

    gpu: tuple[Gpu, ...]
    ceiling: tuple[Known, ...]


@functools.cache
def data() -> Data:
    """The content of known.toml."""
    return msgspec.toml.decode(FILE.read_bytes(), type=Data)


def measured_ceiling(of: Of, gpu: Gpu | None, tool: str = "", ranks: int = 0) -> Known | None:
    """The first ceiling of a kind for this model, tool and number of ranks, or for all; None
    without one."""
    return next(
        (
            one
            for one in data().ceiling
            if one.of == of
            and (not one.tools or tool in one.tools)
            and (not one.gpus or (gpu and gpu.id in one.gpus))
            and one.ranks <= ranks
        ),
        None,
    )


def named(text: str) -> Hardware:
    """The hardware that the user names: `h100x8-nvlink`, `a100x8-nvlink+4x200g`, `1x100g`.

    Raises:
        UserError: it is no such name, or of no model that is known.
    """
    match = NAME.fullmatch(text.lower())
    parts = match.groupdict() if match else {}
    if not (parts.get("gpu") or parts.get("nics")) or (
        bool(parts["plus"]) != bool(parts["gpu"] and parts["nics"])
    ):
        raise UserError(
            f"--machine {text}: give GPUs, NICs of a host, or both, as h100x8-nvlink,"
            " a100x8-nvlink+4x200g, 1x100g"
        )
    nics = Nics(int(parts["nics"]), int(parts["gbits"])) if parts["nics"] else None
    if nics and not (nics.number and nics.gbits):
        raise UserError(f"--machine {text}: a NIC of no rate, or none: give 1x100g or its like")
    if not parts["gpu"]:
        return Hardware(nics=nics, named=True)
    models = {gpu.id: gpu for gpu in data().gpu}
    gpu = models.get(parts["gpu"])
    if gpu is None:
        raise UserError(
            f"--machine {text}: nothing is known of {parts['gpu']!r}{closest(parts['gpu'], models)}"
        )
    return _with_gpus(text, gpu, int(parts["count"]), parts["link"], nics)


def _with_gpus(text: str, gpu: Gpu, number: int, link: str, nics: Nics | None) -> Hardware:
    """The hardware with GPUs; UserError for none, or for NVLinks that are not known."""
    if not number:
        raise UserError(f"--machine {text}: no GPU: give {gpu.id}x1-{link} or its like")
    if link == "pcie":
        return Hardware(gpu, number, "pcie", None, nics, named=True)
    if link == "xgmi" and gpu.xgmi:
        return Hardware(gpu, number, "xgmi", None, nics, named=True)
    lanes = int(link[2:]) if link not in ("nvlink", "xgmi") else None
    ring = measured_ceiling("ring", gpu)
    bridged = bool(gpu.bridge and lanes and ring and ring.gpus)
    if link == "xgmi" or not (gpu.nvlink or bridged):
        raise UserError(
            f"--machine {text}: no rates of {XGMI if link == 'xgmi' else NVLINK} are known for"
            f" {gpu.name}: give {gpu.id}x{number}-{gpu.fabric}"
        )
    if lanes is not None and not 0 < lanes <= gpu.links:
        raise UserError(f"--machine {text}: {gpu.name} has 1 to {gpu.links} NVLinks")
    return Hardware(gpu, number, "nvlink", lanes, nics, named=True)


def recognised(clues: Clues) -> Hardware:
    """The hardware that an output names: one model of GPUs, or nothing."""
    models = {gpu for name in set(clues.gpus) for gpu in data().gpu if re.search(gpu.pattern, name)}
    matched = [name for name in clues.gpus if any(re.search(g.pattern, name) for g in models)]
    if len(models) != 1 or len(matched) != len(clues.gpus):
        return Hardware()
    [gpu] = models
    all_hosts = clues.hosts is None and clues.tool == "nccl-tests"
    number = None if all_hosts else len(clues.gpus) // (clues.hosts or 1)
    return Hardware(gpu, number, gpu.fabric)
