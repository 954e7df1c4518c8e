# SPDX-License-Identifier: Apache-2.0
"""Requirements: how they are read, what they name, and how they are judged."""

from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.identity import Who
from nearpeak.results.model import Results
from nearpeak.results.requirements import (
    Bound,
    Judgement,
    check,
    judge,
    measured,
    parse_requirement,
)

MakeStudy = Any
SIZES = (8, 1024, 1 << 20)
SAME = "host-host same-numa"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "gpu-gpu nvlink:bw:16M>=0.9",
            (None, "gpu-gpu nvlink", "bw", 16 << 20, Bound(0.9, "", False)),
        ),
        ("gpu-gpu nvlink:bw>=1", (None, "gpu-gpu nvlink", "bw", None, Bound(1.0, "", False))),
        ("a:bw:8>=340GB/s", (None, "a", "bw", 8, Bound(340.0, "GB/s", False))),
        ("a:latency:8<=1.5 us", (None, "a", "latency", 8, Bound(1.5, "us", True))),
        ("a:latency:8<=12\N{MICRO SIGN}s", (None, "a", "latency", 8, Bound(12.0, "us", True))),
        (
            "a:latency:8<=12\N{GREEK SMALL LETTER MU}s",
            (None, "a", "latency", 8, Bound(12, "us", True)),
        ),
        (
            "ceiling,a:bw:8>=80 % of theoretical strict",
            ("ceiling", "a", "bw", 8, Bound(0.8, "% of theoretical", False, True)),
        ),
        (
            "intel@ipc-off, host-host same-numa : mbw_mr mr : 8 >= .5",
            ("intel@ipc-off", SAME, "mbw_mr mr", 8, Bound(0.5, "", False)),
        ),
    ],
)
def test_a_requirement_says_where_what_and_how_much(text: str, parts: tuple[object, ...]) -> None:
    one = parse_requirement(text)
    assert (one.library, one.path, one.figure, one.size, one.bound) == parts
    assert one.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no requirement: write 'PATH:BENCHMARK:SIZE>=FRACTION'"),
        ("bw>=0.9", "is no requirement"),
        ("a:bw", "is no requirement"),
        ("a:bw>0.9", "is no requirement"),
        ("a:bw:8:9>=0.9", "is no requirement"),
        (":bw>=0.9", "is no requirement"),
        ("a:bw:x>=0.9", "'x' is not a size"),
        ("a:bw>=90%", "'90%' is no fraction of a ceiling and no figure: write a number above 0"),
        ("a:bw>=1.5", "'1.5' is no fraction"),
        ("a:bw>=0GB/s", "'0GB/s' is no fraction"),
        ("a:bw>=340Gb/s", "'340Gb/s' is no fraction of a ceiling and no figure"),
        ("a:bw>=340GiB/s", "'340GiB/s' is no fraction of a ceiling and no figure"),
        ("a:bw>=GB/s", "'GB/s' is no fraction"),
        ("a:bw>=1e3GB/s", "'1e3GB/s' is no fraction"),
        (f"a:bw>={'9' * 400}GB/s", "is no fraction"),
        ("a:bw=340GB/s", "is no requirement"),
        ("a:latency<=0.9", "a fraction is to be reached: write >=0.9"),
        ("a:latency<=9% of theoretical", "a fraction is to be reached"),
        ("a:bw>=120% of theoretical", "is no fraction of a ceiling and no figure"),
        ("a:bw>=0.9strict", "is no fraction of a ceiling and no figure"),
        ("a:bw>=0", "'0' is no fraction"),
        ("a:bw>=nan", "'nan' is no fraction"),
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
    one = parse_requirement(text)
    check([one], measured(results))
    return {each.who.library: each for each in judge([one], results)}


def test_all_libraries_must_meet_it_or_the_one_that_is_named(results: Results) -> None:
    found = judged(results, f"{SAME}:bw:1K>=0.9")
    assert {name: one.met for name, one in found.items()} == {"alpha": False, "beta": True}
    assert found["alpha"].sentence == (
        f"Required {SAME}:bw:1K>=0.9: alpha missed it: 80.0 % of the ceiling "
        "([80.0, 80.0]), bw at 1 KiB"
    )
    assert found["beta"].words.startswith("met it: 95.0 % of the ceiling")
    assert list(judged(results, f"beta,{SAME}:bw:1K>=0.9")) == ["beta"]


