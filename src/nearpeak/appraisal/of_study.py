# SPDX-License-Identifier: Apache-2.0
"""The ceiling that a study measured on the path of a figure, as its reference.

Tools may send all messages of a window from one buffer, where the study's ceiling has one for each.
Caches can only make one buffer faster, so its ceiling is that of the study or higher: a figure that
is low for the study's is low. One that is not is near only where a link bounds both: large messages
of GPUs.
"""

from dataclasses import dataclass

from nearpeak.appraisal.figure import LARGE_BYTES
from nearpeak.machine.machine import Machine
from nearpeak.results.results import Difference, Imported, Source, Sustained
from nearpeak.statistics.comparisons import better_by
from nearpeak.terms.identity import Curve, Place, Who
from nearpeak.terms.ratings import GOOD

ONE_BUFFER = "single"  # of the axis `reuse`


@dataclass(frozen=True)
class OfStudy:
    """An imported figure, and a study with a ceiling of its path."""

    imported: Imported
    folder: str  # of the study
    machine: Machine  # that the study measured

    @property
    def key(self) -> tuple[Who, str, Curve]:
        """Its file, the group of its paths, and its curve."""
        return self.imported.who, self.imported.place.group, self.imported.case.curve

    @property
    def sustained(self) -> Sustained:
        """The ceiling, and the share of it; None where the two are not comparable."""
        path = f"{self.imported.place.path}, as {self.folder} measured"
        if self._reuse:
            path += f" with {'a buffer for each message' if self._one_buffer else 'one buffer'}"
        return Sustained(
            value=self.imported.ceiling.value if self.imported.ceiling else 0.0,
            path=path,
            source=Source(text=f"measured without MPI: {self.folder}", address=""),
            share=self.share,
        )

    @property
    def share(self) -> float | None:
        """The share of the ceiling; None: not comparable."""
        imported = self.imported
        if imported.fraction is not None or not imported.ceiling or self._obstacle:
            return imported.fraction
        share = better_by(imported.value, imported.ceiling.value, imported.better)
        low = self._one_buffer and share < GOOD
        large = imported.case.x >= LARGE_BYTES
        return share if low or (large and _by_link(imported.place, self.machine)) else None

    @property
    def missing(self) -> str:
        """The fact that a share would need, in words."""
        mine = "all messages" if self._one_buffer else "those of the study"
        return self._obstacle or f"what caches add: {mine} had one buffer"

    @property
    def command(self) -> str:
        """A line that measures the ceiling of buffers that are used alike; empty: none is needed,
        or it would not do."""
        if self.share is not None or self._obstacle or not self._reuse:
            return ""
        variant = f"{self.imported.case.benchmark}:reuse={self._reuse.own}"
        return f"nearpeak study --benchmark {variant} -o here; nearpeak import FILE --beside here"

    @property
    def _obstacle(self) -> str:
        """The fact that a share would need with any buffers; empty: none."""
        if len(self.imported.ceiling_ns) > 1:
            return "how far apart its CPUs were"
        if self._difference("touch"):
            return "who touched its buffers last"
        return "" if self._reuse else "what it reaches at a size of the study"

    @property
    def _reuse(self) -> Difference | None:
        return self._difference("reuse")

    @property
    def _one_buffer(self) -> bool:
        return bool(self._reuse and self._reuse.own == ONE_BUFFER)

    def _difference(self, name: str) -> Difference | None:
        return next((one for one in self.imported.differs if one.name == name), None)


def _by_link(place: Place, machine: Machine) -> bool:
    """True if the link of a path is slower than the memory at its ends, in caches or not."""
    if "gpu" not in place.ends or place.shared:
        return False
    if place.transport != "memory" or place.hosts != 1:
        return False
    if "host" in place.ends:
        return all(gpu.host_link == "pcie" for gpu in machine.gpus)
    return all(gpu.partition is None for gpu in machine.gpus)
