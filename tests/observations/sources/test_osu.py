# SPDX-License-Identifier: Apache-2.0
"""Output of OMB 7.4 with MPICH 5.0.2, two ranks of one machine that had other work.

wrong.txt is of mpiexec -l, osu_latency -c -z, and a library that changed a byte of what it got.
cuda_wrong.txt and full.txt are written by hand, as OMB's source prints.
"""

import re
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.observations.printed import read
from nearpeak.observations.sources.osu import TOOL
from nearpeak.report.page import write_report
from nearpeak.report.terminal import print_details
from nearpeak.results.faults import faults
from nearpeak.results.results import Cell, Results

FILES = Path(__file__).with_name("osu")
HEAD = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"
RATES = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def cells(file: Path) -> dict[int, Cell]:
    return {cell.case.x: cell for cell in build_results(file).cells}


def scope(file: Path) -> str:
    [library] = load(file).libraries
    return library.scope


def page(results: Results, folder: Path) -> str:
    """The words of the page."""
    text = write_report(results, folder, []).read_text()
    body = re.sub(r"<(script|style).*?</\1>", "", text[text.index("<body") :], flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_what_is_printed_becomes_results_and_a_page(tmp_path: Path) -> None:
    results = build_results(FILES / "latency.txt")
    figures = {cell.case.x: cell.median for cell in results.timed}
    assert list(figures) == [1 << power for power in range(21)]
    assert (figures[1], figures[8]) == (17.66, 147.65)
    assert {cell.unit for cell in results.timed} == {"us"}
    assert [library.version for library in results.libraries] == ["7.4"]
    assert not faults(results)
    assert write_report(results, tmp_path, []).is_file()


def test_rates_are_in_our_unit() -> None:
    found = load(FILES / "bw.txt")
    assert {observation.unit for observation in found.observed} == {"GB/s"}
    assert found.observed[0].summary.median == pytest.approx(0.31 * 1e-3)


def test_a_payload_that_failed_the_validation_has_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = build_results(FILES / "cuda_wrong.txt")
    found = {cell.case.x: (cell.status, cell.median) for cell in results.cells}
    assert found == {1: ("no ceiling", 17.66), 2: ("no ceiling", 6.4), 4: ("wrong data", None)}
    assert faults(results) == ["osu received wrong data in 1 launch"]
    print_details(results)
    said = "latency 4 bytes: OMB's validation failed"
    assert said in " ".join(capsys.readouterr().out.split())
    assert "wrong data" in page(results, tmp_path)


def test_tags_within_rows_are_passed_over() -> None:
    found = cells(FILES / "wrong.txt")
    assert list(found) == [1 << power for power in range(7)]
    assert [x for x, cell in found.items() if cell.status == "wrong data"] == [64]
    assert all(cell.median for x, cell in found.items() if x != 64)


def test_an_error_of_the_validation_is_believed_without_its_column(written: Path) -> None:
    end = "DATA VALIDATION ERROR: osu_latency exited with status 1 on message size 2.\n"
    for row in ("2   1.10\n", ""):
        written.write_text(f"{HEAD}1   1.00\n{row}{end}")
        assert {x: cell.median for x, cell in cells(written).items()} == {1: 1.0, 2: None}
        assert cells(written)[2].status == "wrong data"


def test_nothing_is_left_where_every_payload_was_wrong(written: Path) -> None:
    written.write_text(f"{HEAD[:-1]}  Validation\n8   1.00  Fail\n")
    assert faults(build_results(written)) == [
        "osu received wrong data in 1 launch, and nothing was measured"
    ]


@pytest.mark.parametrize(
    ("said", "buffers"),
    [
        ("DEVICE (D) and Receive Buffer on DEVICE (D)", "D,D"),
        ("HOST (H) and Receive Buffer on DEVICE (D)", "H,D"),
        ("MANAGED (M) and Receive Buffer on HOST (H)", "M,H"),  # OMB 5
        ("MANAGED (MD) and Receive Buffer on MANAGED (MH)", "M,M"),  # OMB 6 and 7
    ],
)
def test_buffers_are_those_of_the_heading(written: Path, said: str, buffers: str) -> None:
    written.write_text(
        "# OSU MPI-CUDA Bandwidth Test v5.9\n"
        f"# Send Buffer on {said}\n# Size      Bandwidth (MB/s)\n8     12.50\n"
    )
    found = load(written)
    assert [observation.case.buffers for observation in found.observed] == [buffers]
    assert found.paths[0].ends[0].memory == ("host" if buffers.startswith("H") else "gpu")
    assert f"Buffers are {buffers}, as it says" in scope(written)


def test_buffers_that_are_not_named_are_said_to_be_taken_as_host() -> None:
    assert {observation.case.buffers for observation in load(FILES / "bw.txt").observed} == {"H,H"}
    assert "names no buffers: they are taken as in host memory" in scope(FILES / "bw.txt")


ON_GPUS = HEAD.replace("MPI", "MPI-CUDA")


@pytest.mark.parametrize(
    ("command", "buffers"),
    [
        ("$ srun -n 2 osu_latency -m 1:8 -d cuda D D", "D,D"),
        ("mpirun -n 2 ./pt2pt/osu_latency H D | tee out.txt", "H,D"),
        ("+ mpiexec -n 2 /opt/omb/osu_latency D H -i 10 > out.txt 2>&1", "D,H"),
        ("""bash -c 'osu_latency MD MH'""", "M,M"),
        ("osu_latency D D\nosu_latency D D; osu_bw H H", "D,D"),
    ],
)
def test_buffers_are_those_of_the_command(written: Path, command: str, buffers: str) -> None:
    """OMB 7.4 and later do not tell them."""
    written.write_text(f"{command}\n{ON_GPUS}1  1.00\n")
    assert {each.case.buffers for each in load(written).observed} == {buffers}


@pytest.mark.parametrize(
    ("accelerator", "buffers"),
    [("CUDA", "D,D"), ("ROCM", "D,D"), ("OPENACC", "D,D"), ("CUDA MANAGED", "M,M")],
)
def test_collective_operations_have_the_memory_of_their_title(
    written: Path, accelerator: str, buffers: str
) -> None:
    written.write_text(
        f"# OSU MPI-{accelerator} Allreduce Latency Test v7.5\n"
        "# Size       Avg Latency(us)\n8     1.20\n"
    )
    assert {each.case.buffers for each in load(written).observed} == {buffers}


@pytest.mark.parametrize(
    "more",
    [
        "",
        "# Send Buffer on SOMETHING (S)\n",
        "$ osu_latency -d cuda\n",  # or the rest of the command is in another line
        "$ osu_bw D D\n",
        "$ osu_latency D D\n$ osu_latency H D\n",
    ],
)
def test_of_an_accelerator_the_buffers_must_be_named(written: Path, more: str) -> None:
    written.write_text(
        HEAD.replace("MPI", "MPI-CUDA").replace("# Size", f"{more}# Size") + "1  1.00"
    )
    with pytest.raises(UserError, match="does not say in which memory its buffers were: add"):
        load(written)


def test_where_the_ranks_were_is_told_as_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = build_results(FILES / "bw.txt")
    [path] = results.paths
    assert (path.transport, path.place.hosts) == ("unknown", 0)
    assert [end.numa_node for end in path.ends] == [None, None]
    print_details(results)
    text = capsys.readouterr().out
    assert "node" not in text
    assert "nor where the ranks were" in " ".join(text.split())
    words = page(results, tmp_path)
    assert "host, where is not known; host, where is not known" in words
    assert "Hardware not known" in words
    assert "0 cores" not in words
    assert '<figure class="machine">' not in (tmp_path / "report.html").read_text()


def test_how_many_messages_were_in_flight_is_known_where_it_is_said(written: Path) -> None:
    assert {cell.window for cell in cells(FILES / "latency.txt").values()} == {1}
    assert {cell.window for cell in cells(FILES / "bw.txt").values()} == {None}
    assert "in flight is not known (64 unless -W was given)" in scope(FILES / "bw.txt")
    written.write_text(RATES.replace("# Size", "# Window Size: 16\n# Size") + "8   12.50\n")
    assert cells(written)[8].window == 16
    assert "in flight" not in scope(written)


def test_a_minimum_is_known_where_it_is_printed() -> None:
    found = {
        observation.case.x: observation.summary for observation in load(FILES / "full.txt").observed
    }
    assert (found[1].median, found[1].minimum, found[1].count) == (17.66, 6.25, 10000)
    assert cells(FILES / "full.txt")[2].minimum == 6.02
    results = build_results(FILES / "latency.txt")
    cell = next(cell for cell in results.cells if cell.case.x == 8)
    assert (cell.minimum, cell.outlier_share, cell.p05) == (None, None, None)
    unmet = {rule.number for rule in results.checklist if rule.state == "not met"}
    assert {3, 8} <= unmet  # means, and neither percentiles nor a minimum


def test_payloads_that_nobody_checked_are_told() -> None:
    assert "Payloads were not validated" in scope(FILES / "bw.txt")
    assert "validated" not in scope(FILES / "cuda_wrong.txt")


@pytest.mark.parametrize("tag", ["0: ", "[0] ", "[1,0]<stdout>:"])
def test_tags_of_launchers_and_line_ends_of_windows_are_passed_over(
    written: Path, tag: str
) -> None:
    text = "".join(f"{tag}{line}\r\n" for line in f"{HEAD}1    1.00\n4K   2.50".splitlines())
    written.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert TOOL.titles(read(written))
    assert {x: cell.median for x, cell in cells(written).items()} == {1: 1.0, 4096: 2.5}


@pytest.mark.parametrize(
    "row", ["2", "2     3", "2     3.", "2     3.1", "2   nan", "2   3.10   4.00", "2 3.10[warn]"]
)
def test_a_row_that_is_not_whole_is_named(written: Path, row: str) -> None:
    written.write_text(f"{HEAD}1   1.00\n{row}")
    with pytest.raises(UserError, match=r"line 4: .* is not a whole row of the table, whose"):
        load(written)


@pytest.mark.parametrize("number", ["0", "4", "8"])
def test_a_number_behind_the_table_is_no_row(written: Path, number: str) -> None:
    """As a status that a script prints; at the very end it may be of a row that was cut off."""
    written.write_text(f"{HEAD}4   1.00\n8   1.10\n{number}\n")
    assert [each.case.x for each in load(written).observed] == [4, 8]
    written.write_text(f"{HEAD}4   1.00\n8   1.10\n{number}")
    with pytest.raises(UserError, match="is not a whole row"):
        load(written)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            HEAD + "1   1.00\n" + RATES + "1   1.00\n",
            "is of 2 runs, osu_latency in line 1 and osu_bw in",
        ),
        (
            HEAD + "1   1.00\n# Datatype: MPI_INT.\n1   1.10\n",
            "has 2 rows of 1 bytes below one title",
        ),
        (HEAD[:-1] + "  Transmit Size\n1  1.00  1\n", "'Transmit Size' is no column that is read"),
        (HEAD.replace("Avg Latency(us)", "Bandwidth (MB/s)"), "is no column that is read here"),
        (HEAD, "holds no figures: give the whole output"),
        ("# OSU MPI Latency Test v7.4\n", "holds no figures"),
        ("# OSU MPI Latency Test v7.4\n1   1.00\n", "holds no figures"),
    ],
)
def test_what_cannot_be_read_as_one_table_is_refused(written: Path, text: str, match: str) -> None:
    written.write_text(text)
    with pytest.raises(UserError, match=match):
        load(written)