def test_the_median_decides_and_the_interval_is_told(results: Results) -> None:
    wide = f"alpha,{SAME}:bw:1M>="
    assert judged(results, f"{wide}0.75")["alpha"].words.startswith(
        "met it, but the interval reaches below: 79.9 %"
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
        ("335 GB/s", True, "met it, but the interval reaches below"),
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
        ("1.3us", True, "met it, but the interval reaches above"),
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
    one = judged(results, f"beta,{SAME}:bw:1M>=0.1")["beta"]
    assert (one.met, one.words) == (False, "missed it: bw at 1 MiB was not measured (crashed)")
    results.ceilings = []
    for cell in results.cells:
        cell.ceiling = cell.fraction = None
    assert judged(results, f"alpha,{SAME}:bw>=0.1")["alpha"].words == (
        "missed it: no ceiling of bw was measured"
    )
    assert judged(results, f"alpha,{SAME}:bw:8>=0.1")["alpha"].words == (
        "missed it: no ceiling of bw at 8 B was measured"
    )


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
    requirement = parse_requirement(f"{SAME}:bcast>=0.6")
    check([requirement], measured(results))
    (found,) = judge([requirement], results)
    assert not found.met
    assert found.words == "missed it: 50.0 % of the bound ([50.0, 50.0]), bcast at 8 B"


def test_a_defect_of_the_ceiling_is_told(results: Results) -> None:
    for cell in results.cells:
        cell.fraction, cell.fraction_ci95 = 1.2, (1.1, 1.3)
    one = judged(results, f"alpha,{SAME}:bw:8>=0.9")["alpha"]
    assert one.met
    assert one.words.startswith("met it, but the ceiling has a defect there: 120 %")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("host-host same-nmua:bw>=0.9", "no path 'host-host same-nmua'; did you mean"),
        (f"{SAME}:wb>=0.9", "'wb' is not measured on that path; there are: bw"),
        (f"{SAME}:bw:16>=0.9", "bw is not measured at 16 B there: choose one of 8,1K,1M"),
        (f"gamma,{SAME}:bw>=0.9", "no library 'gamma'"),
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
    assert judged(results, f"alpha@tuned,{SAME}:bw:8>=0.9")["alpha"].met
    assert not judged(results, f"alpha,{SAME}:bw:8>=0.9")["alpha"].met


def test_an_application_is_judged(made_applications: Any) -> None:
    """It passed the check of the plan, had no judgement, and counted as met."""
    made = made_applications.Made()
    made.add(made_applications.TWO, "plane", "plane", 92.0, 4096)
    results = made.results()
    path = made_applications.TWO.place.path
    assert not next(iter(judged(results, f"{path}:plane:4096<=1us").values())).met
    (found,) = judged(results, f"{path}:plane:4096<=100us").values()
    assert found.met
    assert found.words.endswith("plane at 4096")


def test_what_nothing_answers_to_is_missed(results: Results) -> None:
    """As where a study ended before it began with it."""
    one = parse_requirement(f"{SAME}:bw:1K>=0.9")
    results.cells = []
    (found,) = judge([one], results)
    assert (found.met, found.words) == (False, "missed it: nothing of it was measured")
    (found,) = judge([parse_requirement(f"ceiling,{SAME}:latency:8<=1us")], results)
    assert not found.met
    assert found.sentence.startswith(f"Required ceiling,{SAME}:latency:8<=1us: ceiling missed it")


def test_the_strict_form_wants_the_whole_interval(results: Results) -> None:
    wide = f"alpha,{SAME}:bw:1M>="
    assert judged(results, f"{wide}0.55 strict")["alpha"].met
    found = judged(results, f"{wide}0.75 strict")["alpha"]
    assert (found.met, found.words[:38]) == (False, "missed it: the interval reaches below:")
    for cell in results.cells:
        cell.fraction_ci95 = None
    found = judged(results, f"{wide}0.55 strict")["alpha"]
    assert (found.met, found.words[:43]) == (False, "missed it: too few launches for an interval")


def test_a_ceiling_is_required(results: Results) -> None:
    """At 1 MiB, its best, it is 2^20 GB/s here."""
    assert judged(results, f"ceiling,{SAME}:bw>=1000000GB/s")[""].met
    found = judged(results, f"ceiling,{SAME}:bw:1K>=1025GB/s")[""]
    assert found.sentence.startswith(
        f"Required ceiling,{SAME}:bw:1K>=1025GB/s: ceiling missed it: 1020 GB/s"
    )


def test_percent_of_theoretical(results: Results) -> None:
    results.paths = [
        msgspec.structs.replace(path, theoretical_gbs=2048.0) for path in results.paths
    ]
    assert judged(results, f"ceiling,{SAME}:bw:1K>=50% of theoretical")[""].met
    found = judged(results, f"alpha,{SAME}:bw:1K>=50% of theoretical")["alpha"]
    assert (found.met, found.words[:30]) == (False, "missed it: 40.0 % of theoretic")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"ceiling,{SAME}:bw>=0.9", "a ceiling is no fraction of itself: write >=NUMBERGB/s"),
        (f"ceiling,{SAME}:wb>=1GB/s", "'wb' is not measured on that path; there are: bw"),
        (f"{SAME}:bw:1K>=50% of theoretical", "no theoretical rate of bw is known there"),
    ],
)
def test_ceilings_that_cannot_be_required(results: Results, text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        judged(results, text)
    assert said in str(error.value)
