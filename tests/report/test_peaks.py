# SPDX-License-Identifier: Apache-2.0
"""The best that each path carries without MPI (results/peaks.py)."""

import msgspec

from nearpeak.report.wording import convention
from nearpeak.results.peaks import HEALTHY, find
from nearpeak.results.results import Peak, Results
from nearpeak.results.theoretical import compare


def _peaks(results: Results) -> dict[tuple[str, str, str], Peak]:
    return {(peak.place.path, peak.case.metric, peak.case.buffers): peak for peak in find(results)}


def test_a_fraction_of_theory_has_one_direction_only(results: Results) -> None:
    peaks = _peaks(results)
    bw = peaks["host-host same-numa", "bw", "H,H"]
    assert bw.of_theoretical == bw.value / 25.0
    assert peaks["host-host same-numa", "bibw", "H,H"].of_theoretical is None
    tcp = peaks["host-host tcp-loopback", "bw", "H,H"]
    assert tcp.of_theoretical is None  # nothing theoretical is known
    assert ("host-memory node0", "triad", "H,H") in peaks


def test_only_the_best_of_a_direction_speaks_of_health(gpu: Results) -> None:
    peaks = _peaks(gpu)
    near, back = peaks["host-gpu near", "bw", "H,D"], peaks["host-gpu near", "bw", "D,H"]
    assert near.of_theoretical is not None
    assert near.of_theoretical < HEALTHY
    assert near.suspect
    assert back.suspect  # the other direction has its own link health
    for point in list(gpu.ceilings):
        if (point.place.path, point.case.buffers) == ("host-gpu near", "H,D"):
            case = msgspec.structs.replace(point.case, buffers="P,D")
            gpu.ceilings.append(msgspec.structs.replace(point, case=case, value=120.0))
    compare(gpu.ceilings, gpu.paths, gpu.benchmarks)
    peaks = _peaks(gpu)
    assert not peaks["host-gpu near", "bw", "H,D"].suspect  # pageable memory, a sound link
    assert peaks["host-gpu near", "bw", "D,H"].suspect
    gpu.ceilings = [point for point in gpu.ceilings if point.case.x <= 16 << 20]
    assert not any(peak.suspect for peak in find(gpu))  # too small to judge by


def test_facts_are_no_ceilings_and_same_gpu_says_how_it_counts(gpu: Results) -> None:
    peaks = _peaks(gpu)
    assert peaks["gpu-gpu nvlink", "device_latency", "D,D"].fact
    assert not peaks["gpu-gpu nvlink", "bw", "D,D"].fact
    assert "half of the memory's rate" in convention(peaks["gpu-gpu same-gpu", "bw", "D,D"])
    assert convention(peaks["gpu-gpu nvlink", "bw", "D,D"]) == ""
