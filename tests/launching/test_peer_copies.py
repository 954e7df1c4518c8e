# SPDX-License-Identifier: Apache-2.0
"""Copies between GPUs of the fake driver: bytes that are flipped, links that count errors."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from fake_gpus import with_fake_gpus
from fake_nvml import FakeNvml

from nearpeak.errors import UserError
from nearpeak.launching import peer_copies
from nearpeak.launching.peer_copies import Copied, Run, compare_copies
from nearpeak.machine.machine import Machine

Compare = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch, fake_cuda: Path, fake_nvrtc: Path) -> Compare:
    """The severity and message of each finding on a machine with fake GPUs, by real copies."""

    def compared(fake: str = "", nvrtc: Path = fake_nvrtc) -> list[tuple[str, str]]:
        monkeypatch.setenv("NEARPEAK_CUDA_LIBRARY", str(fake_cuda))
        monkeypatch.setenv("NEARPEAK_NVRTC_LIBRARY", str(nvrtc))
        monkeypatch.setenv("NEARPEAK_FAKE_CUDA", fake)
        monkeypatch.setattr(peer_copies, "find_nvml", lambda: None)
        return [(one.severity, one.message) for one in compare_copies(with_fake_gpus())]

    return compared


def test_sound_copies_are_one_line(compare: Compare) -> None:
    assert compare() == [
        (
            "ok",
            "all bytes of copies of 64M arrived as sent in 2 directions between GPUs, by copy"
            " engine of the sender, copy engine of the receiver, kernel of the sender and kernel of"
            " the receiver",
        )
    ]


def test_a_flipped_byte_is_told_with_its_direction_and_offset(compare: Compare) -> None:
    (severity, message), (other, rest) = compare("flipped=1:0:4097")
    assert (severity, other) == ("bad", "ok")
    assert message.startswith(
        "GPU 1 to GPU 0: 1 of 67108864 bytes are wrong, the first at offset 4097 (0x"
    )
    assert message.endswith(
        "copied by the copy engine of the sender and copy engine of the receiver; every call"
        " succeeded"
    )
    assert "kernel" in rest


def test_gpus_without_a_way_between_them_were_not_compared(compare: Compare) -> None:
    findings = compare("peer=0")
    assert {severity for severity, _ in findings} == {"warn"}
    for _, message in findings:
        assert re.match(r"GPU \d to GPU \d.*: no byte was compared, as there is no way", message)
        assert "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" in message
    assert sum(message.count(" to GPU ") for _, message in findings) == 2


def test_without_kernels_copy_engines_are_compared(compare: Compare) -> None:
    ((severity, message),) = compare("", Path("/nowhere/libnvrtc.so"))
    assert severity == "ok"
    assert "kernel of" not in message
    assert "not tried elsewhere: " in message
    assert "/nowhere/libnvrtc.so" in message


def test_a_driver_that_does_not_answer_is_a_warning(compare: Compare) -> None:
    ((severity, message),) = compare("cuMemAlloc_v2:2")
    assert severity == "warn"
    assert message.startswith("copies between GPUs could not be compared: ")
    assert "CUDA_ERROR_OUT_OF_MEMORY" in message


def test_one_gpu_copies_to_nobody() -> None:
    machine = with_fake_gpus()
    (finding,) = compare_copies(msgspec.structs.replace(machine, gpus=machine.gpus[:1]))
    assert finding.severity == "ok"
    assert finding.message == "fewer than two GPUs: there is nothing to copy between"


def copied(source: int, way: str = "ce", status: str = "right", **more: object) -> Copied:
    """One direction between the first two GPUs."""
    line = {"from": source, "to": 1 - source, "way": way, "bytes": 1024, "status": status} | more
    return msgspec.convert(line, type=Copied)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Compare:
    """The findings on two GPUs whose copies end so; `meanwhile` changes NVIDIA's library."""

    def judged(
        copies: list[Copied], meanwhile: Callable[[FakeNvml], None] = lambda _: None
    ) -> list[tuple[str, str]]:
        nvml = FakeNvml()
        nvml.fields[161, 2] = 1_000_000

        def run(_: object) -> Run:
            meanwhile(nvml)
            return Run(copies)

        monkeypatch.setattr(peer_copies, "find_nvml", lambda: nvml)
        monkeypatch.setattr(peer_copies, "_run", run)
        return [(one.severity, one.message) for one in compare_copies(two_h200())]

    return judged


def two_h200() -> Machine:
    """The machine whose GPUs the fake of NVIDIA's library has."""
    machine = with_fake_gpus()
    gpus = [
        msgspec.structs.replace(gpu, uuid=f"GPU-{gpu.index + 1:08x}-5ec2-e700-0000-abcdefabcdef")
        for gpu in machine.gpus
    ]
    return msgspec.structs.replace(machine, gpus=gpus)


def test_a_large_count_that_does_not_grow_is_no_fault(judge: Compare) -> None:
    assert [severity for severity, _ in judge([copied(0), copied(1)])] == ["ok"]


