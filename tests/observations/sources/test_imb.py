# SPDX-License-Identifier: Apache-2.0
"""Output of IMB 2021.11 with Intel MPI 2021.19, two ranks of one machine that had other work.

Of pairs.txt the folder of the program was taken away.
"""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.report.page import write_report

FILE = Path(__file__).with_name("imb") / "pairs.txt"
TITLE = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
PINGPONG = """\
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def test_what_is_measured_here_becomes_results_and_a_page(tmp_path: Path) -> None:
    results = build_results(FILE)
    figures = {(cell.case.benchmark, cell.unit, cell.case.x): cell.median for cell in results.timed}
    assert {name for name, _, _ in figures} == {"latency", "bw", "bibw", "allreduce"}
    assert figures["latency", "us", 8] == 0.15
    assert figures["latency", "us", 0] == 6.11
    assert figures["bw", "GB/s", 64] == pytest.approx(0.25105)
    assert figures["allreduce", "us", 64] == 0.40  # of the slowest rank
    assert ("allreduce", "us", 0) not in figures
    assert ("bw", "GB/s", 0) not in figures
    assert {cell.place.path for cell in results.timed} == {"imported"}
    [library] = load(FILE).libraries
    assert (library.version, library.who.library) == ("2021.11", "imb")
    assert library.scope.endswith("measures the same: Exchange, PingPing, Sendrecv.")
    assert write_report(results, tmp_path, []).is_file()


def test_tables_of_several_numbers_of_ranks_are_apart(written: Path) -> None:
    table = """\
# Benchmarking Bcast
# #processes = {}
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8          200         0.16         {}         0.17
"""
    written.write_text(TITLE + table.format(2, 0.18) + table.format(4, 0.28))
    found = {
        (cell.place.path, len(cell.place.ends)): cell.median
        for cell in build_results(written).timed
    }
    assert found == {("imported", 2): 0.18, ("imported, 4 ranks", 4): 0.28}


@pytest.mark.parametrize(
    ("words", "buffers"),
    [
        ("IMB-MPI1 PingPong", "H,H"),
        ("bin/IMB-MPI1-GPU PingPong", "D,D"),
        ("IMB-MPI1-GPU -mem_alloc_type cpu PingPong", "H,H"),
        ("IMB-MPI1_intel.exe PingPong", "H,H"),
        ("C:\\bin\\IMB-MPI1-GPU.exe PingPong", "D,D"),
        ("./IMB-MPI1-GPU_x86-64 PingPong", "D,D"),
        ("IMB-MPI1-GPU PingPong -mem_alloc_type shared", "M,M"),
    ],
)
def test_buffers_are_those_of_the_command(written: Path, words: str, buffers: str) -> None:
    written.write_text(f"{TITLE}# {words}\n{PINGPONG}            8  200  0.15  52.07\n")
    assert {observed.case.buffers for observed in load(written).observed} == {buffers}


def test_tables_that_are_not_read_are_named(written: Path) -> None:
    """Also those of too few or too many ranks, and those without sizes."""
    table = """\
# Benchmarking {}
# #processes = {}
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]  Mbytes/sec
            8          200         0.16         0.18         0.17  1.00