ALLREDUCE = "\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n"


def test_of_a_collective_operation_the_slowest_rank_counts(written: Path) -> None:
    """Which is what figures of ours are of; without its column OMB tells the mean of all."""
    written.write_text(
        ALLREDUCE + "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
        "4        1.20        1.00        1.40        1000\n"
    )
    cell = cells(written)[4]
    assert (cell.median, cell.minimum, cell.place.path) == (1.4, None, "imported, some ranks")
    assert "Figures are those of the slowest rank" in scope(written)
    written.write_text(ALLREDUCE + "# Size       Avg Latency(us)\n4     1.20\n8     1.30\n")
    assert {x: cell.median for x, cell in cells(written).items()} == {4: 1.2, 8: 1.3}
    assert "Figures are means of the ranks' times" in scope(written)
    assert "does not say how many ranks" in scope(written)
    assert "messages were in flight" not in scope(written)


@pytest.mark.parametrize(
    "title",
    [
        "MPI Multi-threaded Latency Test",
        "MPI_Accumulate latency Test",
        "MPI_Get Multi Latency Test",
    ],
)
def test_a_program_that_is_not_known_is_named(written: Path, title: str) -> None:
    """Nor are windows taken for messages, whatever their buffers."""
    written.write_text(
        f"# OSU {title} v7.4\n# Window creation: MPI_Win_allocate\n"
        "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n"
        "# Size          Latency (us)\n4     1.00\n"
    )
    assert TOOL.titles(read(written))
    with pytest.raises(
        UserError, match=f"is of 'OSU {title}', which is not read here; read are osu_"
    ):
        load(written)


