# SPDX-License-Identifier: Apache-2.0
"""A run with stand-ins for launches: everything has an end, and nothing is lost."""

import json
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import msgspec
import pytest

from answers import printed
from nearpeak.conform import run, wording
from nearpeak.conform.build import build, to_json
from nearpeak.conform.conformance import Conformance, Tried
from nearpeak.conform.journal import ConformJournal, read
from nearpeak.conform.plan import Chosen
from nearpeak.conform.present import present
from nearpeak.conform.schema import schema
from nearpeak.document.page import render
from nearpeak.errors import UserError
from nearpeak.launching import trials
from nearpeak.launching.describe import Allocator, Description
from nearpeak.machine.machine import Machine
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.terms.outcomes import Status
from nearpeak.terms.sizes import format_sizes
from nearpeak.terms.trials import Outcome, TrialCase

CHOSEN = Chosen(operations=["latency", "bw", "put"], buffers=["D,D"], limit_seconds=5)
SIZES_TEXT = format_sizes(CHOSEN.sizes)


def describe(standins: ModuleType) -> Description:
    answer = subprocess.run(
        [sys.executable, standins.FAKE, "--describe"], check=True, capture_output=True
    )
    described = msgspec.json.decode(answer.stdout, type=Description)
    allocators = [Allocator("vmm", "D", "mapped"), Allocator("huge", "H")]
    return msgspec.structs.replace(described, allocators=allocators)


def machine() -> Machine:
    return Machine(
        schema=2, hostname="<h>", architecture="", cpu_model="", kernel="", source="sysfs",
        virtual=True, cores=[], caches=[], numa_nodes=[], nics=[], allowed_cpus=[],
    )  # fmt: skip


class Runner:
    """Runs into a folder with a library that fails as `mode` says."""

    def __init__(self, standins: ModuleType, folder: Path) -> None:
        self.standins = standins
        self.folder = folder
        self.described = describe(standins)
        self.tools = standins.make_tools(folder)

    def run(
        self,
        mode: str = "",
        chosen: Chosen | None = CHOSEN,
        tell: run.Tell = lambda *_: None,
    ) -> Conformance:
        """Without `chosen` it goes on."""
        out = self.folder / "out"
        journal = ConformJournal(out) if chosen is None else None
        asked = journal.begin.chosen if journal else chosen or CHOSEN
        where = run.places([self.standins.gpu_path(), self.standins.data_path()], asked)
        if journal is None:
            journal = ConformJournal(out, run.begin(machine(), asked, self.described, list(where)))
        trials = run.Run(journal, self.described, where, self.tools)
        contender = self.standins.contender("lib", mode)
        trials.begin([contender])
        trials.try_library(contender, tell)
        journal.close()
        return build(journal.records)


@pytest.fixture
def runner(standins: ModuleType, tmp_path: Path) -> Runner:
    return Runner(standins, tmp_path)


def statuses(found: Conformance) -> Counter[str]:
    return Counter(outcome.status for outcome in found.libraries[0].outcomes)


def of(found: Conformance, operation: str, allocator: str = "plain", offset: int = 0) -> Outcome:
    case = TrialCase("D,D", operation, allocator, offset)
    return next(outcome for outcome in found.libraries[0].outcomes if outcome.case == case)


def test_all_is_done(runner: Runner) -> None:
    found = runner.run()
    # Of each operation: data, at an odd offset too, churn, leak, grow; with vmm data.
    assert statuses(found) == {"ok": 3 * 6}
    assert found.complete
    assert not found.failed
    assert [wording.memory_label(memory) for memory in found.memories] == ["D", "D vmm"]
    assert wording.conclusion(found) == "18 cases tried, none failed"


