# Every figure in this file is written by hand, none was measured.
# SPDX-License-Identifier: Apache-2.0
"""What stands out, said in sentences."""

from typing import Any, get_args

import msgspec
import pytest

from nearpeak.findings.find import find_in
from nearpeak.findings.rules import all_rules
from nearpeak.libraries.library import Settings
from nearpeak.report.findings import advised, doubt, lost, rules, sentence
from nearpeak.results.results import (
    Estimated,
    Fact,
    Finding,
    FindingKind,
    Overlap,
    Remedy,
    SettingChange,
)
from nearpeak.terms.identity import Place, Who


def told(by_hand: Any, kind: str, cells: list[Any], given: Any = None) -> str:
    found = find_in(by_hand.view(cells, given))
    (known,) = [finding for finding in found if finding.kind == kind]
    return sentence(known)


def test_every_kind_has_its_rule() -> None:
    assert set(rules()) == {rule.name for rule in all_rules()} == set(get_args(FindingKind))


def test_a_remedy_fits_into_a_line() -> None:
    assert [rule.name for rule in all_rules() if len(rule.action or rule.remedy) > 90] == []


def test_blocking_has_both_figures(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR, "buffers": "H,D"}
    cells = [
        by_hand.make_cell("latency", 1939.0, ceiling=26.0, calls="blocking", **where),
        by_hand.make_cell("bibw", 53.0, ceiling=55.0, calls="nonblocking", **where),
    ]
    words = told(by_hand, "blocking", cells)
    assert words.startswith(
        "openmpi, host-gpu near, latency H,D at 1 MiB: one message at a time moves 0.541 GB/s"
        " (1940 µs), 64 in flight move 53.0 GB/s (bibw): "
    )
    assert words.endswith(" as much. The ceilings differ by 1.36 times.")


def test_puts_say_on_which_blocks_they_stand_and_which_window_is_better(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("put_bw", 5.0, noise=0.0, win="created"),
        by_hand.make_cell("put_bw", 10.0, noise=0.0, win="allocated"),
        by_hand.make_cell("bw", 20.0, noise=0.0, launches=9),
    ]
    finding = find_in(by_hand.view(cells))[0]
    assert sentence(finding) == (
        "openmpi, gpu-gpu nvlink, put_bw D,D at 8 B (win=created): 5.00 GB/s against 20.0 GB/s of"
        " bw, messages of as many bytes, 4.00 times (4.00 to 4.00 in 6 of 9 blocks)."
    )
    assert advised(finding).endswith(
        " In this study win=allocated has 10.0 GB/s, 2.00 times as good in 6 blocks."
    )
    cells[0].launch_medians[:] = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0]
    assert (
        "of bw, messages of as many bytes, 4.00 times (within blocks 6.67, 2.22 to 20.0 in 6 of 9"
        " blocks)."
    ) in sentence(
        next(one for one in find_in(by_hand.view(cells)) if one.case.axes["win"] == "created")
    )


def test_directions_have_both_ceilings(by_hand: Any) -> None:
    where = {"x": by_hand.MIB, "place": by_hand.NEAR}
    cells = [
        by_hand.make_cell("bw", 53.0, buffers="H,D", ceiling=55.0, **where),
        by_hand.make_cell("bw", 12.0, buffers="D,H", ceiling=50.0, **where),
    ]
    words = told(by_hand, "directions", cells)
    assert (
        "12.0 GB/s against 53.0 GB/s the other way (H,D); a library can attain 50.0 GB/s this"
        " way and 55.0 GB/s the other way. By these this way could be better by 4.0"
    ) in words


@pytest.mark.parametrize(
    ("kind", "own", "other", "words"),
    [
        ("guidelines", ("bcast", 750.0), ("allreduce", 50.0),
         "750 µs against 50.0 µs of allreduce, which does the same and more"),
        ("reductions", ("allreduce", 2500.0), ("bcast", 100.0),
         "2500 µs; bcast moves the same number of bytes in 100 µs, but adds nothing."),
    ],
)  # fmt: skip
def test_other_operations(by_hand: Any, kind: str, own: Any, other: Any, words: str) -> None:
    axes = {"bcast": {}, "allreduce": {"type": "float"}}
    cells = [by_hand.make_cell(*part, x=by_hand.MIB, **axes[part[0]]) for part in (own, other)]
    assert words in told(by_hand, kind, cells)


