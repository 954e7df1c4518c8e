# SPDX-License-Identifier: Apache-2.0
"""Messages of device buffers as MPI has them, with the layer before a library that knows none."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from layer_programs import cases_of

from nearpeak.libraries import preload

CASES = cases_of("messages")
SENT = re.compile(
    r"rank (\d+): sent (\d+) by envelope \((\d+) set aside\), (\d+) through host memory"
)
PARTS = re.compile(r"through host memory \((\d+) in parts\); received")
REPORT = {"NEARPEAK_LAYER_REPORT": "1"}
CARRIED = re.compile(r"(\d+) of (\d+) short copies by a kernel(?: \(.*\))?, \d+ of datatypes(.*)")
BATCHED = re.compile(r"(\d+) in (\d+) batches")
FOUND = re.compile(r"rank (\d): .* short copies by a kernel \(up to (\d+) bytes from rank (\d)\)")
MOVED = re.compile(r"(\d+) of datatypes")
DIRECT = re.compile(r"(\d+) collectives directly")
STAGED = {**REPORT, "NEARPEAK_LAYER_HOST": "staged"}  # no envelopes of host memory
LONG_ENOUGH = ["to_and_fro"] * 8  # to load a kernel meanwhile, also on a busy machine
LONG = {"NEARPEAK_LAYER_LONG": "20000"}  # so that messages of all cases go piece by piece


@pytest.fixture(scope="session")
def of_two(application: Any) -> Any:
    """All cases between two ranks, which have a device each."""
    return application.run(*CASES, env={**REPORT, **LONG})


@pytest.fixture(scope="session")
def of_three(application: Any) -> Any:
    """All between three, of which two share a device; with MPI's calls open to several threads."""
    return application.run("--multiple", *CASES, ranks=3)


@pytest.mark.parametrize("case", CASES)
def test_two_ranks(of_two: Any, case: str) -> None:
    assert case in of_two.good(), (of_two.out, of_two.err)


@pytest.mark.parametrize("case", CASES)
def test_three_ranks(of_three: Any, case: str) -> None:
    assert case in of_three.good(), (of_three.out, of_three.err)


def test_they_go_as_they_should(of_two: Any) -> None:
    assert of_two.code == 0
    found = {int(rank): counts for rank, *counts in SENT.findall(of_two.err)}
    assert set(found) == {0, 1}
    enveloped, aside, staged = map(int, found[0])
    assert enveloped > 1000
    assert 6 <= aside < enveloped
    assert staged > 100
    assert min(map(int, DIRECT.findall(of_two.err))) > 20
    refused = [line for line in of_two.said() if "is not done" in line]
    assert all("give it host memory" in line for line in refused)
    for call in ("MPI_Precv_init", "MPI_Buffer_attach", "MPI_Win_attach"):
        assert any(f"{call} is not done with" in line for line in refused)


def test_two_nodes(application: Any, two_hosts: Any) -> None:
    """All between ranks that reach each other over a network alone, messages of most in parts."""
    # libfabric's TCP, by which MPICH goes, keeps few messages that nobody receives yet.
    least = {"openmpi": "1000", "mpich": "10000"}[application.library.name]
    env = {**REPORT, "NEARPEAK_LAYER_BETWEEN": least}
    done = application.run(*CASES, hosts=two_hosts, env=env)
    assert done.good() == CASES, (done.out, done.err)
    found = {int(rank): counts for rank, *counts in SENT.findall(done.err)}
    assert all(int(enveloped) < 10 for enveloped, *_ in found.values())  # those to oneself
    assert int(found[0][2]) > 1000
    assert max(map(int, PARTS.findall(done.err))) > 200
    assert DIRECT.findall(done.err) == ["0", "0"]


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
def test_nodes_that_do_not_say_which_they_are(application: Any, two_hosts: Any) -> None:
    """All have the same number for the namespace of their processes."""
    file = "/proc/sys/kernel/random/boot_id"
    hidden = ("sh", "-c", f'mount --bind /dev/null {file} && exec "$@"', "sh")
    done = application.run("kinds", hosts=two_hosts, env=REPORT, before=("unshare", "-m", *hidden))
    assert done.good() == ["kinds"], done.err
    assert [counts[1] for counts in SENT.findall(done.err)] == ["0", "0"]


