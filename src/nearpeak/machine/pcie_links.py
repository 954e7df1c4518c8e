# SPDX-License-Identifier: Apache-2.0
"""Lanes and speed of PCIe links: now, and the most that both of their ends can do."""

import re

import msgspec

from nearpeak.machine.gpus.pci import DEVICES, bridges
from nearpeak.machine.rates import least
from nearpeak.machine.tree import Tree

FILES = ("current_link_width", "max_link_width", "current_link_speed", "max_link_speed")
MOST_LANES = 32  # virtual devices name more


class PcieLink(msgspec.Struct, kw_only=True, frozen=True):
    """One link; None where its device does not say."""

    device: str  # PCI address of its lower end
    lanes: float | None
    most_lanes: float | None
    gts: float | None  # GT/s of a lane
    most_gts: float | None

    @property
    def narrow(self) -> str:
        """`8 of 16 lanes`; empty if it has all of them."""
        return _short(self.lanes, self.most_lanes, "lanes")

    @property
    def fault(self) -> str:
        """`8 of 16 lanes and 8 of 32 GT/s`; empty if nothing is missing."""
        return " and ".join(filter(None, [self.narrow, _short(self.gts, self.most_gts, "GT/s")]))


def links_to(tree: Tree, address: str, virtual: bool) -> list[PcieLink]:
    """The links from the CPU down to the device; the last one is its own.

    A slot may have fewer lanes than its card, which is no fault: the most is what both ends can do.
    The ports above a device of a virtual machine are not those of its host, and are left out. Then
    the most speed is not known, as a card is often newer than its slot.
    """
    ports = bridges(tree, address)
    if virtual or len(ports) % 2:  # else a port and the device below it, a link each
        return [_link(tree, [address])]
    return [_link(tree, list(ends)) for ends in zip(ports[::2], ports[1::2], strict=True)]


def _link(tree: Tree, ends: list[str]) -> PcieLink:
    lower = ends[-1]
    return PcieLink(
        device=lower,
        lanes=_lanes(tree, lower, "current"),
        most_lanes=least(_lanes(tree, end, "max") for end in ends),
        gts=_gts(tree, lower, "current"),
        most_gts=least(_gts(tree, end, "max") for end in ends) if len(ends) > 1 else None,
    )


def _short(now: float | None, most: float | None, unit: str) -> str:
    return f"{now:g} of {most:g} {unit}" if now and most and now < most else ""


def _lanes(tree: Tree, device: str, when: str) -> int | None:
    lanes = tree.natural(f"{DEVICES}/{device}/{when}_link_width") or 0
    return lanes if 0 < lanes <= MOST_LANES else None


def _gts(tree: Tree, device: str, when: str) -> float | None:
    speed = re.match(r"\d+(\.\d+)?", tree.text(f"{DEVICES}/{device}/{when}_link_speed"))
    return float(speed[0]) if speed else None