@pytest.mark.parametrize(
    ("kind", "own", "other", "words"),
    [
        (
            "calls",
            ("latency", 40.0, {"calls": "blocking"}),
            ("latency", 20.0, {"calls": "persistent"}),
            "(calls=blocking): 40.0 µs by blocking calls against 20.0 µs by persistent ones, 2.0",
        ),
        (
            "datatypes",
            ("vector", 90.0, {"pack": "direct"}),
            ("vector", 20.0, {"pack": "kernel"}),
            "90.0 µs with the datatype against 20.0 µs with its blocks gathered before"
            " (pack=kernel), 4.5",
        ),
        (
            "managed",
            ("bw", 5.0, {"buffers": "M,M"}),
            ("bw", 50.0, {"buffers": "D,D"}),
            "bw M,M at 8 B: 5.00 GB/s against 50.0 GB/s with D,D, 10.0 times",
        ),
        (
            "noncontiguous",
            ("vector", 90.0, {"pack": "direct"}),
            ("latency", 9.0, {}),
            "90.0 µs; messages of as many bytes that lie together (latency) take 9.00 µs. What of"
            " the difference is lost, and what anybody needs to gather and scatter the blocks, was"
            " not measured.",
        ),
        (
            "one_sided",
            ("put_bw", 5.0, {}),
            ("bw", 50.0, {}),
            "5.00 GB/s against 50.0 GB/s of bw, messages of as many bytes, 10.0 times",
        ),
        (
            "one_sided",
            ("put_latency", 90.0, {}),
            ("latency", 15.0, {}),
            "90.0 µs against 30.0 µs of latency, a message of as many bytes there and one back,"
            " 3.00 times",
        ),
        (
            "parts",
            ("latency", 90.0, {"x": 64}),
            ("latency", 5.0, {}),
            "latency D,D at 64 B: 90.0 µs against 40.0 µs of 8 messages of 8 B, 2.2",
        ),
        (
            "parts",
            ("bw", 5.0, {"x": 64}),
            ("bw", 50.0, {}),
            "bw D,D at 64 B: 5.00 GB/s against 50.0 GB/s of messages of 8 B, 10.0 times",
        ),
        (
            "registration",
            ("bw", 5.0, {"reuse": "rotating"}),
            ("bw", 50.0, {"reuse": "fixed"}),
            "5.00 GB/s with another buffer for each message against 50.0 GB/s with the same ones,"
            " 10.0",
        ),
        (
            "bidirectional",
            ("bibw", 50.0, {"x": 1 << 20, "ceiling": 700.0}),
            ("bw", 50.0, {"x": 1 << 20, "ceiling": 350.0}),
            "both ways at once move 50.0 GB/s, one way alone moves 50.0 GB/s (bw D,D); a"
            " library can attain 700 GB/s both ways, 350 GB/s one way. By these both ways"
            " could move 2.00 times",
        ),
    ],
)
def test_one_figure_against_another(
    by_hand: Any, kind: str, own: Any, other: Any, words: str
) -> None:
    cells = [by_hand.make_cell(name, value, noise=0.0, **how) for name, value, how in (own, other)]
    assert words in told(by_hand, kind, cells)


def test_far(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", value, place=Place(path=path, ends=("host", "gpu")), buffers="H,D")
        for value, path in ((20.0, "host-gpu far"), (50.0, "host-gpu near"))
    ]
    assert "host-gpu far, bw H,D at 8 B: 20.0 GB/s against 50.0 GB/s on host-gpu near, 2." in told(
        by_hand, "far", cells
    )


def test_dip(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", us, x=x, ceiling=ceiling, noise=0.0)
        for x, us, ceiling in ((512, 2.0, 1.0), (4096, 12.0, 2.0), (32768, 9.0, 3.0))
    ]
    cells[2].fraction = 0.33
    cells[0].fraction = 0.5
    assert told(by_hand, "dip", cells).endswith(
        "latency D,D at 4 KiB: 12.0 µs is 6.00 times from the 2.00 µs that a library can attain. At"
        " 32 KiB the gap is 3.00 times (9.00 µs and 3.00 µs), and at the size on the other side it"
        " is smaller, too. Within blocks, the gap at 4 KiB is 2.00 times (2.00 to 2.00 in 6 blocks)"
        " that at 32 KiB: a protocol switch near 4 KiB is likely."
    )


