# SPDX-License-Identifier: Apache-2.0
"""report.html in a real browser: drawn, silent, alone, narrow, dark and on paper."""

import base64
import re
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from browser import Browser
from nearpeak.report.page import write_page
from nearpeak.results.build import from_json
from nearpeak.results.results import Results
from nearpeak.terms.identity import Who
from nearpeak.terms.path import DataPath, Endpoint

EXAMPLES = Path(__file__).parents[2] / "examples"
DRAWN_CURVES = """[...document.querySelectorAll(".chart")]
  .filter((node) => !node.closest("details:not([open]), [hidden]"))
  .map((node) => node.querySelectorAll(".curve, .band").length)"""


@pytest.fixture(params=[1280, 360])
def width(request: pytest.FixtureRequest) -> int:
    """A wide window and a narrow one, in CSS pixels."""
    return int(request.param)


def test_charts_are_drawn_in_silence(
    browser: Browser, results: Results, tmp_path: Path, width: int
) -> None:
    page = write_page(results, tmp_path)
    browser.open(page, width)
    curves = browser.evaluate(DRAWN_CURVES)
    assert len(curves) == 7 * 2 + 4  # the third path has no ceiling, so no fractions
    assert min(curves) >= 6  # a curve and a band for each contender
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_the_page_itself_does_not_scroll_sideways(
    browser: Browser, results: Results, tmp_path: Path, width: int
) -> None:
    for cell in results.cells:
        if cell.who.library == "mpich":
            cell.who = Who("a-very-long-name-" * 12, cell.who.settings)
    browser.open(write_page(results, tmp_path), width)
    browser.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    browser.evaluate(
        "document.querySelectorAll('button[data-verdicts]').forEach((one) => one.click())"
    )
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(inside)


OPENED = """document.querySelectorAll('details').forEach((box) => { box.open = true; });
  new Promise((done) => setTimeout(done, 300))"""
WIDER = """[...document.querySelectorAll(".scroll")]
  .filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => `${box.ariaLabel}: ${box.scrollWidth} of ${box.clientWidth}`)"""
ALIKE = """[...document.querySelectorAll("section, div[data-buffers]")].flatMap((box) => {
  const titles = [...box.querySelectorAll("figure:has(.chart) figcaption")]
    .filter((one) => one.closest("div[data-buffers], section") === box)
    .map((one) => (one.closest("details.variant")?.firstChild.textContent ?? "") + one.innerText);
  return titles.filter((title, at) => titles.indexOf(title) < at); })"""


@pytest.mark.parametrize("name", ["h200x2-shipped", "h100x4-pairs", "h200x4"])
def test_no_table_is_wider_than_a_usual_window(browser: Browser, tmp_path: Path, name: str) -> None:
    recorded = from_json((EXAMPLES / name / "results.json").read_bytes())
    browser.open(write_page(recorded, tmp_path), 1280)
    browser.evaluate(OPENED)
    rows = browser.evaluate("document.querySelectorAll('#rows tr').length")
    assert rows == min(200, len(recorded.cells)) > 100
    assert browser.evaluate(WIDER) == []


def with_variants(results: Results) -> Results:
    """What went between GPUs once more: staged by the benchmark, and as put in two windows."""
    device = [cell for cell in results.cells if cell.case.buffers == "D,D"]
    [bw] = [each for each in results.benchmarks if each.name == "bw"]
    metric = msgspec.structs.replace(bw.main, name="put_bw")
    put = msgspec.structs.replace(bw, name="put_bw", metrics=[metric], family="rma")
    results.benchmarks = [*results.benchmarks, put]
    for cell in device:
        ways = [msgspec.structs.replace(cell.case, axes={**cell.case.axes, "staging": "pinned"})]
        if cell.case.benchmark == "bw":
            ways += [
                msgspec.structs.replace(
                    cell.case, benchmark="put_bw", metric="put_bw", axes={"win": win}
                )
                for win in ("allocated", "created")
            ]
        results.cells += [msgspec.structs.replace(cell, case=case) for case in ways]
    return results


@pytest.mark.parametrize("name", ["h200x2-shipped", "h100x4-pairs", "h200x4-collectives"])
@pytest.mark.parametrize("varied", [False, True])
def test_charts_side_by_side_have_titles_of_their_own(
    browser: Browser, tmp_path: Path, name: str, *, varied: bool
) -> None:
    recorded = from_json((EXAMPLES / name / "results.json").read_bytes())
    browser.open(write_page(with_variants(recorded) if varied else recorded, tmp_path), 1280)
    browser.evaluate(OPENED)
    assert browser.evaluate("document.querySelectorAll('figure .chart').length") >= 18
    assert browser.evaluate(ALIKE) == []