"""
    barrier = "# Benchmarking Barrier\n# #processes = 2\n #repetitions  t_min[usec]\n   9  1.0\n"
    named = [("Bcast", 1), ("Uniband", 4), ("Exchange", 2), ("Bcast", 2)]
    written.write_text(TITLE + barrier + "".join(table.format(*each) for each in named))
    found = load(written)
    assert {(each.case.benchmark, len(each.launch.place.ends)) for each in found.observed} == {
        ("bcast", 2)
    }
    assert found.libraries[0].scope.endswith(
        "measures the same: Barrier, Bcast of 1 rank, Exchange, Uniband of 4 ranks."
    )


def test_what_a_limit_of_imb_kept_from_being_measured_is_named(written: Path) -> None:
    more = (
        '         1024 time-out.; Time limit is over; use "-time X" to increase it.\n'
        '      2097152 out-of-mem.; needed X=   0.009 GB; use flag "-mem X"\n'
    )
    written.write_text(f"{TITLE}{PINGPONG}            8  200  0.15  52.07\n{more}")
    assert [each.case.x for each in load(written).observed] == [8]
    assert (
        load(written)
        .libraries[0]
        .scope.endswith("IMB's own limits of time or memory: PingPong of 2 ranks at 1K, 2M bytes.")
    )


def test_payloads_that_imb_found_to_be_wrong(written: Path) -> None:
    """As builds with -DCHECK tell them."""
    heading = PINGPONG.replace("Mbytes/sec\n", "Mbytes/sec      defects\n")
    rows = "  8  1000  0.60  13.33  1.00\n  16  1000  0.70  13.33  0.00\n"
    written.write_text(TITLE + heading + rows)
    found = load(written)
    assert [each.case.x for each in found.observed] == [16]
    assert [(gap.case.x, gap.status) for gap in found.gaps] == [(8, "wrong data")]


def test_versions_of_several_words(written: Path) -> None:
    title = "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n"
    written.write_text(f"{title}{PINGPONG}            8  200  0.15  52.07\n")
    assert load(written).libraries[0].version == "2019 Update 6"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"# IMB-MPI1\n{TITLE}# IMB-MPI1-GPU\n",
            "is of 2 runs, IMB-MPI1 in line 1 and IMB-MPI1 in",
        ),
        (2 * f"{PINGPONG}  8  200  0.15  5.2\n", "several tables of PingPong of 2 ranks: give one"),
        ("", "holds no figures: give the whole output"),
        (f"{PINGPONG}            8          200         0.15\n", "line 5: .* is not a whole row"),
        (f"{PINGPONG}            8          200         0.15  5.\n", "line 5: .* is not a whole"),
        (f"# IMB-MPI1-GPU -mem_alloc_type odd\n{PINGPONG}", "odd is no memory that is known"),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(TITLE + text)
    with pytest.raises(UserError, match=message):
        load(written)


def test_what_is_known_of_axes_stands_with_the_figures() -> None:
    """The type of reductions is in the heading; a ping-pong has one buffer on each side."""
    axes = {each.case.benchmark: each.case.axes for each in load(FILE).observed}
    assert axes == {
        "latency": {"reuse": "fixed"},
        "bw": {},
        "bibw": {},
        "allreduce": {"type": "float"},
    }


@pytest.mark.parametrize(
    ("title", "version"),
    [
        ("#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part", "V2.2"),
        ("#    Intel (R) MPI Benchmark Suite V3.2.2, MPI-1 part", "V3.2.2"),
        ("#    Intel (R) MPI Benchmarks 4.1 Update 1, MPI-1 part", "4.1 Update 1"),
        ("#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part", "2021.3"),
    ],
)
def test_versions_of_any_age_are_known(written: Path, title: str, version: str) -> None:
    written.write_text(f"{title}\n{PINGPONG}            8  200  0.15  52.07\n")
    found = load(written)
    assert (found.libraries[0].version, found.observed[0].summary.median) == (version, 0.15)


@pytest.mark.parametrize(
    ("name", "columns", "row", "figure"),
    [
        ("PingPong", "t[usec] Mbytes/sec", "0.15 52.07", 0.15),
        ("PingPong", "Mbytes/sec t[usec]", "52.07 0.15", 0.15),
        ("PingPong", "t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec", "0.1 0.3 0.2 9.0", 0.3),
        ("Uniband", "Mbytes/sec Msg/sec", "52.0 1000", 0.052),
        ("Biband", "Msg/sec Mbytes/sec defects", "1000 52.0 0.00", 0.052),
        ("Allreduce", "t_min[usec] t_max[usec] t_avg[usec] defects", "0.1 0.3 0.2 0.00", 0.3),
    ],
)
def test_columns_are_found_by_their_heading(
    written: Path, name: str, columns: str, row: str, figure: float
) -> None:
    head = f"# Benchmarking {name}\n# #processes = 2\n  #bytes #repetitions {columns}\n"
    written.write_text(f"{TITLE}{head}  8  200  {row}\n")
    [observed] = load(written).observed
    assert observed.summary.median == pytest.approx(figure)


ONE_TABLE = "# Benchmarking {}\n{}\n  #bytes #repetitions {}\n  8  200  1.0\n"


@pytest.mark.parametrize(
    ("name", "ranks", "column", "reason"),
    [
        ("Biband", "# #processes = 4", "Mbytes/sec", "Biband of 4 ranks: a pair of ranks is read"),
        ("Bcast", "# #processes = 1", "t_max[usec]", "Bcast of 1 rank: one rank sends no messages"),
        ("Exchange", "# #processes = 2", "t_max[usec]", "Exchange: nothing here measures the same"),
        ("Reduce", "# #processes = 2", "t_avg[usec]", "Reduce of 2 ranks: it has no column t_max"),
        (
            "PingPong",
            "# ( 2 groups of 2 processes each running simultaneous )",
            "t[usec]",
            "PingPong of 2 ranks: 2 groups of ranks ran at once",
        ),
    ],
)
def test_a_refusal_says_why_each_table_is_not_read(
    written: Path, name: str, ranks: str, column: str, reason: str
) -> None:
    written.write_text(TITLE + ONE_TABLE.format(name, ranks, column))
    with pytest.raises(UserError, match="holds no table that is read here: ") as raised:
        load(written)
    assert reason in str(raised.value)


TABLE = f"{PINGPONG}            8  200  0.15  52.07\n"


@pytest.mark.parametrize(
    ("command", "buffers"),
    [
        ("$ mpirun -n 2 IMB-MPI1 PingPong", "H,H"),
        ("# /opt/imb/IMB-MPI1 -msglog 3:3 pingpong", "H,H"),
        ("+ srun ./IMB-MPI1-GPU PingPong\n# ./IMB-MPI1-GPU PingPong", "D,D"),
        ("mpirun PMB-MPI1", "H,H"),
    ],
)
def test_tables_without_a_title_are_of_the_program_that_is_named(
    written: Path, command: str, buffers: str
) -> None:
    written.write_text(f"{command}\n{TABLE}")
    assert {observed.case.buffers for observed in load(written).observed} == {buffers}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("# bin/IMB-RMA One_put_all", "is of IMB-RMA, which is not read here; read are IMB-MPI1"),
        ("$ mpirun -n 2 IMB-P2P PingPong", "is of IMB-P2P, which is not read here"),
        ("$ IMB-MPI1\n$ IMB-P2P", "and the title of the program is missing: add a line like"),
        ("IMB-tests", "and the title of the program is missing: add a line like"),
    ],
)
def test_other_programs_are_not_taken_for_one_that_is_read(
    written: Path, command: str, message: str
) -> None:
    """Some of their tables have the same names."""
    written.write_text(f"{command}\n{TABLE}")
    with pytest.raises(UserError, match=message):
        load(written)


@pytest.mark.parametrize("ranks", ["#processes = 2", "( #processes = 2 )"])
def test_ranks_stand_in_brackets_in_old_ones(written: Path, ranks: str) -> None:
    title = "#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part\n"
    written.write_text(title + TABLE.replace("#processes = 2", ranks))
    assert [each.summary.median for each in load(written).observed] == [0.15]
