# SPDX-License-Identifier: Apache-2.0
"""What a plan runs, --resume runs without asking only where the user began it."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.launching.programs import Programs
from nearpeak.libraries import discover
from nearpeak.libraries.library import Contender, Library
from nearpeak.planning.plan import Plan
from nearpeak.study import begun
from nearpeak.terms.path import DataPath
from two_users import OTHER, OWNER, TwoUsers, acting


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "state", lambda: tmp_path / "state")
    monkeypatch.setattr(discover, "resolve", nothing)
    monkeypatch.setattr(begun.programs, "build_programs", no_programs)
    return tmp_path / "state"


def nothing(spec: str) -> Library:
    raise UserError(spec)


def no_programs(*_: object) -> Programs:
    raise UserError("no program is built for what is not of this machine")


def with_first(plan: Plan, change: Callable[[Contender], Contender]) -> Plan:
    first, *others = plan.contenders
    return msgspec.structs.replace(plan, contenders=[change(first), *others])


def exchanged(contender: Contender, **fields: object) -> Contender:
    library = msgspec.structs.replace(contender.library, **fields)
    return msgspec.structs.replace(contender, library=library)


def test_what_was_begun_is_known(standins: ModuleType, state: Path) -> None:
    plan = standins.small_plan()
    assert begun.foreign(plan) == [str(plan.contenders[0].library.launcher)]
    begun.remember(plan)
    assert begun.foreign(plan) == []
    assert begun.foreign(standins.small_plan(launches=7))
    assert state.stat().st_mode & 0o777 == 0o700
    again = msgspec.json.decode(
        msgspec.json.encode(plan, enc_hook=str), type=Plan, dec_hook=lambda kind, text: kind(text)
    )
    assert begun.foreign(again) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"launcher": Path("/evil/mpirun")},
        {"libmpi": Path("/evil/libmpi.so.12")},
        {"env": {"LD_PRELOAD": "/evil.so"}},
    ],
)
def test_what_decides_what_runs_is_part_of_it(
    standins: ModuleType, fields: dict[str, object]
) -> None:
    plan = standins.small_plan()
    begun.remember(plan)
    assert begun.foreign(with_first(plan, lambda each: exchanged(each, **fields)))
    shell = msgspec.structs.replace(plan, remote_shell="/evil/ssh")
    assert "the remote shell '/evil/ssh'" in begun.foreign(shell)
    flags = msgspec.structs.replace(plan.contenders[0].settings, env={"LD_PRELOAD": "/evil.so"})
    changed = with_first(plan, lambda each: msgspec.structs.replace(each, settings=flags))
    assert begun.foreign(changed)


@pytest.fixture
def of_here(standins: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of nobody known, whose libraries and programs this machine has."""
    plan: Plan = standins.small_plan()
    first = plan.contenders[0]
    described = standins.describe(standins.FAKE, {})
    monkeypatch.setattr(discover, "resolve", lambda _: first.library)
    monkeypatch.setattr(begun.settings, "find", lambda *_: first.settings)
    monkeypatch.setattr(begun.programs, "build_programs", lambda *_: Programs(described, {}))
    return plan


def replaced(plan: Plan, **fields: Any) -> Plan:
    return msgspec.structs.replace(plan, **fields)


def with_path(plan: Plan, path: DataPath) -> Plan:
    """The same launches on another path."""
    return replaced(plan, paths=[msgspec.structs.replace(path, id=plan.paths[0].id)])


def test_what_this_machine_has_under_these_names_is_known(of_here: Plan) -> None:
    assert begun.foreign(of_here) == []
    assert begun.foreign(replaced(of_here, remote_shell="ssh", hosts=["a", "b"])) == []
    assert begun.foreign(with_first(of_here, lambda each: exchanged(each, prefix=Path("/evil"))))


@pytest.mark.parametrize("shell", ["bash", "/evil/ssh", "sh", "", "env", "ssh "])
def test_no_remote_shell_but_ssh_is_known(of_here: Plan, shell: str) -> None:
    assert begun.foreign(replaced(of_here, remote_shell=shell)) == [f"the remote shell {shell!r}"]


@pytest.mark.parametrize("host", ["/evil/x.sh", "-oProxyCommand=id", "a;id"])
def test_what_is_no_host_name_is_not_known(standins: ModuleType, of_here: Plan, host: str) -> None:
    named = [f"the host {host!r}"]
    assert begun.foreign(replaced(of_here, hosts=["a", host])) == named
    assert begun.foreign(with_path(of_here, standins.host_path("a", host))) == named
    assert begun.foreign(with_path(of_here, standins.host_path("a", "b"))) == []