@pytest.mark.parametrize(
    ("mode", "status"),
    [("crash", "crashed"), ("hang", "hung"), ("refuse", "refused")],
)
def test_what_ends_its_job_ends_no_other(runner: Runner, mode: str, status: str) -> None:
    chosen = msgspec.structs.replace(CHOSEN, limit_seconds=1)
    found = runner.run(f"probe D,D bw {mode}", chosen)
    assert statuses(found) == {"ok": 12, status: 1, "not tried": 5}
    bad = of(found, "bw")
    assert (bad.status, bad.size_bytes) == (status, 8)
    assert of(found, "bw", "vmm").message == (
        f"bw {'was refused' if status == 'refused' else status} with plain buffers already: "
        "--full tries it all the same"
    )
    assert found.complete
    assert found.failed
    [line] = [shlex.split(bad.command)]
    assert line[line.index("probe") + 1 :] == [
        *("--buffers", "D,D", "--operations", "bw", "--sizes", SIZES_TEXT),
        *("--devices", "GPU-0,GPU-1"),
    ]


def test_what_fails_after_others_alone_keeps_its_status_and_goes_on(runner: Runner) -> None:
    told: list[Outcome] = []
    found = runner.run(
        "probe D,D latency crash later", tell=lambda _, outcome: told.append(outcome)
    )
    bad = of(found, "latency")
    assert (bad.status, bad.alone) == ("crashed", "ok")
    assert wording.evidence(bad).startswith("crashed (alone: ok): ended by SIGSEGV")
    # The other ways of it are tried as those of any other operation.
    assert "not tried" not in statuses(found)
    assert len(told) == len(found.libraries[0].outcomes) == 18
    line = shlex.split(bad.command)
    again = Path(line[line.index("--cases") + 1])
    assert again.parent == (runner.folder / "out" / "cases").resolve()
    assert [text.split()[2] for text in again.read_text().splitlines()] == ["bw", "latency"]


def test_what_fails_alone_too_is_repeated_alone(runner: Runner) -> None:
    bad = of(runner.run("probe D,D latency wrong"), "latency")
    assert (bad.status, bad.alone) == ("wrong data", "wrong data")
    assert "--operations latency" in bad.command
    assert not list((runner.folder / "out" / "cases").iterdir())


def test_what_was_cut_off_before_it_was_tried_alone_is_completed(runner: Runner) -> None:
    runner.run("probe D,D latency crash later")
    file = runner.folder / "out" / "conform.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if b"crashed" in line)
    file.write_bytes(b"".join(lines[: cut + 1]))
    begun = build(read(runner.folder / "out"))
    assert (of(begun, "latency").alone, begun.complete) == (None, False)
    again = runner.run("probe D,D latency crash later", None)
    assert (of(again, "latency").alone, again.complete) == ("ok", True)


def test_full_tries_everything(runner: Runner) -> None:
    chosen = replace_operations(CHOSEN, ["bw"], "full")
    found = runner.run("probe D,D bw crash", chosen)
    assert statuses(found) == {"crashed": 2 * (2 * 3 + 1)}


def test_quick_tries_plain_memory_alone(runner: Runner) -> None:
    found = runner.run(chosen=replace_operations(CHOSEN, ["bw", "put"], "quick"))
    assert statuses(found) == {"ok": 2}


def replace_operations(chosen: Chosen, operations: list[str], depth: Any) -> Chosen:
    return msgspec.structs.replace(chosen, operations=operations, depth=depth)


def test_wrong_data_goes_on_in_the_same_job(runner: Runner) -> None:
    found = runner.run("probe D,D bw wrong")
    assert statuses(found) == {"wrong data": 6, "ok": 12}


def test_a_run_that_was_cut_off_is_completed(runner: Runner) -> None:
    whole = runner.run("probe D,D bw crash")
    file = runner.folder / "out" / "conform.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]) + lines[5][:20])
    again = runner.run("probe D,D bw crash", None)
    assert statuses(again) == statuses(whole)
    assert again.complete
    assert b"".join(file.read_bytes().splitlines(keepends=True)[:5]) == b"".join(lines[:5])