def test_another_file_holds_no_observations(written: Path) -> None:
    written.write_bytes(b"\xff\x00")
    with pytest.raises(UserError, match="holds no observations: give a folder of "):
        load(written)


def test_an_empty_file_is_called_so(written: Path) -> None:
    written.write_text("\n")
    with pytest.raises(UserError, match="is empty: run the program again"):
        load(written)


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        (HEAD + "1   1.00", {"reuse": "fixed"}),
        (RATES + "1   1.00", {"reuse": "single"}),
        (ALLREDUCE + "# Size       Avg Latency(us)\n4     1.20\n", {"type": "float"}),
        (ALLREDUCE.replace("Allreduce", "Allgather") + "# Size  Avg Latency(us)\n4  1.20\n", {}),
        (ALLREDUCE.replace("Allreduce", "Broadcast") + "# Size  Avg Latency(us)\n4  1.20\n", {}),
        (
            ALLREDUCE.replace("# Datatype: MPI_FLOAT.\n", "")
            + "# Size  Avg Latency(us)\n4  1.20\n",
            {"type": "float"},  # as of older ones, which do not say it
        ),
    ],
)
def test_what_is_known_of_axes_stands_with_the_figures(
    written: Path, text: str, axes: dict[str, str]
) -> None:
    written.write_text(text)
    assert [each.case.axes for each in load(written).observed] == [axes]
    assert ("All messages of a window have one buffer" in scope(written)) == (
        text.startswith(RATES)
    )


