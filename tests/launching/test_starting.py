# SPDX-License-Identifier: Apache-2.0
"""Which launcher is taken in a job, on stand-ins for launchers; tests/slurm has real ones."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.launching import starting
from nearpeak.launching.command_lines import Tools
from nearpeak.launching.starting import Started, places_of, starting_here
from nearpeak.libraries import launchers
from nearpeak.libraries.launchers import srun
from nearpeak.libraries.library import CommandLine, Launch, Library
from nearpeak.machine import allocation
from nearpeak.machine.sysfs import from_sysfs

HOSTS = ["a", "b"]
OWN = made_library("mpich", family="mpich", launcher=Path("/opt/mpi/bin/mpirun"))
BY_SRUN = msgspec.structs.replace(OWN, launcher=Path("/bin/srun"))
MACHINE = from_sysfs(Path(__file__).parents[1] / "machines" / "one-socket.txt")
Start = Callable[..., tuple[Started, list[str]]]


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two nodes, whose srun has PMI-2 and PMIx."""
    found = allocation.Allocation("7", ("a", "b"), "a")
    monkeypatch.setattr(allocation, "current", lambda: found)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found_on_path = [("srun", Path("/bin/srun"))]
    monkeypatch.setattr(launchers, "on_path", lambda _: iter(found_on_path))
    monkeypatch.setattr(srun, "offered", lambda _: ["none", "pmix", "pmi2"])
    monkeypatch.setattr(starting, "TRIAL_SECONDS", 2.0)


@pytest.fixture
def start(standins: ModuleType, tmp_path: Path) -> Start:
    """What is found with launchers that fail so; `fails`: modes of the fake program, by what srun
    is told of ("own": the library's launcher). All others work, and so does what `once` fails
    at its second try."""
    plain = standins.make_tools(tmp_path)

    def begin(
        library: Library = OWN,
        hosts: Sequence[str] = HOSTS,
        remote_shell: str | None = None,
        places: Sequence[Sequence[str]] = (),
        once: str = "",
        **fails: str,
    ) -> tuple[Started, list[str]]:
        def line(library: Library, launch: Launch) -> CommandLine:
            program = library.launcher.name
            how = library.pmi if program == "srun" else "flux" if program == "flux" else "own"
            made = plain.command_line(library, launch)
            cpus = {"NEARPEAK_FAKE_CPUS": "0,1,2;1,2,3"}
            env = {**made.env, **cpus, "NEARPEAK_FAKE": fails.get(how, "")}
            if how == once:
                fails.pop(once, None)
            return CommandLine(argv=made.argv, env=env)

        tools = Tools(line, plain.mpi_program, plain.native_program)
        where = places or [hosts]
        said: list[str] = []
        return starting_here(library, MACHINE, where, remote_shell, tools, said.append), said

    return begin


def test_the_librarys_own_launcher_comes_first(start: Start) -> None:
    found, said = start()
    lent = msgspec.structs.replace(MACHINE, allowed_cpus=[1, 2])  # what both hosts have
    assert found == Started(OWN, lent)
    assert said == ["mpich is started by mpirun on a and b of job 7"]


def test_then_srun_by_what_the_library_knows(start: Start) -> None:
    found, [said] = start(own="crash")
    assert found.library == msgspec.structs.replace(BY_SRUN, pmi="pmi2")
    assert said.startswith(
        "mpich is started by srun --mpi=pmi2 on a and b of job 7 (mpirun: ended by SIGSEGV"
    )


def test_a_launcher_whose_ranks_ran_elsewhere_has_not_started_them(start: Start) -> None:
    found, [said] = start(own="one host", pmi2="nowhere")
    assert found.library.pmi == "pmix"
    assert "(mpirun: both ranks ran on host h; srun --mpi=pmi2: it did not say" in said


def test_what_ends_once_without_a_word_is_tried_again(start: Start) -> None:
    found, said = start(own="late exit 1", once="own")
    assert (found.library, said) == (OWN, ["mpich is started by mpirun on a and b of job 7"])
    _, [told] = start(own="late exit 1")
    assert "(mpirun: exit status 1: it did not say why)" in told
    _, [told] = start(own="abort 3", once="own")  # what says why has not failed by chance
    assert "(mpirun: exit status 3: check(107): Invalid datatype)" in told


def test_none_waits_for_ever(start: Start) -> None:
    with pytest.raises(UserError) as refused:
        start(own="hang", pmi2="crash", pmix="crash")
    told = str(refused.value)
    assert told.startswith(
        "nothing starts mpich in job 7 (a,b): mpirun: no ranks within 2 s; it did not say why; srun"
    )
    assert "srun --mpi=pmix: ended by SIGSEGV" in told
    assert "\n" not in told


def test_on_one_node_srun_starts_what_its_own_launcher_does_not(start: Start) -> None:
    found, said = start(OWN, [])
    assert (found.library, said) == (OWN, ["mpich is started by mpirun on a of job 7"])
    found, [line] = start(OWN, [], own="crash")
    assert found.library == msgspec.structs.replace(BY_SRUN, pmi="pmi2")
    assert line.startswith("mpich is started by srun --mpi=pmi2 on a of job 7 (mpirun: ended by")


def test_what_starts_ranks_on_one_node_and_on_two_does_both(start: Start) -> None:
    found, [said] = start(OWN, places=[[], HOSTS], own="one host")
    assert found.library.launcher.name == "srun"
    assert "mpich is started by srun --mpi=pmi2 on a and b of job 7 (mpirun: both ranks" in said


def test_ranks_run_where_the_paths_are(standins: ModuleType) -> None:
    within, between = standins.data_path(), standins.host_path("a", "b")
    memory = standins.data_path("host-memory node0", "local")
    assert places_of([within, memory], HOSTS) == [[]]
    assert places_of([between], HOSTS) == [HOSTS]
    assert places_of([between, within], HOSTS) == [[], HOSTS]


def test_a_remote_shell_is_taken_at_its_word(start: Start) -> None:
    assert start(OWN, HOSTS, "/sh", own="crash") == (Started(OWN, MACHINE), [])


def test_srun_alone_is_tried_on_one_node(start: Start) -> None:
    found, said = start(BY_SRUN, [], pmi2="crash")
    assert found.library.pmi == "pmix"
    assert said[0].startswith("mpich is started by srun --mpi=pmix on a of job 7 (srun --mpi=pmi2")


def test_in_a_flux_instance_its_launcher_is_tried_too(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUX_URI", "local:///run/flux")
    found = allocation.Allocation("f7", ("a", "b"), "a", allocation.FLUX)
    monkeypatch.setattr(allocation, "current", lambda: found)
    flux = Path("/bin/flux")
    monkeypatch.setattr(launchers, "on_path", lambda _: iter([("flux", flux), ("pals", flux)]))
    tried, [said] = start(own="crash")
    assert tried.library == msgspec.structs.replace(OWN, launcher=flux)
    assert said.startswith(
        "mpich is started by flux on a and b of job f7 (mpirun: ended by SIGSEGV"
    )
    with pytest.raises(
        UserError, match=r"flux: ended by SIGSEGV.*; docs/how-to/batch-systems\.md has"
    ):
        start(own="crash", flux="crash")


def test_outside_of_a_job_nothing_is_tried(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "current", lambda: None)
    assert start(own="crash") == (Started(OWN, MACHINE), [])