def test_what_was_begun_with_others_does_not_go_on(runner: Runner) -> None:
    runner.run()
    records = read(runner.folder / "out")
    now = run.begin(machine(), CHOSEN, runner.described, ["D,D"])
    same = runner.standins.contender("lib")
    run.check_resumed(records, now, [same, runner.standins.contender("another")])
    newer = msgspec.structs.replace(same.library, version="99")
    later = msgspec.structs.replace(now, gpus=["NVIDIA H100"], driver="580")
    said = (
        r"begun with others \(GPUs: none, now NVIDIA H100; driver: none, now 580;"
        rf" {same.label}: {same.library.version}, now 99\): start anew"
    )
    with pytest.raises(UserError, match=said):
        run.check_resumed(records, later, [msgspec.structs.replace(same, library=newer)])


def test_a_library_that_does_not_start_has_failed_once(runner: Runner) -> None:
    found = runner.run("probe no start")
    assert statuses(found) == {"failed": 3, "not tried": 15}
    assert of(found, "bw").message == "MPI_Init failed"


@pytest.mark.parametrize(("mode", "status"), [("crash", "crashed"), ("hang", "hung")])
def test_a_job_that_ends_badly_after_its_cases_is_told_and_no_case_blamed(
    runner: Runner, mode: str, status: str
) -> None:
    found = runner.run(f"probe end {mode}", msgspec.structs.replace(CHOSEN, limit_seconds=1))
    assert statuses(found) == {"ok": 18}
    assert (found.failed, found.complete) == (True, True)
    ends = found.libraries[0].bad_ends
    assert {end.status for end in ends} == {status}
    assert sum(end.cases for end in ends) == 18
    assert all("-end.txt" in end.command for end in ends)
    jsonschema.validate(json.loads(to_json(found)), schema())
    told = f"18 cases tried, none failed, {len(ends)} jobs ended badly after the last case"
    assert wording.conclusion(found) == told
    assert "Jobs that ended badly after the last case" in render(present(found))
    text = printed(present(found))
    assert f"1. lib: a job after {ends[0].cases} cases: {status}: " in text
    assert text.startswith(f"\n{told}.\n")


def test_without_a_device_nothing_is_said_of_the_library(runner: Runner) -> None:
    assert statuses(runner.run("probe no device")) == {"not tried": 18}


def test_json_satisfies_its_schema_and_the_page_escapes_and_loads_nothing(
    runner: Runner,
) -> None:
    found = runner.run("probe D,D bw crash")
    put = of(found, "put")
    found.libraries[0].outcomes[found.libraries[0].outcomes.index(put)] = msgspec.structs.replace(
        put, status="refused", message="<script>alert(1)</script>"
    )
    jsonschema.validate(json.loads(to_json(found)), schema())
    page = render(present(found))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "&lt;h&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "probe --buffers D,D --operations bw --sizes 8,1000" in page
    text = printed(present(found), Path("conform.html"))
    assert "bw, D,D, 8 B" not in text
    assert "13 cases tried, 2 of them failed, 5 not tried.\n" in text
    counts = ["lib", "1", "11", "1", "1", "5", "1"]  # the last one was made, and not tried alone
    assert counts in [line.split() for line in text.splitlines()]
    assert "1. 1 case of lib crashed: bw in D (ended by SIGSEGV: it did not say why)\n" in text
    command = "nearpeak conform --mpi lib --operations bw --buffers D,D -o bw"
    assert f"   Try it again: {command}\n" in text
    assert text.endswith("\n\nconform.html\n")
    whole = printed(present(found), verbose=True)
    assert "crashed: ended by SIGSEGV: it did not say why\nbw, D,D, 8 B\n" in whole
    assert whole.endswith(text.removesuffix("\nconform.html\n"))
    outcomes = found.libraries[0].outcomes
    left = [outcome for outcome in outcomes if outcome.status == "not tried"]
    found.libraries[0].outcomes = [outcome for outcome in outcomes if outcome not in left[1:]]
    assert wording.conclusion(found).endswith(
        f", 1 not tried ({wording.case(left[0])}: {left[0].message})"
    )
    assert left[0].message