def test_dip_of_a_rate(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", gbs, x=x, ceiling=12.0, noise=0.0)
        for x, gbs in ((512, 6.0), (4096, 2.0), (32768, 6.0))
    ]
    words = told(by_hand, "dip", cells)
    assert "2.00 GB/s is 6.00 times from the 12.0 GB/s that a library can attain." in words
    assert "the gap is 2.00 times (6.00 GB/s and 12.0 GB/s)" in words


def test_overlap(by_hand: Any) -> None:
    cell = by_hand.make_cell("iallreduce", 1.9, ceiling=1.0, noise=0.0)
    hidden = Estimated(value=0.1, ci95=None, range=(0.1, 0.1))
    cell.overlap = Overlap(hidden=hidden, communicate_us=90.0, compute_us=90.0, both_us=171.0)
    assert told(by_hand, "overlap", [cell]).endswith(
        "beside a computation that takes about as long, both take 1.90 times as long as the longer"
        " one alone. How much this path could hide was not measured."
    )


def fact(kind: Any, *facts: tuple[Any, str, str, int | None], **known: Any) -> str:
    recorded = [
        Fact(of=of, name=name, value=value, launches=launches)
        for of, name, value, launches in facts
    ]
    finding = Finding(
        kind=kind,
        sure=True,
        **({"who": None, "place": None, "case": None} | known),
        facts=recorded,
        remedy=Remedy(text="Do."),
        check=[],
    )
    assert lost(finding) == ""
    return sentence(finding)


def test_what_was_recorded(by_hand: Any) -> None:
    where = {"place": by_hand.NVLINK}
    assert fact("inherited", ("variable", "UCX_TLS", "tcp", 12)) == (
        "Launches inherited settings of their libraries: UCX_TLS=tcp in 12 launches."
    )
    assert fact("settings_files", ("doctor", "settings-file", "the file it is", None)) == (
        "The file it is."
    )
    assert fact("adapter", ("adapter", "mlx5_0:1", "at NUMA node 1", None), **where) == (
        "gpu-gpu nvlink: the adapter mlx5_0:1 at NUMA node 1."
    )
    assert fact("numa", ("rank", "planned: 0, 1", "0; 0", 1), **where) == (
        "gpu-gpu nvlink: ranks were not where they should be: planned: 0, 1: 0; 0 in 1 launch."
    )
    assert fact("peers", ("devices", "GPUs 0-1", "nvlink: no", None)).endswith(
        "GPUs 0-1 nvlink: no."
    )
    assert fact("visible_devices", ("devices", "CUDA_VISIBLE_DEVICES", "0", 2)) == (
        "Launches on several GPUs could see one: CUDA_VISIBLE_DEVICES=0 in 2 launches."
    )
    assert fact("tuning_tables", ("table", "/t", 'File "/t" not found', None), who=Who("a")) == (
        'a runs without a table that its tuning may need. It says: File "/t" not found.'
    )
    assert fact("ipc", ("operation", "D,D put", "no handle", None), who=Who("a")) == (
        "a: a rank could not reach device memory of another one (IPC): D,D put (no handle)."
    )
    assert fact("device_datatypes", ("operation", "D,D vector", "SIGSEGV", 3), who=Who("a")) == (
        "a: launches ended where MPI gathers blocks of device memory: D,D vector: SIGSEGV in 3"
        " launches."
    )
    assert fact("without_cuda", ("operation", "D,D bcast", "SIGSEGV", None), who=Who("a")) == (
        "a: messages of device buffers work, and other operations crash: D,D bcast (SIGSEGV)."
    )


