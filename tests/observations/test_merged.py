# SPDX-License-Identifier: Apache-2.0
"""Several files become one set of results."""

from pathlib import Path

from nearpeak.findings.build import results_of
from nearpeak.observations.merged import File, merge, parts
from nearpeak.report import sessions

FILES = Path(__file__).parent / "sources"
HEAD = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"


def test_files_of_one_name_are_launches_of_one_library(tmp_path: Path) -> None:
    files = []
    for number in range(7):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"{HEAD}8     1.{number}0\n")
        files.append(File("mine" if number < 6 else "theirs", path))
    results = results_of(merge(files))
    found = {cell.who.library: cell for cell in results.timed}
    assert found["mine"].launch_medians == [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert found["mine"].ci95 is not None
    assert (found["theirs"].median, found["theirs"].ci95) == (1.6, None)
    assert [info.name for info in results.libraries] == ["mine", "theirs"]
    assert len(results.sessions) == 7
    assert sessions.sentence(results).startswith("Taken from 7 files: whether all are of one mach")


def test_what_is_wrong_in_one_file_is_of_that_one() -> None:
    files = [File("a", FILES / "osu" / "wrong.txt"), File("b", FILES / "imb" / "pairs.txt")]
    results = results_of(merge(files))
    wrong = {
        (cell.who.library, cell.case.x) for cell in results.cells if cell.status == "wrong data"
    }
    assert wrong == {("a", 64)}
    assert {cell.case.benchmark for cell in results.timed} == {"latency", "bw", "bibw", "allreduce"}


def copies(version: str, *rows: str) -> str:
    """A testcase of nvbandwidth, of one GPU for each figure."""
    numbers = "  ".join(str(number) for number in range(len(rows)))
    return (
        f"nvbandwidth Version: {version}\nRunning host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
        f"           {numbers}\n 0  {'  '.join(rows)}\n\nSUM host_to_device_memcpy_ce 1.00\n"
    )


def test_machines_of_one_gpu_and_of_several_stand_beside_each_other(tmp_path: Path) -> None:
    """In any order. The paths of both are called alike, and only one is a pair of several."""
    texts = {"one": copies("v0.8", "9.10"), "two": copies("v0.8", "8.10", "7.10")}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    for names in (["one", "two"], ["two", "one"]):
        for part in parts([File(name, tmp_path / f"{name}.txt") for name in names]):
            assert {launch.place for launch in part.launches} == {each.place for each in part.paths}
        results = results_of(merge([File(name, tmp_path / f"{name}.txt") for name in names]))
        found = {(cell.who.library, cell.place.path): cell.median for cell in results.timed}
        assert found == {
            ("one", "host-gpu pair host-gpu0"): 9.1,
            ("two", "host-gpu pair host-gpu0"): 8.1,
            ("two", "host-gpu pair host-gpu1"): 7.1,
        }


def test_files_of_other_memories_stand_beside_each_other(tmp_path: Path) -> None:
    """Their paths are called alike, too."""
    said = "# Send Buffer on {} and Receive Buffer on {}\n"
    texts = [HEAD, *(HEAD.replace("# Size", said.format(each, each) + "# Size")
                     for each in ("DEVICE (D)", "MANAGED (M)"))]  # fmt: skip
    files = []
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(f"{text}8     1.{number}0\n")
        files.append(File(f"lib{number}", tmp_path / f"{number}.txt"))
    found = {cell.who.library: cell for cell in results_of(merge(files)).timed}
    assert [cell.median for cell in found.values()] == [1.0, 1.1, 1.2]
    assert [cell.place.ends[0] for cell in found.values()] == ["host", "gpu", "gpu"]