def test_failures_are_grouped_by_how_they_ended() -> None:
    def refused(operation: str, message: str) -> Outcome:
        return msgspec.structs.replace(
            ended("refused"), case=TrialCase("D,D", operation), message=message
        )

    tried = Tried(
        library="lib",
        settings="default",
        version="1",
        planned=4,
        outcomes=[
            refused("bw", "MPI_Win_create failed"),
            refused("get", "rank 0: MPI_Put(0x7f12) failed"),
            refused("put", "rank 0: MPI_Put(0x7f34) failed"),
            ended("ok"),
        ],
        bad_ends=[],
    )
    first, second = wording.failures(tried)
    assert first.cases == "get, D,D; put, D,D"
    assert first.evidence == "refused: rank 0: MPI_Put(0x...) failed"
    assert second.cases == "bw, D,D"
    tried.outcomes.append(refused("scan", "rank 1: MPI_Put(0x7f56) failed"))
    first, _ = wording.failures(tried)
    assert first.evidence == "refused; the first: rank 0: MPI_Put(0x...) failed"
    assert [first.own_message(outcome) for outcome in first.outcomes] == [
        "",
        "",
        "rank 1: MPI_Put(0x...) failed",
    ]


def ended(status: Status, alone: Status | None = None) -> Outcome:
    return Outcome(case=TrialCase("D,D", "put"), status=status, alone=alone)


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([], ""),
        ([ended("ok"), ended("ok"), ended("not tried")], "ok"),
        ([ended("not tried")], "-"),
        ([ended("crashed", "crashed"), ended("not tried")], "crashed"),
        ([ended("ok"), ended("refused", "refused"), ended("ok"), ended("ok")], "refused 1/4"),
        ([ended("ok"), ended("wrong data", "ok"), ended("not tried")], "wrong* 1/2"),
        ([ended("crashed", "ok"), ended("crashed", "hung")], "crashed"),
    ],
)
def test_a_cell_says_the_worst_and_of_how_many(outcomes: list[Outcome], said: str) -> None:
    assert wording.cell(outcomes) == said


@pytest.mark.parametrize(
    ("check", "said"),
    [("grow", "put, D,D, buffers that grow"), ("inplace", "put, D,D, in place")],
)
def test_a_check_is_told_in_words(check: str, said: str) -> None:
    assert wording.case(Outcome(case=TrialCase("D,D", "put", check=check), status="ok")) == said


def test_the_conclusion_counts_what_was_tried(runner: Runner) -> None:
    found = runner.run("probe D,D latency crash later", replace_operations(CHOSEN, [], "quick"))
    # 7 operations, one of which runs among 3 and 4 ranks too, and one among 4.
    assert wording.conclusion(found) == "10 cases tried, 1 of them failed (1 ok alone)"


def test_more_ranks_have_jobs_of_their_own(runner: Runner) -> None:
    found = runner.run(chosen=replace_operations(CHOSEN, ["allreduce"], "quick"))
    [tried] = found.libraries
    assert [outcome.case.ranks for outcome in tried.outcomes] == [2, 3, 4]
    assert [wording.case(outcome) for outcome in tried.outcomes] == [
        "allreduce, D,D",
        "allreduce, D,D, 3 ranks",
        "allreduce, D,D, 4 ranks",
    ]
    devices = [shlex.split(outcome.command)[-1] for outcome in tried.outcomes]
    assert devices == ["GPU-0,GPU-1", "GPU-0,GPU-1,GPU-0", "GPU-0,GPU-1,GPU-0,GPU-1"]
    sizes = [outcome.command.split("--sizes ")[1].split()[0] for outcome in tried.outcomes]
    assert sizes == ["8,64K,4M", "8,64K", "8,64K"]  # they share cores
    jsonschema.validate(json.loads(to_json(found)), schema())


