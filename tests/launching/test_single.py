# SPDX-License-Identifier: Apache-2.0
"""One benchmark on one path, chosen on stand-ins for a library and its launcher."""

from pathlib import Path
from types import ModuleType

import pytest

from nearpeak.launching import programs, single
from nearpeak.launching.command_lines import Tools
from nearpeak.libraries import discover, launch
from nearpeak.libraries.library import CommandLine, Launch, Library
from nearpeak.machine import allocation
from nearpeak.machine.sysfs import from_sysfs

MACHINE = Path(__file__).parents[1] / "machines" / "one-socket.txt"  # of eight CPUs


@pytest.fixture
def lends(standins: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A job whose launcher lets ranks use CPUs 4 to 6 of this machine alone."""
    plain = standins.make_tools(tmp_path)

    def line(library: Library, launch: Launch) -> CommandLine:
        made = plain.command_line(library, launch)
        return CommandLine(argv=made.argv, env={**made.env, "NEARPEAK_FAKE_CPUS": "4,5,6;4,5,6"})

    monkeypatch.setattr(programs, "TOOLS", Tools(line, plain.mpi_program, plain.native_program))
    monkeypatch.setattr(programs, "describe", standins.describe)
    for user in (launch, programs):
        monkeypatch.setattr(user, "environment", lambda _library: {})
    monkeypatch.setattr(discover, "resolve", standins.library)
    monkeypatch.setattr(single.here, "discover", lambda: from_sysfs(MACHINE))
    monkeypatch.setattr(single.doctor, "examine", lambda **_: [])
    found = allocation.Allocation("7", ("a",), "a")
    monkeypatch.setattr(allocation, "current", lambda: found)


@pytest.mark.usefixtures("lends")
def test_all_that_is_chosen_runs_where_the_job_lets_it() -> None:
    first = single.choose("latency", "one", "tune")
    other = single.another_benchmark(first, "bw", path=first.path.id, buffers="H,H")
    anywhere = single.another_benchmark(first, "bw", path=None, buffers="H,H")
    assert [[end.cpus for end in each.path.ends] for each in (first, other, anywhere)] == [
        [[4], [5]]
    ] * 3


@pytest.mark.usefixtures("lends")
@pytest.mark.parametrize(
    ("why", "path", "chosen"),
    [
        ("", None, "host-gpu near"),
        ("ended by SIGSEGV", None, "host-gpu near same-gpu"),
        ("ended by SIGSEGV", "host-gpu near", "host-gpu near"),  # as it was asked for
    ],
)
def test_a_library_that_needs_a_gpu_in_each_rank_has_both_on_the_only_one(
    monkeypatch: pytest.MonkeyPatch, why: str, path: str | None, chosen: str
) -> None:
    one_gpu = from_sysfs(MACHINE.with_name("one-gpu.txt"))
    monkeypatch.setattr(single.here, "discover", lambda: one_gpu)
    monkeypatch.setattr(single, "why_needs_gpu", lambda *_: why)
    monkeypatch.setattr(allocation, "current", lambda: None)
    said: list[str] = []
    found = single.choose("latency", "one", "run", path=path, buffers="H,D", say=said.append)
    assert found.path.id == chosen
    words = "one needs a GPU in each rank, and both hold the same one: ended by SIGSEGV"
    assert (words in said) == (chosen == "host-gpu near same-gpu")
