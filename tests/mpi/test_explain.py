# SPDX-License-Identifier: Apache-2.0
"""Real launches under the microscope, with the fake CUDA driver and a fake CUPTI."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mpi_launches import LIMIT, measured_with, one_library

from nearpeak.explain.budget import activity, budget, counters, windows
from nearpeak.explain.launches import gather
from nearpeak.explain.library_output import parse_output, reporting_variables
from nearpeak.libraries.build import build_explain, build_layer, build_native
from nearpeak.observations.explained import Budget

SIZE = 4096
# Enough samples, however busy the machine is: they are looked at for a millisecond, and not for the
# next one, and a single one that waited for a CPU may take the whole slot.
WORDS = ("--sizes", str(SIZE), "--slot-ms", "5", "--least-samples", "200")


@pytest.fixture
def env(fake_cupti: Path, tmp_path: Path) -> dict[str, str]:
    preload = str(build_explain())
    (tmp_path / "events").mkdir()
    return {
        "LD_PRELOAD": preload,
        "NEARPEAK_EXPLAIN": str(tmp_path / "events"),
        "NEARPEAK_EXPLAIN_BYTES": str(128 << 20),
        "CUDA_INJECTION64_PATH": preload,
        "NEARPEAK_CUPTI_LIBRARY": str(fake_cupti),
    }


def budgets(folder: Path) -> list[Budget]:
    ranks = gather(folder / "events")
    assert [seen.rank for seen in ranks] == [0, 1]
    return [budget(activity(ranks), leg, None) for leg in windows(ranks)]


def parts(found: Budget) -> dict[tuple[str, int], tuple[float, float | None]]:
    """How often for a message, and of how many bytes."""
    return {(part.name, part.rank): (round(part.count), part.bytes) for part in found.parts}


@one_library
def test_copies_to_and_from_devices_are_seen(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    """Staged by hand: a message is copied to the host by who sends it, and to the device by who
    receives it, each by a call that is waited for."""
    words = ("latency", "--buffers", "D,D", "--staging", "pinned", *WORDS)
    assert launcher.run(*words, env=env).measured() == {"latency"}
    # The kernel's counts are of samples that nobody looks at. Long ones may fill the memory for
    # events before, where a rank polls while the other one waits for a CPU.
    assert all(counters(seen) for seen in gather(tmp_path / "events"))
    there, back = budgets(tmp_path)
    for found, sender in ((there, 0), (back, 1)):
        known = parts(found)
        for rank in (0, 1):
            assert known["cuMemcpyAsync", rank] == (1, SIZE)
        assert all(part.own for part in found.parts if part.name.startswith(("cu", "copy, ")))
        assert known["copy, device to pinned", sender] == (1, SIZE)
        assert known["copy, pinned to device", 1 - sender] == (1, SIZE)
        spent = sum(part.time_us for part in found.parts) + found.not_accounted_us
        assert spent == pytest.approx(found.time_us)


@one_library
def test_what_the_layer_asks_of_the_driver_is_not_the_benchmarks_own(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    env["LD_PRELOAD"] += f":{build_layer(launcher.library)}"
    done = launcher.run("latency", "--buffers", "D,D", *WORDS, env=env)
    assert done.measured() == {"latency"}
    copied = [
        part
        for found in budgets(tmp_path)
        for part in found.parts
        if part.name.startswith("cuMemcpy")
    ]
    assert copied
    assert not any(part.own for part in copied)


def test_the_single_copy_of_a_message_is_seen(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    done = launcher.run("latency", "--sizes", "1M", *WORDS[2:], env=env)
    assert done.measured() == {"latency"}
    there, back = budgets(tmp_path)
    for found, receiver in ((there, 1), (back, 0)):
        # By which of them depends on the library, and on whether the kernel lets it.
        moved = sum(
            part.count * (part.bytes or 0)
            for part in found.parts
            if part.rank == receiver and part.name in ("process_vm_readv", "memcpy", "memmove")
        )
        assert moved == pytest.approx(1 << 20, rel=0.1)


@one_library
def test_a_sample_is_nothing_but_its_messages(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    """What it takes to mark a sample, and to count what the kernel counts, is in no figure."""
    done = launcher.run("latency", "--sizes", "1M", *WORDS[2:], env=env)
    [case] = done.of("samples")
    leader = gather(tmp_path / "events")[0]
    [looked_at] = windows([leader])
    assert case["kept_every"] == 1
    kept = len(case["samples"])
    between_us = (looked_at.end - looked_at.begin)[-kept:] / looked_at.each[-kept:] / 1e3
    for sample_us, most_us in zip(case["samples"], between_us, strict=True):
        assert 2 * sample_us <= most_us * (1 + 1e-5)  # as written, with seven digits


@one_library
def test_iterations_of_collectives_begin_together(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    assert launcher.run("allreduce", *WORDS, env=env).code == 0
    [found] = budgets(tmp_path)
    assert found.leg == "iteration"


@one_library
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"NEARPEAK_CUPTI_LIBRARY": "/nowhere/libcupti.so"}, "CUPTI cannot be loaded: /nowhere"),
        ({"NEARPEAK_FAKE_CUPTI": "version=17"}, "that of CUDA 12 or later is needed"),
        (
            {"NEARPEAK_FAKE_CUPTI": "cuptiSubscribe:35"},
            "cuptiSubscribe: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
        ),
        ({"NEARPEAK_FAKE_CUPTI": "cuptiActivityEnable:1"}, "cuptiActivityEnable: CUPTI_ERROR"),
    ],
)
def test_without_cupti_the_rest_is_seen(
    launcher: Any, env: dict[str, str], tmp_path: Path, wrong: dict[str, str], words: str
) -> None:
    done = launcher.run("latency", "--buffers", "D,D", *WORDS, fake="reachable=1", env=env | wrong)
    assert done.measured() == {"latency"}
    ranks = gather(tmp_path / "events")
    assert all(words in seen.device for seen in ranks)
    assert len(windows(ranks)) == 2


@one_library
def test_a_launch_that_nobody_looks_at_leaves_nothing(
    launcher: Any, env: dict[str, str], tmp_path: Path
) -> None:
    del env["NEARPEAK_EXPLAIN"]
    assert launcher.run("latency", *WORDS, env=env).measured() == {"latency"}
    assert list((tmp_path / "events").iterdir()) == []


@pytest.mark.parametrize(
    ("measured_library", "named"),
    [
        ("intel", {"I_MPI_TUNING_BIN": "/nowhere/table"}),
        (
            "openmpi",
            {
                "OMPI_MCA_coll_han_use_dynamic_file_rules": "1",
                "OMPI_MCA_coll_han_dynamic_rules_filename": "/nowhere/table",
            },
        ),
    ],
    indirect=["measured_library"],
)
def test_a_table_of_tuning_that_is_not_there_is_found_in_what_the_library_says(
    launcher: Any, by_hand: Any, named: dict[str, str]
) -> None:
    def tables(more: dict[str, str]) -> list[str]:
        env = reporting_variables(launcher.library)
        done = launcher.run("allreduce", *WORDS, env=env | more)
        assert done.measured() == {"allreduce"}
        said = parse_output(SIZE, env, done.out + done.err)
        given = msgspec.structs.replace(by_hand.explained(), said=[said])
        found = by_hand.signs("tuning_tables", given)
        return [fact.name for each in found for fact in each.facts]

    assert tables(named) == ["/nowhere/table"]
    assert tables({}) == []


@measured_with("openmpi")
def test_open_mpi_says_which_of_its_parameters_are_not_its_defaults(launcher: Any) -> None:
    env = reporting_variables(launcher.library)
    done = launcher.run("latency", *WORDS, env={**env, "OMPI_MCA_coll_tuned_priority": "31"})
    assert done.measured() == {"latency"}
    lines = parse_output(SIZE, env, done.out + done.err).lines
    assert any(line.endswith(" coll_tuned_priority=31 (environment)") for line in lines)


def test_a_message_of_nccl_is_seen(
    env: dict[str, str], fake_cuda: Path, fake_nccl: Path, tmp_path: Path
) -> None:
    """With a fake NCCL, whose copies are its own: what the measuring program asks of the driver."""
    cpus = sorted(os.sched_getaffinity(0))
    where = ["--cpus", f"{cpus[0]},{cpus[-1]}", "--devices", "0,1", "--library", str(fake_nccl)]
    fakes = {
        "NEARPEAK_CUDA_LIBRARY": str(fake_cuda),
        "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
    }
    words = [build_native(), "nccl", *where, "latency", *WORDS]
    subprocess.run(words, env={**os.environ, **fakes, **env}, check=True, timeout=LIMIT)
    for found in budgets(tmp_path):
        assert {rank for name, rank in parts(found) if name == "cuStreamQuery"} == {0, 1}
