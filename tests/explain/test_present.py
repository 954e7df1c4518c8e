# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""Explanations on pages and on the terminal."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from answers import check_short, printed
from nearpeak.document.page import render
from nearpeak.document.terminal import print_document
from nearpeak.explain.present import present, present_ways, sections
from nearpeak.observations.explained import Explanation, FailedSize, Lane, Own, Span
from nearpeak.observations.ways import Leg, Step, Ways


@pytest.fixture
def explained(by_hand: Any) -> Explanation:
    found: Explanation = by_hand.explained(
        by_hand.part("call", "cuMemGetHandleForAddressRange", 40.0, count=2.0, mean_us=20.0),
        by_hand.part("device", "copy, pageable to device", 10.0, bytes=8.0),
        by_hand.part("microscope", "the microscope", 5.0, count=60.0),
        by_hand.part("wait", "sched_yield", 20.0),
        by_hand.part("call", "cuCtxGetId", 0.1),
        buffers="H,H",
    )
    [budget] = found.cases[0].budgets
    budget.accounted_least, budget.accounted_most = 0.5, 0.7
    budget.added_us, budget.waiting_us = 12.0, 20.0
    budget.own = [
        Own(rank=1, name="<spin>, libmpi.so", samples=9, share=0.9),
        Own(rank=0, name="copy, libucs.so.0", samples=50, share=1.0, during="wait"),
    ]
    spans = [Span(kind="call", name="<call>", begin_us=10.0, end_us=90.0)]
    budget.lanes = [Lane(of="rank", rank=1, spans=spans)]
    return found


def test_the_table_has_each_part_and_what_is_not_accounted_for(
    explained: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    print_document(present(explained), verbose=True)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in (
        "rank 1 2 x cuMemGetHandleForAddressRange 20.0 40.0 40.0 40.0",
        "rank 1 the tracer 5.00 5.00 5.00 5.00",
        "all else that was seen 0.100 0.100",
        "not accounted for 24.9 24.9",
    ):
        assert row.split() in rows


def test_what_is_accounted_for_is_told(
    explained: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    print_document(present(explained), verbose=True)
    out = capsys.readouterr().out
    assert "From rank 0 (H) to rank 1 (H): 100 µs, mean of 100 messages" in out
    assert (
        "Only 50.0 to 70.0 % of the time above the ceiling is accounted for; the tracer adds"
        " 12.0 µs beyond its own row, nobody knows in which others; calls that wait, 20.0 % of the"
        " time, are not."
    ) in out
    assert "While others wait, rank 0: by 50 samples at copy, libucs.so.0 (100 %)" in out


def test_what_is_far_from_its_ceiling_ends_with_what_to_do(
    explained: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    [case] = explained.cases
    case.ceiling, case.value = 80.0, 99.0
    print_document(present(explained), verbose=True)
    assert "nearpeak tune" not in capsys.readouterr().out
    case.ceiling = 60.0
    explained.path = "host-host same-numa"
    print_document(present(explained), verbose=True)
    command = "nearpeak tune --mpi one --path 'host-host same-numa' --buffers H,H --for latency:1M"
    assert f"To search for settings that make it faster: {command}" in capsys.readouterr().out
    page = render(present(explained))
    assert "<p>To search for settings that make it faster:</p><pre><code>nearpeak tune" in page


def test_outside_text_is_escaped_on_the_page(explained: Explanation) -> None:
    page = render(present(explained))
    assert "&lt;spin&gt;, libmpi.so (90.0 %)" in page
    assert 'title="&lt;call&gt;: 80.0 µs">&lt;call&gt;</span>' in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"failed": "ended by SIGSEGV"},
            "with the tracer the launch failed: ended by SIGSEGV",
        ),
        ({"device": "CUPTI was not found"}, "the CUDA driver was not seen: CUPTI was not found"),
        ({"missing": [1]}, "nothing is known of rank 1, which left no events"),
        ({"dropped": 3}, "3 records of what the GPU did, or more, found no memory"),
        ({"unfinished": [0, 1]}, "rank 0, 1 did not end as programs do, so the last of what"),
        (
            {"slower": 3.4},
            "it took 3.40 times as long with the tracer: most of what is seen may be",
        ),
        ({"slower": 0.556}, "it took less time with the tracer than without: other work"),
        (
            {"cache_line_ns": [60.0, 61.0, 310.0]},
            "the CPUs of some launches were nearer to each other than those of others (60.0 to 310"
            " ns for a cache line there and back): what these launches took cannot be compared",
        ),
        ({"lost": 2}, "2 events found no place: what came later is missing"),
    ],
)
def test_what_is_not_whole_is_said(
    explained: Explanation, capsys: pytest.CaptureFixture[str], change: Any, words: str
) -> None:
    explained.cases = [msgspec.structs.replace(explained.cases[0], **change)]
    print_document(present(explained), verbose=True)
    assert f"{words}" in capsys.readouterr().out
    assert words in render(present(explained))


def test_a_study_has_a_section_for_each_message(explained: Explanation) -> None:
    explained.failed = [FailedSize(size_bytes=64, why="it crashed")]
    titles = [title for title, _ in sections([explained])]
    assert titles == ["one 1, host-gpu near, latency H,H at 1 MiB", "one 1, host-gpu near"]


