# SPDX-License-Identifier: Apache-2.0
"""The view of the results that terminal, page and exports share."""

from nearpeak.report import summary
from nearpeak.results.model import Cell, Results, Skip


def _cell(results: Results, **want: object) -> Cell:
    found = [
        cell
        for cell in results.cells
        if all(getattr(cell, name) == value for name, value in want.items())
    ]
    return found[0]


def test_the_default_variant_comes_first_and_is_kept_apart(results: Results) -> None:
    variants = summary.variants(results)
    assert [variant.benchmark for variant in variants] == ["bw"] * 2 + ["bibw"] * 2 + [
        "latency"
    ] * 2
    defaults = summary.default_variants(results)
    assert [dict(variant.axes)["calls"] for variant in defaults] == ["blocking"] * 3


def test_table_two_shows_the_best_of_the_default_variant(plain: Results) -> None:
    same_numa = summary.table_two(plain)[0]
    assert same_numa.title == "host-host same-numa"
    who, row = same_numa.rows[0]
    assert who == "openmpi"
    mine = [
        cell
        for cell in plain.cells
        if (cell.library, cell.path, cell.benchmark) == ("openmpi", "host-host same-numa", "bw")
    ]
    assert row["bw"].cell.median == max(cell.median or 0 for cell in mine)
    top = same_numa.ceilings["bw"].value
    assert row["bw"].of_peak == (row["bw"].cell.median or 0) / top
    assert row["latency"].cell.size_bytes == 1  # of the smallest message that is not empty


def test_another_variant_does_not_enter_table_two(results: Results) -> None:
    other = _cell(results, library="mpich", benchmark="bw", size_bytes=1 << 18)
    faster = [
        cell
        for cell in results.cells
        if cell.library == "mpich" and cell.axes["calls"] == "nonblocking"
    ]
    for cell in faster:
        cell.median = 1e6
    row = dict(summary.table_two(results)[0].rows)["mpich"]
    assert row["bw"].cell.median == other.median


def test_a_library_that_only_failed_still_has_its_row(plain: Results) -> None:
    plain.cells = [cell for cell in plain.cells if cell.library != "mpich"]
    assert dict(summary.table_two(plain)[0].rows)["mpich"] == {}


def test_buffers_are_kept_apart(plain: Results) -> None:
    for cell in plain.cells[::2]:
        cell.buffers = "D,D"
    titles = [group.title for group in summary.table_two(plain)]
    assert titles[:2] == ["host-host same-numa (D,D)", "host-host same-numa (H,H)"]


def test_table_one_gives_a_fraction_of_theory_to_one_direction_only(results: Results) -> None:
    rows = {(row.path, row.best.metric): row for row in summary.table_one(results)}
    bw = rows["host-host same-numa", "bw"]
    assert bw.fraction == bw.best.value / 25.0
    assert rows["host-host same-numa", "bibw"].fraction is None
    assert rows["host-host tcp-loopback", "bw"].fraction is None  # nothing theoretical is known
    assert ("host-memory node0", "triad") in rows


def test_a_ceiling_of_other_axes_is_not_taken(results: Results) -> None:
    variant = summary.default_variants(results)[0]
    where = ("host-host same-numa", "bw", variant)
    for point in results.ceilings:
        point.axes = {"reuse": "rotating"}
    assert summary.ceiling_points(summary.ceilings_by_curve(results), *where) == []
    for point in results.ceilings:
        point.axes = {"unknown-to-the-case": "x"}
    assert summary.ceiling_points(summary.ceilings_by_curve(results), *where)


def test_the_headline_names_the_nearest_and_where_it_loses(plain: Results) -> None:
    text = dict(summary.headlines(plain))["host-host same-numa"]
    assert text.startswith("openmpi comes nearest to the measured ceiling")
    assert "mpich 64.6 %" in text
    assert "It peaks at 14.4 GB/s (bw at 256 KiB), 85.0 % of the ceiling at that size" in text
    assert "loses most in latency at 16 KiB" in text
    assert "ring copy" in text


