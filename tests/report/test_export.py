# SPDX-License-Identifier: Apache-2.0
"""CSV, LaTeX and JSON."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from nearpeak.document.latex import escape
from nearpeak.errors import UserError
from nearpeak.report.export import LISTS, columns, to_csv, to_latex
from nearpeak.results.build import from_json, to_json
from nearpeak.results.results import Finding, Results
from nearpeak.terms.identity import Who

DOCS = Path(__file__).parents[2] / "docs"


def test_csv_has_a_row_for_each_cell_and_survives_any_name(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(results), newline="")))
    assert len(rows) == len(results.cells)
    for row, cell in zip(rows, results.cells, strict=True):
        assert (row["library"], row["settings"]) == (cell.who.library, cell.who.settings)
        assert row["command"] == cell.command
        assert row["median"] == ("" if cell.median is None else repr(cell.median))
        assert row["ci95_low"] == ("" if cell.ci95 is None else repr(cell.ci95[0]))
        assert int(row["size_bytes"]) == cell.case.x
        low = "" if cell.fraction_range is None else repr(cell.fraction_range[0])
        assert (row["fraction_range_low"], row["fraction_blocks"]) == (
            low,
            str(cell.fraction_blocks),
        )


def test_csv_has_what_headlines_print(plain: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(plain), newline="")))
    for row, cell in zip(rows, plain.cells, strict=True):
        part = cell.of_plateau
        assert row["fraction_plateau"] == ("" if part is None else repr(part.fraction))
        assert row["plateau_size_bytes"] == ("" if part is None else str(part.x))
    told = {
        (row["path"], row["benchmark"], row["library"]): (row["size_bytes"], row["standing"])
        for row in rows
        if row["standing"]
    }
    assert told["host-host same-numa", "bw", "openmpi"] == (str(1 << 26), "tie")
    assert told["host-host same-numa", "bw", "mpich"] == (str(1 << 26), "tie")
    assert told["host-host tcp-loopback", "bw", "openmpi"] == (str(1 << 26), "unknown")
    assert len(told) == sum(1 + len(headline.tied) for headline in plain.headlines)


def test_what_was_given_up_has_the_time_that_it_takes_at_least(plain: Results) -> None:
    plain.cells[0].status, plain.cells[0].at_least = "aborted: too slow", 5600.0
    rows = list(csv.DictReader(io.StringIO(to_csv(plain), newline="")))
    assert [row["at_least"] for row in rows[:2]] == ["5600.0", ""]
    assert rows[0]["status"] == "aborted: too slow"


def test_rows_of_several_studies_can_be_joined(plain: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(plain), newline="")))
    host = plain.machine.hostname
    assert {(row["study"], row["started"], row["host"], row["nearpeak"]) for row in rows} == {
        (plain.study, plain.started, host, plain.nearpeak)
    }
    versions = {library.name: library.version for library in plain.libraries}
    assert {row["library"]: row["library_version"] for row in rows} == versions


def test_collective_operations_have_their_bandwidths(collective: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(collective), newline="")))
    found = {
        (row["benchmark"], row["size_bytes"]): (
            row["algbw_gbs"] and float(row["algbw_gbs"]),
            row["busbw_gbs"] and float(row["busbw_gbs"]),
            row["ceiling_kind"],
        )
        for row in rows
        if row["path"] == "host-host same-numa" and row["library"] == "openmpi"
    }
    # Two blocks of 1 MiB in 200 us, of which each rank receives one.
    assert found["allgather", str(1 << 20)] == (10.48576, 5.24288, "bound")
    assert found["barrier", "0"] == ("", "", "bound")
    assert found["latency", "64"] == ("", "", "measured")


def test_applications_have_rows_with_what_follows_from_their_times(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.ONE, 900.0)
    made.plane(made_applications.TWO, 1000.0)
    made.add(made_applications.TWO, "plane", "plane_rate", 2.0, 1000, axes=made_applications.AXES)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000)
    results = made.results()
    rows = list(csv.DictReader(io.StringIO(to_csv(results), newline="")))
    assert [row["benchmark"] for row in rows] == ["latency", "plane", "plane"]
    assert [row["size_bytes"] for row in rows] == ["8000", "", ""]
    two = rows[1]
    assert (two["ranks"], two["problem_size"], two["problem_unit"]) == ("2", "1000", "cells")
    assert (two["median"], two["rate"], two["rate_unit"]) == ("1000.0", "2.0", "GLUP/s")
    assert two["phases_us"] == "compute=800.0;communicate=200.0"
    assert (two["messages_us"], two["predicted_us"]) == ("30.0", "10.0")
    assert (two["scaling"], float(two["efficiency_ci95_low"])) == ("weak", 0.9)
    assert (two["roofline"], two["status"]) == ("", "ok")
    assert r"\caption{plane." in to_latex(results)


def test_csv_columns_are_documented() -> None:
    page = (DOCS / "reference" / "csv.md").read_text("utf-8")
    assert [name for name in columns() if f"`{name}`" not in page] == []


def test_every_list_of_results_has_rows(results: Results, finding: Finding) -> None:
    results.findings = [finding]
    for name in LISTS:
        rows = list(csv.DictReader(io.StringIO(to_csv(results, name), newline="")))
        extra = len(results.applications) if name == "cells" else 0
        assert len(rows) == len(getattr(results, name)) + extra
        assert "" not in columns(name)
    (row,) = csv.DictReader(io.StringIO(to_csv(results, "findings"), newline=""))
    assert (row["kind"], row["library"], row["size_bytes"]) == (
        finding.kind,
        finding.who.library,
        str(finding.case.x),
    )
    assert (row["cost_ratio"], row["cost_range_high"]) == ("2.1", "2.4")
    assert row["alternative_library"] == finding.alternative.who.library
    with pytest.raises(UserError, match=r"no rows of cell: they have .*cells"):
        to_csv(results, "cell")


def test_json_is_the_results(results: Results) -> None:
    assert from_json(to_json(results)) == results


def test_latex_escapes_what_it_would_obey() -> None:
    assert escape("a_b & 50% $x$ #1 {y} ~^ \\end <>") == (
        r"a\_b \& 50\% \$x\$ \#1 \{y\} \textasciitilde{}\textasciicircum{}"
        r" \textbackslash{}end \textless{}\textgreater{}"
    )
    assert escape('a "b"') == "a ''b''"
    assert "\n" not in escape("a\nb\u2028c")


def test_latex_tables_are_well_formed(results: Results) -> None:
    text = to_latex(results)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 4
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 4
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    for table in text.split(r"\begin{tabular}")[1:]:
        columns = len(re.match(r"\{([lr]+)\}", table).group(1))  # type: ignore[union-attr]
        for line in table.splitlines():
            if line.endswith(r"\\"):
                spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d)\}", line))
                assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == columns, line


def test_latex_says_that_the_intervals_of_its_captions_are_elsewhere(results: Results) -> None:
    for table in to_latex(results).split(r"\begin{table}")[1:]:
        [caption] = re.findall(r"\\caption\{(.*)\}$", table, re.MULTILINE)
        said = "Intervals and ranges are left out here; the CSV has them." in caption
        assert said == ("interval" in caption.lower()), caption


def test_latex_keeps_defects_and_missing_ceilings_apart(results: Results) -> None:
    for cell in results.cells:
        if (cell.who.library, cell.place.path) == ("openmpi", "host-host same-numa"):
            cell.fraction, cell.fraction_ci95 = 1.2, (1.1, 1.3)
    text = to_latex(results)
    assert "120 (defect)" in text
    assert " & -- & " in text


def test_baselines_say_so_and_facts_stay_out_of_the_tables(gpu: Results) -> None:
    text = to_latex(gpu)
    assert "mpich, staged by the benchmark (pinned)" in text
    assert "device_latency" not in text
    assert "staging=pinned" in to_csv(gpu)


def test_latex_has_verdicts_fits_and_awareness_where_there_are_any(gpu: Results) -> None:
    text = to_latex(gpu)
    assert "host-host same-numa & mpich (against openmpi) & bw (H,H, calls=blocking" in text
    assert r"mpich & crashed & crashed & \(\surd\) & \(\surd\) \\" in text  # without a path
    assert "8 B to 1 MiB & 0.310 & 11.5" in text
    gpu.awareness, gpu.fits, gpu.curves = [], [], []
    assert to_latex(gpu).count(r"\begin{tabular}") == 2


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+1", "-1", "@a", "\t=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20a"],
)
def test_a_text_is_no_formula(plain: Results, name: str) -> None:
    """Also behind the end of a line, or with a full-width sign."""
    plain.cells[0].who = Who(name)
    rows = list(csv.DictReader(io.StringIO(to_csv(plain), newline="")))
    assert rows[0]["library"] == f"'{name}"


def test_no_text_ends_its_row(plain: Results) -> None:
    whole = len(list(csv.DictReader(io.StringIO(to_csv(plain), newline=""))))
    plain.cells[0].who = Who("a\r=1")
    rows = list(csv.DictReader(io.StringIO(to_csv(plain), newline="")))
    assert (len(rows), rows[0]["library"]) == (whole, "a\n=1")
