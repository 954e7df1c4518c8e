# SPDX-License-Identifier: Apache-2.0
"""Sessions: what a study's numbers depend on, and when it may go on."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.launching import fingerprints
from nearpeak.launching.fingerprints import Fingerprint, fingerprint
from nearpeak.libraries import whole
from nearpeak.machine.discover import discover
from nearpeak.study import sessions
from nearpeak.study.history import History
from nearpeak.study.records import LaunchEndRecord, LaunchRecord, SessionRecord, StudyRecord
from nearpeak.study.sessions import begin, differences

MACHINES = Path(__file__).parents[1] / "machines"


class Reader:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], list[str]]] = []

    def read(self, cpus: Any, gpus: Any, *, recount: bool) -> None:
        assert not recount  # of a launch that begins
        self.asked.append((list(cpus), list(gpus)))


@pytest.fixture
def reader() -> Reader:
    """In place of a StateReader."""
    return Reader()


def of(**parts: dict[str, str]) -> Fingerprint:
    return Fingerprint(**{name: parts.get(name, {}) for name in Fingerprint.__struct_fields__})


def test_settings_that_launches_inherit_are_those_of_the_last_session(
    monkeypatch: pytest.MonkeyPatch, standins: ModuleType, tmp_path: Path
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    machine, tools = discover(MACHINES / "one-socket.txt"), standins.make_tools(tmp_path)

    def now() -> Fingerprint:
        return fingerprint(machine, standins.small_plan().contenders, tools)

    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    before = now()
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")
    assert differences(before, now()) == ["environment OMPI_MCA_btl: none -> tcp,self"]
    last = begin(tmp_path, before, None)
    with pytest.raises(UserError, match="environment OMPI_MCA_btl: none -> tcp,self"):
        begin(tmp_path, now(), last)


def test_every_run_is_a_session(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    study.run(plan)
    records = study.records()
    assert isinstance(records[0], StudyRecord)
    assert [session.session for session in records if isinstance(session, SessionRecord)] == [0, 1]
    assert isinstance(records[1], SessionRecord)
    launches = [launch for launch in records if isinstance(launch, LaunchRecord)]
    assert {launch.session for launch in launches} == {0}
    ends = [end for end in records if isinstance(end, LaunchEndRecord)]
    for record in [*launches, *ends]:
        assert record.state is not None
        assert [cpu.cpu for cpu in record.state.cpus] == [0, 1]
        assert record.state.load is not None


def test_what_differs_is_named_and_refused(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    before = len(study.records())
    last = History(study.folder, plan).session
    with pytest.raises(UserError) as error:
        begin(study.folder, standins.fingerprint(driver="2"), last)
    assert str(error.value) == (
        f"{study.folder} was measured on something else (driver nvidia: 1 -> 2): measure on the "
        "same, start anew in another folder, or go on as a session of its own with --force"
    )
    assert len(study.records()) == before


def test_by_force_it_is_a_session_of_its_own(study: Any, standins: ModuleType) -> None:
    plan = standins.small_plan(launches=2)
    study.run(plan)
    last = History(study.folder, plan).session
    forced = begin(study.folder, standins.fingerprint(driver="2"), last, force=True)
    assert (forced.session, forced.forced) == (1, True)


def test_of_a_digest_the_first_digits_are_shown() -> None:
    old, new = "0123456789abcdef" * 4, "fedcba9876543210" * 4
    assert sessions.shown(old, new) == ("sha256 01234567", "sha256 fedcba98")
    both = "sha256 01234567 or sha256 fedcba98"
    assert sessions.shown(f"{old} or {new}", "none") == (both, "none")


def test_differences_are_short() -> None:
    version = "Long MPI 1.0\n" + "x" * 500
    fingerprint = of(
        machine={"host": "a", "kernel": "6.1"}, library={"mpich version": f"{version}y\nz"}
    )
    other = of(machine={"host": "a"}, library={"mpich version": f"{version}\x1b[2J\nz"})
    kernel, library = differences(fingerprint, other)
    assert kernel == "machine kernel: 6.1 -> none"
    found = re.fullmatch(r"library mpich version: \.\.\.(x*)y -> \.\.\.(x*)(.*)", library)
    assert found is not None
    assert found[1] == found[2]
    assert len(library) < 200
    assert library.isprintable()
    assert differences(fingerprint, fingerprint) == []


def test_settings_files_and_a_library_that_was_built_anew_are_others(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (contender,) = standins.small_plan().contenders
    built = tmp_path / "libmpi.so"
    built.write_bytes(b"1")
    library = msgspec.structs.replace(contender.library, libmpi=built)
    machine, tools = discover(MACHINES / "one-socket.txt"), standins.make_tools(tmp_path)

    def now() -> Fingerprint:
        mine = msgspec.structs.replace(contender, library=library)
        return fingerprint(machine, [mine], tools)

    before = now()
    built.write_bytes(b"2")
    settings = tmp_path / "home" / ".openmpi" / "mca-params.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text("btl = self,tcp\n")
    found = differences(before, now())
    assert [words.partition(":")[0] for words in found] == [
        "machine settings ~/.openmpi/mca-params.conf",
        "library fake file",
    ]


def test_a_library_that_lacks_something_is_another(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    (contender,) = standins.small_plan().contenders
    less = msgspec.structs.replace(
        contender, library=msgspec.structs.replace(contender.library, lacks="a table")
    )
    machine, tools = discover(MACHINES / "one-socket.txt"), standins.make_tools(tmp_path)
    before, now = (fingerprint(machine, [which], tools) for which in (contender, less))
    assert differences(before, now) == ["library fake lacks: none -> a table"]


def test_a_library_that_is_not_whole_is_another(
    standins: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "environment", lambda _library: {})
    contenders = standins.small_plan().contenders
    machine, tools = discover(MACHINES / "one-socket.txt"), standins.make_tools(tmp_path)
    before = fingerprint(machine, contenders, tools)
    broken = whole.Modules(
        modules=[whole.Module(file="/ucx/libucm_a.so.0", missing=["libb.so"], error="b")]
    )
    monkeypatch.setattr(whole, "look", lambda _library: broken)
    [line] = differences(before, fingerprint(machine, contenders, tools))
    assert line.startswith(
        "library fake modules: none -> libucm_a.so.0 does not load (libb.so is not"
    )


def test_the_state_of_a_launch_is_that_of_its_own_cpus_and_gpus(
    standins: ModuleType, reader: Reader
) -> None:
    plan = standins.small_plan(paths=(standins.gpu_path(),), buffers="D,D")
    planned = next(launch for launch in plan.launches if launch.role == "mpi")
    sessions.launch_state(reader, plan, planned, begins=True)
    assert reader.asked == [([0, 1], ["GPU-0", "GPU-1"])]


def test_another_host_has_its_own_state(standins: ModuleType, reader: Reader) -> None:
    path = standins.data_path("host-host two-nodes", "network")
    ends = tuple(
        msgspec.structs.replace(end, host=host)
        for end, host in zip(path.ends, ("localhost", "other"), strict=True)
    )
    plan = standins.small_plan(paths=(msgspec.structs.replace(path, ends=ends),))
    planned = next(launch for launch in plan.launches if launch.role == "mpi")
    sessions.launch_state(reader, plan, planned, begins=True)
    assert reader.asked == [([0], [])]