def test_what_was_slowed_has_both_figures_where_there_are_any(by_hand: Any) -> None:
    cell = by_hand.make_cell("latency", 10.0, noise=0.0)
    cell.launch_medians[:2] = [15.0, 15.0]
    launches = [
        by_hand.make_launch(block, held_down=("core too hot",) if block < 2 else ())
        for block in range(6)
    ]
    observed = [by_hand.observed(launch, cell) for launch in launches]
    (finding,) = find_in(by_hand.view([cell], launches=launches, observed=observed))
    start = "openmpi, gpu-gpu nvlink: launches were slowed: core too hot in 2 of 6 launches."
    assert sentence(finding) == (
        f"{start} latency D,D at 8 B: 15.0 µs in these launches against 10.0 µs in the others."
    )
    finding.evidence = []
    assert sentence(finding) == start


def test_a_message_that_is_much_slower_in_one_direction_has_both_times(by_hand: Any) -> None:
    explained = by_hand.explained(by_hand.part("wait", "sched_yield", 60.0))
    (case,) = explained.cases
    case.budgets.append(
        msgspec.structs.replace(case.budgets[0], leg="back", time_us=20.0, parts=[])
    )
    view = by_hand.view([], explanations=[explained], **by_hand.EXPLAINED)
    (finding,) = [finding for finding in find_in(view) if finding.kind == "yields"]
    assert sentence(finding).endswith(
        " While traced it takes 100 µs to GPU and 20.0 µs from GPU; the figure is the mean of both"
        " directions."
    )


def test_larger(by_hand: Any) -> None:
    cells = [by_hand.make_cell("latency", us, x=x) for x, us in ((8, 148.0), (8192, 82.0))]
    words = told(by_hand, "larger", cells)
    assert words.startswith(
        "openmpi, gpu-gpu nvlink, latency D,D at 8 B: 148 µs against 82.0 µs at 8 KiB, 1.8"
    )


@pytest.mark.parametrize(
    ("without", "under", "words"),
    [
        (255.0, 20.0, "20.0 µs under MPS against 255 µs without, "),
        (10.0, 20.0, "10.0 µs without MPS against 20.0 µs under it, "),
    ],
)
def test_mps(by_hand: Any, without: float, under: float, words: str) -> None:
    cells = [
        by_hand.make_cell("latency", without, place=by_hand.SAME),
        by_hand.make_cell("latency", under, place=by_hand.MPS),
    ]
    start = "openmpi, gpu-gpu same-gpu, latency D,D at 8 B: "
    assert told(by_hand, "mps", cells).startswith(start + words)


def test_gpu_support(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 2.4, place=by_hand.HOST_GPU_SUPPORT, buffers="H,H"),
        by_hand.make_cell("latency", 0.4, place=by_hand.HOST, buffers="H,H"),
    ]
    assert told(by_hand, "gpu_support", cells).startswith(
        "openmpi, host-host same-numa, latency H,H at 8 B: 2.40 µs with the library's GPU support"
        " on against 0.400 µs with it off, 6.0"
    )


def test_shared_gpu(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", 190.0, place=by_hand.NEAR_SAME_GPU),
        by_hand.make_cell("latency", 53.0, place=by_hand.NEAR),
    ]
    assert told(by_hand, "shared_gpu", cells).startswith(
        "openmpi, host-gpu near, latency D,D at 8 B: 53.0 µs where the host's rank holds a GPU of"
        " its own against 190 µs where both ranks hold the same one, time-sliced, 3.5"
    )


@pytest.mark.parametrize(
    ("better", "own", "words"),
    [
        (Settings(env={"A": "n", "B": "n"}), Settings(env={"A": "n"}), "B=n"),
        (Settings(), Settings(env={"A": "1"}), "no A=1"),
        (Settings(env={"A": "1"}), Settings(env={"A": "2"}), "A=1 in place of 2"),
        (Settings(), Settings(), "none that the plan knows"),
        (Settings(flags=["--mca", "pml"]), Settings(), "flags --mca pml in place of none"),
        (Settings(unset=["A"]), Settings(), "left out A in place of none"),
    ],
)
def test_settings_name_the_difference(
    by_hand: Any, better: Settings, own: Settings, words: str
) -> None:
    cells = [
        by_hand.make_cell("latency", 105.0, noise=0.0),
        by_hand.make_cell("latency", 19.0, settings="tuned", noise=0.0),
    ]
    given = {Who("openmpi"): own, Who("openmpi", "tuned"): better}
    assert told(by_hand, "settings", cells, given) == (
        "openmpi, gpu-gpu nvlink, latency D,D at 8 B: 19.0 µs with the settings tuned against"
        f" 105 µs with default, 5.53 times (5.53 to 5.53 in 6 blocks); the difference: {words}."
    )


