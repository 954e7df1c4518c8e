# SPDX-License-Identifier: Apache-2.0
"""Requirements: how they are read, what they name, and how they are judged."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.results.requirements import (
    OF_CEILING,
    OF_THEORETICAL,
    Bound,
    check,
    judge,
    parse_requirement,
)
from nearpeak.results.results import CeilingPoint, Conditions, Failure, Judgement, Results
from nearpeak.results.subjects import measured
from nearpeak.terms.identity import CEILING, Curve, Place, Who
from nearpeak.terms.left_out import LeftOut
from nearpeak.terms.subjects import Subject

MakeStudy = Any
SIZES = (8, 1024, 1 << 20)
SAME = "host-host same-numa"
STRICT = Bound(0.5, OF_THEORETICAL, False, strict=True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "gpu-gpu nvlink:bw:16M>=0.9",
            (None, "gpu-gpu nvlink", "bw", 16 << 20, Bound(0.9, OF_CEILING, False)),
        ),
        (
            "gpu-gpu nvlink:bw>=1",
            (None, "gpu-gpu nvlink", "bw", None, Bound(1.0, OF_CEILING, False)),
        ),
        ("a:bw:8>=340GB/s", (None, "a", "bw", 8, Bound(340.0, "GB/s", False))),
        ("a:bw:8>=500MB/s", (None, "a", "bw", 8, Bound(0.5, "GB/s", False))),
        ("a:bw:8>=500 kB/s", (None, "a", "bw", 8, Bound(0.0005, "GB/s", False))),
        ("a:latency:8<=2ms", (None, "a", "latency", 8, Bound(2000.0, "us", True))),
        ("a:latency:8<=500ns", (None, "a", "latency", 8, Bound(0.5, "us", True))),
        ("a:latency:8<=1.5 us", (None, "a", "latency", 8, Bound(1.5, "us", True))),
        ("a:latency:8<=12\N{MICRO SIGN}s", (None, "a", "latency", 8, Bound(12.0, "us", True))),
        (
            "a:latency:8<=12\N{GREEK SMALL LETTER MU}s",
            (None, "a", "latency", 8, Bound(12, "us", True)),
        ),
        ("a:bw>=90%", (None, "a", "bw", None, Bound(0.9, OF_CEILING, False))),
        ("a:bw>=90 % of ceiling", (None, "a", "bw", None, Bound(0.9, OF_CEILING, False))),
        (
            "a:bw>=80%  of theoretical",
            (None, "a", "bw", None, Bound(0.8, OF_THEORETICAL, False)),
        ),
        ("ceiling,a:bw>=.5 of theoretical strict ", ("ceiling", "a", "bw", None, STRICT)),
        ("a:bw:8>=11 GB/s  strict", (None, "a", "bw", 8, Bound(11, "GB/s", False, strict=True))),
        (
            "intel@ipc-off, host-host same-numa : mbw_mr mr : 8 >= .5",
            ("intel@ipc-off", SAME, "mbw_mr mr", 8, Bound(0.5, OF_CEILING, False)),
        ),
    ],
)
def test_a_requirement_says_where_what_and_how_much(text: str, parts: tuple[object, ...]) -> None:
    requirement = parse_requirement(text)
    assert (
        requirement.library,
        requirement.path,
        requirement.figure,
        requirement.size,
        requirement.bound,
    ) == parts
    assert requirement.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a requirement: write 'PATH:BENCHMARK:SIZE>=FRACTION'"),
        ("bw>=0.9", "is not a requirement"),
        ("a:bw", "is not a requirement"),
        ("a:bw>0.9", "is not a requirement"),
        ("a:bw:8:9>=0.9", "is not a requirement"),
        (":bw>=0.9", "is not a requirement"),
        ("a:bw:x>=0.9", "'x' is not a size"),
        ("a:bw>=900%", "'900%' is neither a fraction nor a figure: write a fraction above 0"),
        ("a:bw>=90% of theory", "'90% of theory' is neither a fraction"),
        ("a:bw>=90%GB/s", "'90%GB/s' is neither a fraction"),
        ("a:bw>=strict", "'strict' is neither a fraction"),
        ("a:bw>=11GB/s strictly", "'11GB/s strictly' is neither a fraction"),
        ("a:bw<=80% of theoretical", "a fraction needs >=: write >=80% of theoretical"),
        ("a:bw>=1.5", "'1.5' is neither a fraction"),
        ("a:bw>=0GB/s", "'0GB/s' is neither a fraction"),
        ("a:bw>=500Mb/s", "'500Mb/s' is neither a fraction"),
        ("a:bw>=340Gb/s", "'340Gb/s' is neither a fraction nor a figure"),
        ("a:bw>=340GiB/s", "'340GiB/s' is neither a fraction nor a figure"),
        ("a:bw>=GB/s", "'GB/s' is neither a fraction"),
        ("a:bw>=1e3GB/s", "'1e3GB/s' is neither a fraction"),
        (f"a:bw>={'9' * 400}GB/s", "is neither a fraction"),
        ("a:bw=340GB/s", "is not a requirement"),
        ("a:latency<=0.9", "a fraction needs >=: write >=0.9"),
        ("a:bw>=0", "'0' is neither a fraction"),
        ("a:bw>=nan", "'nan' is neither a fraction"),
    ],
)
def test_what_is_no_requirement_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_requirement(text)
    assert said in str(error.value)


@pytest.fixture
def results(make_study: MakeStudy) -> Results:
    """`alpha` reaches 80 % of the ceiling, 60 to 100 % at the largest size; `beta` 95 %, but
    crashes before its largest size."""
    study = make_study("alpha", "beta")
    for block in range(6):
        ceiling = {("bw", "ring", size): float(size) for size in SIZES}
        study.ceiling(block, ceiling)
        uneven = (0.6 + 0.08 * block) * SIZES[-1]
        study.launch(block, "alpha", "bw", {8: 0.8 * 8, 1024: 0.8 * 1024, SIZES[-1]: uneven})
        crashed = study.launch(block, "beta", "bw", {8: 0.95 * 8, 1024: 0.95 * 1024}, status=None)
        study.end(crashed, "crashed")
    made = study.results()
    assert isinstance(made, Results)
    return made


def judged(results: Results, text: str) -> dict[str, Judgement]:
    requirement = parse_requirement(text)
    subjects = measured(results)
    check([requirement], subjects)
    return {each.who.label: each for each in judge([requirement], subjects, results)}


def test_what_a_loaded_machine_reached_is_said_to_be_of_one(results: Results) -> None:
    results.conditions = Conditions(cores=4, loaded=True)
    found = judged(results, f"{SAME}:bw:1K>=0.9")
    assert found["beta"].met
    for judgement in found.values():
        assert judgement.words.endswith("bw at 1 KiB; other work took the ranks' time")
    results.conditions = Conditions(cores=4, loaded=False)
    assert "other work" not in judged(results, f"{SAME}:bw:1K>=0.9")["beta"].words


def test_a_judgement_has_the_figure_in_the_unit_of_the_requirement(results: Results) -> None:
    of_ceiling = judged(results, f"{SAME}:bw:1K>=0.9")["beta"]
    assert (of_ceiling.unit, of_ceiling.value) == (OF_CEILING, pytest.approx(0.95))
    assert of_ceiling.ci95 == pytest.approx((0.95, 0.95))
    rate = judged(results, f"{SAME}:bw:1K>=1MB/s")["beta"]
    assert (rate.unit, rate.value, rate.path) == ("GB/s", pytest.approx(972.8), SAME)
    crashed = judged(results, f"{SAME}:bw:1M>=0.9")["beta"]
    assert (crashed.met, crashed.value, crashed.ci95, crashed.range) == (False, None, None, None)


def test_all_libraries_must_meet_it_or_the_one_that_is_named(results: Results) -> None:
    found = judged(results, f"{SAME}:bw:1K>=0.9")
    assert {name: judgement.met for name, judgement in found.items()} == {
        "alpha": False,
        "beta": True,
    }
    assert found["alpha"].sentence == (
        f"Required {SAME}:bw:1K>=0.9: alpha missed it: 80.0 % of the ceiling "
        "([80.0, 80.0]), bw at 1 KiB"
    )
    assert found["beta"].words.startswith("met it: 95.0 % of the ceiling")
    assert list(judged(results, f"beta,{SAME}:bw:1K>=0.9")) == ["beta"]


def test_the_median_decides_and_the_interval_is_told(results: Results) -> None:
    wide = f"alpha,{SAME}:bw:1M>="
    assert judged(results, f"{wide}0.75")["alpha"].words.startswith(
        "met it by its median, but the interval reaches below: 79.9 %"
    )
    reached = judged(results, f"{wide}0.85")["alpha"]
    assert not reached.met
    assert reached.words.startswith("missed it, though the interval reaches it: 79.9 %")


def test_a_figure_is_judged_by_its_median_too(results: Results) -> None:
    for cell in results.cells:
        if cell.who.library == "alpha" and cell.case.x == 8:
            cell.median, cell.ci95 = 340.0, (330.0, 350.0)
    at_8 = f"alpha,{SAME}:bw:8>="
    figures = "340 GB/s ([330, 350]), bw at 8 B"
    for amount, met, words in (
        ("320GB/s", True, "met it"),
        ("335 GB/s", True, "met it by its median, but the interval reaches below"),
        ("345GB/s", False, "missed it, though the interval reaches it"),
        ("360GB/s", False, "missed it"),
    ):
        found = judged(results, at_8 + amount)["alpha"]
        assert (found.met, found.words) == (met, f"{words}: {figures}")
    assert judged(results, f"alpha,{SAME}:bw>=0.1GB/s")["alpha"].words.endswith("bw at 1 MiB")
    assert not judged(results, f"beta,{SAME}:bw:1M>=1GB/s")["beta"].met  # crashed


def test_a_time_may_be_so_much_at_most(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.launch(block, "alpha", "latency", {8: 1.0 + 0.1 * block})
    results = study.results()
    for amount, met, words in (
        ("2us", True, "met it: 1.25 µs"),
        ("1.3us", True, "met it by its median, but the interval reaches above"),
        ("1.2us", False, "missed it, though the interval reaches it"),
        ("0.9us", False, "missed it: 1.25 µs"),
    ):
        found = judged(results, f"{SAME}:latency:8<={amount}")["alpha"]
        assert (found.met, found.words[: len(words)]) == (met, words)


def test_without_a_size_it_is_where_the_ceiling_is_best(results: Results) -> None:
    assert judged(results, f"alpha,{SAME}:bw>=0.7")["alpha"].words.endswith("bw at 1 MiB")


def test_a_ceiling_alone_at_a_larger_size_is_left_out(results: Results) -> None:
    """As the plateau is, which no library is measured at."""
    results.cells = [cell for cell in results.cells if cell.case.x < SIZES[-1]]
    assert judged(results, f"alpha,{SAME}:bw>=0.7")["alpha"].words.endswith("bw at 1 KiB")


def test_what_was_not_measured_is_missed(results: Results) -> None:
    judgement = judged(results, f"beta,{SAME}:bw:1M>=0.1")["beta"]
    assert (judgement.met, judgement.words) == (
        False,
        "missed it: bw at 1 MiB was not measured (crashed in 6 launches)",
    )
    results.ceilings = []
    for cell in results.cells:
        cell.ceiling = cell.fraction = None
    assert judged(results, f"alpha,{SAME}:bw>=0.1")["alpha"].words == (
        "missed it: no ceiling of bw was measured"
    )
    assert judged(results, f"alpha,{SAME}:bw:8>=0.1")["alpha"].words == (
        "missed it: no ceiling of bw at 8 B was measured"
    )
    for cell in results.cells:
        cell.no_fraction = "other blocks"
    assert judged(results, f"alpha,{SAME}:bw:8>=0.1")["alpha"].words == (
        "missed it: bw at 8 B has no fraction: its reference was measured in other blocks"
    )


def test_what_is_no_mpi_owes_nothing_where_it_is_not_measured(results: Results) -> None:
    """NCCL is measured beside MPI between GPUs alone."""
    [info] = [info for info in results.libraries if info.name == "beta"]
    requirement = parse_requirement(f"{SAME}:bw:8>=0.1")
    here = measured(results)
    elsewhere = msgspec.structs.replace(here[0].place, path="gpu-gpu nvlink")
    apart = [
        replace(each, place=elsewhere) if each.who.library == "beta" else each for each in here
    ]

    def owners(subjects: list[Subject]) -> set[str]:
        return {each.who.label for each in judge([requirement], subjects, results)}

    assert owners(apart) == {"alpha", "beta"}
    info.mpi = False
    assert owners(apart) == {"alpha"}
    assert owners(here) == {"alpha", "beta"}


def test_of_a_library_that_is_only_staged_that_is_said(results: Results) -> None:
    for cell in results.cells:
        if cell.who.library == "beta":
            axes = {**cell.case.axes, "staging": "pinned"}
            cell.case = msgspec.structs.replace(cell.case, axes=axes)
    assert judged(results, f"{SAME}:bw:8>=0.9")["beta"].words == (
        "missed it: bw at 8 B was not measured, but staged by the benchmark"
    )


def test_a_fraction_of_a_bound_is_said_to_be_one(make_study: MakeStudy) -> None:
    study = make_study()
    for block in range(6):
        study.ceiling(block, {("latency", "flag", 8): 0.25})
        study.launch(block, "alpha", "bcast", {8: 0.5})
    results = study.results()
    found = judged(results, f"{SAME}:bcast>=0.6")["alpha"]
    assert not found.met
    assert found.words == "missed it: 50.0 % of the bound ([50.0, 50.0]), bcast at 8 B"


def test_a_defect_of_the_ceiling_is_told(results: Results) -> None:
    for cell in results.cells:
        cell.fraction, cell.fraction_ci95 = 1.2, (1.1, 1.3)
    judgement = judged(results, f"alpha,{SAME}:bw:8>=0.9")["alpha"]
    assert not judgement.met
    assert judgement.words.startswith("missed it, as the ceiling has a defect there: 120 %")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host-host same-nmua:bw>=0.9", "no path 'host-host same-nmua'; did you mean"),
        (f"{SAME}:wb>=0.9", "'wb' is not measured on that path; there are: bw"),
        (f"{SAME}:bw:16>=0.9", "bw is not measured at 16 B there: choose one of 8,1K,1M"),
        (f"gamma,{SAME}:bw>=0.9", "no library 'gamma'; there are: alpha, beta, ceiling"),
        (f"ceiling,{SAME}:latency:8<=1us", "'latency' is not measured of the ceiling on that path"),
        (
            f"ceiling,{SAME}:bw>=0.9",
            "the ceiling cannot be a fraction of itself: write >=NUMBERGB/s",
        ),
        (f"{SAME}:bw>=80% of theoretical", "no theoretical rate of bw is known on that path"),
        (f"{SAME}:bw:8<=12us", "bw is measured in GB/s, and higher is better: write >=NUMBERGB/s"),
        (f"{SAME}:bw:8<=12GB/s", "bw is measured in GB/s, and higher is better"),
        (f"{SAME}:bw:8>=12M/s", "bw is measured in GB/s, and higher is better"),
    ],
)
def test_what_names_nothing_measured_says_what_there_is(
    results: Results, text: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        judged(results, text)
    assert str(error.value).startswith(f"--require {text!r}: ")
    assert said in str(error.value)


def test_settings_are_named_as_in_the_tables(results: Results) -> None:
    for cell in results.cells:
        if cell.who.library == "beta":
            cell.who = Who("alpha", "tuned")
    assert judged(results, f"alpha@tuned,{SAME}:bw:8>=0.9")["alpha@tuned"].met
    assert not judged(results, f"alpha,{SAME}:bw:8>=0.9")["alpha"].met


def test_strict_wants_the_whole_interval(results: Results) -> None:
    wide = f"alpha,{SAME}:bw:1M>="
    missed = judged(results, f"{wide}0.75 strict")["alpha"]
    assert not missed.met
    assert missed.words.startswith("missed it, as the interval reaches below (strict): 79.9 %")
    assert judged(results, f"{wide}0.55 strict")["alpha"].words.startswith("met it: 79.9 %")
    assert not judged(results, f"{wide}0.85 strict")["alpha"].met
    for cell in results.cells:
        cell.ci95 = cell.fraction_ci95 = None
    for amount in ("0.1", "1 GB/s"):
        assert judged(results, f"{wide}{amount}")["alpha"].met
        missed = judged(results, f"{wide}{amount} strict")["alpha"]
        assert not missed.met
        assert missed.words.startswith("missed it, as it has no 95 % interval (strict): ")


def test_what_the_budget_left_out_is_told(results: Results) -> None:
    left = LeftOut(kind="benchmark", name="bibw", why="", benchmarks=["bibw"], budget_seconds=310.0)
    wanted = parse_requirement(f"{SAME}:bibw:1M>=0.2")
    with pytest.raises(UserError, match=r"left out bibw, as its budget was .* 5m10s has it"):
        check([wanted], measured(results), left_out=[left])
    of_another = msgspec.structs.replace(
        left, kind="library", name="beta on it", benchmarks=[], path=SAME, who=Who("beta")
    )
    one = parse_requirement(f"alpha,{SAME}:bibw:1M>=0.2")
    for each, others in ((wanted, []), (one, [of_another])):
        with pytest.raises(UserError, match="'bibw' is not measured on that path"):
            check([each], measured(results), left_out=others)
    with pytest.raises(UserError, match=r"left out beta on it, as its budget was"):
        check([wanted], measured(results), left_out=[of_another])


def test_a_pattern_requires_it_of_each_path_that_fits(results: Results) -> None:
    other = "host-host same-package"
    subjects = measured(results)
    place = msgspec.structs.replace(subjects[0].place, path=other)
    subjects += [replace(subject, place=place) for subject in subjects]
    results.cells += [msgspec.structs.replace(cell, place=place) for cell in results.cells]

    def required(text: str) -> list[str]:
        wanted = parse_requirement(text)
        check([wanted], subjects)
        return [each.requirement for each in judge([wanted], subjects, results)]

    both = [f"alpha,{path}:bw:1K>=0.5" for path in (SAME, other)]
    assert required("alpha,host-host same-*:bw:1K>=0.5") == both
    assert required("alpha, host-host same-p*:bw:1K>=0.5") == [f"alpha, {other}:bw:1K>=0.5"]
    with pytest.raises(UserError, match=r"no path 'gpu-\*'; there are: host-host same-numa, host-"):
        required("gpu-*:bw:1K>=0.5")
    with pytest.raises(UserError, match=f"--require '{SAME}:wb>=0.5': 'wb' is not measured on"):
        required("*:wb>=0.5")


def test_a_pattern_names_a_path_that_the_budget_left_out(results: Results) -> None:
    left = LeftOut(
        kind="path", name="host-gpu far", why="", paths=["host-gpu far"], budget_seconds=90
    )
    wanted = parse_requirement("*:bw:1K>=0.2")
    check([wanted], measured(results))
    with pytest.raises(UserError, match=r"left out host-gpu far, as its budget was"):
        check([wanted], measured(results), left_out=[left])


def test_one_value_is_met_and_not_enough(results: Results) -> None:
    cell = next(cell for cell in results.cells if cell.case.x == 1024 and cell.case.metric == "bw")
    cell.ci95, cell.range = None, (5.0, 5.0)
    cell.median = 5.0
    found = judged(results, f"{SAME}:bw:1K>=1GB/s")[cell.who.label]
    assert found.met
    assert found.words.startswith("met it by one value alone, measure more: 5.00 GB/s (one value)")


def test_one_of_several_curves_is_named_in_full(results: Results) -> None:
    for cell in list(results.cells):
        if cell.case.metric == "bw":
            axes = {**cell.case.axes, "calls": "nonblocking"}
            case = msgspec.structs.replace(cell.case, axes=axes)
            results.cells.append(msgspec.structs.replace(cell, case=case))
    found = judged(results, f"{SAME}:bw:1K>=0.9")["beta"]
    assert "bw (H,H, calls=blocking" in found.words


def test_an_application_is_judged_by_its_time(made_applications: Any) -> None:
    """It passed the check of the plan, had no judgement, and counted as met."""
    made = made_applications.Made()
    made.add(made_applications.TWO, "plane", "plane", 92.0, 4096)
    results = made.results()
    path = made_applications.TWO.place.path
    missed = judged(results, f"{path}:plane:4096<=1us")["alpha"]
    assert not missed.met
    assert missed.words.startswith("missed it: 92.0 \N{MICRO SIGN}s (")
    assert missed.words.endswith(", plane at 4096 cells")
    assert judged(results, f"alpha,{path}:plane:4K<=100us strict")["alpha"].met
    with pytest.raises(
        UserError, match="plane has no ceiling that chooses the size: name a size, like"
    ):
        judged(results, f"{path}:plane<=100us")


def test_a_ceiling_can_be_required(results: Results) -> None:
    [found] = judged(results, f"ceiling,{SAME}:bw:1K>=1000GB/s").values()
    assert found.sentence == (
        f"Required ceiling,{SAME}:bw:1K>=1000GB/s: ceiling met it: 1020 GB/s "
        "([1020, 1020]), bw at 1 KiB"
    )
    best = judged(results, f"ceiling,{SAME}:bw>=2000000GB/s")["ceiling"]
    assert (best.met, best.words[-11:]) == (False, "bw at 1 MiB")
    [point] = [ceiling for ceiling in results.ceilings if ceiling.case.x == 1024]
    point.above_memory = 500.0
    assert "missed it, as it is a defect: the memory copies 500 GB/s: " in (
        judged(results, f"ceiling,{SAME}:bw:1K>=1000GB/s")["ceiling"].words
    )


def test_a_ceiling_that_failed_is_missed_with_the_reason(results: Results) -> None:
    place = results.cells[0].place
    results.ceilings = []
    results.failures = [
        Failure(
            launch=number,
            session=0,
            who=CEILING,
            place=place,
            benchmarks=[],
            status="crashed",
            message="",
            command="",
            log=None,
        )
        for number in range(6)
    ]
    for size, where in ((":1K", "bw at 1 KiB"), ("", "bw")):
        found = judged(results, f"ceiling,{SAME}:bw{size}>=1GB/s")["ceiling"]
        assert not found.met
        assert (
            found.words == f"missed it: no ceiling of {where} was measured (crashed in 6 launches)"
        )


def with_memory(results: Results) -> Results:
    """The same, with what a memory copies."""
    place = Place(path="host-memory node0", transport="local")
    path = msgspec.structs.replace(results.paths[0], id=place.path, transport="local")
    results.paths.append(path)
    usual = {"reuse": "fixed", "touch": "none"}
    for name in ("copy", "triad"):
        curve = Curve(benchmark=name, metric=name, buffers="H,H", axes=usual)
        results.ceilings.append(
            CeilingPoint(
                place=path.place,
                case=curve.at(1 << 30),
                unit="GB/s",
                better="higher",
                value=24.0,
                ci95=(23.0, 25.0),
                range=(22.0, 26.0),
                values=[24.0],
                blocks=results.ceilings[0].blocks[:1],
                method="avx",
                methods={"avx": 24.0},
            )
        )
    return results


def test_what_a_memory_copies_can_be_required(results: Results) -> None:
    known = with_memory(results)
    node = "host-memory node0"
    copied = "24.0 GB/s ([23.0, 25.0]), copy at 1 GiB"
    for text, met, words in (
        (f"{node}:copy>=20GB/s", True, f"met it: {copied}"),
        (f"ceiling,{node}:copy>=24GB/s", True, "met it by its median, but the interval reaches"),
        (f"{node}:copy>=24GB/s strict", False, "missed it, as the interval reaches below"),
        (f"{node}:copy>=30GB/s", False, f"missed it: {copied}"),
    ):
        found = judged(known, text)
        assert list(found) == ["ceiling"]
        assert found["ceiling"].met == met
        assert found["ceiling"].words.startswith(words)
    with pytest.raises(UserError, match="the program chooses the size of copy: leave the size out"):
        judged(known, f"{node}:copy:1G>=20GB/s")
    with pytest.raises(UserError, match="no library is measured on that path"):
        judged(known, f"alpha,{node}:copy>=20GB/s")
    known.ceilings = [ceiling for ceiling in known.ceilings if ceiling.place.transport != "local"]
    assert judged(known, f"{node}:copy>=20GB/s")["ceiling"].words == (
        "missed it: no ceiling of copy was measured"
    )


def test_a_share_of_the_theoretical_rate_can_be_required(results: Results) -> None:
    results.paths[0] = msgspec.structs.replace(results.paths[0], theoretical_gbs=1280.0)
    text = f"{SAME}:bw:1K>=70% of theoretical"
    assert judged(results, f"ceiling,{text}")["ceiling"].words == (
        "met it: 80.0 % of the theoretical 1280 GB/s ([80.0, 80.0]), bw at 1 KiB"
    )
    found = judged(results, text)
    assert {who: judgement.met for who, judgement in found.items()} == {
        "alpha": False,
        "beta": True,
    }
    assert found["alpha"].words.startswith("missed it: 64.0 % of the theoretical")
    # Of a rate both ways, or a time, there is none.
    results.benchmarks = [
        msgspec.structs.replace(benchmark, symmetric=True) for benchmark in results.benchmarks
    ]
    with pytest.raises(UserError, match="no theoretical rate of bw is known on that path"):
        judged(results, text)


def test_whatever_passes_the_check_is_judged(results: Results) -> None:
    """Also where results have nothing of what a plan was to measure."""
    known = with_memory(results)
    subjects = measured(known)
    empty = msgspec.structs.replace(known, cells=[], applications=[], ceilings=[], failures=[])
    for subject in subjects:
        form = "<={}us" if subject.better == "lower" else f">={{}}{subject.unit}"
        sizes = [f":{x}" for x in subject.sizes] or [""]
        for x in sizes:
            who, path, figure = subject.who.label, subject.place.path, subject.curve.figure
            text = f"{who},{path}:{figure}{x}{form.format(1)}"
            check([parse_requirement(text)], subjects)
            assert judge([parse_requirement(text)], subjects, known)
            found = judge([parse_requirement(text)], subjects, empty)
            assert found
            assert not any(each.met for each in found)
            assert all(
                "was measured" in each.words or "not measured" in each.words for each in found
            )


def test_a_path_that_is_known_but_not_measured_is_said_to_be(results: Results) -> None:
    subjects = measured(results)
    known = {"host-host cross-numa": "it has one NUMA node"}
    for path, said in (
        ("host-host cross-numa", "'host-host cross-numa': it has one NUMA node$"),
        ("host-host cross-numb", "'host-host cross-numb'; did you mean '"),
    ):
        with pytest.raises(UserError, match=f"the study has no path {said}"):
            check([parse_requirement(f"{path}:bw:8>=0.5")], subjects, known.get)


def test_a_library_that_fails_now_and_then_is_said_to(results: Results) -> None:
    for cell in results.cells:
        cell.failed, cell.status = 2, "crashed"
    words = judged(results, f"alpha,{SAME}:bw:8>=0.1")["alpha"].words
    assert words.startswith("met it: ")
    assert words.endswith(", crashed in 2 of 8 launches")


def test_a_subject_that_is_not_there_is_refused_where_it_is_judged_too(results: Results) -> None:
    nothing: list[Subject] = []
    with pytest.raises(UserError, match="the study has no path"):
        judge([parse_requirement(f"{SAME}:bw:8>=0.1")], nothing, results)
