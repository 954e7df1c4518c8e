# SPDX-License-Identifier: Apache-2.0
"""What was imported, put onto the paths of a study made by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.machine.machine import Gpu
from nearpeak.observations.beside import Study, put_beside
from nearpeak.observations.load import load
from nearpeak.observations.merged import File
from nearpeak.terms.identity import Curve
from nearpeak.terms.path import DataPath, Endpoint

FILES = Path(__file__).parent / "sources"
LATENCY, RATES = FILES / "osu" / "latency.txt", FILES / "osu" / "bw.txt"
MATRICES = FILES / "nvbandwidth" / "all.txt"
PATH, OTHER = "host-host same-numa", "host-host tcp-loopback"
MakeStudy = Callable[..., Any]


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """Of one path, with one library and its ceilings."""
    made = make_study("alpha")
    for block in range(6):
        made.ceiling(block, {("latency", "flags", 8): 100.0, ("bw", "ring", 1024): 8.0})
        made.launch(block, "alpha", "latency", {8: 120.0, 1024: 150.0})
        made.launch(block, "alpha", "bw", {8: 1.0, 1024: 5.0})
    folder = made.write()
    return Study(folder, load(folder))


def osu(*files: Path) -> list[File]:
    return [File("omb", file) for file in files]


def with_another_path(study: Study, *paths: DataPath) -> Study:
    ours = study.observations
    more = paths or (msgspec.structs.replace(ours.paths[0], id=OTHER, transport="network"),)
    return study._replace(observations=replace(ours, paths=[*ours.paths, *more]))


def test_files_are_further_ones_that_were_measured(study: Study) -> None:
    ours, found = study.observations, put_beside(study, osu(LATENCY, RATES), {}, None)
    assert [library.who.label for library in found.libraries] == ["alpha", "omb"]
    assert [session.source for session in found.sessions] == ["", "latency.txt", "bw.txt"]
    assert [session.number for session in found.sessions] == [0, 1, 2]
    assert len({launch.number for launch in found.launches}) == len(found.launches)
    mine = found.observed[len(ours.observed) :]
    assert {each.launch.place for each in mine} == {ours.paths[0].place}
    assert {each.launch.block.session for each in mine} == {1, 2}
    assert (found.paths, found.machine, found.name) == (ours.paths, ours.machine, ours.name)


def test_axes_are_the_study_s_but_for_what_is_known(study: Study) -> None:
    found = put_beside(study, osu(LATENCY, RATES), {}, None)
    axes = {each.case.benchmark: each.case.axes for each in found.observed if each.samples is None}
    assert axes == {
        "latency": {"calls": "blocking", "reuse": "fixed"},
        "bw": {"calls": "blocking", "reuse": "single"},
    }
    [single] = [curve for curve in found.curves if curve.axes.get("reuse") == "single"]
    assert single.benchmark == "bw"


def test_a_benchmark_that_the_study_lacks_comes_with_the_file(study: Study) -> None:
    file = FILES / "osu" / "latency.txt"
    ours = study.observations
    without = [each for each in ours.benchmarks if each.name != "latency"]
    curves: list[Curve] = [each for each in ours.curves if each.benchmark != "latency"]
    lacking = replace(ours, benchmarks=without, curves=curves, observed=[], launches=[])
    found = put_beside(study._replace(observations=lacking), osu(file), {}, None)
    assert found.benchmarks[-1].name == "latency"


def test_where_a_file_was_measured_must_be_said_where_it_fits_several_paths(study: Study) -> None:
    two = with_another_path(study)
    with pytest.raises(UserError, match=f"on which path omb was measured .* of '{PATH}', '{OTHER}"):
        put_beside(two, osu(LATENCY), {}, None)
    for chosen, all_on in (({}, OTHER), ({"omb": OTHER}, PATH)):
        found = put_beside(two, osu(LATENCY), chosen, all_on)
        places = {each.launch.place.path for each in found.observed if each.samples is None}
        assert places == {OTHER}


@pytest.mark.parametrize(
    ("name", "file", "chosen", "all_on", "message"),
    [
        ("alpha", LATENCY, {}, None, "alpha is a library of .*, too: call the file otherwise, as "),
        ("omb", LATENCY, {"x": PATH}, None, "--path x=...: no file is called so, but omb"),
        ("omb", LATENCY, {}, "host-host", "has no path 'host-host'; did you mean 'host-host same"),
        ("omb", FILES / "nccl_tests" / "all_gather.txt", {}, None, "omb fits no path of .*: it is"),
        ("omb", FILES / "nccl_tests" / "all_gather.txt", {}, PATH, "omb does not fit 'host-host s"),
        ("nv", MATRICES, {}, None, "nv is of another machine: its GPUs are at 0000:18:00.0, 0"),
        ("nv", FILES / "nvbandwidth" / "none.txt", {}, None, "no path between the ends that nv "),
    ],
)
def test_what_cannot_be_put_there_is_one_line(
    study: Study,
    tmp_path: Path,
    name: str,
    file: Path,
    chosen: dict[str, str],
    all_on: str | None,
    message: str,
) -> None:
    if not file.exists():  # as of old JSON, which tells no addresses
        file = tmp_path / "unknown.txt"
        lines = MATRICES.read_text().splitlines()
        file.write_text("\n".join(line for line in lines if not line.startswith("Device")))
    with pytest.raises(UserError, match=message):
        put_beside(study, [File(name, file)], chosen, all_on)


def test_of_several_tables_those_that_do_not_fit_are_left_out(study: Study, tmp_path: Path) -> None:
    """As IMB's, which go on to twice as many ranks."""
    table = """\
# Benchmarking Bcast
# #processes = {}
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8          200         0.16         0.18         0.17
"""
    file = tmp_path / "imb.txt"
    title = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
    file.write_text(title + table.format(2) + table.format(4))
    for path in (PATH, None):
        found = put_beside(study, [File("imb", file)], {}, path)
        [observed] = [each for each in found.observed if each.launch.who.library == "imb"]
        assert observed.launch.place.path == PATH
        [library] = [each for each in found.libraries if each.who.library == "imb"]
        assert library.scope.endswith("fit the path: tables of 4 ranks with buffers H,H.")
    file.write_text(title + table.format(4))
    with pytest.raises(UserError, match=r"imb fits no path of .*: it is of 4 ranks"):
        put_beside(study, [File("imb", file)], {}, None)