def test_equals_stand_in_their_order(plain: Results) -> None:
    path = "host-host same-numa"
    judged = [
        cell
        for cell in plain.cells
        if (cell.path, cell.benchmark) == (path, "latency") and cell.fraction
    ]
    openmpi, mpich = (
        [cell for cell in judged if cell.library == name] for name in ("openmpi", "mpich")
    )
    for cell in plain.cells:
        if cell not in judged:
            cell.fraction = None
    for turn in range(20):  # the same fractions in other cells: no sum of them may differ
        for place, (one, other) in enumerate(zip(openmpi, reversed(mpich), strict=True)):
            one.fraction = other.fraction = (1 + place) / (len(openmpi) + 1 + turn)
        assert dict(summary.headlines(plain))[path].startswith("openmpi and mpich come equally")


def test_what_differs_by_no_more_than_the_noise_is_a_tie(plain: Results) -> None:
    path = "host-host same-numa"
    for cell in plain.cells:
        if cell.fraction:
            cell.fraction = 0.82 if cell.library == "mpich" else 0.83
    text = dict(summary.headlines(plain))[path]
    assert text.startswith(
        "openmpi and mpich come equally near to the measured ceiling: 83.0 % and 82.0 % of it"
    )
    assert "openmpi loses most in" in text
    for cell in plain.cells:
        if cell.fraction and cell.library == "mpich":
            cell.fraction = 0.7
    assert dict(summary.headlines(plain))[path].startswith("openmpi comes nearest")
    for cell in plain.cells:
        cell.ci95 = ((cell.median or 0.0) * 0.7, (cell.median or 0.0) * 1.3)
    assert " and mpich come equally near" in dict(summary.headlines(plain))[path]


def test_the_ceiling_in_the_place_of_a_library_is_in_no_ranking(plain: Results) -> None:
    path = "host-host same-numa"
    plain.libraries[0].family = "ceiling"
    assert plain.libraries[0].name == "openmpi"
    assert "openmpi" not in dict(summary.headlines(plain))[path]
    assert "openmpi" in dict(summary.table_two(plain)[0].rows)
    # Alone it is what was measured.
    plain.cells = [cell for cell in plain.cells if cell.library == "openmpi"]
    assert dict(summary.headlines(plain))[path].startswith("openmpi reaches")


def test_a_cell_above_the_ceiling_is_a_defect_and_no_merit(results: Results) -> None:
    found = summary.defects(results)
    assert [(cell.library, cell.size_bytes) for cell in found] == [("openmpi", 4096)]
    before = dict(summary.headlines(results))["host-host same-numa"]
    found[0].fraction = 40.0
    assert dict(summary.headlines(results))["host-host same-numa"] == before


def test_headlines_without_ceilings_cells_or_launches(results: Results) -> None:
    texts = dict(summary.headlines(results))
    assert "No believable ceiling" in texts["host-host <script>alert(1)</script>"]
    assert texts["host-memory node0"].startswith("Ceiling only, no MPI: copy 16.9 GB/s")
    results.cells, results.ceilings = [], []
    assert "Nothing was measured" in dict(summary.headlines(results))["host-host same-numa"]


def test_verdicts_are_counted_over_the_sizes(plain: Results) -> None:
    row = summary.verdict_rows(plain)[0]
    assert (row.first, row.second, row.path) == ("openmpi", "mpich", "host-host same-numa")
    assert sum(row.counts.values()) == 16
    assert set(row.counts) == set(summary.VERDICTS)


def test_the_staged_baseline_has_rows_of_its_own(gpu: Results) -> None:
    (nvlink,) = [group for group in summary.table_two(gpu) if group.path == "gpu-gpu nvlink"]
    assert dict(nvlink.rows)["mpich"] == {}
    assert [who for who, _ in nvlink.baselines] == ["mpich, staged by the benchmark (pinned)"]
    assert nvlink.baselines[0][1]["bw"].cell.library == "mpich"
    assert nvlink.title == "gpu-gpu nvlink (D,D)"


def test_staging_is_said_in_words(gpu: Results) -> None:
    details = {variant.detail for variant in summary.variants(gpu) if variant.buffers == "D,D"}
    assert details == {
        "D,D, calls=blocking, reuse=fixed",
        "D,D, staged by the benchmark (pinned), calls=blocking, reuse=fixed",
    }


def test_a_staged_variant_is_the_default_only_where_there_is_no_other(gpu: Results) -> None:
    assert all(variant.staging is None for variant in summary.default_variants(gpu))
    gpu.cells = [cell for cell in gpu.cells if cell.library == "mpich"]
    kinds = {v.buffers: v.staging for v in summary.default_variants(gpu)}
    assert kinds == {"H,H": None, "D,D": "pinned", "H,D": "pinned", "D,H": "pinned"}
    (nvlink,) = [group for group in summary.table_two(gpu) if group.path == "gpu-gpu nvlink"]
    assert [row for _, row in nvlink.rows] == [{}, {}]
    assert len(nvlink.baselines) == 1
    # Nor is a baseline called near to the ceiling.
    assert "mpich" not in dict(summary.headlines(gpu))["gpu-gpu nvlink"]