@pytest.mark.parametrize("name", ["h200x2-shipped", "h200x4", "h200"])
def test_the_first_screen_has_all_findings(browser: Browser, tmp_path: Path, name: str) -> None:
    recorded = from_json((EXAMPLES / name / "results.json").read_bytes())
    browser.open(write_page(recorded, tmp_path), 1280, height=1000)
    bottoms = browser.evaluate(
        "[...document.querySelectorAll('.answer ol.cards > li, .answer .picture.wide')]"
        ".map((node) => node.getBoundingClientRect()).map((box) => [box.left, box.bottom])"
    )
    picture, *findings = bottoms
    assert len(findings) == 3
    assert all(left > picture[0] and bottom <= 1000 for left, bottom in findings)


def test_bars_of_an_iteration_are_as_wide_as_a_narrow_window(
    browser: Browser, made_applications: Any, tmp_path: Path
) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0, overlap="yes", mode="async")
    for width, least in ((1280, 700), (400, 340)):
        browser.open(write_page(made.results(), tmp_path), width)
        bars = "[...document.querySelectorAll('.bars > div > span:last-child')]"
        wide = f"{bars}.map((bar) => bar.clientWidth)"
        assert min(browser.evaluate(wide)) > least


def test_no_name_becomes_markup(browser: Browser, results: Results, tmp_path: Path) -> None:
    results.libraries[0].version_text += "<img src=x onerror=alert(1)>"
    for cell in results.cells:
        cell.command += "<img src=http://example.com/x onerror=alert(1)>"
    page = write_page(results, tmp_path)
    browser.open(page, 1280)
    browser.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    browser.evaluate("document.querySelectorAll('#rows button').forEach((one) => one.click())")
    assert browser.evaluate("document.querySelectorAll('#rows code').length") == 200
    assert "5 % below" in browser.evaluate("document.querySelector('#rows .inner').innerText")
    assert browser.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
    dialogs = [event for event in browser.events if event["method"].startswith("Page.javascriptD")]
    assert dialogs == []
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_a_script_that_slips_in_is_refused(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    page = write_page(plain, tmp_path)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</main>", "<script>window.slipped = 1</script></main>"))
    browser.open(page, 1280)
    assert browser.evaluate("window.slipped === undefined")
    assert any("Content Security Policy" in line for line in browser.complaints())


def test_zero_bytes_stand_left_of_one_byte(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    ticks = browser.evaluate(
        """[...document.querySelector('.chart[data-kind="small"]').querySelectorAll(".xtick")]
        .map((node) => node.textContent)"""
    )
    assert ticks[:2] == ["0", "2"]


def test_the_hover_box_says_zero_bytes(browser: Browser, plain: Results, tmp_path: Path) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    x, y = browser.evaluate(
        """(() => { const node = document.querySelector('.chart[data-kind="small"]');
        node.scrollIntoView({ block: "center" });
        const mark = node.querySelector(".point").getBoundingClientRect();
        return [mark.x + mark.width / 2, mark.y + mark.height / 2]; })()"""
    )
    for step in (3, 0):
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
    text = browser.evaluate(
        """new Promise((done) => { const look = () => {
        const box = document.querySelector(".hover:not([hidden])");
        box ? done(box.textContent) : setTimeout(look, 20); }; look(); })"""
    )
    assert text.startswith("0 bytes")
    assert "85.0 % of ceiling" in text


def test_hover_names_the_method_and_the_fraction(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    texts = browser.evaluate(
        """document.querySelector('.chart[data-kind="rate"]').chart.lines
        .map((line) => line.points.at(-1).text)"""
    )
    assert re.fullmatch(r"ceiling 14\.0 GB/s by single copy \[[\d.]+, [\d.]+\]", texts[0])
    assert re.fullmatch(r"openmpi 11\.9 GB/s \[[\d.]+, [\d.]+\] · 85\.0 % of ceiling", texts[1])


def test_the_table_of_cells_is_filtered(browser: Browser, results: Results, tmp_path: Path) -> None:
    browser.open(write_page(results, tmp_path), 1280)
    assert browser.evaluate("document.querySelectorAll('#rows tr').length") == 0  # lazy
    browser.evaluate("document.getElementById('all-cells').open = true")
    browser.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert browser.evaluate("document.querySelectorAll('#rows tr').length") == 200
    browser.evaluate(
        """(() => { const box = document.getElementById("search"); box.value = "mpich above";
        box.dispatchEvent(new Event("input")); })()"""
    )
    assert browser.evaluate("document.querySelectorAll('#rows tr').length") == 0
    browser.evaluate(
        """(() => { const box = document.getElementById("search"); box.value = "above OPENMPI";
        box.dispatchEvent(new Event("input")); })()"""
    )
    assert browser.evaluate("document.getElementById('shown').textContent").startswith("1 of 1 ")
    row = browser.evaluate("document.querySelector('#rows tr').innerText")
    assert "4 KiB" in row
    assert "120" in row


def test_comparisons_open_by_size(browser: Browser, plain: Results, tmp_path: Path) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    browser.evaluate(
        "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
    )
    browser.evaluate("document.querySelector('button[data-verdicts]').click()")
    rows = browser.evaluate(
        "[...document.querySelectorAll('tr.inner tbody tr')].map((row) => row.innerText)"
    )
    assert len(rows) == 16
    assert rows[0].split("\t")[-1] == "slower"
    assert "none" in rows[0]  # that one has no interval
    browser.evaluate("document.querySelector('button[data-verdicts]').click()")
    assert browser.evaluate("document.querySelectorAll('tr.inner').length") == 0


def test_the_legend_hides_a_library_everywhere(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 1280)
    before = browser.evaluate(DRAWN_CURVES)
    browser.evaluate("document.querySelector('button[data-contender]').click()")
    after = browser.evaluate(DRAWN_CURVES)
    assert all(fewer < more for fewer, more in zip(after, before, strict=True))
    pressed = "[...document.querySelectorAll('.legend button')].map((one) => one.ariaPressed)"
    assert browser.evaluate(pressed) == ["false", "true"] * 2


def test_dark_charts_follow_the_scheme(browser: Browser, plain: Results, tmp_path: Path) -> None:
    page = write_page(plain, tmp_path)
    line = "document.querySelector('[data-kind=rate]').chart.lines.at(-1).colour"
    browser.open(page, 1280)
    light = browser.evaluate(line)
    browser.open(page, 1280, dark=True)
    dark = browser.evaluate(line)
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    assert sum(map(int, re.findall(r"\d+", ground))) < 3 * 60


def test_paper_has_the_charts(browser: Browser, plain: Results, tmp_path: Path) -> None:
    browser.open(write_page(plain, tmp_path), 1280, dark=True)
    answer = browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    pdf = base64.b64decode(answer["data"])
    assert pdf.startswith(b"%PDF")
    drawing = b""
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            drawing += zlib.decompress(stream)
        except zlib.error:
            continue  # a font or a picture
    blue = rb"0 \.44\d+ \.69\d+ (?:RG|rg|scn?|SCN?)"  # #0072b2, the light scheme's first colour
    assert len(re.findall(blue, drawing)) >= 14  # 7 charts on each of two paths
    assert browser.complaints() == []
    # Printing leaves no trace on the screen.
    assert not browser.evaluate("document.documentElement.classList.contains('paper')")


def test_paper_has_the_charts_of_families(
    browser: Browser, collective: Results, tmp_path: Path
) -> None:
    browser.open(write_page(collective, tmp_path), 1280)
    drawn = "document.querySelectorAll('section.family .chart[data-drawn]').length"
    assert browser.evaluate(drawn) == 0
    browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    assert browser.evaluate(drawn) == 2
    assert not browser.evaluate("document.querySelectorAll('section.family details[open]').length")


def test_the_menu_shows_all_its_entries(
    browser: Browser, collective: Results, tmp_path: Path
) -> None:
    page = write_page(collective, tmp_path)
    menu = "document.querySelector('nav.toc ul')"
    for width in (1366, 800):
        browser.open(page, width)
        assert browser.evaluate(f"{menu}.scrollWidth <= {menu}.clientWidth")


def test_other_buffers_are_drawn_when_chosen(
    browser: Browser, gpu: Results, tmp_path: Path, width: int
) -> None:
    browser.open(write_page(gpu, tmp_path), width)
    hidden = "[...document.querySelectorAll('[data-buffers=\"D,H\"]')].at(-1)"
    assert browser.evaluate(f"{hidden}.hidden")
    assert not browser.evaluate(f"{hidden}.querySelector('.chart').dataset.drawn")
    browser.evaluate("document.querySelector('button[data-show=\"D,H\"]').click()")
    assert browser.evaluate(f"{hidden}.querySelector('.chart').dataset.drawn") == "yes"
    assert browser.evaluate(f"{hidden}.querySelectorAll('.curve').length") > 0
    assert browser.evaluate("document.querySelector('[data-buffers=\"H,D\"]').hidden")
    inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(inside)
    assert browser.complaints() == []


def test_a_pair_that_is_faster_than_the_median_is_drawn_like_it(
    browser: Browser, gpu: Results, tmp_path: Path
) -> None:
    """Fractions above 100 % had the colour of 80 %."""
    fractions = {
        ("0", "1"): 1.02,
        ("0", "2"): 0.97,
        ("1", "2"): 1.0,
    }
    for matrix in gpu.pairs:
        for source in matrix.sources:
            for figure in source.figures:
                figure.fraction = fractions[figure.pair]
    browser.open(write_page(gpu, tmp_path), 1280)
    browser.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    fields = (
        "document.querySelector('.chart[data-kind=\"pairs\"]').querySelectorAll('.fields rect')"
    )
    fast, slow, _, median, *_ = browser.evaluate(
        f"[...{fields}].map((one) => one.getAttribute('fill'))"
    )
    assert fast == median != slow


def test_all_pairs_are_drawn_for_whoever_is_chosen(
    browser: Browser, gpu: Results, tmp_path: Path
) -> None:
    browser.open(write_page(gpu, tmp_path), 1280)
    map_ = "document.querySelectorAll('.chart[data-kind=\"pairs\"]')[1]"
    assert browser.evaluate(f"{map_}.querySelectorAll('.fields rect').length") > 1
    before = browser.evaluate(f"{map_}.chart.text(0, 1)")
    browser.evaluate(
        """(() => { const select = document.querySelectorAll("select[data-source]")[1];
        select.value = "1"; select.dispatchEvent(new Event("input")); })()"""
    )
    after = browser.evaluate(f"{map_}.chart.text(0, 1)")
    assert before != after
    assert "% of the median pair" in after
    folded = "document.querySelector('details.variant section .chart')"
    assert not browser.evaluate(f"{folded}.dataset.drawn")
    browser.evaluate(f"{folded}.closest('details').open = true")
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert browser.evaluate(f"{folded}.dataset.drawn") == "yes"
    assert browser.complaints() == []


SHOWN = """[...document.querySelectorAll("figure.machine svg")]
  .filter((node) => getComputedStyle(node).display !== "none")
  .map((node) => node.getAttribute("class"))"""
TEXTS = """[...document.querySelectorAll("figure.machine svg")]
  .filter((node) => getComputedStyle(node).display !== "none")
  .flatMap((node) => [...node.querySelectorAll("text[data-room]")])"""


@pytest.mark.parametrize(("window", "name"), [(1280, "wide"), (400, "narrow")])
def test_the_picture_of_the_machine(
    browser: Browser, gpu: Results, tmp_path: Path, window: int, name: str
) -> None:
    browser.open(write_page(gpu, tmp_path), window)
    assert browser.evaluate(SHOWN) == [f"picture {name}"]
    first = "document.querySelector('.answer figure').className"
    assert browser.evaluate(first) == "machine"
    words = browser.evaluate(f"{TEXTS}.map((node) => node.textContent)")
    assert "gpu-gpu nvlink: GPU ? to GPU ?" in words
    sizes = browser.evaluate(
        f"{TEXTS}.map((node) => 11 * node.getScreenCTM().a)"  # their size on the screen
    )
    assert min(sizes) > 10.9
    assert max(sizes) < 16
    cut = browser.evaluate(
        f"{TEXTS}.filter((node) => node.getComputedTextLength() > +node.dataset.room + 0.5)"
        ".map((node) => node.textContent)"
    )
    assert cut == []
    inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(inside)
    assert browser.complaints() == []


def test_the_picture_on_paper(browser: Browser, gpu: Results, tmp_path: Path) -> None:
    browser.open(write_page(gpu, tmp_path), 695)  # as wide as A4 is between the margins
    assert browser.evaluate(SHOWN) == ["picture narrow"]
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate(SHOWN) == ["picture wide"]
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_a_point_that_some_launches_lost_is_crossed_out(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    lost = next(cell for cell in plain.cells if cell.case.benchmark == "bw" and cell.case.x > 8192)
    lost.status, lost.failed = "crashed", 2
    browser.open(write_page(plain, tmp_path), 1280)
    crossed = """[...document.querySelectorAll(".chart")].filter((node) =>
        node.querySelector(".cross"))
        .map((node) => node.dataset.kind)"""
    assert browser.evaluate(crossed) == ["fraction", "rate"]
    texts = "JSON.stringify([...document.querySelectorAll('.chart')].map((node) => node.chart))"
    assert "crashed in 2 of 8 launches" in browser.evaluate(texts)


def test_a_family_is_drawn_over_sizes_and_ranks(
    browser: Browser, collective: Results, tmp_path: Path
) -> None:
    two = collective.paths[0]
    ends = (*two.ends, *(Endpoint(memory="host", cpus=[cpu], numa_node=0) for cpu in (8, 9)))
    four = DataPath(id="host x4", summary="", transport="memory", ends=ends)
    collective.paths.append(four)
    for kept in (collective.cells, collective.ceilings):
        kept += [
            msgspec.structs.replace(cell, place=four.place)
            for cell in kept
            if cell.case.benchmark == "allgather"
        ]
    browser.open(write_page(collective, tmp_path), 400)
    browser.evaluate(
        "document.querySelectorAll('section.family details').forEach((box) => { box.open = true; })"
    )
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    curves = browser.evaluate(
        """[...document.querySelectorAll("section.family .chart")].map((node) => [node.dataset.kind,
        node.querySelectorAll(".curve").length])"""
    )
    # Over ranks at 8 B and at 1 MiB; over the sizes of allgather two, of a barrier none.
    assert sorted(kind for kind, _ in curves) == [*["fraction"] * 2, *["ranks"] * 2, *["times"] * 2]
    low = """[...document.querySelectorAll('section.family [data-kind="fraction"]')]
        .map((node) => node.chart.y.log)"""
    assert browser.evaluate(low) == [True, True]
    paths = "document.querySelector('section.family h4 + p').textContent"
    assert browser.evaluate(paths).endswith("2 ranks are host-host same-numa, 4 ranks are host x4.")
    assert min(lines for _, lines in curves) >= 2
    ticks = browser.evaluate(
        """[...document.querySelector('.chart[data-kind="ranks"]').querySelectorAll(".xtick")]
        .map((node) => node.textContent)"""
    )
    assert ticks == ["2", "4"]
    assert browser.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert browser.complaints() == []


def test_an_application_is_drawn_over_ranks(
    browser: Browser, made_applications: Any, tmp_path: Path
) -> None:
    made = made_applications.Made()
    for overlap, one, two in (("no", 900.0, 1000.0), ("yes", 890.0, 950.0)):
        made.plane(made_applications.ONE, one, overlap=overlap)
        made.plane(made_applications.TWO, two, overlap=overlap)
    browser.open(write_page(made.results(), tmp_path), 900)
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    drawn = browser.evaluate(
        """[...document.querySelectorAll('.chart[data-kind="growth"]')].map((node) => [
        node.querySelectorAll(".curve").length,
        [...node.querySelectorAll(".named")].map((text) => text.textContent).join(),
        [...node.querySelectorAll(".xtick")].map((text) => text.textContent).join()])"""
    )
    ways = "alpha,alpha overlap=yes"
    assert drawn == [[2, ways, "1,2"], [2, ways, "1,2"]]
    growth = "document.querySelector('.chart[data-kind=\"growth\"]')"
    for left in (1, 2):  # a click hides a line, and another shows it
        name = f"{growth}.querySelector('.named').parentNode"
        browser.evaluate(f"{name}.dispatchEvent(new Event('click'))")
        assert browser.evaluate(f"{growth}.querySelectorAll('.curve').length") == left
    assert browser.complaints() == []


def test_the_keyboard_shows_what_a_term_means(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    browser.open(write_page(plain, tmp_path), 400)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", windowsVirtualKeyCode=9)
    focused = "document.activeElement"
    assert browser.evaluate(f"{focused}.className") == "term"
    target = browser.evaluate(f"document.querySelector({focused}.hash).nextSibling.innerText")
    shown = browser.evaluate(f"getComputedStyle({focused}, '::after').content")
    assert shown == f'"{target}"'
    assert browser.evaluate("document.querySelectorAll('dt[id]').length") == browser.evaluate(
        "new Set([...document.querySelectorAll('dt[id]')].map((term) => term.id)).size"
    )
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(f"getComputedStyle({focused}, '::after').display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")


def test_points_without_an_interval_are_hollow(
    browser: Browser, plain: Results, tmp_path: Path
) -> None:
    shown = "document.querySelectorAll('section.path .chart .{}').length"
    browser.open(write_page(plain, tmp_path), 1280)
    before, every = (browser.evaluate(shown.format(kind)) for kind in ("hollow", "point"))
    for cell in plain.cells:
        cell.ci95 = cell.fraction_ci95 = None
    browser.open(write_page(plain, tmp_path), 1280)
    after = browser.evaluate(shown.format("hollow"))
    assert before < after < every  # ceilings have points, too
