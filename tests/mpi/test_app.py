# SPDX-License-Identifier: Apache-2.0
"""Applications on real launches: verified on every number of ranks, and what goes wrong in them."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import every_number_of_ranks, one_library

QUICK = ("--slot-ms", "0.1", "--least-samples", "3")
PHASES = ["compute", "pack", "communicate", "unpack", "norm"]
# Odd ones, and one whose rows are whole vectors.
SIDES = (1, 7, 33, 64)
SIZES = ("--sizes", ",".join(map(str, SIDES)))


@every_number_of_ranks
def test_every_number_of_ranks(launcher: Any, ranks: int) -> None:
    done = launcher.run("jacobi2d", *SIZES, *QUICK, ranks=ranks)
    assert done.verified_sizes("jacobi2d") == list(SIDES)
    times = [record for record in done.of("samples") if record["metric"] == "jacobi2d"]
    rates = [record for record in done.of("samples") if record["metric"] == "jacobi2d_rate"]
    for time, rate in zip(times, rates, strict=True):
        assert (time["unit"], rate["unit"]) == ("us", "GLUP/s")
        assert list(time["phases"]) == PHASES
        for most, mean, least in zip(
            *(time[name]["compute"] for name in ("phases", "mean_phases", "shortest_phases")),
            strict=True,
        ):
            assert least <= mean + 1e-5  # rounded
            assert mean <= most + 1e-5
        # Of a rank that has most neighbours: of six in 2 x 3 one of the two in the middle.
        messages = time["work"]["messages"]
        assert len(messages) == {1: 0, 2: 1, 3: 2, 4: 2, 6: 3}[ranks]
        assert time["work"]["own_bytes"] == 0
        cells = ranks * time["size_bytes"] ** 2
        assert rate["samples"][0] == pytest.approx(cells / time["samples"][0] / 1e3, rel=1e-6)


@one_library
def test_every_way(launcher: Any) -> None:
    axes = {name: launcher.axis("jacobi2d", name) for name in ("tiles", "scaling", "type", "norm")}
    assert axes == {
        "tiles": ["square", "rows"],
        "scaling": ["weak", "strong"],
        "type": ["double", "float"],
        "norm": ["1", "100", "never"],
    }
    more = (("--type", "float"), ("--norm", "100"), ("--norm", "never"))
    lines = [
        ("jacobi2d", "--tiles", tiles, "--scaling", scaling, "--overlap", "yes", *words)
        for tiles, scaling, words in itertools.product(axes["tiles"], axes["scaling"], more)
    ]
    sizes = ("--sizes", "6,39,64")  # whole rows of strong scaling: one of each rank
    for done in launcher.run_each(lines, *sizes, *QUICK, ranks=6):
        assert done.verified_sizes("jacobi2d") == [6, 39, 64]


@one_library
def test_cells_that_no_cache_holds(launcher: Any) -> None:
    done = launcher.run("jacobi2d", "--sizes", "3001", "--memory-limit", "1G", *QUICK)
    assert done.verified_sizes("jacobi2d") == [3001]


@one_library
@pytest.mark.parametrize("ahead", ["eager=0", "eager=1"])  # which of two streams
def test_cells_of_devices(launcher: Any, fake_nvrtc: Path, ahead: str) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    ways = (
        ("D", ()),
        ("M", ("--type", "float")),
        ("D", ("--type", "float", "--norm", "never", "--tiles", "rows")),
        ("H,D", ()),
    )
    chosen = list(itertools.product(("no", "yes"), ways))
    lines = [
        ("jacobi2d", "--overlap", overlap, *more, "--buffers", buffers)
        for overlap, (buffers, more) in chosen
    ]
    each = launcher.run_each(lines, *SIZES, *QUICK, fake=f"reachable=1,{ahead}", env=env, ranks=4)
    for (overlap, (buffers, _)), done in zip(chosen, each, strict=True):
        assert done.verified_sizes("jacobi2d") == list(SIDES)
        hidden = overlap == "yes" and buffers != "H,D"  # of which rank 0 computes itself
        parts = {tuple(record["phases"]) for record in done.of("samples")}
        assert parts == {("exposed compute" if hidden else "compute", *PHASES[1:])}
    # The library dies of an address of these devices.
    lines = [
        ("jacobi2d", "--overlap", overlap, "--staging", staging, "--buffers", "D")
        for overlap in ("no", "yes")
        for staging in launcher.axis("jacobi2d", "staging")[1:]
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, fake=ahead, env=env):
        assert done.verified_sizes("jacobi2d") == list(SIDES)


@one_library
def test_nobody_waits_for_cells_of_a_rank_alone_between_norms(
    launcher: Any, fake_nvrtc: Path
) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    lines = [
        ("jacobi2d", "--norm", norm, "--overlap", overlap, "--buffers", "D")
        for norm, overlap in (("never", "yes"), ("100", "no"))
    ]
    for done in launcher.run_each(lines, *SIZES, *QUICK, fake="reachable=1", env=env, ranks=1):
        assert done.verified_sizes("jacobi2d") == list(SIDES)
        assert all(record["batch"] > 1 for record in done.of("samples"))


@one_library
def test_cells_of_opencl(launcher: Any, opencl: str) -> None:
    lines = [
        ("jacobi2d", "--overlap", overlap, *more)
        for overlap in ("no", "yes")
        for more in ((), ("--type", "float"))
    ]
    device = ("--buffers", "D", "--devices", opencl, "--staging", "pinned")
    for done in launcher.run_each(lines, *device, *SIZES, *QUICK, ranks=4):
        assert done.verified_sizes("jacobi2d") == list(SIDES)


@one_library
def test_the_size_that_fits_is_told(launcher: Any) -> None:
    lines = {
        ("jacobi2d",): "2000",
        ("jacobi2d", "--scaling", "strong", "--type", "float"): "2000",
        ("halo2d",): "2000",
        ("halo3d", "--radius", "2", "--block", "flat", "--pack", "direct"): "200",
        ("halo3d", "--pack", "mock", "--neighbours", "26"): "400",
        ("cosmo",): "200",
        ("cosmo", "--mode", "nocomp"): "200",
        ("migrate",): "1M",
    }
    limit = ("--memory-limit", "5M", *QUICK)
    large = [(*words, "--sizes", sizes) for words, sizes in lines.items()]
    fits = []
    for done in launcher.run_each(large, *limit):
        [told] = [problem["message"] for problem in done.of("problem")]
        assert not done.of("samples")
        size = r"take [\d.]+M: more than --memory-limit 5M; sizes up to (\d+) fit$"
        found = re.search(size, told)
        assert found, told
        fits.append(int(found[1]))
    told_sizes = [
        (*words, "--sizes", f"{size},{size + 1}") for words, size in zip(lines, fits, strict=True)
    ]
    for size, done in zip(fits, launcher.run_each(told_sizes, *limit), strict=True):
        assert {record["size_bytes"] for record in done.of("samples")} == {size}
        assert [problem["size_bytes"] for problem in done.of("problem")] == [size + 1]


@one_library
def test_where_no_size_fits_that_is_told(launcher: Any) -> None:
    lines = [
        ("jacobi2d", "--memory-limit", "1"),
        ("cosmo", "--memory-limit", "960K"),
        ("halo3d", "--memory-limit", "15K", "--radius", "3", "--block", "flat"),
    ]
    for done in launcher.run_each(lines, "--sizes", "64", *QUICK):
        assert [problem["message"][-14:] for problem in done.of("problem")] == ["; no size fits"]


@one_library
def test_what_a_device_has_is_asked_for(launcher: Any, fake_nvrtc: Path) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    limit = ("--memory-limit", "1000G", "--buffers", "D", *QUICK)
    done = launcher.run("jacobi2d", "--sizes", "65536", *limit, env=env, fake="reachable=1")
    [told] = [problem["message"] for problem in done.of("problem")]
    assert re.search(
        r"^the buffers of all ranks of a device are \d+ MiB, and it has \d+ MiB available: "
        r"choose smaller sizes or fewer ranks; sizes up to \d+ fit$",
        told,
    )


@one_library
def test_what_does_not_fit_is_said(launcher: Any) -> None:
    done = launcher.run("jacobi2d", "--sizes", "1,9000", "--scaling", "strong", *QUICK)
    assert done.code == 0, done.err
    told = [problem["message"] for problem in done.of("problem")]
    assert len(told) == 2
    assert "fewer rows or columns of cells than of ranks" in told[0]
    assert re.search(r"of a rank take \d+M: more than --memory-limit 512M", told[1])
    done = launcher.run("jacobi2d", "--buffers", "D", *SIZES, *QUICK, fake="reachable=1")
    assert {problem["status"] for problem in done.of("problem")} == {"skipped"}
    assert "kernels" in done.of("problem")[0]["message"]


@one_library
@pytest.mark.parametrize(
    "defect",
    [
        "(left + right)=>(left + up)",
        "item < items=>item + 1 < items",  # some cells are left out
        "left > 0=>left > 1",  # the last row, which is not one of eight
        "to[to_first + i * to_step] ==>to[to_first] =",  # of a line one cell alone
        "squares += change * change=>squares += change",
    ],
    ids=["mean", "item", "row", "line", "norm"],
)
def test_wrong_kernels_are_caught(launcher: Any, fake_nvrtc: Path, defect: str) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc), "NEARPEAK_FAKE_NVRTC": defect}
    words = ("jacobi2d", "--buffers", "D", "--sizes", "65", *QUICK)
    done = launcher.run(*words, fake="reachable=1", env=env)
    assert done.code == 3, (done.out, done.err)


SOLVED = re.compile(
    r"^# (.*) after (\d+) iterations: residue (\S+), distance (\S+) at most\n"
    r"# error (\S+), of a cell (\S+) at most;",
    re.MULTILINE,
)


@one_library
@pytest.mark.parametrize("words", [(), ("--type", "float"), ("--norm", "100")])
def test_it_is_solved_when_it_is_near(launcher: Any, words: tuple[str, ...]) -> None:
    """Near to the closed form: not when iterations change little."""
    done = launcher.run("jacobi2d", "--solve", "1e-3", *words)
    assert done.code == 0, (done.out, done.err)
    assert "on 128 x 64 cells" in done.out
    [(said, iterations, residue, distance, error, largest)] = SOLVED.findall(done.out)
    assert said == "solved"
    assert float(error) <= float(distance) <= 1e-3
    assert float(residue) < 1e-5
    assert float(error) <= float(largest)
    heading, first = done.out.splitlines()[1:3]
    assert heading.split() == ["#", "Iteration", "Residue", "Distance"]
    assert float(first.split()[2]) > 1
    assert 2000 < int(iterations) < 20000


@one_library
def test_cells_that_come_to_a_stand_are_not_solved(launcher: Any) -> None:
    """One of one cell, float, and some where rounding goes on and on."""
    words = ("jacobi2d", "--type", "float", "--solve", "1e-9")
    for size in (1, 15, 32):
        done = launcher.run(*words, "--sizes", str(size), ranks=1)
        assert done.code == 1, (done.out, done.err)
        [(said, iterations, _, distance, error, _)] = SOLVED.findall(done.out)
        assert said == "NOT SOLVED"
        assert "give a larger tolerance or --type double" in done.out
        assert int(iterations) < 20000
        assert float(error) <= float(distance)
    done = launcher.run("jacobi2d", "--solve", "1e-9", "--sizes", "1", ranks=1)
    assert done.code == 0, (done.out, done.err)
    done = launcher.run("jacobi2d", "--solve", "1e-9", "--sizes", "15", "--most", "50", ranks=1)
    assert done.code == 1, (done.out, done.err)
    assert "larger tolerance" not in done.out


@one_library
def test_streams_wait_for_each_other(launcher: Any, fake_nvrtc: Path, tmp_path: Path) -> None:
    """In many iterations of which nobody takes the norm."""
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    file = tmp_path / "solution.json"
    words = ("jacobi2d", "--sizes", "17", "--norm", "100", "--solve", "1e-9", "--most", "150")

    def solution(*more: str, fake: str = "") -> tuple[str, float]:
        file.unlink(missing_ok=True)
        done = launcher.run(*words, *more, "--solution", str(file), fake=fake, env=env, ranks=4)
        [residue] = re.findall(r"^100 +(\S+) +\S+$", done.out, re.MULTILINE)
        return file.read_text(), float(residue)

    cells, residue = solution()
    on_device = ("--buffers", "D", "--overlap", "yes")
    for ahead in ("eager=0", "eager=1"):
        got, its_residue = solution(*on_device, fake=f"reachable=1,{ahead}")
        assert got == cells
        assert its_residue == pytest.approx(residue, rel=1e-5)
    assert solution(*on_device, fake="reachable=1,heedless=1")[0] != cells


@one_library
def test_steps_that_do_not_wait_are_caught(launcher: Any, fake_nvrtc: Path) -> None:
    """A first step alone has nothing to wait for, nor have later ones of what is timed, whose cells
    stay as they are."""
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    words = ("jacobi2d", "--buffers", "D", "--overlap", "yes", "--norm", "never", "--sizes", "33")
    done = launcher.run(*words, *QUICK, fake="reachable=1,heedless=1", env=env, ranks=4)
    assert done.code == 3, (done.out, done.err)
    [problem] = done.of("problem")
    assert problem["status"] == "wrong data"


@one_library
def test_sums_that_do_not_wait_are_caught(launcher: Any, fake_nvrtc: Path) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    lines = [("jacobi2d", "--overlap", overlap) for overlap in ("no", "yes")]
    words = ("--buffers", "D", "--sizes", "33", *QUICK)
    fake = "reachable=1,eager=1,heedless=1"
    for done in launcher.run_each(lines, *words, code=3, fake=fake, env=env, ranks=4):
        assert [problem["status"] for problem in done.of("problem")] == ["wrong data"]


@one_library
@pytest.mark.parametrize(("fault", "rank"), [("dropped", 3), ("misplaced", 0), ("late", 2)])
def test_wrong_halos_are_caught(
    launcher: Any, compile_shim: Callable[[str], Path], fault: str, rank: int
) -> None:
    env = {
        "LD_PRELOAD": str(compile_shim("faulty_pt2pt")),
        "NEARPEAK_FAULT": fault,
        "NEARPEAK_FAULTY_BYTES": str(33 * 8),
        "NEARPEAK_FAULTY_RANK": str(rank),
    }
    lines = [("jacobi2d", "--overlap", overlap) for overlap in ("no", "yes")]
    # A wrong cell spreads: which rank has the first one is no matter.
    for done in launcher.run_each(lines, "--sizes", "33", *QUICK, code=3, env=env, ranks=4):
        assert [problem["status"] for problem in done.of("problem")] == ["wrong data"]
