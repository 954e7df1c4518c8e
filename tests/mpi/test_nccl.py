# SPDX-License-Identifier: Apache-2.0
"""Real launches of `nearpeak-native nccl` with the fake NCCL and the fake driver's devices."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT, reserved_port

from nearpeak.libraries.build import build_native

QUICK = ["--slot-ms", "0.2", "--least-samples", "3", "--window", "4"]
MESSAGES = {"latency", "bw", "bibw", "mbw_mr", "multi_lat"}
REDUCTIONS = {"allreduce", "reduce", "reduce_scatter_block"}
BLOCKS = {"allgather", "alltoall", "bcast", "gather", "scatter"}
FAULTY = {"latency", "bw", "bibw"} | REDUCTIONS | BLOCKS
APPLICATIONS = {"jacobi2d"}
CALLS = ["blocking", "enqueued", "grouped", "graph"]
REGISTERED = ["none", "local", "symmetric"]
SYMMETRIC = ("allgather", "allreduce", "reduce_scatter_block")
CHAINS = {"handoff", "handoff_allreduce"}
EVERY = sorted(MESSAGES | REDUCTIONS | BLOCKS | APPLICATIONS | CHAINS)


@pytest.fixture
def launch(fake_cuda: Path, fake_nccl: Path, tmp_path: Path) -> Any:
    """Runs two ranks with these words behind the mode; the exit status, records and errors."""

    def run(
        *words: str,
        fake: str = "",
        devices: str = "0,1",
        library: str = str(fake_nccl),
        nvrtc: str = "/nowhere/libnvrtc.so",
        cuda: str = "",
    ) -> tuple[int, list[Any], str]:
        cpus = sorted(os.sched_getaffinity(0))
        file = tmp_path / "records.jsonl"
        file.unlink(missing_ok=True)
        where = ["--cpus", f"{cpus[0]},{cpus[-1]}", "--devices", devices, "--library", library]
        done = subprocess.run(
            [build_native(), "nccl", *where, *words],
            env={
                **os.environ,
                "NEARPEAK_CUDA_LIBRARY": str(fake_cuda),
                "NEARPEAK_NVRTC_LIBRARY": nvrtc,
                "NEARPEAK_FAKE_NCCL": fake,
                "NEARPEAK_FAKE_CUDA": cuda,
            },
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        lines = file.read_text().splitlines() if file.exists() else []
        errors = [
            line for line in done.stderr.splitlines() if "several processes share" not in line
        ]
        return done.returncode, [json.loads(line) for line in lines], "\n".join(errors)

    return run


def of(records: list[Any], kind: str) -> list[Any]:
    return [record for record in records if record["record"] == kind]


def test_it_describes_what_it_measures() -> None:
    told = subprocess.run([build_native(), "nccl", "--describe"], capture_output=True, check=True)
    described = {
        benchmark["name"]: benchmark for benchmark in json.loads(told.stdout)["benchmarks"]
    }
    assert sorted(described) == EVERY
    assert {name for name, told in described.items() if told["family"] == "pt2pt"} == MESSAGES
    axes = {axis["name"]: axis["values"] for axis in described["allreduce"]["axes"]}
    assert axes["type"] == ["float", "int", "double", "half", "bfloat16"]
    assert axes["calls"] == CALLS
    assert axes["register"] == REGISTERED
    assert axes["touch"] == ["none"]
    usual = {axis["name"]: axis["usual"] for axis in described["allreduce"]["axes"]}
    assert usual["calls"] == ["blocking", "graph"]
    assert usual["register"] == ["none", "symmetric"]
    others = {axis["name"]: axis["values"] for axis in described["bcast"]["axes"]}
    assert others["register"] == ["none", "local"]


def test_every_benchmark_is_verified(launch: Any) -> None:
    words = sorted(set(EVERY) - APPLICATIONS - CHAINS)
    code, records, err = launch(*words, "--sizes", "40K", *QUICK, "--jsonl", "records.jsonl")
    assert (code, err) == (0, "")
    assert not of(records, "problem")
    [environment] = of(records, "environment")
    assert environment["library_version"].startswith("NCCL 2.28.3, /")
    samples = of(records, "samples")
    assert {sample["benchmark"] for sample in samples} == set(words)
    assert all(sample["verified"] and sample["buffers"] == "D,D" for sample in samples)


def chained(launch: Any, name: str, calls: str, nvrtc: Path, *words: str, **given: str) -> Any:
    where = ["--calls", calls, "--sizes", "8,40K", *QUICK, "--jsonl", "records.jsonl"]
    return launch(name, *words, *where, nvrtc=str(nvrtc), **given)


@pytest.mark.parametrize("name", sorted(CHAINS))
@pytest.mark.parametrize("calls", ["blocking", "enqueued", "graph"])
def test_kernels_with_messages_between_them(
    launch: Any, fake_nvrtc: Path, name: str, calls: str
) -> None:
    code, records, err = chained(launch, name, calls, fake_nvrtc)
    assert (code, err, of(records, "problem")) == (0, "", [])
    samples = of(records, "samples")
    assert [(one["size_bytes"], one["operations"]) for one in samples] == [(8, 20), (40960, 20)]
    for one in samples:  # by the clock of the device, and not by that of the program
        assert one["verified"]
        assert one["phases"]["handoff"] == pytest.approx(one["samples"], abs=1e-3)
    code, records, err = chained(launch, name, calls, fake_nvrtc, "--register", "local")
    assert (code, err, of(records, "problem")) == (0, "", [])


@pytest.mark.parametrize("name", sorted(CHAINS))
@pytest.mark.parametrize(
    ("fault", "calls"), [("zeros", "blocking"), ("stale", "enqueued"), ("replayed", "graph")]
)
def test_a_message_that_a_kernel_did_not_find_is_wrong(
    launch: Any, fake_nvrtc: Path, name: str, fault: str, calls: str
) -> None:
    code, records, _ = chained(launch, name, calls, fake_nvrtc, fake=fault)
    assert code == 3
    assert {problem["status"] for problem in of(records, "problem")} == {"wrong data"}


def test_a_chain_without_kernels_or_graphs_is_left_out(launch: Any, fake_nvrtc: Path) -> None:
    words = ["handoff", "--sizes", "8", *QUICK, "--jsonl", "records.jsonl"]
    code, records, err = launch(*words)
    assert (code, err) == (0, "")
    [problem] = of(records, "problem")
    assert problem["status"] == "skipped"
    assert "/nowhere/libnvrtc.so" in problem["message"]
    code, records, err = chained(
        launch, "handoff", "graph", fake_nvrtc, cuda="cuStreamEndCapture:900"
    )
    assert (code, err) == (0, "")
    assert {problem["status"] for problem in of(records, "problem")} == {"skipped"}
    assert all("cuStreamEndCapture on GPU 0" in one["message"] for one in of(records, "problem"))


@pytest.mark.parametrize("overlap", ["no", "yes"])
def test_applications(launch: Any, fake_nvrtc: Path, overlap: str) -> None:
    words = [
        "jacobi2d",
        "--overlap",
        overlap,
        "--sizes",
        "7,33",
        *QUICK,
        "--jsonl",
        "records.jsonl",
    ]
    code, records, err = launch(*words, nvrtc=str(fake_nvrtc))
    assert (code, err) == (0, "")
    assert not of(records, "problem")
    times = [record for record in of(records, "samples") if record["metric"] == "jacobi2d"]
    assert [(time["size_bytes"], time["verified"]) for time in times] == [(7, True), (33, True)]
    code, records, _ = launch(*words, nvrtc=str(fake_nvrtc), fake="zeros")
    assert code == 3
    assert {problem["status"] for problem in of(records, "problem")} == {"wrong data"}


def test_empty_messages_are_not_measured(launch: Any) -> None:
    """A byte in place of nothing is no message that a bound of empty ones is for."""
    words = ["latency", "--calls", "nonblocking", "--sizes", "0,8", *QUICK]
    code, records, err = launch(*words, "--jsonl", "records.jsonl")
    assert (code, err) == (0, "")
    assert [record["size_bytes"] for record in of(records, "samples")] == [8]
    (problem,) = of(records, "problem")
    assert (problem["size_bytes"], problem["status"]) == (0, "skipped")
    assert "NCCL has no messages without data" in problem["message"]


def test_all_types_in_place_and_enqueued(launch: Any) -> None:
    sizes = ["--sizes", "8,4K", *QUICK, "--jsonl", "records.jsonl"]
    for words in (
        ["allreduce", "--type", "bfloat16", "--inplace", "yes", "--calls", "enqueued"],
        ["allreduce", "--type", "int", "reduce", "--type", "half", "--inplace", "yes"],
    ):
        rest = ["reduce_scatter_block", "--type", "double", "--calls", "enqueued"]
        for name in ("allgather", "gather", "scatter"):
            rest += [name, "--inplace", "yes", "--calls", "enqueued"]
        code, records, err = launch(*words, *rest, *sizes)
        assert (code, err) == (0, "")
        assert not of(records, "problem")
        assert len(of(records, "samples")) == 2 * len({*words, *rest} & set(EVERY))


def of_variants(launch: Any, name: str, sizes: str, **given: Any) -> tuple[set[int], list[Any]]:
    """The exit statuses and the records of a benchmark in each way to call it with each
    registration."""
    registered = REGISTERED if name in SYMMETRIC else ["none", "local"]
    codes, everything = set(), []
    for calls, register in itertools.product(CALLS, registered):
        words = [name, "--calls", calls, "--register", register, "--sizes", sizes, *QUICK]
        code, records, err = launch(*words, "--jsonl", "records.jsonl", **given)
        assert err == ""
        codes.add(code)
        everything += records
    return codes, everything


def way(record: Any) -> tuple[str, str]:
    return record["axes"]["calls"], record["axes"]["register"]


@pytest.mark.parametrize("name", ["allreduce", "allgather", "reduce_scatter_block", "alltoall"])
def test_every_variant_is_verified_and_says_of_how_many_calls_its_time_is(
    launch: Any, name: str
) -> None:
    codes, records = of_variants(launch, name, "8,40K")
    assert codes == {0}
    assert not of(records, "problem")
    samples = of(records, "samples")
    assert all(sample["verified"] for sample in samples)
    measured = {(way(sample), sample.get("operations", 1)) for sample in samples}
    registered = REGISTERED if name in SYMMETRIC else ["none", "local"]
    assert measured == {
        ((calls, register), 1 if calls == "blocking" else 20)
        for calls, register in itertools.product(CALLS, registered)
    }


def test_messages_from_registered_buffers(launch: Any) -> None:
    words = ["latency", "--register", "local", "bw", "--register", "local", "--sizes", "8,40K"]
    code, records, err = launch(*words, *QUICK, "--jsonl", "records.jsonl")
    assert (code, err) == (0, "")
    assert not of(records, "problem")
    assert {sample["axes"]["register"] for sample in of(records, "samples")} == {"local"}


def test_graphs_in_place_and_with_rotating_buffers(launch: Any) -> None:
    words = ["allreduce", "--calls", "graph", "--sizes", "8,4M", *QUICK, "--cache", "3M"]
    code, records, err = launch(*words, "--inplace", "yes", "--jsonl", "records.jsonl")
    assert (code, err, of(records, "problem")) == (0, "", [])
    code, records, err = launch(*words, "--reuse", "rotating", "--jsonl", "records.jsonl")
    assert (code, err) == (0, "")
    [problem] = of(records, "problem")
    assert (problem["size_bytes"], problem["status"]) == (8, "skipped")
    assert problem["message"].startswith("a graph has 20 calls, and these are ")
    assert [sample["size_bytes"] for sample in of(records, "samples")] == [4 << 20]


@pytest.mark.parametrize(
    ("fault", "caught"),
    [
        ("local", {(calls, "local") for calls in CALLS}),
        ("symmetric,rank=1", {(calls, "symmetric") for calls in CALLS}),
        ("replayed", {("graph", register) for register in REGISTERED}),
    ],
)
def test_wrong_data_in_one_variant_is_caught_in_that_one(
    launch: Any, fault: str, caught: set[tuple[str, str]]
) -> None:
    codes, records = of_variants(launch, "allreduce", "4K", fake=fault)
    assert codes == {0, 3}
    problems = of(records, "problem")
    assert {problem["status"] for problem in problems} == {"wrong data"}
    assert {way(problem) for problem in problems} == caught


LACKS_WINDOWS = "NCCL 2.26.2 has no ncclCommWindowRegister: 2.27.0 is the first"
LACKS_REGISTRATION = "NCCL 2.18.3 has no ncclCommRegister: 2.19.0 is the first"


@pytest.mark.parametrize(
    ("lacking", "fake", "cuda", "reasons"),
    [
        ("windows", "version=22602", "", {"symmetric": LACKS_WINDOWS}),
        ("registration", "version=21803", "", {"local": LACKS_REGISTRATION}),
        ("", "unregistered", "", {"local": "ncclCommRegister of NCCL 2.28.3 has registered"}),
        ("", "unregistered", "", {"symmetric": "ncclCommWindowRegister of NCCL 2.28.3 has reg"}),
        ("", "windowless=1", "", {"symmetric": "ncclCommWindowRegister: unhandled cuda error"}),
        ("", "", "cuStreamEndCapture:900", {"graph": "cuStreamEndCapture on GPU 0"}),
        ("", "", "cuGraphInstantiateWithFlags:2", {"graph": "cuGraphInstantiateWithFlags on"}),
        ("", "version=2804", "", {"graph": "NCCL 2.8.4 cannot be called in a graph"}),
    ],
)
def test_a_variant_that_cannot_be_is_left_out_with_the_reason(
    launch: Any,
    old_nccl: dict[str, Path],
    fake_nccl: Path,
    lacking: str,
    fake: str,
    cuda: str,
    reasons: dict[str, str],
) -> None:
    library = str(old_nccl[lacking] if lacking else fake_nccl)
    given = {"library": library, "fake": fake, "cuda": cuda}
    codes, records = of_variants(launch, "allreduce", "8", **given)
    assert codes == {0}
    problems = of(records, "problem")
    assert {problem["status"] for problem in problems} == {"skipped"}
    for variant, reason in reasons.items():
        absent = [problem for problem in problems if variant in way(problem)]
        assert len(absent) == (3 if variant == "graph" else 4)
        assert all(reason in problem["message"] for problem in absent)
    assert ("blocking", "none") in {way(sample) for sample in of(records, "samples")}


@pytest.mark.parametrize(
    ("fault", "caught"),
    [
        ("zeros", FAULTY),
        ("stale,rank=1", FAULTY - {"reduce", "gather"}),  # which rank 0 alone receives
        ("sum", REDUCTIONS),
        ("dropped", {"allgather"}),
    ],
)
def test_a_library_with_a_fault_is_caught(launch: Any, fault: str, caught: set[str]) -> None:
    words = [*sorted(FAULTY), "--sizes", "4K", *QUICK, "--jsonl", "records.jsonl"]
    code, records, _ = launch(*words, fake=fault)
    assert code == 3
    problems = of(records, "problem")
    assert {
        problem["benchmark"] for problem in problems if problem["status"] == "wrong data"
    } == caught


def test_a_rank_that_fails_ends_all(launch: Any) -> None:
    code, _, err = launch("allreduce", "--sizes", "8", *QUICK, fake="fails=7")
    assert code == 1
    assert err == "nearpeak-native: process 1: ncclAllReduce: unhandled cuda error"


ENDS = {
    "hangs=3": "ncclAllReduce has not ended after 5 s: another rank is gone or cannot be reached",
    "breaks=3": "ncclAllReduce: remote process exited or there was a network error",
    "absent": "ncclCommInitRank has not ended after 5 s: another rank is gone or cannot be reached",
}


def side_by_side(launch: Any) -> Iterator[tuple[str, Any]]:
    """What launches with each of these faults have left: all at once, as each waits for 5 s."""
    words = ["allreduce", "--sizes", "8", *QUICK, "--limit-s", "0.2"]
    with ThreadPoolExecutor() as pool:
        yield from zip(ENDS, pool.map(lambda fault: launch(*words, fake=fault), ENDS), strict=True)


def test_what_never_ends_is_ended_and_the_call_named(launch: Any) -> None:
    for fault, (code, _, err) in side_by_side(launch):
        assert code == 1, fault
        assert err.splitlines()[0].partition(": process ")[2][3:].startswith(ENDS[fault])


def test_a_type_that_an_old_one_lacks_is_skipped(launch: Any) -> None:
    words = ["allreduce", "--type", "bfloat16", "--sizes", "8", *QUICK, "--jsonl", "records.jsonl"]
    code, records, _ = launch(*words, fake="version=2804")
    assert code == 0
    assert [problem["message"] for problem in of(records, "problem")] == [
        "NCCL 2.8.4 has no bfloat16: 2.10 is the first"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["barrier"], "not expected: barrier"),
        ([], "name a benchmark behind the options of nccl, like allreduce"),
        (["--buffers", "H", "bw"], "nccl measures only device memory: give --buffers D, not H"),
        (
            ["allreduce", "--calls", "persistent"],
            "--calls: persistent not in {blocking,enqueued,grouped,graph}",
        ),
        (["bcast", "--register", "symmetric"], "--register: symmetric not in {none,local}"),
    ],
)
def test_bad_input_is_one_line(launch: Any, words: list[str], said: str) -> None:
    code, _, err = launch(*words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 0


def test_a_library_that_cannot_be_loaded_is_said_once(launch: Any) -> None:
    code, _, err = launch("bw", library="/nowhere/libnccl.so.2")
    assert code == 2
    assert err.startswith("nearpeak-native: /nowhere/libnccl.so.2 cannot be loaded: ")
    assert err.count("\n") == 0


@pytest.fixture
def launched(fake_cuda: Path, fake_nccl: Path, tmp_path: Path) -> Any:
    """Runs two ranks that a launcher has started; their exit statuses, errors and records."""

    def run(*words: str, fake: str = "") -> tuple[list[int], list[str], list[Any]]:
        with reserved_port() as port:
            return run_at(port, *words, fake=fake)

    def run_at(port: int, *words: str, fake: str) -> tuple[list[int], list[str], list[Any]]:
        file = tmp_path / f"records-{port}.jsonl"
        where = ["--peer", "127.0.0.1", "--port", str(port), "--devices", "0,1"]
        env = {
            **os.environ,
            "NEARPEAK_CUDA_LIBRARY": str(fake_cuda),
            "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
            "NEARPEAK_FAKE_NCCL": fake,
            "PMI_SIZE": "2",
        }
        argv = [build_native(), "nccl", *where, "--library", str(fake_nccl), *words]
        ranks = [
            subprocess.Popen(
                [*argv, "--jsonl", str(file)],
                env={**env, "PMI_RANK": str(rank)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in (0, 1)
        ]
        errors = [rank.communicate(timeout=LIMIT)[1] for rank in ranks]
        lines = file.read_text().splitlines() if file.exists() else []
        return [rank.returncode for rank in ranks], errors, [json.loads(line) for line in lines]

    return run


def test_a_launchers_ranks_meet_over_a_socket(launched: Any) -> None:
    codes, errors, records = launched("allreduce", "latency", "--sizes", "8", *QUICK)
    assert (codes, errors) == ([0, 0], ["", ""])
    assert {record["benchmark"] for record in of(records, "samples")} == {"allreduce", "latency"}
    assert not of(records, "problem")


def test_between_hosts_every_rank_ends_what_never_does(launched: Any) -> None:
    for fault, (codes, errors, _) in side_by_side(launched):
        assert codes == [1, 1], fault
        assert errors[1].startswith(f"nearpeak-native: process 1: {ENDS[fault]}")
        waiting = ENDS["hangs=3"] if fault == "breaks=3" else ENDS[fault]
        assert errors[0].startswith(f"nearpeak-native: process 0: {waiting}")


def test_between_hosts_nccl_lets_ranks_go_before_each_operation(launched: Any) -> None:
    """Whoever left a barrier of sockets first would be timed while it waits for the others."""
    words = ("bcast", "--sizes", "8", *QUICK, "--limit-s", "0.2")
    with ThreadPoolExecutor() as pool:
        ends = pool.map(lambda number: launched(*words, fake=f"fails={number}"), (7, 8))
    failed = {errors[1].removeprefix("nearpeak-native: process 1: ") for _, errors, _ in ends}
    assert failed == {f"nccl{call}: unhandled cuda error\n" for call in ("AllReduce", "Broadcast")}


def test_a_graph_that_never_ends_is_given_up(launched: Any) -> None:
    """NCCL's abort waits for the graphs that have calls of the communicator."""
    words = ("allreduce", "--calls", "graph", "--sizes", "8", *QUICK, "--limit-s", "0.2")
    codes, errors, _ = launched(*words, fake="hangs=3")
    assert codes == [1, 1]
    assert "a graph of NCCL's calls has not ended after 5 s" in errors[1]


def test_a_call_that_fails_while_it_is_recorded_ends_all(launch: Any) -> None:
    words = ("allreduce", "--calls", "graph", "--sizes", "8", *QUICK)
    code, _, err = launch(*words, fake="fails=3")
    assert code == 1
    assert "process 1: ncclAllReduce: unhandled cuda error" in err


def test_operations_of_a_group_are_not_in_place(launch: Any) -> None:
    words = ("--calls", "grouped", "--inplace", "yes", "--sizes", "8", *QUICK)
    code, records, err = launch("allreduce", *words, "--jsonl", "records.jsonl")
    assert (code, err) == (0, "")
    assert not of(records, "samples")
    (problem,) = of(records, "problem")
    assert "in place they have one buffer" in problem["message"]


def test_two_ranks_on_one_gpu_are_refused(launch: Any) -> None:
    code, _, err = launch("allreduce", devices="1,1")
    assert code == 2
    assert "ranks 0 and 1 are on one GPU, which NCCL refuses" in err