def test_the_answer_has_the_largest_parts(explained: Explanation) -> None:
    [case] = explained.cases
    case.ceiling = 60.0
    check_short(present(explained))
    text = printed(present(explained), Path("found/explain.html"))
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert rows == [
        "",
        "one 1, host-gpu near, latency H,H at 1 MiB: 100 µs, without MPI 60.0. Of the 100 µs from"
        " rank 0 (H)",
        "to rank 1 (H):",
        "",
        "who what µs %",
        "rank 1 2 x cuMemGetHandleForAddressRange 40.0 40.0",
        "rank 1 sched_yield 20.0 20.0",
        "GPU, for rank 1 copy, pageable to device of 8 B 10.0 10.0",
        "rank 1 the tracer 5.00 5.00",
        "rank 1 cuCtxGetId 0.100 0.100",
        "",
        "To search for settings that make it faster: nearpeak tune --mpi one --path 'host-gpu near'"
        " --buffers H,H --for latency:1M",
        "",
        "found/explain.html",
    ]
    explained.cases = [msgspec.structs.replace(case) for _ in range(3)]
    check_short(present(explained))
    assert "cuCtxGetId" not in printed(present(explained))
    assert printed(present(explained)).count("one 1, host-gpu near") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "with the tracer 1.00 times as long (1.00 to 1.00 by launches)"),
        ({"slower_most": None}, "with the tracer 1.00 times as long.\n"),
        (
            {"accounted_least": 0.4, "accounted_most": 0.9},
            "Of both ways together only 40.0 to 90.0 % of the time above the ceiling is",
        ),
        (
            {"accounted_least": 0.0, "accounted_most": 1.0},
            "Of both ways together nothing is known of the time above the ceiling",
        ),
    ],
)
def test_what_launches_say_is_told(
    explained: Explanation, capsys: pytest.CaptureFixture[str], change: Any, words: str
) -> None:
    explained.cases = [msgspec.structs.replace(explained.cases[0], **change)]
    print_document(present(explained), verbose=True)
    assert words in capsys.readouterr().out
    assert words.rstrip() in render(present(explained))


def test_a_figure_that_rests_on_one_message_says_so(explained: Explanation) -> None:
    explained.cases[0].budgets[0].messages = 1
    assert "From rank 0 (H) to rank 1 (H): 100 µs, of 1 message alone" in render(present(explained))


def test_a_size_at_which_the_library_failed_is_told(
    explained: Explanation, capsys: pytest.CaptureFixture[str]
) -> None:
    explained.failed = [FailedSize(size_bytes=64, why="ended by <SIGSEGV>")]
    print_document(present(explained), verbose=True)
    words = "at 64 B the library failed: ended by "
    assert f"{words}<SIGSEGV>" in capsys.readouterr().out
    assert f"{words}&lt;SIGSEGV&gt;" in render(present(explained))


def test_lanes_that_only_wait_are_seen_and_read(explained: Explanation, browser: Any) -> None:
    """As of messages in host memory: no GPU, no copy, but ranks that wait for each other."""
    wait = Span(kind="wait", name="sched_yield", begin_us=5.0, end_us=55.0)
    brief = Span(kind="sync", name="cuStreamSynchronize", begin_us=60.0, end_us=61.0)
    explained.cases[0].budgets[0].lanes = [Lane(of="rank", rank=0, spans=[wait, brief])]
    shown = """[...document.querySelectorAll(".lane span")].map((node) => {
        const style = getComputedStyle(node), box = node.getBoundingClientRect();
        return [style.backgroundImage !== "none", style.color, style.fontSize, box.height,
        node.innerText]; })"""
    for width, dark in ((1280, False), (400, False), (1280, True)):
        browser.show(render(present(explained)), width, dark=dark)
        (hatched, colour, letters, height, name), (_, _, _, _, unnamed) = browser.evaluate(shown)
        assert hatched
        assert colour == browser.evaluate("getComputedStyle(document.body).color")
        assert (float(letters[:-2]) >= 11, height > 20) == (True, True)  # at any width
        assert (name, unnamed) == ("sched_yield", "")
        lane = browser.evaluate("document.querySelector('.lane').clientWidth")
        assert lane > 0.6 * width


def test_sizes_that_go_alike_are_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    kernel, engine = "directly, copied by a kernel", "directly, copied by the copy engine"
    steps = [Step(64, kernel, 7.0), Step(1024, kernel, 7.25), Step(1 << 20, engine, 12.0)]
    found = Ways(
        library="mpich+layer",
        version="5.0.2",
        host="node1",
        settings={"NEARPEAK_LAYER_INLINE": "61", "NEARPEAK_LAYER_LONG": "65536"},
        kernel_bytes={1: 1 << 18},
        no_kernel="NVRTC is not there",
        failed=["D,D: it crashed"],
        legs=[
            Leg("from a device to a device", "D,D", "gpu-gpu nvlink", steps),
            Leg("from the host to a device", "H,D", "host-gpu near", [Step(8, "", 7.0)]),
        ],
    )
    print_document(present_ways(found))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "",
        "From a device to a device, gpu-gpu nvlink",
        "",
        "Way Time",
        "Size µs",
        "64 B to 1 KiB directly, copied by a kernel 7.00 to 7.25",
        "1 MiB directly, copied by the copy engine 12.0",
        "",
        "From the host to a device, host-gpu near",
        "",
        "mean of there and back",
        "Way Time",
        "Size µs",
        "8 B unknown 7.00",
        "",
        "Failed: D,D: it crashed",
        "No kernel copies: NVRTC is not there",
        "Measured meanwhile: of what rank 1 sends between devices a kernel copies up to 256 KiB,"
        " the copy engine what is longer.",
        "",
        "mpich+layer 5.0.2 on node1, decided by (docs/how-to/layer.md): NEARPEAK_LAYER_INLINE=61"
        " NEARPEAK_LAYER_LONG=65536",
    ]
