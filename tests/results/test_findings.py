# Every cell in this file is written by hand, none was measured here; many medians are of the size
# that two H200 once showed.
# SPDX-License-Identifier: Apache-2.0
"""What stands out: found where it is, not where the ceilings explain it or noise could."""

from pathlib import Path
from typing import Any

import pytest

from nearpeak.libraries.model import Library, Settings
from nearpeak.results import findings
from nearpeak.results.model import CeilingValue, Cell, Finding
from nearpeak.study.benchmarks import Benchmark, Metric, RankRule
from nearpeak.study.model import Contender

PAIR = RankRule("exactly", 2)
BENCHMARKS = [
    Benchmark("latency", [Metric("latency", "us", "lower")], PAIR, ceiling="measured"),
    Benchmark(
        "bw",
        [Metric("bw", "GB/s", "higher")],
        PAIR,
        smallest=1,
        symmetric=False,
        ceiling="measured",
    ),
    Benchmark("bibw", [Metric("bibw", "GB/s", "higher")], PAIR, smallest=1, ceiling="measured"),
]
NVLINK, SAME, MPS = "gpu-gpu nvlink", "gpu-gpu same-gpu", "gpu-gpu same-gpu mps"
NEAR = "host-gpu near"
MIB = 1 << 20


def make_cell(
    benchmark: str,
    median: float,
    *,
    size: int = 8,
    library: str = "openmpi",
    settings: str = "default",
    path: str = NVLINK,
    buffers: str = "D,D",
    noise: float = 0.02,
    launches: int = 6,
    **axes: str,
) -> Cell:
    """A cell whose interval is `noise` to either side of its median."""
    bounds = (median * (1 - noise), median * (1 + noise))
    lower = benchmark == "latency"
    return Cell(
        library=library,
        settings=settings,
        path=path,
        benchmark=benchmark,
        metric=benchmark,
        size_bytes=size,
        buffers=buffers,
        axes=axes,
        unit="us" if lower else "GB/s",
        better="lower" if lower else "higher",
        window=1 if lower else 64,
        median=median,
        ci95=None if launches < 6 else bounds,
        range=bounds,
        launch_medians=[median] * launches,
        blocks=list(range(launches)),
        p05=median,
        p95=median,
        minimum=median,
        first_use_us=1.0,
        launches=launches,
        ceiling=None,
        fraction=None,
        fraction_ci95=None,
        status="ok",
        flags=[],
        command="by hand",
    )


def contender(name: str, **env: str) -> Contender:
    library = Library(
        name="openmpi",
        family="openmpi",
        version="5",
        version_text="by hand",
        abi="openmpi",
        prefix=Path("/nowhere"),
        origin="given",
    )
    return Contender(library=library, settings=Settings(name=name, env=env))


Ceilings = dict[tuple[str, str], float]  # by metric and buffers


def found(cells: list[Cell], ceilings: Ceilings | None = None, **kind: Any) -> list[Finding]:
    for cell in cells:
        value = (ceilings or {}).get((cell.metric, cell.buffers))
        cell.ceiling = None if value is None else CeilingValue(value=value, method="ce")
    return findings.find(cells, kind.get("contenders", []), BENCHMARKS)


def host_to_gpu(latency: float, bw: float, **axes: str) -> list[Cell]:
    where = {"size": MIB, "path": NEAR, "buffers": "H,D"}
    return [
        make_cell("latency", latency, **where, calls="blocking", reuse="fixed", **axes),  # type: ignore[arg-type]
        make_cell("bw", bw, **where, calls="nonblocking", reuse="fixed"),  # type: ignore[arg-type]
    ]


CEILINGS = {("latency", "H,D"): 26.0, ("bw", "H,D"): 55.0}