@pytest.mark.parametrize(
    ("title", "version"),
    [
        ("# OSU MPI Latency Test v3.1.1", "3.1.1"),
        ("# OSU MPI Latency Test (Version 3.0)", "3.0"),
        ("# OSU MPI Latency Test", ""),
    ],
)
def test_titles_of_any_age_are_known(written: Path, title: str, version: str) -> None:
    written.write_text(f"{title}\n# Size\t\tLatency (us)\n8\t\t1.10\n")
    found = load(written)
    assert (found.libraries[0].version, found.observed[0].summary.median) == (version, 1.1)


OMB_2 = "# OSU MPI {} Test (Version 2.1)\n# Size\t\t{} (MB/s)\n1\t\t0.425076\n8\t\t3.391638\n"


@pytest.mark.parametrize(
    ("title", "heading"),
    [("Bandwidth", "Bandwidth"), ("Bidirectional Bandwidth", "Bi-Bandwidth")],
)
def test_rates_of_old_ones_have_six_decimals(written: Path, title: str, heading: str) -> None:
    text = OMB_2.format(title, heading)
    written.write_text(text)
    assert [each.summary.median for each in load(written).observed] == [
        pytest.approx(0.425076e-3),
        pytest.approx(3.391638e-3),
    ]
    for cut in (text[:-2], text[:-5]):
        written.write_text(cut)
        with pytest.raises(UserError, match="not a whole row of the table, whose figures have six"):
            load(written)


def test_several_types_of_numbers_are_named(written: Path) -> None:
    one = "# Datatype: MPI_{}.\n# Size       Avg Latency(us)\n4     1.20\n"
    written.write_text(
        "# OSU MPI Reduce Latency Test v7.4\n" + one.format("INT") + one.format("FLOAT")
    )
    with pytest.raises(UserError, match="holds several tables, of int, float: give a file with"):
        load(written)


PUT = "# OSU MPI_{} Test v7.4\n# Window creation: MPI_Win_{}\n# Synchronization: MPI_Win_{}\n"
SIZES = "# Size          {}\n8     2.00\n"