def test_headlines_leave_all_pairs_to_their_matrix(gpu: Results) -> None:
    headlines = dict(summary.headlines(gpu))
    assert "gpu-gpu nvlink" in headlines
    assert not any(" pair " in path for path in headlines)
    assert "bw D,D at" in headlines["gpu-gpu nvlink"]


def test_only_the_best_of_a_direction_speaks_of_health(gpu: Results) -> None:
    rows = {(row.path, row.best.metric, row.best.buffers): row for row in summary.table_one(gpu)}
    near, back = rows["host-gpu near", "bw", "H,D"], rows["host-gpu near", "bw", "D,H"]
    assert near.fraction is not None
    assert near.fraction < summary.HEALTHY
    assert near.suspect
    assert back.suspect  # the other direction has its own link health
    pinned = [p for p in gpu.ceilings if (p.path, p.buffers) == ("host-gpu near", "H,D")]
    for point in pinned:
        gpu.ceilings.append(type(point)(**{**_fields(point), "buffers": "P,D", "value": 120.0}))
    rows = {(row.path, row.best.metric, row.best.buffers): row for row in summary.table_one(gpu)}
    assert not rows["host-gpu near", "bw", "H,D"].suspect  # pageable memory, a sound link
    assert rows["host-gpu near", "bw", "D,H"].suspect
    gpu.ceilings = [point for point in gpu.ceilings if point.size_bytes <= 16 << 20]
    assert not any(row.suspect for row in summary.table_one(gpu))  # too small to judge by


def _fields(item: object) -> dict[str, object]:
    return {name: getattr(item, name) for name in item.__struct_fields__}  # type: ignore[attr-defined]


def test_facts_are_no_ceilings_and_same_gpu_says_how_it_counts(gpu: Results) -> None:
    rows = {(row.path, row.best.metric): row for row in summary.table_one(gpu)}
    assert rows["gpu-gpu nvlink", "device_latency"].fact
    assert not rows["gpu-gpu nvlink", "bw"].fact
    assert "half of the memory's traffic" in rows["gpu-gpu same-gpu", "bw"].convention
    assert rows["gpu-gpu nvlink", "bw"].convention == ""


def test_what_a_reader_must_know_of_the_figures(results: Results) -> None:
    for cell in results.cells:
        cell.window, cell.flags = 64, []
    assert summary.windows(results) == summary.imprecise(results) == ""
    for cell in results.cells:
        if cell.benchmark == "bw" and cell.size_bytes == 1 << 20:
            cell.window, cell.flags = 16, ["imprecise"]
        elif cell.benchmark == "bw" and cell.size_bytes == 1 << 24:
            cell.window, cell.buffers = 8, "D,D"
    assert summary.windows(results) == (
        "64 messages in flight, fewer where large: in host memory 16 of 1 MiB;"
        " with a GPU's memory 8 of 16 MiB."
    )
    marked = sum("imprecise" in cell.flags for cell in results.cells)
    assert summary.imprecise(results) == (
        f"{marked} of {len(results.cells)} cells are less precise than 2.00 % (rates) or 3.00 %"
        " (times): the report has the intervals."
    )


def test_methods_that_a_ceiling_does_without(gpu: Results) -> None:
    def skip(path: str, method: str, message: str) -> Skip:
        return Skip(
            library="",
            settings="",
            path=path,
            benchmark="gpu",
            method=method,
            sizes=[8],
            message=message,
        )

    near, pair = "host-gpu near", "gpu-gpu nvlink"
    gpu.skipped = [
        skip(pair, "sm", "no NVRTC"),
        skip(pair, "sm-pull", "no NVRTC"),
        skip(near, "sm", "no NVRTC"),
        skip(near, "cma", "not permitted"),
    ]
    assert summary.missing_methods(gpu) == [
        "Ceilings of gpu-gpu nvlink, host-gpu near without sm, sm-pull: no NVRTC;"
        " without kernels those of many small messages are too low.",
        "Ceilings of host-gpu near without cma: not permitted.",
    ]
