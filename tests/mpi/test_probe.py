# SPDX-License-Identifier: Apache-2.0
"""`nearpeak-mpi probe`: which operations a library can do on which buffers."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

from nearpeak.launching import trials
from nearpeak.libraries.build import build_mpi
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import CommandLine, Launch, Rank, Settings
from nearpeak.terms.trials import Outcome, TrialCase

DOCS = Path(__file__).parents[2] / "docs"
OPERATIONS = ["put", "get", "requests", "busy_stream"]  # that no benchmark is made of


def outcomes(done: Any) -> list[tuple[str, str, str]]:
    """In order; that a case has begun is recorded for every size, and told once here."""
    all_of_them = [
        (probe["buffers"], probe["operation"], probe["status"]) for probe in done.of("probe")
    ]
    return list(dict.fromkeys(all_of_them))


def benchmarks(launcher: Any) -> list[str]:
    """Those over bytes: applications are not tried."""
    every = launcher.described["benchmarks"]
    return [benchmark["name"] for benchmark in every if benchmark["x"]["unit"] == "B"]


# With one library: the benchmarks' own tests try each operation with all of them.
@one_library
def test_every_operation_is_tried_and_recorded(launcher: Any) -> None:
    lack_kernels = ("stream_latency", "handoff", "handoff_allreduce")
    done = launcher.run("probe", "--buffers", "H,D", "--sizes", "8,4K", fake="reachable=1")
    assert done.code == 1, done.err
    assert outcomes(done) == [
        ("H,D", operation, status)
        for operation in (*benchmarks(launcher), *OPERATIONS)
        for status in ("begun", "not tried" if operation in lack_kernels else "ok")
    ]
    told = {probe["operation"] for probe in done.of("probe") if probe["message"]}
    assert told == {*lack_kernels}
    [_, place] = done.of("environment")[0]["ranks"]
    assert place["device"]["name"] == "Fake GPU B"


def test_several_kinds_of_buffers_are_tried_one_after_the_other(launcher: Any) -> None:
    buffers = ("D,D", "M,P")
    words = [word for each in buffers for word in ("--buffers", each)]
    names = ("latency", "bcast", "put")
    words += ["--operations", ",".join(names), "--sizes", "8,64K"]
    done = launcher.run("probe", *words, fake="reachable=1")
    assert done.code == 0, done.err
    assert outcomes(done) == [
        (each, operation, status)
        for each in buffers
        for operation in names
        for status in ("begun", "ok")
    ]


@pytest.mark.parametrize(
    ("measured_library", "ranks"), [("mpich", 3), ("openmpi", 4)], indirect=["measured_library"]
)
def test_more_ranks_try_what_runs_on_them(launcher: Any, ranks: int) -> None:
    names = ("latency", "allreduce", "ialltoall", "mbw_mr", "put")
    words = ("--buffers", "H,H", "--operations", ",".join(names), "--sizes", "8,1K")
    done = launcher.run("probe", *words, ranks=ranks)
    assert done.code == 1, done.err
    ends = {
        probe["operation"]: probe["status"]
        for probe in done.of("probe")
        if probe["status"] != "begun"
    }
    can = {"allreduce", "ialltoall"} | ({"mbw_mr"} if ranks == 4 else set())
    assert ends == {name: "ok" if name in can else "not tried" for name in names}
    told = {probe["operation"]: probe["message"] for probe in done.of("probe") if probe["message"]}
    assert told["put"] == f"put runs on 2 ranks, not on {ranks}"


@pytest.mark.parametrize("operation", ["latency", "allreduce"])
def test_the_operation_that_crashes_has_begun_and_not_ended(launcher: Any, operation: str) -> None:
    words = ("--buffers", "H,H", "--buffers", "D,D", "--operations", f"{operation},put")
    done = launcher.run("probe", *words, "--sizes", "8,64K")
    assert done.code not in (0, 1, 2, 3)
    assert outcomes(done) == [
        ("H,H", operation, "begun"),
        ("H,H", operation, "ok"),
        ("H,H", "put", "begun"),
        ("H,H", "put", "ok"),
        ("D,D", operation, "begun"),
    ]


def test_wrong_data_is_told_and_the_next_operation_tried(launcher: Any) -> None:
    words = ("probe", "--buffers", "H,D", "--operations", "bw,allreduce")
    done = launcher.run(*words, fake="reachable=1", rank_1="reachable=1,corrupt=1")
    assert done.code == 3
    ends = [probe for probe in done.of("probe") if probe["status"] != "begun"]
    assert [(end["operation"], end["status"]) for end in ends] == [
        ("bw", "wrong data"),
        ("allreduce", "wrong data"),
    ]
    assert ends[0]["message"].startswith("rank 1 received wrong data: byte ")


def test_with_buffers_that_cannot_be_made_nothing_is_tried(launcher: Any) -> None:
    words = ("probe", "--buffers", "H,M", "--buffers", "H,P", "--operations", "latency")
    done = launcher.run(*words, fake="cuMemAllocManaged:801")
    assert done.code == 1
    assert [status for _, _, status in outcomes(done)] == ["begun", "not tried", "begun", "ok"]
    message = next(probe["message"] for probe in done.of("probe") if probe["status"] == "not tried")
    why = "rank 1: cuMemAllocManaged(64 B) on GPU 1: error 801"
    assert message == f"not with 8 bytes: {why}"


ALLOCATORS = {
    "H": ["huge", "shared"],
    "P": ["registered"],
    "D": ["async", "vmm", "vmm-chunks", "symbol", "pool"],
    "M": ["managed-async", "managed-pool"],
}


CHURN = {
    "openmpi": "D,D async bcast 0 churn 8",
    "mpich": "D,D vmm-chunks put 0 churn 8",
}


def test_every_allocator_at_odd_addresses_and_with_churn(launcher: Any, tmp_path: Path) -> None:
    cases = [
        f"{kind},{kind} {allocator} {operation} {offset} data 100000"
        for kind, names in ALLOCATORS.items()
        for allocator in names
        for operation, offset in (("put", 1), ("bcast", 0))
    ]
    cases.append(CHURN[launcher.library.name])
    file = tmp_path / "cases"
    file.write_text("".join(f"{case}\n" for case in cases))
    done = launcher.run("probe", "--cases", str(file), fake="reachable=1,driver=13000")
    assert done.code == 0, (done.out, done.err)
    ends = [probe for probe in done.of("probe") if probe["status"] != "begun"]
    assert {end["status"] for end in ends} == {"ok"}
    told = [
        f"{end['buffers']} {end['allocator']} {end['operation']} {end['offset']} {end['check']}"
        for end in ends
    ]
    assert told == [case.rpartition(" ")[0] for case in cases]


def test_the_program_describes_its_allocators(launcher: Any) -> None:
    found: dict[str, list[str]] = {}
    for allocator in launcher.described["allocators"]:
        found.setdefault(allocator["buffers"], []).append(allocator["name"])
    assert found == ALLOCATORS


FAULTS = {
    "zeros": ("data", "wrong data", "received wrong data: byte "),
    "17th": ("churn", "wrong data", "in allocation 17 of 64"),
    "leak": ("leak", "leaks", "bytes of host memory more each time"),
    "smaller": ("grow", "wrong data", "in buffers allocated anew, once more"),
    "refused": ("data", "refused", "rank 0: MPI returned "),
}


@pytest.mark.parametrize(
    ("measured_library", "fault"),
    # How a call returns an error is the library's; what arrives or grows is looked at alike.
    [*(("mpich", fault) for fault in FAULTS), ("openmpi", "refused")],
    indirect=["measured_library"],
)
def test_a_faulty_library_is_caught(launcher: Any, faulty: Path, fault: str) -> None:
    check, status, message = FAULTS[fault]
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": fault}
    done = launcher.run(
        "probe", "--buffers", "H", "--operations", "latency", "--checks", check, env=env
    )
    [end] = [probe for probe in done.of("probe") if probe["status"] != "begun"]
    assert (end["status"], message in end["message"]) == (status, True), end
    assert done.code != 0
    if fault == "zeros":
        assert (end["size_bytes"], end["got"]) == (65536, 0)
        assert (end["rank"] in (0, 1), end["byte"] < 8, end["expected"] > 0) == (True, True, True)
    if fault == "leak":
        assert 900 < end["leaked_host_bytes"] < 8192  # with what else the process takes meanwhile
        assert end["leaked_device_bytes"] == 0


def ends_of(done: Any) -> list[tuple[str, str, str]]:
    return [
        (probe["operation"], probe["check"], probe["status"])
        for probe in done.of("probe")
        if probe["status"] != "begun"
    ]


@pytest.mark.parametrize(
    ("fault", "operations", "checks", "found"),
    [
        ("inplace", "allreduce", "data,inplace", ("allreduce", "inplace")),
        ("lost", "latency,requests", "data", ("requests", "data")),
        ("busy", "latency,busy_stream", "data", ("busy_stream", "data")),
    ],
)
def test_a_fault_is_found_by_the_case_that_is_for_it_alone(
    launcher: Any, faulty: Path, fault: str, operations: str, checks: str, found: tuple[str, str]
) -> None:
    words = ("--operations", operations, "--checks", checks, "--sizes", "1K,64K")
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": fault}
    done = launcher.run("probe", "--buffers", "D,D", *words, fake="reachable=1", env=env)
    assert done.code == 3, (done.out, done.err)
    ends = ends_of(done)
    assert len(ends) == 2
    for operation, check, status in ends:
        assert status == ("wrong data" if (operation, check) == found else "ok")


def test_churn_finds_what_a_library_has_kept_of_an_address(launcher: Any, faulty: Path) -> None:
    """Not before addresses come back: from then on the data is that of another turn."""
    words = ("--buffers", "D,D", "--operations", "latency", "--checks", "churn")
    env = {"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "kept"}
    done = launcher.run("probe", *words, fake="reachable=1", env=env)
    [end] = [probe for probe in done.of("probe") if probe["status"] != "begun"]
    assert end["status"] == "wrong data", end
    turn = re.search(r", in allocation (\d+) of 64$", end["message"])
    assert turn is not None, end
    assert int(turn[1]) > 32


@pytest.mark.parametrize("check", ["data", "churn", "grow", "inplace"])
def test_new_ways_are_right_with_a_library_that_is(launcher: Any, check: str) -> None:
    operations = "allreduce,ialltoall,requests,busy_stream"
    words = ("--operations", operations, "--checks", check, "--sizes", "8,64K")
    done = launcher.run("probe", "--buffers", "D,D", "--buffers", "H,M", *words, fake="reachable=1")
    in_place = check == "inplace"
    assert done.code == (1 if in_place else 0), (done.out, done.err)
    can = [name for name in operations.split(",") if not in_place or name.startswith(("a", "i"))]
    ends = ends_of(done)
    assert len(ends) == 8
    for operation, _, status in ends:
        assert status == ("ok" if operation in can else "not tried")


@one_library
def test_what_there_is_not_is_not_tried_and_says_why(launcher: Any) -> None:
    cases = [
        ("H,H plain busy_stream 0 data 64K", "no rank has its buffers on a device"),
        ("H,H plain latency 0 inplace 8", "latency takes no MPI_IN_PLACE"),
        ("H,H plain barrier 0 grow 8", "barrier has no buffers that grow"),
        ("H,H plain requests 0 data 999", "of no size that was asked for"),
        ("M,M managed-async put 0 data 8", "pools of managed memory came with CUDA 13.0"),
    ]
    file = launcher.folder / "cases"
    file.write_text("".join(f"{case}\n" for case, _ in cases))
    done = launcher.run("probe", "--cases", str(file), fake="reachable=1,driver=12080")
    ends = [probe for probe in done.of("probe") if probe["status"] != "begun"]
    assert [end["status"] for end in ends] == ["not tried"] * len(cases), ends
    for end, (_, why) in zip(ends, cases, strict=True):
        assert why in end["message"]


def test_a_crash_in_finalize_is_of_the_job_and_of_no_case(launcher: Any, faulty: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))

    def launch(words: list[str]) -> CommandLine:
        program = [str(build_mpi(launcher.library)), "probe", *words]
        ranks = [Rank(cpus=[cpus[0]]), Rank(cpus=[cpus[-1]])]
        settings = Settings(env={"LD_PRELOAD": str(faulty), "NEARPEAK_FAULT": "end"})
        return command_line(
            launcher.library, Launch(program=program, ranks=ranks, settings=settings)
        )

    told: list[Outcome] = []
    cases = [TrialCase("H,H", operation) for operation in ("latency", "bcast")]
    job = trials.Job(cases, lambda _: [8], launch, lambda case, _: told.append(case))
    assert job.run() == []
    assert [(outcome.case, outcome.status) for outcome in told] == [(case, "ok") for case in cases]
    assert job.bad_end is not None
    assert (job.bad_end.status, job.bad_end.cases) == ("crashed", 2)
    assert job.bad_end.message.startswith("ended by SIGSEGV")
    assert job.bad_end.command == told[-1].command


@one_library
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--buffers", "H", "--allocators", "vmm"),
            "the allocator 'vmm' of --allocators has no such buffers",
        ),
        (("--buffers", "H", "--checks", "scam"), "unknown check 'scam'"),
        (("--buffers", "H", "--offsets", "5000"), "give bytes from 0 to 4095"),
        (("--cases", "/nowhere/cases"), "--cases /nowhere/cases cannot be read"),
        ((), "probe needs --buffers"),
    ],
)
def test_bad_input_is_one_line(launcher: Any, words: tuple[str, ...], said: str) -> None:
    told = launcher.ask("--check", "probe", *words)
    [line] = told.stderr.splitlines()
    assert (told.returncode, said in line) == (2, True), line


def test_an_unknown_operation_is_bad_input(launcher: Any) -> None:
    told = launcher.ask("--check", "probe", "--buffers", "D,D", "--operations", "latency,scam")
    assert told.returncode == 2
    known = ", ".join((*benchmarks(launcher), *OPERATIONS))
    said = f"unknown operation 'scam': give some of {known}"
    assert told.stderr == f"nearpeak-mpi: {said}\n"


def test_the_program_describes_its_operations_as_the_document_says(launcher: Any) -> None:
    described = launcher.described
    assert [operation["name"] for operation in described["operations"]] == OPERATIONS
    families = {benchmark["name"]: benchmark["family"] for benchmark in described["benchmarks"]}
    assert (families["latency"], families["allreduce"]) == ("pt2pt", "collective")
    pages = ("reference/describe.md", "reference/results.md")
    document = "".join((DOCS / name).read_text() for name in pages)
    axes = {axis["name"] for benchmark in described["benchmarks"] for axis in benchmark["axes"]}
    assert "staging" in axes
    keys = {*described, *described["benchmarks"][0]}
    assert all(f"`{word}`" in document for word in (*keys, *axes, *OPERATIONS))


def test_help_ends_with_examples_that_can_be_copied(launcher: Any) -> None:
    told = launcher.ask("--help")
    assert told.returncode == 0, told.stderr
    examples = told.stdout.split("EXAMPLES:\n")[1].splitlines()
    assert examples[0] == "  mpirun -n 2 nearpeak-mpi latency"
    assert all(line.startswith("  mpirun ") for line in examples)
    of_one = launcher.ask("latency", "--help").stdout
    assert "--direction TEXT:{both,0to1,1to0} [both]" in of_one
    assert "EXAMPLES" not in of_one


def test_help_on_what_is_not_known_is_one_line_and_status_2(launcher: Any) -> None:
    told = launcher.ask("scam", "--help")
    assert told.returncode == 2
    [line] = told.stderr.splitlines()
    assert line.startswith("nearpeak-mpi: ")
    assert "scam" in line