def test_more_ranks_have_more_time(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    real, limits = trials.Job.run, []

    def run_job(job: trials.Job, limit_seconds: float) -> list[TrialCase]:
        limits.append(limit_seconds)
        return real(job, limit_seconds)

    monkeypatch.setattr(trials.Job, "run", run_job)
    runner.run(chosen=replace_operations(CHOSEN, ["allreduce"], "quick"))
    assert limits == [5, 7.5, 10]


def test_more_ranks_take_ends_of_their_own_where_there_are(standins: ModuleType) -> None:
    chosen = Chosen(buffers=["H,H", "D,D"])
    some, wide = standins.data_path(), standins.wide_path(4)
    where = run.places([some, wide, standins.gpu_path()], chosen)
    assert where["H,H"].seats(2) == some.ends
    assert where["H,H"].seats(3) == wide.ends[:3]
    gpu = standins.gpu_path().ends
    assert where["D,D"].seats(3) == (*gpu, gpu[0])


def test_a_path_that_is_named_has_all_devices(standins: ModuleType) -> None:
    shared = standins.gpu_path("gpu-gpu same-gpu mps", mps=True)
    found = [standins.data_path(), standins.gpu_path(), shared]
    where = run.places(found, Chosen(buffers=["H,H", "D,D", "H,D"], path=shared.id), shared)
    assert [place.path.id for place in where.values()] == [found[0].id, shared.id, shared.id]
    with pytest.raises(UserError, match=f"--path '{shared.id}': no --buffers are tried there"):
        run.places(found, Chosen(buffers=["H,H"], path=shared.id), shared)


def test_the_paths_that_can_be_named_are_those_of_a_study_between_two_gpus() -> None:
    dgx = from_sysfs(Path(__file__).parent.parent / "machines" / "dgx-h100.txt")
    for known in ("gpu-gpu same-gpu mps", "gpu-gpu pair 2-5"):
        assert run.named_path(dgx, known).id == known
    for others, why in {
        "gpu-gpu nvlnk": "--path: unknown path 'gpu-gpu nvlnk'; did you mean 'gpu-gpu nvlink'?",
        **{
            path: f"--path '{path}' has not two ends with a GPU: choose one of "
            "gpu-gpu same-gpu, gpu-gpu same-gpu mps, gpu-gpu nvlink, gpu-gpu pair 0-1 and other "
            "pairs"
            for path in ("host-gpu near", "gpu x4", "host-memory node0")
        },
    }.items():
        with pytest.raises(UserError) as error:
            run.named_path(dgx, others)
        assert str(error.value) == why


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"operations": ["latncy"]}, "--operations: unknown 'latncy'; did you mean 'latency'?"),
        ({"allocators": ["vmn"]}, "--allocators: 'vmn' gives no buffers D,D; did you mean 'vmm'?"),
        ({"buffers": ["D,H,H"]}, "--buffers D,H,H: there is no place for them"),
    ],
)
def test_bad_input_writes_nothing(runner: Runner, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        runner.run(chosen=msgspec.structs.replace(CHOSEN, **fields))
    assert str(error.value).startswith(said)
    assert not (runner.folder / "out").exists()


def test_a_folder_is_new_or_has_a_run(runner: Runner, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"conform\.jsonl cannot be read"):
        ConformJournal(tmp_path / "none")
    runner.run()
    with pytest.raises(UserError, match=r"has a conform\.jsonl already: complete it with"):
        runner.run()
    (runner.folder / "out" / "conform.jsonl").write_text("half of a li")  # of a full disk
    with pytest.raises(
        UserError, match=r"conform\.jsonl has no line: begin anew, without --resume"
    ):
        ConformJournal(runner.folder / "out")
    assert runner.run().complete
    (runner.folder / "out" / "conform.jsonl").write_text("{}\n")
    with pytest.raises(UserError, match="cannot be believed"):
        ConformJournal(runner.folder / "out")
