# SPDX-License-Identifier: Apache-2.0
"""Files as the source of nccl-tests has them; written by hand, no figure was measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.observations.printed import read
from nearpeak.observations.sources.nccl_tests import TOOL
from nearpeak.results.faults import faults

FILE = Path(__file__).with_name("nccl_tests") / "all_gather.txt"
JSON = FILE.with_name("all_reduce.json")
CONFIG = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
STARTING = "# Collective test starting: {}_perf\n"
DEVICES = "#  Rank  0 Group  0 Pid 1 on a device 0 [00:00:00] A\n#  Rank  1 Group  0 Pid 1 on a\n"
HEADING = (
    "#  size  count  type  redop  root  {0}  algbw  busbw  #wrong  {0}  algbw  busbw  #wrong\n"
)
TIMES = HEADING.format("time")
END = "# Out of bounds values : 0 OK\n"
ROW = "    1024    256  float  sum  -1  {}  0.01  0.01  {}  9.0  0.01  0.01  0\n"
MOVED = ROW.replace("sum", "none")  # of operations that only move bytes


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_sizes_are_of_one_block_as_ours() -> None:
    results = build_results(FILE)
    found = {cell.case.x: (cell.median, cell.status) for cell in results.cells}
    assert found == {
        16: (10.5, "ok"),
        32: (11.5, "ok"),
        64: (None, "wrong data"),
    }
    [cell] = [cell for cell in results.cells if cell.case.x == 16]
    assert (cell.case.benchmark, cell.unit, cell.case.buffers) == ("allgather", "us", "D,D")
    assert (cell.place.path, cell.place.ends) == ("imported, 4 ranks", ("gpu",) * 4)
    assert faults(results) == ["nccl-tests received wrong data in 1 launch"]
    [library] = load(FILE).libraries
    assert library.version_text == "NCCL 2.28.3 by nccl-tests 2.18.0"


@pytest.mark.parametrize(
    ("program", "benchmark", "x"),
    [
        ("all_reduce", "allreduce", 1024),
        ("reduce_scatter", "reduce_scatter_block", 512),
        ("alltoall", "alltoall", 512),
        ("broadcast", "bcast", 1024),
    ],
)
def test_operations_have_our_names(written: Path, program: str, benchmark: str, x: int) -> None:
    row = ROW if "reduce" in program else MOVED
    rows = row.format("1.2e+06", "N/A")
    written.write_text(CONFIG + STARTING.format(program) + DEVICES + TIMES + rows)
    [observed] = load(written).observed
    assert (observed.case.benchmark, observed.case.x) == (benchmark, x)
    assert observed.summary.median == 1.2e6
    assert load(written).libraries[0].scope.endswith("Payloads were not validated (-c 0).")


def test_cycles_and_roots_are_no_launches(written: Path) -> None:
    """A size that stands there again (-N, -r all) was not measured by another launch."""
    head = CONFIG + STARTING.format("broadcast") + DEVICES + TIMES
    row = MOVED.format(1.0, 0)
    for other, message in (
        (row, "has 1024 bytes 2 times, of several cycles: give a run of one cycle"),
        (row.replace(" -1 ", " 1 "), "times, of several roots -1, 1: give a run of one root"),
    ):
        written.write_text(head + row + other + END)
        with pytest.raises(UserError, match=message):
            load(written)


def run(**more: Any) -> dict[str, Any]:
    """The JSON of four ranks, of four processes with one device each."""
    written: dict[str, Any] = json.loads(JSON.read_text())
    return {**written, **more}


def test_json_has_the_same() -> None:
    assert TOOL.titles(read(JSON))
    first, second = load(JSON).observed
    assert (first.case.benchmark, first.case.x, first.case.axes) == (
        "allreduce",
        1024,
        {"type": "float"},
    )
    assert (first.summary.median, len(first.launch.place.ends)) == (20.5, 4)
    assert second.summary.median == 21.5
    assert load(JSON).libraries[0].version_text == "NCCL 2.28.3 by nccl-tests"


def test_json_names_one_device_of_each_process(written: Path) -> None:
    """Of a process with several it has the first one alone."""
    config = run()["config"]
    whole = run(config={**config, "nthreads": 2, "ngpus": 4, "devices": config["devices"][:1]})
    written.write_text(json.dumps(whole))
    assert len(load(written).observed[0].launch.place.ends) == 8


def test_ranks_are_those_of_one_group(written: Path) -> None:
    """NCCL_TESTS_SPLIT parts the ranks: each group has its own operation."""
    groups = DEVICES + DEVICES.replace("Group  0", "Group  1")
    written.write_text(
        CONFIG + STARTING.format("all_gather") + groups + TIMES + MOVED.format(1.0, 0)
    )
    [observed] = load(written).observed
    assert (observed.case.x, len(observed.launch.place.ends)) == (512, 2)
    config = run()["config"]
    devices = [{**device, "group": rank % 2} for rank, device in enumerate(config["devices"])]
    written.write_text(json.dumps(run(config={**config, "devices": devices})))
    assert len(load(written).observed[0].launch.place.ends) == 2


def cpu_time() -> dict[str, Any]:
    """As with `-C 1`."""
    [first, *_] = run()["results"]
    figures = dict(first["out_of_place"])
    figures["cpu_time"] = figures.pop("time")
    return run(results=[{**first, "out_of_place": figures, "in_place": figures}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            CONFIG + DEVICES + TIMES + ROW.format(1.0, 0),
            "does not say of which operation .* add the line",
        ),
        (CONFIG + STARTING.format("sendrecv") + DEVICES, "is of sendrecv_perf, which is not read"),
        (CONFIG + STARTING.format("reduce") + DEVICES, "holds no figures"),
        (CONFIG + STARTING.format("reduce") + TIMES + ROW.format(1.0, 0), "no line '#  Rank  0"),
        (CONFIG + 2 * STARTING.format("reduce"), "is of 2 runs, reduce_perf in line 1 and reduce"),
        (
            CONFIG + STARTING.format("reduce") + TIMES + "    1024    256  float  sum  -1  1.0\n",
            "line 4: .* is not a whole row",
        ),
        (
            CONFIG + STARTING.format("reduce") + TIMES + ROW.format(1.0, "N/"),
            "line 4: .* is not a whole row",
        ),
        (CONFIG + STARTING.format("reduce") + ROW.format(1.0, 0), "line 3: no heading above"),
        (json.dumps(run())[:-20], "is not the whole JSON of nccl-tests"),
        (json.dumps(run(results=[{"experiment_name": "x"}])), "not the whole JSON"),
        (json.dumps(cpu_time()), "has the CPU's time of calls .* run it without -C"),
        (
            CONFIG
            + STARTING.format("all_reduce")
            + DEVICES
            + HEADING.format("cputime")
            + ROW.format(4.21, 0),
            "has the CPU's time of calls .* run it without -C",
        ),
        (
            CONFIG
            + STARTING.format("all_reduce")
            + DEVICES
            + TIMES
            + ROW.format(1.0, 0).replace("sum", "max"),
            "has max, where ours add numbers up: give -o sum",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert TOOL.titles(read(written))
    with pytest.raises(UserError, match=message):
        load(written)


@pytest.mark.parametrize("kinds", [["int32"], ["float", "half"]])
def test_figures_stand_beside_those_of_the_same_type(written: Path, kinds: list[str]) -> None:
    types = {("int" if kind == "int32" else kind) for kind in kinds}
    rows = "".join(ROW.format(1.0, 0).replace("float", kind) for kind in kinds)
    written.write_text(CONFIG + STARTING.format("all_reduce") + DEVICES + TIMES + rows)
    assert {each.case.axes["type"] for each in load(written).observed} == types
    [first, *_] = run()["results"]
    written.write_text(json.dumps(run(results=[{**first, "type": kind} for kind in kinds])))
    assert {each.case.axes["type"] for each in load(written).observed} == types


# Of versions that had no column of roots, and of operations that add nothing up. Rows have time
# twice; what is in place comes second.
OLD = {
    "all_reduce": (
        "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n",
        "  1024  256  float  sum  {}  0.01  0.01  {}  9.0  0.01  0.01  0e+00\n",
    ),
    "all_gather": (
        "#  size  count  type  time  algbw  busbw  error  time  algbw  busbw  error\n",
        "  1024  256  float  {}  0.01  0.01  {}  9.0  0.01  0.01  0e+00\n",
    ),
    "broadcast": (
        "#  size  count  type  root  time  algbw  busbw  error  time  algbw  busbw  error\n",
        "  1024  256  float  0  {}  0.01  0.01  {}  9.0  0.01  0.01  0e+00\n",
    ),
    "reduce": (
        "#  size  count  type  redop  root  time  algbw  busbw  #wrong  i_min  time  algbw  busbw"
        "  #wrong  i_min  timestamp\n",
        "  1024  256  float  sum  0  {}  0.01  0.01  0  {}  9.0  0.01  0.01  0  0  3-07 09:05\n",
    ),
}


@pytest.mark.parametrize("program", OLD)
@pytest.mark.parametrize(("error", "checked"), [("1e-07", True), ("N/A", False)])
def test_columns_are_found_by_their_heading(
    written: Path, program: str, error: str, checked: bool
) -> None:
    """Whatever an error is called, it is no number of wrong elements."""
    heading, row = OLD[program]
    rows = heading + row.format(158.3, error)
    written.write_text(CONFIG + STARTING.format(program) + DEVICES + rows + END)
    found = load(written)
    assert [(each.summary.median, each.launch.status) for each in found.observed] == [(158.3, "ok")]
    assert ("not validated" in found.libraries[0].scope) == (not checked and program != "reduce")


def test_an_old_version_says_in_the_end_alone_that_payloads_were_wrong(written: Path) -> None:
    """Of which row, nobody knows."""
    heading, row = OLD["all_reduce"]
    rows = heading + row.format(1.0, "1e-07") + row.format(2.0, "3e+01").replace("1024", "2048")
    text = CONFIG + STARTING.format("all_reduce") + DEVICES + rows
    written.write_text(f"{text} Out of bounds values : 2 FAILED\n")
    found = load(written)
    assert not found.observed
    assert [gap.status for gap in found.gaps] == ["wrong data", "wrong data"]


def test_times_of_nccl_1_are_of_another_unit(written: Path) -> None:
    heading = "#  bytes  N  type  op  time  algbw  busbw  res  time  algbw  busbw  res\n"
    written.write_text(STARTING.format("all_reduce") + DEVICES + heading)
    with pytest.raises(UserError, match="heads a table of NCCL 1's own tests, in another unit"):
        load(written)


@pytest.mark.parametrize("program", ["all_gather", "reduce_scatter", "alltoall", "gather"])
def test_sizes_below_an_element_of_each_rank_are_left_out(written: Path, program: str) -> None:
    """nccl-tests rounds them down to nothing, and measures that several times."""
    nothing = "       0    0  float  none  -1  5.7  0.00  0.00  0  5.5  0.00  0.00  0\n"
    row = MOVED
    if "reduce" in program:
        nothing, row = nothing.replace("none", "sum"), ROW
    head = CONFIG + STARTING.format(program) + DEVICES + TIMES
    written.write_text(head + 3 * nothing + row.format(1.5, 0) + END)
    assert [(each.case.x, each.summary.median) for each in load(written).observed] == [(512, 1.5)]
    written.write_text(head + 3 * nothing + END)
    with pytest.raises(UserError, match="has figures of 0 bytes alone: give larger sizes"):
        load(written)


def test_one_rank_communicates_with_nobody(written: Path) -> None:
    device = DEVICES.splitlines(keepends=True)[0]
    for program in ("all_reduce", "all_gather", "reduce"):
        rows = TIMES + ROW.format(1.0, 0) + END
        written.write_text(CONFIG + STARTING.format(program) + device + rows)
        with pytest.raises(UserError, match="is of one rank, which communicates with no other"):
            load(written)


def test_what_moves_bytes_has_no_type_of_numbers(written: Path) -> None:
    for program, axes in (("all_gather", {}), ("broadcast", {}), ("reduce", {"type": "half"})):
        row = (ROW if axes else MOVED).format(1.0, 0).replace("float", "half")
        written.write_text(CONFIG + STARTING.format(program) + DEVICES + TIMES + row + END)
        assert [each.case.axes for each in load(written).observed] == [axes]
    rows = MOVED.format(1.0, 0) + MOVED.format(2.0, 0).replace("float", "half")
    written.write_text(CONFIG + STARTING.format("alltoall") + DEVICES + TIMES + rows + END)
    with pytest.raises(UserError, match="has figures of float, half, and alltoall_perf only moves"):
        load(written)


@pytest.mark.parametrize("suffix", ["_mpi", ".exe", "-2.18-cuda12", "_x86_64"])
def test_programs_may_have_any_suffix(written: Path, suffix: str) -> None:
    starting = STARTING.format("all_gather").replace("_perf", f"_perf{suffix}")
    written.write_text(CONFIG + starting + DEVICES + TIMES + MOVED.format(1.0, 0) + END)
    assert load(written).observed[0].case.benchmark == "allgather"


@pytest.mark.parametrize(
    ("command", "benchmark"),
    [
        ("+ mpirun -n 2 ./build/all_reduce_perf -b 8 -e 128M", "allreduce"),
        ("$ srun /opt/nccl-tests/alltoall_perf_mpi -g 1", "alltoall"),
        ("===begin broadcast_perf test===", "bcast"),
    ],
)
def test_an_older_version_is_known_by_the_command_beside_it(
    written: Path, command: str, benchmark: str
) -> None:
    amd = CONFIG.replace("nThread", "nThread:").replace("Gpus", "Gpus:").replace("Bytes", "Bytes:")
    for config in (CONFIG, amd):
        row = (ROW if "reduce" in command else MOVED).format(1.0, 0)
        written.write_text(f"{command}\n{config}{DEVICES}{TIMES}{row}{END}")
        assert load(written).observed[0].case.benchmark == benchmark
    written.write_text(f"{command}\n# reduce_perf\n{CONFIG}{DEVICES}{TIMES}{END}")
    with pytest.raises(UserError, match="does not say of which operation"):
        load(written)


@pytest.mark.parametrize(
    ("program", "row", "words"),
    [
        ("all_reduce", MOVED, "are not added up"),
        ("reduce_scatter", MOVED, "are not added up"),
        ("all_gather", ROW, "are added up"),
        ("broadcast", ROW, "are added up"),
    ],
)
def test_an_operation_must_fit_its_table(written: Path, program: str, row: str, words: str) -> None:
    """Whoever named it may be wrong, and sizes would be divided by the ranks."""
    rows = TIMES + row.format(1.0, 0) + END
    written.write_text(CONFIG + STARTING.format(program) + DEVICES + rows)
    with pytest.raises(
        UserError, match=f"is said to be of {program}_perf, but its numbers {words}"
    ):
        load(written)


BLANKS = "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
BLANK = "   1024    256   float          9.5   0.01   0.01    {}   9.0   0.01   0.01    N/A\n"


@pytest.mark.parametrize("error", ["N/A", "0e+00", "1e-07"])
def test_a_column_that_old_ones_leave_blank_is_none(written: Path, error: str) -> None:
    """How numbers are combined, where they are only moved."""
    start = f"{CONFIG}{STARTING.format('alltoall')}{DEVICES}{BLANKS}"
    row = BLANK.format(error)
    written.write_text(f"{start}{row}{END}")
    [observation] = load(written).observed
    assert (observation.case.x, observation.summary.median) == (512, 9.5)
    for cut in (row.replace("    N/A\n", "\n"), row.replace("9.5", "   ")):
        written.write_text(f"{start}{cut}{END}")
        with pytest.raises(UserError, match="is not a whole row of the table"):
            load(written)


@pytest.mark.parametrize("operation", ["all_reduce", "reduce", "reduce_scatter"])
def test_what_adds_up_is_not_left_blank(written: Path, operation: str) -> None:
    start = f"{CONFIG}{STARTING.format(operation)}{DEVICES}{BLANKS}"
    written.write_text(f"{start}{BLANK.format('0e+00')}{END}")
    with pytest.raises(UserError, match="but its numbers are not added up"):
        load(written)


BANDWIDTHS = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"


def _row(
    ratio: float, *, elements: int = 1 << 28, combined: str = "sum", in_place: str = "0"
) -> str:
    """A row of 1 GiB, whose bandwidth is 300 GB/s."""
    bus = f"300.00 {300 * ratio:.2f}"
    return f"{1 << 30} {elements} float {combined} -1 3579.1 {bus} 0 3579.1 {bus} {in_place}\n"


@pytest.mark.parametrize(
    ("text", "benchmark", "ranks"),
    [
        (BANDWIDTHS + _row(1.875), "allreduce", 16),  # 2 (n - 1) / n
        (BANDWIDTHS + _row(2 * 71 / 72), "allreduce", 72),
        (
            BANDWIDTHS + _row(15 / 16, elements=1 << 24, combined="none"),
            "allgather",
            16,
        ),
        (
            "run_nccl_tests.sh -t alltoall -e 8G n0 n1\n"
            + BANDWIDTHS
            + _row(15 / 16, elements=1 << 24, combined="none", in_place="N/A"),
            "alltoall",
            16,
        ),
        ("srun -N 2 -n 8 build/all_reduce_perf\n" + BANDWIDTHS + _row(1.75), "allreduce", 8),
        (
            "#  Rank 71 Group  0 Pid  140 on n18 device  3 [0x01] NVIDIA GB200\n"
            + BANDWIDTHS
            + _row(2 * 71 / 72),
            "allreduce",
            72,
        ),
    ],
)
def test_an_excerpt_says_what_it_is_of(
    text: str, benchmark: str, ranks: int, written: Path
) -> None:
    """As clouds document them: rows without the lines before them."""
    written.write_text(text + END)
    found = load(written)
    assert found.observed[0].case.benchmark == benchmark
    assert len(found.observed[0].launch.place.ends) == ranks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            BANDWIDTHS + _row(15 / 16, elements=1 << 24, combined="none", in_place="N/A"),
            "does not say of which operation",
        ),
        (BANDWIDTHS + _row(1.0), "does not say of which operation"),
        (BANDWIDTHS + _row(2 * 1999 / 2000), "how many ranks"),  # or 1998, or 2001
        (2 * (BANDWIDTHS + _row(1.875)), "is of 2 runs"),
    ],
)
def test_an_excerpt_that_may_be_of_several_is_refused(text: str, words: str, written: Path) -> None:
    written.write_text(text + END)
    with pytest.raises(UserError, match=words):
        load(written)
