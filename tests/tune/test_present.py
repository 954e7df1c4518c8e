# SPDX-License-Identifier: Apache-2.0
"""What came of a tuning, as it is shown."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_evidence

import answers
from answers import check_short
from nearpeak.document.page import render
from nearpeak.document.terminal import print_document
from nearpeak.libraries.profiles import Apart, At, Evidence
from nearpeak.tune.present import SHOWN, present
from nearpeak.tune.tuned import Tuned

NEAR = At(low_ns=60.0, high_ns=66.6, launches=40, times=2.0, ci95=[1.9, 2.1], slower=False)
FAR = At(low_ns=300.0, high_ns=300.2, launches=12, times=0.7, ci95=[0.65, 0.8], slower=True)
FIRST = (
    "Faster on host-gpu near: latency H,D at 8 B is 5.00 times as fast, but 1 case elsewhere is"
    " slower."
)


def page_of(found: Tuned, files: Mapping[str, Sequence[Path]] | None = None) -> str:
    return render(present(found, files or {}))


def printed(
    found: Tuned, capsys: pytest.CaptureFixture[str], files: dict[str, list[Path]] | None = None
) -> str:
    print_document(present(found, files or {}), Path("tuned/report.html"), verbose=True)
    return " ".join(capsys.readouterr().out.split())


def test_all_of_it_is_printed(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    here = Path("tuned/only-host-gpu-near-H-D/profile.toml")
    files = {
        "everywhere": [Path("tuned/profile.toml"), Path("tuned/profile.sh")],
        "for host-gpu near alone": [here],
    }
    for value in tuned.tried[:3]:
        value.named = True
    text = printed(tuned, capsys, files)
    for words in (
        FIRST,
        "Host messages with it: 8 B 0.600 [0.500, 0.700] times as fast (host-host).",
        "UCX_TLS=sm,self",
        "host-gpu near, latency H,D at 8 B 60.0 12.0 µs 2.30 5.00 faster [4.50, 5.50]",
        "Operation Ranks From Algorithm allreduce 2 0 B ring"
        " allreduce 2 16 KiB the library's own choice The file of rules has the algorithms",
        "With nothing but this machine's measured rates in the library's own cost model"
        " (UCX_CMA_BW=9537MBps) latency:8: 1.10"
        " [1.05, 1.15] times as fast in 6 rounds: faster bw:16M: 0.990 [0.970, 1.01] times as fast"
        " in 6 rounds, which is no difference",
        "Named for what was seen of its messages"
        " UCX_TLS=sm,self: latency:8 5.00, bw:16M 0.900 times as fast in 9 launches, taken"
        " A=<b>: failed: signal 11, not taken"
        " Z=0: latency:8 1.00, bw:16M 1.00 times as fast in 1 launch, not taken",
        "Slower with it host-host, bw H,H at 1 MiB: 10.0 -> 5.00 GB/s, 0.500 times as fast",
        "May stop working with it UCX_TLS: there is no network",
        "Y=9: signal 11",
        "Left out, as the budget was too short (a longer --budget has it) what of it is not needed",
        "12 values tried in 150 launches, 99 s",
        "To use it everywhere: --mpi alpha@tuned/profile.toml",
        "Files to use it everywhere without Nearpeak: tuned/profile.sh",
        f"To use it for host-gpu near alone: --mpi alpha@{here}",
        "Without what the search saw cost something elsewhere, taken (UCX_TLS=sm) none of 40"
        " other cases is shown to be slower. If everything took 31 % longer, most cases would show"
        " it with a probability of 80 % host-gpu near,"
        " latency H,D at 8 B: 60.0 -> 12.0 µs, 5.00 [4.50, 5.50] times as fast",
    ):
        assert words in text, text
    assert text.endswith(" tuned/report.html")


def test_the_answer_has_the_targets_and_the_price(tuned: Tuned) -> None:
    here = Path("tuned/only-host-gpu-near-H-D/profile.toml")
    document = present(
        tuned, {"everywhere": [Path("tuned/profile.toml")], "for host-gpu near alone": [here]}
    )
    check_short(document)
    text = " ".join(answers.printed(document).split())
    assert text == (
        f"{FIRST} Settings for alpha 5: UCX_TLS=sm,self"
        " target as it is tuned times as fast 95 % interval verdict"
        " host-gpu near, latency H,D at 8 B 60.0 µs 12.0 µs 5.00 [4.50, 5.50] faster"
        f" To use it everywhere: --mpi alpha@tuned/profile.toml To use it for host-gpu near alone:"
        f" --mpi alpha@{here} Its price: slower in host-host, bw H,H at 1 MiB: 10.0 -> 5.00 GB/s,"
        " 0.500 times as fast. Host messages with it: 8 B 0.600 [0.500, 0.700] times as fast"
        " (host-host). Not known: 1 case may be slower and 1 step left out for time."
    )


def test_what_no_longer_works_is_the_price(tuned: Tuned) -> None:
    broken = msgspec.structs.replace(tuned, broken=["put", "get", "scan"])
    text = answers.printed(present(broken, {}))
    assert "\nIts price: no longer works: put; and 2 more.\n" in text
    harmless = msgspec.structs.replace(tuned, slower=[], uncertain=[], lacking=[])
    assert "Its price" not in answers.printed(present(harmless, {}))
    assert "Not known" not in answers.printed(present(harmless, {}))


def test_what_is_left_out_is_told(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    tuned.unset = ["I_MPI_PIN"]
    assert tuned.free is not None
    tuned.free.env, tuned.free.unset = {}, ["I_MPI_PIN"]
    text = printed(tuned, capsys)
    assert "The settings UCX_TLS=sm,self without I_MPI_PIN Case" in text
    assert "cost something elsewhere, taken (without I_MPI_PIN) " in text


def test_host_messages_that_were_not_measured(
    tuned: Tuned, capsys: pytest.CaptureFixture[str]
) -> None:
    found = msgspec.structs.replace(tuned, host_messages=[])
    assert "Host messages with it: not measured. Not known" in printed(found, capsys)
    found = msgspec.structs.replace(found, buffers="H,H")  # it is of host messages itself
    assert "Host messages" not in printed(found, capsys)


def test_the_distance_of_the_cpus_is_told(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    path = "host-host same-numa"
    known = {path: [Apart(low_ns=60.0, high_ns=66.6, launches=40)], "other": []}
    near = made_evidence("latency", distances=[NEAR])
    found = msgspec.structs.replace(tuned, path=path, distances=known, evidence=[near])
    text = printed(found, capsys)
    assert "Faster on host-host same-numa (CPUs 60.0 to 67.0 ns apart): latency is 2.00" in text
    assert "Verdict CPUs apart latency 2.00 1.00 µs 2.00 faster 60.0 to 67.0 ns" in text
    assert "Slower at one" not in text
    assert "at several distances" not in text
    both = made_evidence("latency", distances=[NEAR, FAR])
    found = msgspec.structs.replace(found, evidence=[both], slower=[])
    text = printed(found, capsys)
    line = "60.0 to 67.0 ns: 2.00, 300 ns: 0.700 times as fast"
    assert f"faster {line}" in text
    assert "at several distances, they are of all of these; CPUs apart has the distances" in text
    assert "is 2.00 times as fast, but slower between CPUs at another distance." in text
    others = msgspec.structs.replace(found, slower=[both])
    assert "but 1 other case is slower between CPUs at another distance." in printed(others, capsys)
    told = (
        "latency: 0.700 [0.650, 0.800] times as fast where the CPUs are 300 ns apart"
        " (12 launches); over all distances 2.00 -> 1.00 µs, 2.00"
    )
    assert f"Slower at one of the distances of the CPUs {told}" in text


def test_few_rounds_of_ceilings_have_no_interval(
    tuned: Tuned, capsys: pytest.CaptureFixture[str]
) -> None:
    few = msgspec.structs.replace(tuned.calibration, rounds=2, times=[], ci95=[])
    text = printed(msgspec.structs.replace(tuned, calibration=few), capsys)
    assert "(UCX_CMA_BW=9537MBps) too few rounds to tell (2) Slower" in text
    slower = msgspec.structs.replace(tuned.calibration, ci95=[[0.5, 0.6], [0.97, 1.01]])
    text = printed(msgspec.structs.replace(tuned, calibration=slower), capsys)
    assert "latency:8: 1.10 [0.500, 0.600] times as fast in 6 rounds: slower" in text


def test_nothing_is_an_answer(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = msgspec.structs.replace(
        tuned,
        verdict="nothing helps",
        env={},
        rules=[],
        evidence=[],
        slower=[],
        uncertain=[],
        breaks=[],
        free=None,
        calibration=None,
        refused=[],
        lacking=[],
    )
    text = printed(nothing, capsys)
    assert "no setting that was tried makes it faster." in text
    short = msgspec.structs.replace(
        nothing, lacking=["whether all that worked still works with it"]
    )
    text = printed(short, capsys)
    assert "within the budget no setting was shown to make it faster" in text
    assert "To use it" not in text
    assert "to make it faster. 12 values tried in 150 launches, 99 s." in answers.printed(
        present(short, {})
    ).replace("\n", " ")
    check_short(present(short, {}))
    page = page_of(nothing)
    assert "The settings</h2>" not in page
    assert "Times as fast as without the value</b> (1: no change)" in page


def test_beside_taken_stands_the_loss_that_would_be_found(
    tuned: Tuned, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = msgspec.structs.replace(tuned, verdict="taken", slower=[], free=None)
    text = printed(taken, capsys)
    assert "5.00 times as fast, and none of 40 other cases is shown to be slower. Settings" in text
    loss = "If everything took 23 % longer, most cases would show it with a probability of 80 %."
    assert f"(host-host). {loss} Not known" in text
    few = msgspec.structs.replace(taken, detectable_loss=None)
    assert "Launches are too few to show a loss of any size." in printed(few, capsys)
    alone = msgspec.structs.replace(taken, guarded=0)
    text = printed(alone, capsys)
    assert "fast, and no other case was measured." in text
    assert "to show a loss" not in text
    assert "took 23 %" not in text


def test_a_price_on_the_path_that_was_tuned_is_told(tuned: Tuned) -> None:
    here = made_evidence("host-gpu near, bw H,D at 16 KiB", 2.0, 1.0, verdict="slower")
    files = {
        "everywhere": [Path("tuned/profile.toml")],
        "for host-gpu near alone": [Path("tuned/only-host-gpu-near-H-D/profile.toml")],
    }

    def told(slower: list[Evidence]) -> str:
        document = present(msgspec.structs.replace(tuned, slower=slower), files)
        check_short(document)
        return " ".join(answers.printed(document).split())

    text = told([here, here, *tuned.slower])
    assert "times as fast, but 3 other cases are slower, also on this path." in text
    assert "To use it everywhere: --mpi" in text
    use = "To use it, although 2 cases on this path are slower, for host-gpu near alone: --mpi"
    assert use in text
    text = told([here])
    assert "times as fast, but 1 other case on this path is slower." in text
    assert "To use it, although 1 case on this path is slower, for host-gpu near alone:" in text


@pytest.mark.parametrize(
    ("unguarded", "words"),
    [
        (["a"], "too few launches on a"),
        (["a", "b"], "too few launches on 2 paths"),
        (["a (bibw)"], "too few launches of bibw on a"),
        (
            ["a (bibw)", "b", "c (bibw)", "d (bw, put)"],
            "too few launches of bibw on 2 paths, too few launches on b and too few launches of"
            " bw, put on d",
        ),
    ],
)
def test_what_had_too_few_launches_is_named(tuned: Tuned, unguarded: list[str], words: str) -> None:
    found = msgspec.structs.replace(tuned, unguarded=unguarded, uncertain=[], lacking=[])
    text = " ".join(answers.printed(present(found, {})).split())
    assert f"Not known: {words}." in text


@pytest.mark.parametrize(("many", "folded"), [(8, ""), (9, ""), (10, "2 more")])
def test_a_single_setting_is_not_folded(tuned: Tuned, many: int, folded: str) -> None:
    found = msgspec.structs.replace(tuned, env={f"A{n}": "1" for n in range(many)}, refused=[])
    page = page_of(found)
    assert [*re.findall(r"<summary>(\d+ more)</summary>", page), ""][0] == folded
    assert all(f"<li>A{n}=1</li>" in page for n in range(many))


def test_all_of_it_is_on_the_page(tuned: Tuned) -> None:
    files = {"everywhere": [Path("tuned/profile.toml"), Path("tuned/profile.sh")]}
    page = page_of(tuned, files)
    for words in (
        FIRST,
        "Host messages with it: 8 B 0.600 [0.500, 0.700] times as fast (host-host).",
        "<li>UCX_TLS=sm,self</li>",
        ">5.00<small>[4.50, 5.50]</small></td>",
        '<td class="n">16 KiB</td>',
        "the library&#39;s own choice</td>",
        "<code>--mpi alpha@tuned/profile.toml</code>",
        "tuned/profile.sh",
        "<h4>Slower with it</h4>",
        "<h4>May stop working with it</h4><ul>\n<li>UCX_TLS: there is no network</li>\n</ul>",
        "Y=9: signal 11",
        "12 values tried in 150 launches, 99 s.",
        'href="study/report.html"',
    ):
        assert words in page, words


def test_outside_text_is_escaped(tuned: Tuned) -> None:
    page = page_of(msgspec.structs.replace(tuned, host="<i>"))
    assert "A=&lt;b&gt;" in page
    assert "A=<b>" not in page
    assert "<i>" not in page
    assert "<script" not in page


def test_the_drawing_has_what_changes_most_and_the_table_all(tuned: Tuned) -> None:
    page = page_of(tuned)
    drawn = re.findall(r'<circle class="target t0"', page)
    assert len(drawn) == SHOWN
    assert page.index("UCX_TLS=sm,self: latency:8 5.00 times as fast") < page.index(
        "Z=0: latency:8"
    )
    assert len(re.findall(r'<th scope="row" class="name">Z=', page)) == 30
    assert "<summary>All 32</summary>" in page


def test_without_what_was_not_measured_there_is_no_drawing(tuned: Tuned) -> None:
    bare = msgspec.structs.replace(tuned, verdict="nothing helps", evidence=[], tried=[])
    assert "<svg" not in page_of(bare)
    rates = page_of(msgspec.structs.replace(bare, evidence=[made_evidence("a", 2.0, 1.0)]))
    assert "<svg" not in rates  # it has no ceiling