def test_a_persistent_receive_that_a_probe_has_taken_the_message_from(application: Any) -> None:
    """The program ends with a line that says why, and does not wait for ever."""
    done = application.run("made_behind")
    assert done.code != 0
    assert any("MPI_Start of a receive whose message a probe" in line for line in done.said())


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
class TestWays:
    """Where device memory cannot be shared, all goes through host memory."""

    def test_devices_that_do_not_reach_each_other(self, application: Any) -> None:
        done = application.run("kinds", "order", fake="peer=0", env=STAGED)
        assert done.good() == ["kinds", "order"], done.err
        assert [counts[1] for counts in SENT.findall(done.err)] == ["0", "0"]

    def test_devices_that_ranks_do_not_see(self, application: Any) -> None:
        """Whether a driver opens memory of theirs all the same is tried."""
        cases = ["kinds", "order", "pieces", "direct"]
        found = {}
        for fake in ("", "withheld=1"):
            done = application.run("--each-sees-one", *cases, fake=fake, env=STAGED)
            assert done.good() == cases, done.err
            directly = min(map(int, DIRECT.findall(done.err)))
            found[fake] = (max(int(counts[1]) for counts in SENT.findall(done.err)), directly)
        assert min(found[""]) > 20
        assert found["withheld=1"] == (0, 0)

    def test_messages_shorter_than_an_envelope(self, application: Any) -> None:
        """Once a first one has come, and no receive without room for an envelope is under way."""
        found = {}
        for limit in ("0", "61"):
            done = application.run("shorter", env={**STAGED, "NEARPEAK_LAYER_INLINE": limit})
            assert done.good() == ["shorter"], (done.out, done.err)
            found[limit] = max(int(counts[1]) for counts in SENT.findall(done.err))
        of_devices = 8 * 6 * 2 * 2  # forms, lengths, kinds, and the last two rounds
        assert of_devices / 2 < found["0"] < of_devices
        assert found["61"] == 2  # of 100 bytes

    def test_another_limit(self, application: Any) -> None:
        few, many = (
            application.run("kinds", env={**STAGED, "NEARPEAK_LAYER_INLINE": limit})
            for limit in ("100000", "61")
        )
        assert few.good() == many.good() == ["kinds"]
        [of_few, of_many] = [max(int(c[1]) for c in SENT.findall(d.err)) for d in (few, many)]
        assert (of_few, of_many) == (0, 20)  # of two kinds, twice: 62 B and four longer ones

    def test_memory_that_is_kept_pinned(self, application: Any) -> None:
        """Of an application whose copies begin and end in the same allocation."""
        apart = {"MALLOC_MMAP_THRESHOLD_": "65536"}  # pages of their own, which go when it is freed
        done = application.run("pieces", "churned", env={**apart, "NEARPEAK_LAYER_HOST": "kept"})
        assert done.good() == ["pieces", "churned"], done.err

    def test_helpers_that_copy(self, application: Any) -> None:
        cases = ["pieces", "churned", "kinds"]
        done = application.run(*cases, env={**LONG, "NEARPEAK_LAYER_HELPERS": "2"})
        assert done.good() == cases, done.err

    def test_without_patience(self, application: Any) -> None:
        """What can be set aside is: the receiver finds it there."""
        cases = [case for case in CASES if case not in ("many", "truncated")]
        done = application.run(*cases, env={**LONG, "NEARPEAK_LAYER_PATIENCE": "0"})
        assert done.good() == cases, done.err
        assert done.code == 0

    def test_threads_that_have_a_cpu_each(self, application: Any) -> None:
        """Of three ranks, which take turns on CPUs, they seldom come to the same place at once."""
        cases = ["waited_beside", "probed_beside"]
        done = application.run("--multiple", *cases)
        assert done.good() == cases, done.err

    def test_threads_that_use_a_device_for_the_first_time(self, application: Any) -> None:
        for case in ("joined", "probed_before"):
            done = application.run("--multiple", case)
            assert done.good() == [case], done.err

    def test_with_more_patience_than_time(self, application: Any) -> None:
        """A sender that waits for its receiver lets its own library go on."""
        done = application.run("behind", env={"NEARPEAK_LAYER_PATIENCE": "600000"})
        assert done.good() == ["behind"], done.err