@pytest.fixture
def with_gpus(study: Study) -> Study:
    """The same on a machine with the two GPUs of the file, each near a node of its own."""
    gpus = [
        Gpu(
            index=index,
            vendor="nvidia",
            name="invented",
            uuid=f"GPU-{index}",
            pci=pci,
            numa_node=index,
            memory_bytes=None,
            memory_gbs=None,
            host_link="pcie",
            host_gbs=None,
        )
        for index, pci in enumerate(("0000:18:00.0", "0000:2a:00.0"))
    ]
    ends = [
        Endpoint(memory="gpu", cpus=[gpu.index], numa_node=gpu.index, gpu=gpu.uuid) for gpu in gpus
    ]
    hosts = [Endpoint(memory="host", cpus=[node], numa_node=node) for node in (0, 1)]
    between = {
        "gpu-gpu nvlink": (ends[0], ends[1]),
        "gpu-gpu same-gpu": (ends[0], ends[0]),
        "host-gpu near": (hosts[0], ends[0]),
        "host-gpu far": (hosts[1], ends[0]),
    }
    found = with_another_path(
        study,
        *(
            DataPath(id=name, summary="invented", transport="memory", ends=both)
            for name, both in between.items()
        ),
    )
    ours = found.observations
    machine = msgspec.structs.replace(ours.machine, gpus=gpus)
    return found._replace(observations=replace(ours, machine=machine))


def test_cells_of_a_matrix_find_their_paths_by_their_gpus(with_gpus: Study) -> None:
    found = put_beside(with_gpus, [File("nv", MATRICES)], {}, PATH)
    figures = {
        (each.launch.place.path, each.launch.who.settings, each.case.buffers): each.summary.median
        for each in found.observed
        if each.samples is None and each.case.benchmark == "bw"
    }
    assert figures == {
        ("host-gpu near", "ce", "P,D"): 55.2,
        ("host-gpu near", "ce", "D,P"): 54.1,
        ("host-gpu near", "sm", "P,D"): 54.8,
        ("gpu-gpu nvlink", "read-ce", "D,D"): 390.2,  # from GPU 0 into GPU 1
        ("gpu-gpu nvlink", "write-ce", "D,D"): 395.1,
    }
    scopes = {each.scope for each in found.libraries if each.imported}
    assert all("Left out: 6 figures between ends of which" in scope for scope in scopes)


def test_gpus_without_addresses_are_known_by_their_numbers(
    with_gpus: Study, tmp_path: Path
) -> None:
    file = tmp_path / "old.json"
    text = (FILES / "nvbandwidth" / "all.json").read_text()
    file.write_text(text.replace("GPU Device list", "GPU Device info"))
    found = put_beside(with_gpus, [File("nv", file)], {}, None)
    paths = {each.launch.place.path for each in found.observed if each.samples is None}
    assert paths == {"host-gpu near", "gpu-gpu nvlink"}


def test_each_file_is_looked_at_whose_gpus_it_is_of(with_gpus: Study, tmp_path: Path) -> None:
    """Their paths are called alike."""
    other = tmp_path / "other.txt"
    other.write_text(MATRICES.read_text().replace("00000000:", "00000001:"))
    for files in ((MATRICES, other), (other, MATRICES)):
        with pytest.raises(UserError, match="another machine: its GPUs are at 0001:18:00"):
            put_beside(with_gpus, [File("nv", file) for file in files], {}, None)


def test_gpus_that_the_study_was_not_allowed_are_left_out(with_gpus: Study) -> None:
    ours = with_gpus.observations
    machine = msgspec.structs.replace(ours.machine, gpus=ours.machine.gpus[:1])
    one = with_gpus._replace(observations=replace(ours, machine=machine))
    found = put_beside(one, [File("nv", MATRICES)], {}, None)
    paths = {each.launch.place.path for each in found.observed if each.samples is None}
    assert paths == {"host-gpu near"}