def test_blocking_far_below_windowed_is_told_with_both_figures() -> None:
    (finding,) = found(host_to_gpu(1939.0, 53.0), CEILINGS)
    assert (finding.kind, finding.path, finding.benchmark) == ("blocking", NEAR, "latency")
    assert finding.loss == pytest.approx(53.0 / (MIB / 1939.0 / 1e3))
    assert finding.sentence == (
        "openmpi, host-gpu near, latency H,D at 1 MiB: one message at a time moves 0.541 GB/s"
        " (1940 µs), 64 in flight move 53.0 GB/s, 98.0 times as much; for the ceilings it is"
        " 1.36 times."
    )


def test_blocking_that_the_ceilings_explain_is_no_finding() -> None:
    slow = host_to_gpu(84.0, 55.0)  # 4.4 times
    assert len(found(slow, CEILINGS)) == 1
    assert found(slow, {**CEILINGS, ("latency", "H,D"): 60.0}) == []
    assert found(slow) == []  # nothing is known of what is natural
    assert found(host_to_gpu(50.0, 55.0), CEILINGS) == []  # 2.6 times
    slow[1].axes["reuse"] = "rotating"  # a bandwidth of another variant
    assert found(slow, CEILINGS) == []
    slow[1].axes |= {"reuse": "fixed", "calls": "blocking"}  # no window in flight
    assert found(slow, CEILINGS) == []


def test_only_blocking_calls_and_no_staged_ones() -> None:
    cells = host_to_gpu(1939.0, 53.0)
    cells[0].axes["calls"] = "nonblocking"
    assert found(cells, CEILINGS) == []
    cells = host_to_gpu(1939.0, 53.0)
    for cell in cells:
        cell.axes["staging"] = "pageable"
    assert found(cells, CEILINGS) == []


def test_settings_name_the_variable_and_the_worst_size() -> None:
    cells = [
        make_cell("latency", 105.0),
        make_cell("latency", 19.0, settings="dmabuf-off"),
        make_cell("latency", 53.0, size=MIB),
        make_cell("latency", 12.0, size=MIB, settings="dmabuf-off"),
    ]
    (finding,) = found(
        cells,
        contenders=[
            contender("default", UCX_MEMTYPE_CACHE="n"),
            contender("dmabuf-off", UCX_MEMTYPE_CACHE="n", UCX_CUDA_COPY_DMABUF="n"),
        ],
    )
    assert finding.loss == pytest.approx(105 / 19)
    assert (finding.kind, finding.settings, finding.size_bytes) == ("settings", "default", 8)
    assert finding.sentence == (
        "openmpi, gpu-gpu nvlink, latency D,D at 8 B: 19.0 µs with the settings dmabuf-off against"
        " 105 µs with default, 5.53 times; the difference: UCX_CUDA_COPY_DMABUF=n."
    )


def test_settings_that_noise_or_little_could_explain() -> None:
    def pair(value: float, **how: Any) -> list[Cell]:
        return [make_cell("bw", 10.0, **how), make_cell("bw", value, settings="tuned", **how)]

    assert found(pair(16.0))
    assert found(pair(14.0)) == []
    assert found(pair(16.0, noise=0.4)) == []
    assert found(pair(16.0, launches=4))
    assert found(pair(16.0, launches=4, noise=0.4)) == []
    assert found(pair(16.0, launches=3)) == []
    others = pair(16.0)
    others[1].library = "mpich"  # settings of two libraries are not compared here
    assert found(others) == []


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"A": "1"}, {}, "A=1"),
        ({}, {"A": "1"}, "no A=1"),
        ({"A": "1"}, {"A": "2"}, "A=1 in place of 2"),
        ({"A": "1"}, {"A": "1"}, "none that the plan knows"),
    ],
)
def test_the_difference_of_settings(one: dict[str, str], other: dict[str, str], text: str) -> None:
    assert findings.difference(Settings(env=one), Settings(env=other)) == text