@pytest.mark.parametrize("application", ["mpich"], indirect=True)
class TestShortCopies:
    """By a kernel, on devices whose memory the CPU that stands for them reaches."""

    def run(
        self,
        application: Any,
        nvrtc: Path,
        *words: str,
        slow_ms: int = 0,
        more: str = "",
        **env: str,
    ) -> Any:
        variables = {
            **REPORT,
            "NEARPEAK_NVRTC_LIBRARY": str(nvrtc),
            "NEARPEAK_LAYER_KERNEL": "100000",
            **env,
        }
        fake = f"reachable=1,mps=1,slow={slow_ms}{more}"
        return application.run(*words, fake=fake, env=variables)

    def test_the_kernel_carries(self, application: Any, fake_nvrtc: Path) -> None:
        cases = [*LONG_ENOUGH, "order"]
        for _ in range(2):  # it is compiled meanwhile: of the second launch it was before
            done = self.run(application, fake_nvrtc, *cases)
            assert done.good() == cases, done.err
        carried = [int(found[0]) for found in CARRIED.findall(done.err)]
        assert len(carried) == 2
        assert min(carried) > 100, done.err

    @pytest.mark.parametrize("more", ["", ",blocks=1"])
    def test_what_is_in_flight_is_copied_in_batches(
        self, application: Any, fake_nvrtc: Path, more: str
    ) -> None:
        """Also where a driver opens one allocation of a block at a time."""
        for _ in range(2):  # as before
            done = self.run(application, fake_nvrtc, "in_flight", more=more)
            assert done.good() == ["in_flight"], done.err
        batched = [tuple(map(int, found)) for found in BATCHED.findall(done.err)]
        assert len(batched) == 2
        assert all(copies >= 2 * batches > 0 for copies, batches in batched), batched

    def test_what_is_faster_is_found(self, application: Any, fake_nvrtc: Path) -> None:
        def found(**how: Any) -> list[tuple[str, ...]]:
            done = self.run(application, fake_nvrtc, "either_way", **how)
            assert done.good() == ["either_way"], done.err
            assert all(int(carried) <= int(all) for carried, all, _ in CARRIED.findall(done.err))
            return sorted(FOUND.findall(done.err))

        engine, kernel = ([("0", most, "1"), ("1", most, "0")] for most in ("1048576", "65536"))
        found()  # it is compiled meanwhile: of the next launch it was before
        # On a busy machine what does not wait is late, too.
        waits = (10, 20, 40, 60, 60)
        assert any(found(slow_ms=wait) == engine for wait in waits)
        late = (
            "if (!over) carry=>for (u64 t = now_ns();"
            f" job.bytes > 65536 && !over && now_ns() - t < {wait}000000;); if (!over) carry"
            for wait in waits
        )
        assert any(found(NEARPEAK_FAKE_NVRTC=defect) == kernel for defect in late)

    def test_its_code_is_kept_beside_the_layer(
        self,
        application: Any,
        fake_nvrtc: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        layer = shutil.copy(preload.build_layer(application.library), tmp_path)
        monkeypatch.setattr(preload, "build_layer", lambda _: layer)
        kept = {}
        for code in ("fresh", "kept", "kept"):
            done = self.run(application, fake_nvrtc, *LONG_ENOUGH, NEARPEAK_LAYER_CODE=code)
            assert done.good() == LONG_ENOUGH, done.err
            before, kept = kept, {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*")}
            assert bool(kept) == (code == "kept")
        assert kept == before
        assert {file.parent.name for file in kept} == {"kernels"}
        carried = [int(found[0]) for found in CARRIED.findall(done.err)]
        assert min(carried) > 100, done.err

    def test_a_kernel_that_never_answers(self, application: Any, fake_nvrtc: Path) -> None:
        defect = {
            "NEARPEAK_FAKE_NVRTC": "order.w != mark=>true",
            "NEARPEAK_LAYER_KERNEL": "5000",
        }
        done = self.run(application, fake_nvrtc, "kinds", "order", **defect)
        assert done.good() == ["kinds", "order"], done.err
        assert [(found[0], found[2]) for found in CARRIED.findall(done.err)] == [("0", "")] * 2

    def test_regular_types_are_packed(self, application: Any, fake_nvrtc: Path) -> None:
        done = self.run(application, fake_nvrtc, "regular")
        assert done.good() == ["regular"], done.err
        assert min(int(found) for found in MOVED.findall(done.err)) > 20, done.err

    def test_off(self, application: Any, fake_nvrtc: Path) -> None:
        done = self.run(application, fake_nvrtc, "kinds", NEARPEAK_LAYER_KERNEL="0")
        assert done.good() == ["kinds"]
        assert [found[0] for found in CARRIED.findall(done.err)] == ["0", "0"]


class TestDirectCollectives:
    """Reductions by kernels, which wait for no other rank's."""

    @pytest.mark.parametrize("ranks", [2, 4])
    def test_reductions(self, application: Any, fake_nvrtc: Path, ranks: int) -> None:
        env = {**REPORT, "NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
        cases = ["reduced", "direct", "awaited"][: 1 if ranks == 2 else 3]
        # So that the kernel for short copies may be among them.
        done = application.run(*cases, ranks=ranks, fake="reachable=1,mps=1", env=env)
        assert done.good() == cases, done.err
        counts = list(map(int, DIRECT.findall(done.err)))
        assert len(counts) == ranks
        least = 58 if ranks == 2 else 150  # with those that have a count for each rank
        assert min(counts) == max(counts) > least, counts

    @pytest.mark.parametrize("application", ["mpich"], indirect=True)
    def test_where_they_are_not_done(self, application: Any) -> None:
        """Devices that do not reach each other, and none wanted."""
        for fake, least in (("peer=0", "4096"), ("", "0"), ("", "10000000")):
            env = {**REPORT, "NEARPEAK_LAYER_DIRECT": least}
            done = application.run("direct", fake=fake, env=env)
            assert done.good() == ["direct"], done.err
            assert DIRECT.findall(done.err) == ["0", "0"]
