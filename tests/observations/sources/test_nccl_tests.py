# SPDX-License-Identifier: Apache-2.0
"""Files as the source of nccl-tests has them; written by hand, no figure was measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.observations.load import load
from nearpeak.observations.sources.nccl_tests import recognises
from nearpeak.results.faults import faults

FILE = Path(__file__).with_name("nccl_tests") / "all_gather.txt"
CONFIG = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
STARTING = "# Collective test starting: {}_perf\n"
DEVICES = "#  Rank  0 Group  0 Pid 1 on a device 0 [00:00:00] A\n#  Rank  1 Group  0 Pid 1 on a\n"
ROW = "    1024    256  float  sum  -1  {}  0.01  0.01  {}  9.0  0.01  0.01  0\n"


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
    assert faults(results) == ["nccl-tests: 1 launch received wrong data"]
    [library] = load(FILE).libraries
    assert library.version_text == "NCCL 2.28.3 by nccl-tests 2.18.0"


@pytest.mark.parametrize(
    ("program", "benchmark", "x"),
    [
        ("all_reduce", "allreduce", 1024),
        ("reduce_scatter", "reduce_scatter", 1024),
        ("alltoall", "alltoall", 512),
        ("broadcast", "bcast", 1024),
    ],
)
def test_operations_have_our_names(written: Path, program: str, benchmark: str, x: int) -> None:
    rows = ROW.format("1.2e+06", "N/A")
    written.write_text(CONFIG + STARTING.format(program) + DEVICES + rows)
    [observed] = load(written).observed
    assert (observed.case.benchmark, observed.case.x) == (benchmark, x)
    assert observed.summary.median == 1.2e6
    assert load(written).libraries[0].scope.endswith("Payloads were not validated (-c 0).")


def run(**more: Any) -> dict[str, Any]:
    figures = {"time": 20.5, "alg_bw": 1.0, "bus_bw": 1.0, "nwrong": 0.0}
    result = {"size": 1024, "count": 256, "out_of_place": figures, "in_place": figures}
    whole = {
        "version": 1,
        "args": ["/opt/all_reduce_perf", "-J", "x"],
        "nccl_version": 22803,
        "devices": [{"rank": 0}, {"rank": 1}],
        "results": [{**result, "actual_iterations": 20, "experiment_name": "all_reduce"}],
    }
    return {**whole, **more}


def test_json_has_the_same(written: Path) -> None:
    written.write_text(json.dumps(run()))
    assert recognises(written)
    [observed] = load(written).observed
    assert (observed.case.benchmark, observed.case.x) == ("allreduce", 1024)
    assert (observed.summary.median, len(observed.launch.place.ends)) == (20.5, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONFIG + DEVICES + ROW.format(1.0, 0), "does not say of which operation .* add the line"),
        (CONFIG + STARTING.format("sendrecv") + DEVICES, "is of sendrecv_perf, which is not read"),
        (CONFIG + STARTING.format("reduce") + DEVICES, "holds no figures"),
        (CONFIG + STARTING.format("reduce") + ROW.format(1.0, 0), "no line for each device"),
        (CONFIG + 2 * STARTING.format("reduce"), "is of 2 runs"),
        (
            CONFIG + STARTING.format("reduce") + "    1024    256  float  sum  -1  1.0\n",
            "line 3: .* is not a whole row",
        ),
        (
            CONFIG + STARTING.format("reduce") + ROW[: ROW.index("9.0")].format(1.0, "N/"),
            "line 3: .* is not a whole row",
        ),
        (json.dumps(run())[:-20], "is not the whole JSON of nccl-tests"),
        (json.dumps(run(results=[{"experiment_name": "x"}])), "not the whole JSON"),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert recognises(written)
    with pytest.raises(UserError, match=message):
        load(written)


def test_the_type_of_the_numbers_is_known_where_all_rows_have_one(written: Path) -> None:
    for kinds, axes in ((["int32"], {"type": "int"}), (["float", "half"], {})):
        rows = "".join(
            ROW.format(1.0, 0).replace("float", kind).replace("1024", str(1024 << number))
            for number, kind in enumerate(kinds)
        )
        written.write_text(CONFIG + STARTING.format("all_reduce") + DEVICES + rows)
        assert {tuple(each.case.axes.items()) for each in load(written).observed} == {
            tuple(axes.items())
        }
