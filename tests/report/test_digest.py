# SPDX-License-Identifier: Apache-2.0
"""The answer of a study: its sentences, its table, and what it says where figures are missing."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from answers import printed
from nearpeak.document.model import Notice, Prose
from nearpeak.numbers import size
from nearpeak.report.conclusion import gaps, links, sentence
from nearpeak.report.digest import MOST_LINES, answer, digest, fitted, legend, paths
from nearpeak.report.failures import by_library
from nearpeak.report.lines import lines
from nearpeak.results.build import from_json
from nearpeak.results.results import Results

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_first_sentence_has_each_path_with_its_rating(plain: Results) -> None:
    text = sentence(plain, lines(plain))
    assert text.startswith(f"On {plain.machine.hostname}, ")
    assert " % of the ceiling at 64 MiB on host-host same-numa and " in text
    assert text.endswith(" (good).")


def test_few_launches_are_unconfirmed(plain: Results) -> None:
    shown = lines(plain)
    heads = [head for head in plain.headlines if head.fraction_ci95]
    for head in heads:
        head.fraction_ci95 = None
    text = sentence(plain, lines(plain))
    assert text.startswith("Unconfirmed, as launches are few: on ")
    assert "(good)" not in text
    assert [line.label for line in lines(plain)] == [line.label for line in shown]


def test_of_many_paths_the_sentence_counts_the_ratings(plain: Results) -> None:
    shown = lines(plain)
    first = next(line for line in shown if line.rate and line.rating[0] == "good")
    assert first.rate is not None
    others = [
        first._replace(rate=msgspec.structs.replace(first.rate, fraction=share, fraction_ci95=ci95))
        for share, ci95 in ((0.7, (0.6, 0.8)), (0.3, (0.2, 0.4)), (0.1, None))
    ]
    text = sentence(plain, [first, *others])
    assert " is good at 64 MiB on 1 of 4 paths, fair on 1, poor on 1, unconfirmed on 1; " in text
    assert f"worst confirmed: {first.label}, 30.0 % of the ceiling by " in text
    assert " is good at 64 MiB on all 4 paths; " in sentence(plain, [first] * 4)


def test_the_rates_of_links_are_the_ceilings_of_the_table(plain: Results) -> None:
    (peak,) = [peak for peak in plain.peaks if peak.of_theoretical]
    head = next(line.rate for line in lines(plain) if line.rate and line.group.place == peak.place)
    head.case = msgspec.structs.replace(head.case, x=2 * peak.case.x)
    assert head.ceiling is not None
    head.ceiling.value = 3.0
    peak.value = 4.0
    assert links(plain, lines(plain)) == (
        f"Without MPI at {size(head.case.x)}: host-host same-numa 3.00 of a theoretical 25.0 GB/s."
    )
    head.ceiling = None
    assert links(plain, lines(plain)) == (
        f"Without MPI at {size(peak.case.x)}: host-host same-numa 4.00 of a theoretical 25.0 GB/s."
    )


def test_a_log_is_named_only_if_it_is_there(results: Results, tmp_path: Path) -> None:
    kind = next(kind for kind in results.failure_kinds if kind.log)
    results.failure_kinds = [kind]

    def text() -> str:
        notices = [block for block in answer(results, tmp_path) if isinstance(block, Notice)]
        return next(block.text for block in notices if block.details == "failures")

    assert text() == f"{by_library(results)}."
    log = tmp_path / str(kind.log)
    log.parent.mkdir()
    log.touch()
    assert text() == f"{by_library(results)}, see {log}."


def test_a_study_without_libraries_shows_its_peaks(
    plain: Results, tell: Callable[[Results], None]
) -> None:
    plain.cells, plain.comparisons, plain.curves, plain.findings = [], [], [], []
    tell(plain)
    text = printed(digest(plain, Path("DIR")))
    assert "no library was measured, only the ceilings" in text.replace("\n", " ")
    assert "host-host same-numa" in text
    plain.ceilings = []
    tell(plain)
    assert "nothing could be measured" in printed(digest(plain)).replace("\n", " ")


def test_sizes_that_differ_stand_in_the_cells(plain: Results) -> None:
    rates = [head for head in plain.headlines if head.case.figure == "bw"]
    assert "bw 64 MiB" in printed(digest(plain))
    rates[0].case = msgspec.structs.replace(rates[0].case, x=1 << 20)
    text = printed(digest(plain))
    assert "bw 64 MiB" not in text
    assert "1 MiB: " in text


def test_gaps_are_counted(plain: Results) -> None:
    for cell in plain.cells:
        cell.launches = 6
    plain.left_out = []
    assert gaps(plain) == ""
    plain.cells[0].launches = 2
    many = len(plain.cells)
    assert gaps(plain) == f"1 of {many} figures unconfirmed (under 6 launches), with openmpi."
    plain.cells[1].median = None
    assert gaps(plain).endswith(" launches), with openmpi; 1 not measured.")


@pytest.mark.parametrize(
    ("recording", "text"),
    [
        ("h200", "(under 6 launches), 48 on gpu-gpu same-gpu; 4 not measured."),
        (
            "h200x2-shipped",
            "Left out for lack of time: bibw, collective operations, one-sided operations and 6"
            " more.",
        ),
        ("h200x2-families", "(under 6 launches), all with intel; 44 not measured."),
        ("h100x4-pairs", "(under 6 launches), all on gpu-gpu pairs; left out: bibw and 2 more."),
        ("h200x4-scaling", "6 of 6 figures unconfirmed (under 6 launches)."),
    ],
)
def test_the_paths_or_the_library_with_most_gaps_are_named(recording: str, text: str) -> None:
    results = from_json((EXAMPLES / recording / "results.json").read_bytes())
    assert gaps(results).endswith(text)
    assert len(gaps(results)) <= 100


def test_what_has_no_room_is_left_to_the_page() -> None:
    results = from_json((EXAMPLES / "h200" / "results.json").read_bytes())
    blocks = [Prose("always"), Prose("more", medium="details")]
    assert [block.medium for block in fitted(blocks)] == ["", ""]
    full = [Prose("always")] * MOST_LINES
    assert fitted([*full, blocks[1]])[-1] == blocks[1]
    assert "Also measured: datatypes with gaps." not in printed(digest(results))
    assert any(
        block == Prose("Also measured: datatypes with gaps.", tone="muted", medium="details")
        for block in paths(results)
    )


def test_that_a_library_is_not_as_shipped_is_said_even_without_room() -> None:
    def text(name: str) -> str:
        return printed(digest(from_json((EXAMPLES / name / "results.json").read_bytes())))

    named = "Not as shipped: OMPI_MCA_plm and 2 more were set; a settings file was read.\n"
    assert named in text("h200x4-scaling")
    assert named in text("h200x2-halo")
    assert " (unconfirmed). Not as shipped.\n" in text("h200")
    assert " measured. OMPI_MCA_plm and 2 more were set.\n" in text("h200")
    assert " launches). Not as shipped: a settings file was read.\n" in text("h100x4-pairs")
    assert "Not as shipped" not in text("lammps")
    assert "Not as shipped" not in text("h200x2-shipped")


def test_what_the_table_leaves_open_is_explained() -> None:
    (block,) = legend(from_json((EXAMPLES / "h200x2-shipped" / "results.json").read_bytes()))
    assert isinstance(block, Prose)
    assert block.text == (
        "mpich+layer: mpich with Nearpeak's layer for GPU buffers. latency: one message at a time,"
        " in the same buffer; bw: several in flight, each in its own. H,D: a host buffer at one end"
        " and a GPU buffer at the other, as osu_latency H D."
    )


def test_where_nothing_is_open_there_is_no_legend(plain: Results) -> None:
    assert list(legend(plain)) == []


def test_the_layer_is_explained_above_the_findings_where_there_is_no_other_room() -> None:
    def text(name: str) -> str:
        return printed(digest(from_json((EXAMPLES / name / "results.json").read_bytes())))

    layer = "mpich+layer: mpich with Nearpeak's layer"
    costliest = "Costliest first, then furthest from a ceiling"
    assert f"\n{costliest} ({layer}):\n1. " in text("h200x2-shipped")
    assert text("h200x2-families").count(layer) == 1
    assert "layer" not in text("h200x4")