@pytest.mark.parametrize(
    ("title", "ways", "name", "value", "axes"),
    [
        ("Put Latency", ("allocate", "flush"), "put_latency", 2.0, ("allocated", "flush")),
        ("Get latency", ("create", "lock/unlock"), "get_latency", 2.0, ("created", "lock")),
        ("Put Bandwidth", ("create_dynamic", "fence"), "put_bw", 0.002, ("dynamic", "fence")),
        (
            "Put Bi-directional Bandwidth",
            ("allocate", "post/start/complete/wait"),
            "put_bibw",
            0.002,
            ("allocated", "pscw"),
        ),
        (
            "Get Bandwidth",
            ("allocate", "flush_local"),
            "get_bw",
            0.002,
            ("allocated", "flush_local"),
        ),
    ],
)
def test_one_sided_programs_say_how_their_window_was_made_and_synchronised(
    written: Path, title: str, ways: tuple[str, str], name: str, value: float, axes: tuple[str, str]
) -> None:
    heading = "Latency (us)" if "atency" in title else "Bandwidth (MB/s)"
    written.write_text(PUT.format(title, *ways) + SIZES.format(heading))
    [each] = load(written).observed
    assert each.case.benchmark == name
    assert each.summary.median == pytest.approx(value)
    assert each.case.axes == {"reuse": "fixed", "win": axes[0], "sync": axes[1]}
    assert each.launch.place.path == "imported"
    assert "one buffer" not in scope(written)


@pytest.mark.parametrize(
    ("text", "buffers"),
    [
        ("# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)\n", "D,H"),
        ("$ osu_put_latency -d cuda D D\n", "D,D"),
        ("# Rank 0 Memory on MANAGED (M) and Rank 1 Memory on MANAGED (M)\n", "M,M"),
    ],
)
def test_memory_of_windows_is_told_in_other_words(written: Path, text: str, buffers: str) -> None:
    title = PUT.format("Put-CUDA Latency", "create", "flush")
    written.write_text(title + text + SIZES.format("Latency (us)"))
    assert {each.case.buffers for each in load(written).observed} == {buffers}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            PUT.format("Put Latency", "allocate", "fence"),
            "with which both ranks call in turn: give",
        ),
        (
            PUT.format("Get Latency", "create", "post/start/complete/wait"),
            "both ranks call in turn",
        ),
        (PUT.format("Put Latency", "shared", "flush"), "does not say how its window was made and"),
        ("# OSU MPI_Put Latency Test v7.4\n", "does not say how its window was made and synchron"),
    ],
)
def test_windows_that_are_of_another_benchmark_are_refused(
    written: Path, text: str, match: str
) -> None:
    written.write_text(text + SIZES.format("Latency (us)"))
    with pytest.raises(UserError, match=match):
        load(written)


@pytest.mark.parametrize(
    ("title", "table", "found"),
    [
        (
            "Multiple Bandwidth / Message Rate",
            "# [ pairs: 3 ] [ window size: 32 ]\n# Size  MB/s  Messages/s\n8  16.00  2000000.00\n",
            ("mbw_mr", 0.016, 32, "imported, 6 ranks"),
        ),
        (
            "Multiple Bandwidth / Message Rate",
            "# [ pairs: 1 ] [ window size: 64 ]\n# Size    MB/s\n8     16.00\n",
            ("mbw_mr", 0.016, 64, "imported"),
        ),
        (
            "Multiple Bandwidth / Message Rate",
            "# Size  Latency (us)\n# [ pairs: 2 ] [ window size: 64 ]\n# Size  MB/s\n8   16.00\n",
            ("mbw_mr", 0.016, 64, "imported, 4 ranks"),
        ),
        ("Multi Latency", "# Size   Latency (us)\n8   1.60\n", ("multi_lat", 1.6, 1, "some")),
        (
            "Multi Latency",
            "# [ pairs: 2 ]\n# Size   Avg Latency(us)\n8   1.60\n",
            ("multi_lat", 1.6, 1, "imported, 4 ranks"),
        ),
    ],
)
def test_several_pairs_are_as_many_as_the_file_says(
    written: Path, title: str, table: str, found: tuple[str, float, int, str]
) -> None:
    written.write_text(f"# OSU MPI {title} Test v7.4\n{table}")
    [each] = load(written).observed
    name, value, window, path = found
    assert (each.case.benchmark, each.window) == (name, window)
    assert each.summary.median == pytest.approx(value)
    told = each.launch.place.path
    assert told == path if path != "some" else told == "imported, some ranks"
    assert ("does not say how many ranks" in scope(written)) == (path == "some")
