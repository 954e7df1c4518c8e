# SPDX-License-Identifier: Apache-2.0
"""report.html as text: what is in it, and that names stay text."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.libraries.library import Settings
from nearpeak.machine.machine import Diagnosis, Provenance
from nearpeak.observations.observed import Block
from nearpeak.report import beside, families, headlines, summary, tables
from nearpeak.report.export import to_latex
from nearpeak.report.page import MOST_FIGURES, render, write_page
from nearpeak.results import order
from nearpeak.results.build import from_json
from nearpeak.results.results import (
    Attainable,
    Cell,
    Conditions,
    Fact,
    Finding,
    Mode,
    Pace,
    Results,
    TwoModes,
)
from nearpeak.terms.awareness import Awareness
from nearpeak.terms.benchmarks import Benchmark, Metric, RankRule
from nearpeak.terms.identity import Case, Who

EXAMPLES = Path(__file__).parents[2] / "examples"


class _Reader(HTMLParser):
    """The page's text, its scripts, and every attribute that could load something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.policy = ""
        self._open: list[str] = []
        self._in_line = False  # a link begins or ends between two pieces of one text
        self._attributes: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes = dict(attrs)
        self._in_line = tag == "a"
        if tag in {"script", "style"}:
            self._open.append(tag)
        self.loads += [
            value or ""
            for name, value in attrs
            if name in {"src", "href", "srcset", "action", "data"}
        ]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if self._attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = self._attributes["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._in_line = tag == "a"
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            before = self.text.pop() if self._in_line and self.text else ""
            self.text.append(before + data)
        elif self._open[-1] == "script":
            self.scripts.append((self._attributes, data))


def _read(results: Results, *machines: str) -> _Reader:
    reader = _Reader()
    reader.feed(render(results, beside.choose(machines)))
    return reader


def _data(reader: _Reader) -> dict[str, Any]:
    return json.loads(next(text for attrs, text in reader.scripts if attrs.get("id") == "data"))


def _words(reader: _Reader) -> str:
    return " ".join(" ".join(reader.text).split())


def test_nothing_is_loaded_from_elsewhere(results: Results) -> None:
    reader = _read(results)
    assert {load for load in reader.loads if not load.startswith("#")} == {"data:,"}
    assert "default-src 'none'" in reader.policy
    assert "http" not in reader.policy


def test_no_page_of_an_example_is_large(tmp_path: Path) -> None:
    """People send them by mail: 1.5 MB at most, whether kept here or made anew."""
    made = list(EXAMPLES.rglob("*.html"))
    for file in EXAMPLES.glob("*/results.json"):
        page = tmp_path / f"{file.parent.name}.html"
        page.write_text(render(from_json(file.read_bytes())), encoding="utf-8")
        made.append(page)
    assert len(made) >= 7
    assert {page.name: size for page in made if (size := page.stat().st_size) > 1.5e6} == {}


def test_only_the_two_scripts_of_the_page_may_run(results: Results) -> None:
    reader = _read(results)
    running = [text for attrs, text in reader.scripts if "type" not in attrs]
    assert len(running) == 2
    for text in running:
        value = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{value}'" in reader.policy
    assert reader.handlers == []


def test_names_from_outside_stay_text(results: Results) -> None:
    page = render(results)
    assert "<script>alert(1)" not in page
    assert "<b>bold</b>" not in page
    assert "\u2028" not in page.split('id="data">')[1].split("</script>")[0]
    words = _words(_read(results))
    assert "<script>alert(1)</script>" in words
    assert "{{ 7 * 7 }}" in words  # a template in a name is not run
    assert "on node<1>&co" in words


def test_the_embedded_data_keeps_the_figures(results: Results) -> None:
    data = _data(_read(results))
    cells = data["cells"]
    assert {len(column) for column in cells.values()} == {len(results.cells)}
    commands = {data["commands"][number] for number in cells["command"]}
    assert commands == {cell.command for cell in results.cells}
    cell = results.cells[0]
    assert cell.ci95 is not None
    names = ("size", "median", "low", "high", "isInterval", "launches")
    assert [cells[name][0] for name in names] == [
        cell.case.x,
        *(float(f"{value:.6g}") for value in (cell.median, *cell.ci95)),
        1,
        6,
    ]


def test_collective_operations_are_drawn_beside_a_bound(collective: Results) -> None:
    page = render(collective)
    data = _data(_read(collective))
    references = {variant["figure"]: variant["reference"] for variant in data["variants"]}
    assert references == {
        **dict.fromkeys(("latency", "bw", "bibw"), "ceiling"),
        **dict.fromkeys(("allgather", "barrier"), "bound"),
    }
    own = {
        number: cell
        for number, cell in enumerate(collective.cells)
        if cell.case.x == 1 << 20
        if cell.case.benchmark == "allgather"
    }
    assert [data["bandwidths"][str(number)] for number in own] == [[10.4858, 5.24288]] * 2
    assert len(data["bandwidths"]) == 4  # of no barrier, and of no message
    assert page.count("fraction of the bound</span>") == 1  # of a barrier there is one point
    assert "ompared with a bound: the least time" in page
    assert page.index('id="path-0"') < page.index('id="family-1"') < page.index('id="comparison"')
    # A study of nothing else has them on its first sheet.
    collective.cells = [cell for cell in collective.cells if cell.ceiling.kind == "bound"]  # type: ignore[union-attr]
    collective.comparisons, collective.curves = [], []
    page = render(collective)
    assert "Collective and one-sided operations and datatypes are compared with a bound" in page
    assert page.count("fraction of the bound</span>") == 2


def test_figures_that_are_no_numbers_do_not_break_the_data(plain: Results) -> None:
    plain.cells[0].median = float("nan")
    plain.cells[1].fraction = float("inf")
    data = _data(_read(plain))
    assert data["cells"]["median"][0] is None


def test_variants_have_charts_of_their_own(results: Results) -> None:
    page = render(results)
    variants = set(re.findall(r'data-path="0" data-variant="(\d+)"', page))
    assert variants == {"0", "1", "2", "3", "4", "5"}
    assert page.index('data-variant="0"') < page.index("Variant: <b>bw (H,H, calls=nonblocking")
    kinds = re.findall(r'data-kind="(\w+)" data-path="0" data-variant="4"', page)
    assert kinds == ["fraction", "small", "large"]
    # Without a ceiling there is no fraction to draw, and the page says so.
    assert 'data-kind="fraction" data-path="2"' not in page
    assert "No ceiling was measured on this path" in page


def test_a_range_is_said_to_be_no_interval(results: Results) -> None:
    words = _words(_read(results))
    assert re.search(r"192 of \d+ cells have fewer than 6 launches: they have a range", words)
    assert "range 2.71 to 2.85" in words


def test_provenance_and_what_doctor_said_are_there(plain: Results) -> None:
    provenance = Provenance(bios="Acme <2.4>", nvidia_driver="580.1")
    said = [Diagnosis(severity="warn", id="turbo", message="it is on & hot", hint="-")]
    plain.machine = msgspec.structs.replace(plain.machine, provenance=provenance, diagnoses=said)
    words = _words(_read(plain))
    assert "BIOS Acme <2.4> NVIDIA driver 580.1 Doctor warn turbo: it is on & hot" in words
    plain.machine = msgspec.structs.replace(
        plain.machine, diagnoses=[msgspec.structs.replace(said[0], severity="ok")]
    )
    assert "Doctor found nothing that spoils a measurement" in _words(_read(plain))


def test_of_settings_that_concern_no_library_the_page_has_nothing(
    plain: Results, finding: Finding
) -> None:
    files = Diagnosis(severity="bad", id="settings-file", message="/root/.nccl.conf", hint="-")
    plain.machine = msgspec.structs.replace(plain.machine, diagnoses=[files])
    assert "Doctor found nothing that spoils a measurement" in _words(_read(plain))
    known = msgspec.structs.replace(finding, kind="settings_files")
    known.facts = [Fact(of="doctor", name="settings-file", value=files.message)]
    plain.findings = [known]
    assert "Doctor bad settings-file: /root/.nccl.conf" in _words(_read(plain))


def test_everything_that_went_wrong_is_there(results: Results) -> None:
    words = _words(_read(results))
    for part in (
        "This study is not complete",
        "1 cell is above the ceiling",
        "a defect of the ceiling, not a merit of the library",
        "2 launches failed",
        "logs/17.txt",
        "nearpeak-native memory --cpus 0",
        "−28.0",
        "host-host same-numa: blocks 4 to 6 carried 28.0 % less than the others.",
        "too few blocks to tell",
        "driver nvidia: 550.1 -> 560.2",
        "Not complete: ended by SIGINT; 2 launches failed",
        "✗ not met",
        "✓ met",
    ):
        assert part in words


def test_every_fraction_says_of_what(plain: Results) -> None:
    words = _words(_read(plain))
    assert "Ceiling: what the path carries without MPI at the same size" in words
    assert "% of theoretical" in words
    assert "Fraction of the measured ceiling at the same message size" in words


def test_modes_are_told(plain: Results) -> None:
    cell: Cell = plain.cells[0]
    cell.flags = ["bimodal"]
    cell.modes = [
        Mode(
            median=0.2,
            share=2 / 3,
            blocks=[Block(0, 0), Block(0, 1)],
            conditions={"rank 0 cpus": "0"},
        ),
        Mode(median=0.4, share=1 / 3, blocks=[Block(0, 2)], conditions={}),
    ]
    text = _data(_read(plain))["cells"]["flags"][0]
    assert (
        text == "bimodal: 0.200 in 66.7 % of launches (rank 0 cpus 0); 0.400 in 33.3 % of launches"
    )


def test_a_loaded_machine_stands_in_the_answer_two_modes_at_their_path(plain: Results) -> None:
    first = plain.headlines[0]
    two = [Mode(median=median, share=0.5, blocks=[], conditions={}) for median in (0.13, 0.36)]
    plain.modes = [
        TwoModes(who=Who("openmpi"), place=first.place, case=first.case, unit="us", modes=two)
    ]
    plain.conditions = Conditions(cores=2, load=15.7, ranks=2, busy_cores=2.0, loaded=True)
    page = render(plain)
    assert (
        "Other work kept 2 of 2 cores busy"
        in page.partition("The answer</h2>")[2].partition("<figure")[0]
    )
    assert '<p class="note">Launches of openmpi in latency at 4 B fall into two groups' in page


def test_a_study_of_nothing_still_has_a_page(plain: Results, tmp_path: Path) -> None:
    plain.cells, plain.ceilings, plain.fits, plain.drift = [], [], [], []
    plain.comparisons, plain.curves, plain.sessions = [], [], []
    plain.libraries, plain.checklist, plain.headlines = [], [], []
    plain.peaks, plain.advice = [], []
    page = write_page(plain, tmp_path)
    assert page == tmp_path / "report.html"
    assert "No ceiling was measured." in page.read_text(encoding="utf-8")


def test_tables_have_captions_and_headings_with_scope(results: Results) -> None:
    page = render(results).split("<script")[0]
    assert page.count("<table") == page.count("<caption>")
    assert not re.findall(r"<th(?![^>]*scope=)[ >]", page)
    assert not re.findall(r'<div class="chart"(?![^>]*role="img"[^>]*aria-label=)', page)


def test_the_page_of_gpus_has_scopes_captions_and_no_name_as_markup(
    gpu: Results, finding: Finding
) -> None:
    gpu.awareness = [
        msgspec.structs.replace(tried, message='<script>alert(1)</script>" onclick="x')
        for tried in gpu.awareness
    ]
    gpu.findings = [finding] * 12
    page = render(gpu, beside.published()).split("<script>")[0]
    assert page.count("<table") == page.count("<caption>")
    assert not re.findall(r"<th(?![^>]*scope=)[ >]", page)
    assert not re.findall(
        r'<div class="chart(?: square)?"(?![^>]*role="img"[^>]*aria-label=)', page
    )
    assert _read(gpu).handlers == []
    for tag in ("section", "details", "div", "table", "tbody", "ul", "ol", "figure"):
        assert page.count(f"<{tag}") == page.count(f"</{tag}>"), tag


def test_buffers_of_a_path_are_chosen(gpu: Results) -> None:
    page = render(gpu)
    near = next(part for part in page.split('<h2 id="path-') if ">host-gpu near</h2>" in part)
    assert re.findall(r'data-show="([\w,]+)" aria-pressed="(\w+)"', near) == [
        ("H,D", "true"),
        ("D,H", "false"),
    ]
    assert re.findall(r'<div data-buffers="([\w,]+)"( hidden)?', near) == [
        ("H,D", ""),
        ("D,H", " hidden"),
    ]
    nvlink = next(part for part in page.split('<h2 id="path-') if ">gpu-gpu nvlink</h2>" in part)
    assert "data-show" not in nvlink


def test_staged_cells_are_labelled_on_the_page(gpu: Results) -> None:
    reader = _read(gpu)
    words = _words(reader)
    assert "mpich, staged by the benchmark (pinned)" in words
    assert "Variant: bw (D,D, staged by the benchmark (pinned), calls=blocking" in words
    details = [variant["detail"] for variant in _data(reader)["variants"]]
    assert not any("staging=" in detail for detail in details)
    assert sum("staged by the benchmark (pinned)" in detail for detail in details) == 6


def test_awareness_is_a_matrix_with_its_evidence(gpu: Results) -> None:
    page = render(gpu)
    assert re.search(r'<td class="[^"]*bad" title="ended by SIGSEGV">crashed</td>', page)
    assert "mpich: not GPU-aware for D,D send, isend: ended by SIGSEGV" in page


def test_facts_and_health_in_table_one(gpu: Results) -> None:
    words = _words(_read(gpu))
    assert "device_latency D,D, reuse=fixed" in words
    assert "fact: not the ceiling of a benchmark" in words
    assert words.count("check it") > 2
    assert "half of the memory's rate" in words


def test_all_pairs_are_matrices_and_their_charts_are_folded(gpu: Results) -> None:
    reader = _read(gpu)
    words = _words(reader)
    assert "bw D,D at 128 MiB, openmpi: slowest is 0-2" in words
    assert "Charts of gpu-gpu pair 0-1" in words
    latency, bw = _data(reader)["matrices"]
    assert latency["rows"] == latency["columns"] == ["0", "1", "2"]
    _, own = latency["sources"]
    assert [row[i] for i, row in enumerate(own["values"])] == [None] * 3
    assert own["values"][0][2] == own["values"][2][0]
    assert (latency["directed"], bw["directed"]) == (False, True)
    assert (bw["rows"], bw["columns"]) == (["0", "1"], ["1", "2"])  # from, and to
    ceiling, own = bw["sources"]
    assert own["fractions"][0][0] == 1.0
    assert own["fractions"][0][1] < 0.9
    assert own["values"][1][0] is None
    assert (ceiling["who"], latency["unit"]) == ("measured ceiling", "µs")
    links = [load for load in reader.loads if load.startswith("#path-")]
    assert len(links) == 2 + 4  # the pairs have one entry together
    assert "#pairs" in reader.loads


def test_three_findings_are_in_the_answer_and_all_are_folded(
    gpu: Results, finding: Finding
) -> None:
    gpu.failures, gpu.failure_kinds = [], []
    gpu.findings = [
        msgspec.structs.replace(
            finding,
            who=Who(f"library{number}"),
            case=msgspec.structs.replace(finding.case, buffers=f"{number},{number}"),
            weighted_us=12.3,
        )
        for number in range(12)
    ]
    page = render(gpu)
    assert "<p>Each such operation loses 12.3 µs. 4 more cases" in page
    answer, _, rest = page.partition('<h2 id="stands-out">')
    assert "<b>library1, " in answer  # and the path furthest from its ceiling
    assert "library2, " not in answer
    assert "<summary>12 findings" in rest
    assert rest.index("<summary>12 findings") < rest.index("<b>library11, ")


def test_nothing_stands_beside_unless_asked_for(gpu: Results) -> None:
    assert "Lassen" not in _words(_read(gpu))
    words = _words(_read(gpu, "lassen-2019", "summit-2019"))
    assert "Table 1 beside Lassen." in words
    assert "Table 2 beside Summit." in words
    assert "95.4 % of the achievable 70.6 GB/s (as printed)" in words
    assert "% of the measured ceiling at 128 MiB" in words


def test_what_the_settings_give_is_told(gpu: Results) -> None:
    gpu.libraries[0].settings = [Settings(env={"UCX_CUDA_COPY_DMABUF": "n"}, flags=["--mca", "x"])]
    assert "UCX_CUDA_COPY_DMABUF=n --mca x" in _words(_read(gpu))


def test_many_particulars_are_folded(results: Results) -> None:
    for cell in results.cells:
        if cell.who.library == "openmpi" and cell.fraction is not None:
            cell.fraction, cell.fraction_ci95 = 1.5, (1.4, 1.6)
    found = len(summary.defects(results))
    assert f"<summary>{found - 8} more</summary>" in render(results)


def test_facts_and_paces_stand_beside_the_ceiling(plain: Results) -> None:
    for point in plain.ceilings:
        point.needs = {point.method: ["gpu"]}
        point.attainable = Attainable(
            value=12.3, ci95=None, range=(12, 13), values=[12.3], blocks=[], method="ce"
        )
        point.modes = [
            Pace(value=56.5, share=0.25, launches=2),
            Pace(value=28.1, share=0.75, launches=2),
        ]
        point.otherwise = [point.values]
    page = render(plain)
    assert (
        "this method holds the GPU between messages; a library can attain 12.3 (a copy engine (ce))"
        in page
    )
    assert "two paces: 56.5 in 25.0 %, 28.1 in 75.0 % of its samples" in page
    assert "unconfirmed which method or pace is best" in page


def _of_mean(case: Case) -> Case:
    return msgspec.structs.replace(case, benchmark="mean", metric="rest")


def test_a_fraction_of_few_blocks_shows_its_range(plain: Results) -> None:
    assert "range 82" not in render(plain)
    for cell in plain.cells:
        cell.fraction_ci95, cell.fraction_blocks = None, 4
        cell.flags = ["fewer blocks"]
    page = render(plain)
    assert 'title="fewer than 6 blocks: no 95 % interval">range 82.5 to 86.7</small>' in page
    assert "the fraction rests on fewer than the median" in _words(_read(plain))
    cells = _data(_read(plain))["cells"]
    names = ("fractionLow", "fractionHigh", "fractionIsInterval", "fractionBlocks")
    assert [cells[name][1] for name in names] == [0.8245, 0.867, 0, 4]


def test_a_whole_curve_has_a_verdict_of_its_own(plain: Results) -> None:
    page = render(plain)
    assert '<td class=" bad">slower</td>' in page
    assert '<td class="n">0.820<small>[0.800, 0.840]</small></td>' in page
    assert page.count('data-verdicts="') == len(plain.curves)
    groups = set(_data(_read(plain))["comparisons"]["row"])
    assert groups == set(range(len(plain.curves)))


def test_what_has_no_ceiling_has_a_figure_and_no_complaint(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    plain.benchmarks = [
        *plain.benchmarks,
        Benchmark(
            "mean",
            [Metric("mean", "us", "lower"), Metric("rest", "us", "lower")],
            RankRule("at least", 2),
        ),
    ]
    for cell in plain.cells:
        if cell.case.benchmark == "bibw":
            cell.case = _of_mean(cell.case)
            cell.unit, cell.better = "us", "lower"
            cell.ceiling = cell.fraction = cell.fraction_ci95 = cell.fraction_range = None
    tell(plain)
    page = render(plain)
    assert "mean rest" in page
    assert "No believable ceiling" not in page
    table = tables.table_two(headlines.groups(plain), order.figures(plain))
    assert [over.partition(",")[0] for over, _ in table.spans] == ["latency", "bw"]
    (family,) = families.families(plain)
    assert family.title == "Other operations"
    assert "compared with nothing" in family.about[1]
    assert {row.head for rows in family.table.groups for row in rows.rows} >= {"mean rest"}


def test_what_was_refused_stands_over_all_sizes(collective: Results) -> None:
    collective.awareness = [
        Awareness(
            library="openmpi", settings="default", buffers="D,D", operation="allgather",
            status="crashed", message="signal 11", command="x",
        )
    ]  # fmt: skip
    refused = "not measured: crashed when tried"
    page = render(collective)
    assert f'<td colspan="3" class="over first bad" title="signal 11">{refused}</td>' in page
    assert rf"\multicolumn{{3}}{{c}}{{{refused}}}" in to_latex(collective)


def test_the_page_of_a_recorded_study_is_todays() -> None:
    """`nearpeak report examples/h200x2-shipped` makes it again."""
    folder = EXAMPLES / "h200x2-shipped"
    results = from_json((folder / "results.json").read_bytes())
    made = render(results, study=folder.relative_to(EXAMPLES.parent))
    assert made == (folder / "report.html").read_text()


@pytest.mark.parametrize("operations", [MOST_FIGURES, MOST_FIGURES + 1])
def test_so_many_figures_that_no_table_holds_them_are_left_to_the_families(
    collective: Results, tell: Callable[[Results], None], operations: int
) -> None:
    cells = [cell for cell in collective.cells if cell.case.benchmark == "allgather"]
    benchmark = next(each for each in collective.benchmarks if each.name == "allgather")
    collective.benchmarks, collective.cells = [], []
    for name in (f"operation{number}" for number in range(operations)):
        metric = Metric(name, "us", "lower")
        collective.benchmarks = [
            *collective.benchmarks,
            msgspec.structs.replace(benchmark, name=name, metrics=[metric], family="dances"),
        ]
        for cell in cells:
            case = msgspec.structs.replace(cell.case, benchmark=name, metric=name)
            collective.cells.append(msgspec.structs.replace(cell, case=case))
    tell(collective)
    page = render(collective)
    words = (
        f"Table 2 would have {operations} figures side by side: the families below have them all."
    )
    assert (words in page) == (operations > MOST_FIGURES)
    assert ("<b>Table 2. " in page) == (operations <= MOST_FIGURES)
