# SPDX-License-Identifier: Apache-2.0
"""What each path carries: the best library at the largest message, and who does not count."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from nearpeak.machine.machine import Gpu
from nearpeak.picture.layout import layout
from nearpeak.picture.measured import Measured, summed
from nearpeak.report.picture import PAIRED, measured, picture
from nearpeak.results.build import from_json
from nearpeak.results.results import Failure, Results
from nearpeak.terms.identity import CEILING
from nearpeak.terms.path import DataPath, Endpoint
from nearpeak.terms.ratings import TIES

EXAMPLES = Path(__file__).parents[2] / "examples"
Tell = Callable[[Results], None]


def by_name(results: Results) -> dict[str, Measured]:
    return {row.name: row for row in measured(results)}


def said(results: Results) -> str:
    """The texts of its picture."""
    rows = measured(results)
    drawn = layout(results.machine, rows)
    return " ".join(text.words for text in drawn.texts)


def largest(results: Results, path: str, library: str) -> list[int]:
    """Where the cells of the largest message of bw are."""
    return [
        at
        for at, cell in enumerate(results.cells)
        if cell.place.path == path
        and cell.who.library == library
        and cell.case.benchmark == "bw"
        and cell.case.x == 1 << 26
    ]


def test_the_best_library_at_the_largest_message(plain: Results) -> None:
    rows = measured(plain)
    assert [(row.letter, row.name) for row in rows] == [
        ("A", "host-host same-numa"),
        ("B", "host-host tcp-loopback"),
        ("C", "host-memory node0"),
    ]
    first = rows[0]
    assert (first.size_bytes, first.who, first.ends) == (1 << 26, "openmpi", "inside NUMA node 0")
    assert first.fraction == pytest.approx(0.85)
    assert first.value == pytest.approx(0.85 * (first.ceiling or 0))
    assert first.state == "near"
    assert first.figures == "openmpi* 11.9 of 14.0 GB/s"
    assert (
        first.sentence == "host-host same-numa, inside NUMA node 0, 64 MiB: "
        "openmpi* 11.9 of 14.0 GB/s (85.0 % [82.5, 86.7])"
    )
    assert first.confirmed
    lower = replace(first, ceiling=11.0)  # of other blocks than most of the library's
    assert lower.figures == "openmpi* 11.9 GB/s"
    assert rows[1].who == "openmpi"
    assert rows[2].figures.endswith("GB/s, no MPI")
    assert rows[2].state == "alone"


def test_a_ceiling_that_goes_on_beyond_the_libraries(plain: Results) -> None:
    place = next(path.place for path in plain.paths if path.id == "host-host same-numa")
    for point in list(plain.ceilings):
        if point.place == place and point.case.benchmark == "bw" and point.case.x == 1 << 26:
            case = point.case.curve.at(1 << 28)
            plain.ceilings.append(msgspec.structs.replace(point, case=case, value=99.0))
    first = by_name(plain)["host-host same-numa"]
    assert (first.size_bytes, first.figures) == (1 << 26, "openmpi* 11.9 of 14.0 GB/s")


def test_one_sided_rates_have_no_ceiling_and_are_not_drawn(plain: Results) -> None:
    before = by_name(plain)["host-host same-numa"]
    (bw,) = [benchmark for benchmark in plain.benchmarks if benchmark.name == "bw"]
    metric = msgspec.structs.replace(bw.main, name="put_bw")
    puts = msgspec.structs.replace(
        bw, name="put_bw", metrics=[metric], family="rma", ceiling="none"
    )
    plain.benchmarks = [*plain.benchmarks, puts]
    for cell in [cell for cell in plain.cells if cell.case.benchmark == "bw"]:
        case = msgspec.structs.replace(cell.case, benchmark="put_bw", metric="put_bw")
        faster = 2 * (cell.median or 0)
        plain.cells.append(
            msgspec.structs.replace(cell, case=case, median=faster, ceiling=None, fraction=None)
        )
    assert by_name(plain)["host-host same-numa"] == before


def test_a_size_that_all_libraries_left_out(plain: Results, tell: Tell) -> None:
    for library in ("openmpi", "mpich"):
        (at,) = largest(plain, "host-host same-numa", library)
        plain.cells[at].median = plain.cells[at].fraction = None
        plain.cells[at].status = "skipped"
    tell(plain)
    first = by_name(plain)["host-host same-numa"]
    assert (first.size_bytes, first.who) == (1 << 24, "openmpi")


def test_a_share_that_its_two_rates_do_not_give_is_explained(plain: Results) -> None:
    assert PAIRED not in picture(plain)
    (at,) = largest(plain, "host-host same-numa", "openmpi")
    cell = plain.cells[at]
    assert cell.median is not None
    cell.median *= 0.98
    row = by_name(plain)["host-host same-numa"]
    assert not row.divides
    words = " ".join(re.sub("<[^>]*>", " ", picture(plain)).split())
    assert PAIRED in words


def test_a_fraction_without_an_interval_is_unconfirmed(plain: Results) -> None:
    (at,) = largest(plain, "host-host same-numa", "openmpi")
    plain.cells[at].ci95 = plain.cells[at].fraction_ci95 = None
    row = by_name(plain)["host-host same-numa"]
    assert not row.confirmed
    assert row.sentence.endswith("(85.0 % range 82.5 to 86.7)")


def test_the_memory_of_a_virtual_machine_is_not_told(plain: Results) -> None:
    assert plain.machine.virtual
    assert "GiB" not in said(plain).replace("\N{NO-BREAK SPACE}", " ")
    assert "2\N{NO-BREAK SPACE}cores" in said(plain)
    plain.machine = msgspec.structs.replace(plain.machine, virtual=False)
    assert "24\N{NO-BREAK SPACE}GiB" in said(plain)


def test_a_machine_that_is_not_known_is_not_drawn(plain: Results) -> None:
    plain.machine = msgspec.structs.replace(plain.machine, cores=[])
    assert picture(plain) == ""


def test_ids_of_a_page_are_unique(plain: Results) -> None:
    root = ElementTree.fromstring(f"<page>{picture(plain)}</page>")
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids)) == 8
    assert [node.get("class") for node in root] == ["picture wide", "picture narrow"]


def test_a_defect_does_not_count(plain: Results, tell: Tell) -> None:
    (at,) = largest(plain, "host-host same-numa", "openmpi")
    plain.cells[at].fraction, plain.cells[at].fraction_ci95 = 1.4, (1.3, 1.5)
    tell(plain)
    assert by_name(plain)["host-host same-numa"].who == "mpich"
    (at,) = largest(plain, "host-host same-numa", "mpich")
    plain.cells[at].fraction, plain.cells[at].fraction_ci95 = 1.2, (1.1, 1.3)
    tell(plain)
    row = by_name(plain)["host-host same-numa"]
    assert row.figures == "ceiling 14.0 GB/s, no library that can be believed"


def test_the_ceiling_in_the_place_of_a_library_does_not_count(plain: Results, tell: Tell) -> None:
    plain.libraries[0].native = True
    tell(plain)
    assert by_name(plain)["host-host same-numa"].who == "mpich"


def test_failed_launches_are_said(plain: Results) -> None:
    for library in ("openmpi", "mpich"):
        (at,) = largest(plain, "host-host same-numa", library)
        plain.cells[at].median = plain.cells[at].fraction = None
    assert by_name(plain)["host-host same-numa"].why == "no library measured"
    failed = Failure(
        launch=1,
        session=0,
        who=CEILING,
        place=plain.paths[0].place,
        benchmarks=["bw"],
        status="crashed",
        message="",
        command="",
        log=None,
    )
    plain.failures = [failed]
    assert by_name(plain)["host-host same-numa"].why == "no library: 1 launch failed"


def test_without_a_ceiling_there_is_no_fraction(results: Results) -> None:
    row = measured(results)[2]
    assert row.state == "alone"
    assert row.figures.endswith("GB/s, no ceiling")


def test_paths_of_gpus(gpu: Results) -> None:
    rows = [row for row in measured(gpu) if "gpu" in row.name]
    assert [row.name for row in rows] == [
        "gpu-gpu same-gpu",
        "gpu-gpu same-gpu mps",
        "gpu-gpu nvlink",
        "host-gpu near",
        "host-gpu near",
        "gpu-gpu pair 0-2, slowest of 3 pairs (90.0 to 90.0 %)",
    ]
    assert {row.who for row in rows} == {"openmpi"}  # mpich was staged by the benchmark
    near = rows[3:5]
    assert [row.ends for row in near] == ["NUMA node 0 to GPU ?", "GPU ? to NUMA node 0"]
    assert near[0].letter == near[1].letter


def test_of_all_pairs_those_with_a_figure_of_a_library_are_compared(gpu: Results) -> None:
    slow = next(path.place for path in gpu.paths if path.id == "gpu-gpu pair 0-2")
    gpu.cells = [cell for cell in gpu.cells if cell.place != slow]
    assert by_name(gpu)["gpu-gpu pair 0-1, slowest of 2 pairs (90.0 to 90.0 %)"].who == "openmpi"
    gpu.cells = [cell for cell in gpu.cells if not cell.place.pair]
    assert by_name(gpu)["gpu-gpu pair 0-2, slowest of 3 pairs"].who is None


def test_ends_are_told_by_the_machine(gpu: Results) -> None:
    gpu.machine.gpus.append(
        Gpu(
            index=5,
            vendor="nvidia",
            name="made up",
            uuid="GPU-b",
            pci="0000:17:00.0",
            numa_node=0,
            memory_bytes=None,
            memory_gbs=None,
            host_link="pcie",
            host_gbs=None,
        )
    )
    assert by_name(gpu)["gpu-gpu same-gpu"].ends == "inside GPU 5"


def test_two_hosts_and_memories(plain: Results) -> None:
    far = DataPath(
        id="gpu-gpu two-nodes",
        summary="made up",
        transport="network",
        ends=(
            Endpoint(memory="gpu", cpus=[0], numa_node=0, gpu="0", host="a"),
            Endpoint(memory="gpu", cpus=[0], numa_node=0, gpu="0", host="b"),
        ),
    )
    ceilings = [point for point in plain.ceilings if point.place == plain.paths[0].place]
    for point in ceilings:
        point.place = far.place
    plain.paths.append(far)
    row = by_name(plain)["gpu-gpu two-nodes"]
    assert row.ends == "GPU 0 to the second host"
    assert row.why == "no library measured"


def test_all_memories_stand_in_one_row(plain: Results) -> None:
    local = next(row for row in measured(plain) if row.path.transport == "local")
    other = Measured(**{**vars(local), "ceiling": 2 * (local.ceiling or 0)})
    whole = summed([local, other])
    assert [row.name for row in whole] == ["host-memory"]
    assert " to " in whole[0].figures
    assert summed([local]) == [local]


def test_a_best_library_that_is_not_proven_is_marked_and_so_is_half_of_a_memorys_rate() -> None:
    results = from_json((EXAMPLES / "h200x2-shipped" / "results.json").read_bytes())
    drawn = picture(results)
    assert "openmpi-cuda* 355 of 368 GB/s" in drawn
    assert TIES in drawn
    assert "GB/s, half for a copy" in drawn.replace("\N{NO-BREAK SPACE}", " ")
    for head in results.headlines:
        head.tied = []
    results.paths = [path for path in results.paths if not path.shares_gpu]
    drawn = picture(results)
    assert TIES not in drawn
    assert "half for a copy" not in drawn.replace("\N{NO-BREAK SPACE}", " ")