def test_axes_that_tell_a_case_apart_are_named(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("latency", us, place=place, calls=calls)
        for us, place in ((60.0, by_hand.SAME), (20.0, by_hand.MPS))
        for calls in ("blocking", "nonblocking")
    ]
    assert "latency D,D at 8 B (calls=" in told(by_hand, "mps", cells)


def test_staged(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell("bw", 0.5, x=by_hand.MIB, library="mpich"),
        by_hand.make_cell("bw", 6.0, x=by_hand.MIB, staging="pinned"),
    ]
    assert (
        "0.500 GB/s by the library's own way against 6.00 GB/s with openmpi staged by the"
        " benchmark (pinned), " in told(by_hand, "staged", cells)
    )


def test_the_time_lost_is_that_of_one_operation(finding: Finding) -> None:
    def of(lost_us: float, cases: int) -> str:
        cost = msgspec.structs.replace(finding.cost, lost_us=lost_us, cases=cases)
        return lost(msgspec.structs.replace(finding, cost=cost))

    more = "4 more cases lose in the same way, and less."
    assert of(12.34, 5) == f"Each such operation loses 12.3 µs. {more}"
    assert of(0.0, 5) == more
    assert of(0.0, 2) == "1 more case loses in the same way, and less."
    assert of(0.0, 1) == ""


def test_what_a_dip_costs_is_told_by_the_gap_of_its_neighbour(by_hand: Any) -> None:
    times = ((512, 3.0, 1.0), (4096, 12.0, 2.0), (32768, 6.0, 3.0))
    cells = [by_hand.make_cell("latency", us, x=x, ceiling=best) for x, us, best in times]
    [found] = [each for each in find_in(by_hand.view(cells)) if each.kind == "dip"]
    assert "With the gap that it has at 512 B, each such operation would take 6." in lost(found)
    assert "loses" not in lost(found)


def test_what_has_the_same_reason_is_said_behind_the_remedy(by_hand: Any) -> None:
    cells = [
        by_hand.make_cell(benchmark, value, x=by_hand.MIB, place=place, ceiling=ceiling)
        for place, us in ((by_hand.SAME, 1939.0), (by_hand.MPS, 30.0))
        for benchmark, value, ceiling in (("latency", us, 26.0), ("bw", 53.0, 55.0))
    ]
    (finding,) = find_in(by_hand.view(cells))
    assert advised(finding).startswith(
        "Start MPS where it is faster (`nvidia-cuda-mps-control -d`), and end it where it is"
        " slower. The same reason: openmpi, gpu-gpu same-gpu, latency D,D at 1 MiB: one message"
        " at a time"
        " moves 0.541 GB/s"
    )


def test_settings_that_a_rule_names_are_said_with_what_they_do() -> None:
    change = SettingChange(kind="env", name="A", value="n", instead=None, effect="no b")
    remedy = Remedy(text="Turn it off.", changes=[change])
    finding = Finding(kind="dma_buf", sure=True, who=None, place=None, case=None, remedy=remedy,
                      check=[])  # fmt: skip
    assert advised(finding) == "Turn it off. To try: A=n (no b)."
    remedy.tune = "nearpeak tune --mpi a"
    assert advised(finding).endswith("(no b). To search for settings: `nearpeak tune --mpi a`.")


def test_what_a_message_loses(by_hand: Any) -> None:
    part = by_hand.part("wait", "sched_yield", 60.0)
    explanations = [by_hand.explained(part, messages=1, slower=1.5)]
    (finding,) = find_in(by_hand.view([], explanations=explanations, **by_hand.EXPLAINED))
    assert lost(finding) == "That is some 40.0 µs of such a message."
    assert doubt(finding) == "1 message seen, 1.50 times as long with the tracer."
