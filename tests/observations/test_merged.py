# SPDX-License-Identifier: Apache-2.0
"""Several files become one set of results."""

from pathlib import Path

from nearpeak.findings.build import results_of
from nearpeak.observations.merged import File, merge
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