def test_counts_that_grow_name_the_link(judge: Compare) -> None:
    def meanwhile(nvml: FakeNvml) -> None:
        sound = nvml.answers["nvmlDeviceGetFieldValues"]

        def answer(device: int, wanted: list[tuple[int, int]]) -> object:
            nvml.fields[161, 2] = 1_000_000 + (12 if device == 1 else 0)
            nvml.fields[94, 0] = 4 if device == 1 else 1
            return sound(device, wanted)

        nvml.answers["nvmlDeviceGetFieldValues"] = answer

    assert judge([copied(0), copied(1)], meanwhile)[1:] == [
        (
            "warn",
            "GPU 1 counted errors on its links during a few copies: NVLink 2 replay 12 and PCIe"
            " replay 3",
        )
    ]


def test_ways_with_the_same_fault_are_one_line(judge: Compare) -> None:
    wrong = {"offset": 8, "expected": 1, "got": 0, "wrong_bytes": 3}
    findings = judge(
        [
            copied(0, "ce", "wrong data", **wrong),
            copied(0, "sm", "wrong data", **wrong | {"offset": 9}),
            copied(0, "ce-pull", "wrong data", **wrong),
            copied(1, "ce", "failed", message="cuMemcpyAsync: error 719"),
        ]
    )
    assert [severity for severity, _ in findings] == ["bad", "bad", "bad"]
    assert (
        "offset 8 (0x00 instead of 0x01), copied by the copy engine of the sender and"
        in (findings[0][1])
    )
    assert "offset 9 (0x00 instead of 0x01), copied by the kernel of the sender;" in findings[1][1]
    assert findings[2][1] == (
        "GPU 1 to GPU 0: the copy by the copy engine of the sender failed: cuMemcpyAsync: error 719"
    )


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> Path:
        raise UserError("there is no C++ compiler")

    monkeypatch.setattr(peer_copies, "find_nvml", lambda: None)
    monkeypatch.setattr(peer_copies, "build_native", build)
    (finding,) = compare_copies(with_fake_gpus())
    assert finding.severity == "warn"
    assert finding.message.endswith("could not be compared: there is no C++ compiler")


def line(source: int, way: str, status: str, **more: object) -> str:
    """A line of `nearpeak-native peers`."""
    return msgspec.json.encode(copied(source, way, status, **more)).decode()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compare:
    """The findings about a program that prints these lines and ends so."""

    def judged(lines: list[str], end: str) -> list[tuple[str, str]]:
        (tmp_path / "lines").write_text("\n".join(lines))
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/lines\n{end}\n")
        program.chmod(0o755)
        monkeypatch.setattr(peer_copies, "find_nvml", lambda: None)
        monkeypatch.setattr(peer_copies, "build_native", lambda: program)
        return [(one.severity, one.message) for one in compare_copies(with_fake_gpus())]

    return judged


ENDED = "echo process 1 was ended >&2; exit 1"


@pytest.mark.parametrize("text", ["not JSON", '{"from": 0}', ""])
def test_a_program_that_ends_early_has_compared_nothing(printed: Compare, text: str) -> None:
    assert printed([text], ENDED) == [
        ("warn", "copies between GPUs could not be compared: process 1 was ended")
    ]


def test_what_was_compared_before_an_early_end_counts(printed: Compare) -> None:
    wrong = {"offset": 8, "expected": 1, "got": 0, "wrong_bytes": 3}
    torn = line(1, "ce", "right")[:-9]
    lines = [
        line(0, "ce", "copying"),
        line(0, "ce", "returned"),
        line(0, "ce", "wrong data", **wrong),
    ]
    early, (severity, message) = printed([*lines, torn], ENDED)
    assert early == ("warn", "not all copies between GPUs were compared: process 1 was ended")
    assert severity == "bad"
    assert message.startswith("GPU 0 to GPU 1: 3 of 1024 bytes are wrong, the first at offset 8")


@pytest.mark.parametrize(
    ("end", "why"),
    [("echo no progress >&2; exit 1", "no progress"), ("exec sleep 60", "no end within 1 s")],
)
def test_the_copy_that_did_not_return_is_named(
    monkeypatch: pytest.MonkeyPatch, printed: Compare, end: str, why: str
) -> None:
    monkeypatch.setattr(peer_copies, "SECONDS", 1.0)
    lines = [
        *(line(source, "ce", status) for source in (0, 1) for status in ("copying", "right")),
        line(0, "sm-pull", "copying"),
        line(1, "sm-pull", "copying"),
        line(0, "sm-pull", "returned"),
    ]
    hung, right = printed(lines, end)
    assert hung == (
        "bad",
        "1 copy did not return, and what was to follow was not compared: GPU 1 to GPU 0 by the"
        f" kernel of the receiver ({why})",
    )
    assert right[0] == "ok"
    assert "2 directions between GPUs, by copy engine of the sender" in right[1]
    assert "kernel" not in right[1]