def test_options_that_no_program_of_here_has_are_not_known(of_here: Plan) -> None:
    [variant], axes = of_here.variants, {"calls": "blocking", "reuse": "fixed"}
    for wrong in ({**axes, "jsonl": "/x"}, {**axes, "calls": "unheard"}):
        changed = msgspec.structs.replace(variant, axes=wrong)
        (why,) = begun.foreign(replaced(of_here, variants=[changed]))
        assert "option" in why
    launches = [
        msgspec.structs.replace(
            launch,
            groups=tuple(
                msgspec.structs.replace(each, axes={"jsonl": "/x"}) for each in launch.groups
            ),
        )
        for launch in of_here.launches
    ]
    assert begun.foreign(replaced(of_here, launches=launches)) == ["the option --jsonl /x"]
    renamed = [msgspec.structs.replace(each, name="--jsonl=/x") for each in of_here.benchmarks]
    assert "the benchmark '--jsonl=/x'" in begun.foreign(
        replaced(of_here, benchmarks=[*of_here.benchmarks, *renamed])
    )


@pytest.mark.parametrize("field", ["gpu", "device"])
def test_a_device_that_would_be_an_option_is_not_known(
    standins: ModuleType, of_here: Plan, field: str
) -> None:
    for value in ("--jsonl=/x", "a b", "x\n"):
        path = standins.gpu_path()
        ends = tuple(msgspec.structs.replace(end, **{field: value}) for end in path.ends)
        changed = with_path(of_here, msgspec.structs.replace(path, ends=ends))
        assert begun.foreign(changed) == [f"the device {value!r}"]
    assert begun.foreign(with_path(of_here, standins.gpu_path(device="-"))) == []


def test_all_that_reaches_a_command_is_part_of_what_is_known(standins: ModuleType) -> None:
    plan = standins.small_plan()
    begun.remember(plan)
    [variant] = plan.variants
    axes = {**variant.axes, "jsonl": "/home/me/.bashrc"}
    for changed in (
        replaced(plan, hosts=["a", "b"]),
        with_path(plan, standins.host_path("a", "b")),
        replaced(plan, variants=[msgspec.structs.replace(variant, axes=axes)]),
        replaced(plan, remote_shell="bash"),
    ):
        assert begun.foreign(changed)


@pytest.mark.parametrize(
    ("libraries", "shell", "hosts", "named"),
    [
        (["mpich", "intelmpi@tuned"], None, [], []),
        (["mpich"], "ssh", ["a", "b"], []),
        (["/evil/mpi"], None, [], ["/evil/mpi"]),
        (["mpich@evil.toml"], None, [], ["mpich@evil.toml"]),
        (["mpich=.evil", ".evil"], None, [], ["mpich=.evil", ".evil"]),
        (["mpich"], "bash", [], ["the remote shell 'bash'"]),
        (["mpich"], None, ["a", "/evil/x.sh"], ["the host '/evil/x.sh'"]),
    ],
)
def test_what_a_run_of_another_command_names(
    libraries: list[str], shell: str | None, hosts: list[str], named: list[str]
) -> None:
    assert begun.named_in(libraries, shell, hosts) == named


@pytest.mark.parametrize("name", ["/evil/mpi", "~evil/mpi", "mpich=/evil/mpi"])
def test_what_lies_in_a_folder_that_the_plan_names_is_not_even_looked_at(
    standins: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(discover, "resolve", lambda spec: pytest.fail(f"{spec} is looked at"))
    assert begun.foreign(with_first(standins.small_plan(), lambda each: exchanged(each, name=name)))


def test_where_nothing_can_be_kept_it_is_asked(
    standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "state", lambda: Path("/proc/nowhere"))
    begun.remember(standins.small_plan())
    assert begun.foreign(standins.small_plan())


def test_what_another_user_laid_there_does_not_count(
    standins: ModuleType, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "state", lambda: two_users.place / "state")
    plan = standins.small_plan()
    two_users.folder("state", OTHER, OTHER, 0o755)
    two_users.folder("state/begun", OTHER, OTHER, 0o755)
    two_users.file(f"state/begun/{begun._digest(plan)}", OTHER)
    with acting(OWNER):
        assert begun.foreign(plan)