def test_the_difference_of_flags() -> None:
    text = findings.difference(Settings(flags=["--mca", "pml", "ucx"]), Settings())
    assert text == "flags --mca pml ucx in place of none"


@pytest.mark.parametrize(
    ("without", "under", "words", "path"),
    [
        (255.0, 20.0, "20.0 µs under MPS against 255 µs without, 12.8 times", SAME),
        (10.0, 20.0, "10.0 µs without MPS against 20.0 µs under it, 2.00 times", MPS),
    ],
)
def test_one_gpu_with_and_without_mps(without: float, under: float, words: str, path: str) -> None:
    cells = [make_cell("latency", without, path=SAME), make_cell("latency", under, path=MPS)]
    (finding,) = found(cells)
    assert (finding.kind, finding.path) == ("mps", path)
    assert words in finding.sentence


def test_directions_that_differ_more_than_their_ceilings() -> None:
    cells = [
        make_cell("bw", 53.0, size=MIB, path=NEAR, buffers="H,D"),
        make_cell("bw", 12.0, size=MIB, path=NEAR, buffers="D,H"),
    ]
    both = {("bw", "H,D"): 55.0, ("bw", "D,H"): 50.0}
    (finding,) = found(cells, both)
    assert (finding.kind, finding.buffers) == ("directions", "D,H")
    assert "12.0 GB/s against 53.0 GB/s the other way (H,D), 4.42 times" in finding.sentence
    assert "the ceilings are 50.0 and 55.0 GB/s" in finding.sentence
    assert found(cells, {**both, ("bw", "D,H"): 20.0}) == []
    assert found(cells, {("bw", "H,D"): 55.0}) == []


def test_a_staged_baseline_that_wins() -> None:
    cells = [
        make_cell("bw", 0.5, size=MIB, library="mpich", calls="blocking"),
        make_cell("bw", 6.0, size=MIB, calls="blocking", staging="pinned"),
        make_cell("bw", 3.0, size=MIB, calls="blocking", staging="pageable"),
        make_cell("bw", 5.8, size=MIB, library="intel", calls="blocking", staging="none"),
    ]
    (finding,) = found(cells)
    assert (finding.kind, finding.library, finding.loss) == ("staged", "mpich", 12.0)
    assert (
        "0.500 GB/s by the library's own way against 6.00 GB/s with openmpi staged by the"
        " benchmark (pinned), 12.0 times" in finding.sentence
    )


def test_the_greatest_loss_comes_first() -> None:
    cells = [make_cell("bw", value, settings=name) for name, value in (("a", 2.0), ("b", 10.0))]
    cells += [make_cell("latency", 255.0, path=SAME), make_cell("latency", 20.0, path=MPS)]
    assert [finding.kind for finding in found(cells)] == ["mps", "settings"]


def test_settings_that_were_only_tried_come_last() -> None:
    cells = [make_cell("bw", 100.0), make_cell("bw", 1.0, settings="ipc-off")]
    cells += [make_cell("latency", 60.0, path=SAME), make_cell("latency", 20.0, path=MPS)]
    assert [finding.kind for finding in found(cells)] == ["mps", "settings"]


def test_axes_with_one_value_go_without_saying() -> None:
    def pair(**axes: str) -> list[Cell]:
        return [
            make_cell("latency", 60.0, path=SAME, **axes),
            make_cell("latency", 20.0, path=MPS, **axes),
        ]

    (finding,) = found(pair(calls="blocking", reuse="fixed"))
    assert "latency D,D at 8 B:" in finding.sentence
    both = pair(calls="blocking", reuse="fixed") + pair(calls="nonblocking", reuse="fixed")
    assert "latency D,D at 8 B (calls=blocking):" in found(both)[0].sentence


def test_cells_without_numbers_say_nothing() -> None:
    cells = [make_cell("bw", 10.0), make_cell("bw", 20.0, settings="tuned")]
    cells[0].median = cells[0].ci95 = None
    assert found(cells) == []
