# SPDX-License-Identifier: Apache-2.0
"""Ceilings of a study as references: where one whose buffers were used otherwise holds, too."""

import msgspec
import pytest
from fake_gpus import with_fake_gpus
from made_tables import MIB, osu, read

from nearpeak.appraisal.judge import appraise
from nearpeak.appraisal.known import Hardware, named
from nearpeak.appraisal.of_study import OfStudy
from nearpeak.machine.machine import Machine
from nearpeak.results.results import Difference, Imported, Reference
from nearpeak.terms.identity import Case, Place, Who

NVLINK = Place(path="gpu-gpu nvlink", ends=("gpu", "gpu"))
ONE_GPU = Place(path="gpu-gpu same-gpu", ends=("gpu", "gpu"), shared=True)
PCIE = Place(path="host-gpu near", ends=("host", "gpu"))
HOST = Place(path="host-host same-numa")
BETWEEN = Place(path="network", transport="network", hosts=2)
LOOPED = Place(path="gpu-gpu tcp-loopback", transport="network", ends=("gpu", "gpu"))
SINGLE = Difference(name="reuse", own="single", study="fixed")
MEAN = Difference(name="figure", own="mean", study="median")
CEILING = 100.0  # GB/s


def judged(
    place: Place, value: float, *differs: Difference, machine: Machine | None = None, ns: int = 0
) -> OfStudy:
    """The ceiling of a study under a rate. `ns`: how many distances its CPUs were at."""
    ceiling = Reference(
        value=CEILING, ci95=None, range=(CEILING, CEILING), x=1 << 22, method="", kind="measured"
    )
    same = SINGLE not in differs and ns < 2
    imported = Imported(
        who=Who("omb", ""),
        place=place,
        case=Case(benchmark="bw", metric="bw", buffers="D,D", axes={}, x=1 << 22),
        unit="GB/s",
        better="higher",
        value=value,
        ceiling=ceiling,
        ceiling_ns=[(1.0, 1.0)] * ns,
        fraction=value / CEILING if same and not differs[1:] else None,
        differs=[*differs],
    )
    return OfStudy(imported, "here", machine or with_fake_gpus())


@pytest.mark.parametrize("place", [NVLINK, PCIE])
@pytest.mark.parametrize("value", [12.0, 96.0, 130.0])
def test_a_link_bounds_one_buffer_too(place: Place, value: float) -> None:
    of_study = judged(place, value, MEAN, SINGLE)
    assert of_study.sustained.share == pytest.approx(value / CEILING)
    path = f"{place.path}, as here measured with a buffer for each message"
    assert of_study.sustained.path == path


@pytest.mark.parametrize("place", [HOST, ONE_GPU, BETWEEN])
@pytest.mark.parametrize(
    ("value", "share"), [(12.0, 0.12), (79.0, 0.79), (81.0, None), (130, None)]
)
def test_caches_may_make_one_buffer_faster(place: Place, value: float, share: float | None) -> None:
    """Then its ceiling is higher: a low figure is low all the same, and a high one is unsure."""
    of_study = judged(place, value, SINGLE)
    assert of_study.sustained.share == share
    assert of_study.missing == "what caches add: all messages had one buffer"
    measure = "nearpeak study --benchmark bw:reuse=single -o here"
    asked = f"{measure}; nearpeak import FILE --beside here" if share is None else ""
    assert of_study.command == asked


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (PCIE, {"host_link": "nvlink-c2c"}),  # as fast as the host's memory
        (NVLINK, {"partition": 0}),  # GPUs of one package, which has the memory
    ],
)
def test_some_links_are_as_fast_as_memory(place: Place, change: dict[str, object]) -> None:
    machine = with_fake_gpus()
    gpus = [msgspec.structs.replace(gpu, **change) for gpu in machine.gpus]
    machine = msgspec.structs.replace(machine, gpus=gpus)
    assert judged(place, 96.0, SINGLE, machine=machine).sustained.share is None
    assert judged(place, 12.0, SINGLE, machine=machine).sustained.share == 0.12


def test_no_link_bounds_small_messages() -> None:
    for size, share in ((1 << 20, 0.96), (1 << 16, None)):
        of_study = judged(NVLINK, 96.0, SINGLE)
        of_study.imported.case = of_study.imported.case.curve.at(size)
        assert of_study.share == share


def test_of_several_distances_none_is_the_ceiling() -> None:
    for differs in ((MEAN,), (SINGLE,)):
        of_study = judged(HOST, 12.0, *differs, ns=2)
        assert of_study.sustained.share is None
        assert (of_study.missing, of_study.command) == ("how far apart its CPUs were", "")


def test_alike_buffers_have_the_share_of_the_study() -> None:
    of_study = judged(HOST, 90.0, MEAN)
    assert of_study.sustained.share == 0.9
    assert of_study.sustained.path == "host-host same-numa, as here measured"


def test_separate_buffers_are_no_faster_than_the_one_of_a_study() -> None:
    """A low figure may be near a ceiling of its own, which is lower: only links tell."""
    turned = Difference(name="reuse", own="fixed", study="single")
    for value in (12.0, 96.0):
        unsure = judged(HOST, value, MEAN, turned)
        assert unsure.sustained.share is None
        assert unsure.missing == "what caches add: those of the study had one buffer"
        assert judged(NVLINK, value, MEAN, turned).sustained.share == value / CEILING


def test_who_touched_the_buffers_matters_everywhere() -> None:
    touched = Difference(name="touch", own="none", study="sender")
    of_study = judged(NVLINK, 96.0, MEAN, touched)
    assert (of_study.sustained.share, of_study.missing) == (None, "who touched its buffers last")


@pytest.mark.parametrize(
    ("place", "buffers", "gbs", "machine", "verdict"),
    [
        (BETWEEN, "HH", 23.0, "1x200g", ("near", "1 NIC of 200 Gb/s")),
        (BETWEEN, "HH", 23.0, "", ("unsure", "network, as here")),
        (BETWEEN, "HH", 9.0, "1x200g", ("below", "network, as here")),
        (BETWEEN, "DD", 23.0, "h200x2-nvlink", ("unsure", "network, as here")),
        (HOST, "HH", 23.0, "1x200g", ("unsure", "host-host same-numa, as here")),
        (LOOPED, "DD", 23.0, "h200x2-nv18", ("unsure", "gpu-gpu tcp-loopback, as here")),
        (ONE_GPU, "DD", 23.0, "h200x2-nv18", ("unsure", "gpu-gpu same-gpu, as here")),
    ],
)
def test_known_hardware_decides_where_the_study_does_not(
    place: Place, buffers: str, gbs: float, machine: str, verdict: tuple[str, str]
) -> None:
    """A study removes no verdict on its link, and gives none on another link."""
    results, observations = read(osu("Bandwidth", [(4 * MIB, gbs * 1e3)], buffers))
    [cell] = results.cells
    mine = msgspec.structs.replace(place, path=cell.place.path)
    imported = judged(mine, gbs, SINGLE).imported
    ceiling = msgspec.structs.replace(imported.ceiling, value=25.0)
    results.imported = [
        msgspec.structs.replace(imported, who=cell.who, case=cell.case, ceiling=ceiling)
    ]
    hardware = named(machine) if machine else Hardware()
    [appraisal] = appraise(results, observations, hardware, "here")
    state, path = verdict
    assert (appraisal.state, len(appraisal.sustained)) == (state, 1)
    assert appraisal.sustained[0].path.startswith(path.replace(place.path, mine.path))
