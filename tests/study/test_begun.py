# SPDX-License-Identifier: Apache-2.0
"""What a plan runs, --resume runs without asking only where the user began it."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from nearpeak import folders
from nearpeak.errors import UserError
from nearpeak.libraries import discover
from nearpeak.libraries.library import Contender, Library
from nearpeak.study import begun
from nearpeak.study.plan import Plan
from two_users import OTHER, OWNER, TwoUsers, acting


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "state", lambda: tmp_path / "state")
    monkeypatch.setattr(discover, "resolve", nothing)
    return tmp_path / "state"


def nothing(spec: str) -> Library:
    raise UserError(spec)


def with_first(plan: Plan, change: Callable[[Contender], Contender]) -> Plan:
    first, *others = plan.contenders
    return msgspec.structs.replace(plan, contenders=[change(first), *others])


def exchanged(contender: Contender, **fields: object) -> Contender:
    library = msgspec.structs.replace(contender.library, **fields)
    return msgspec.structs.replace(contender, library=library)


def test_what_was_begun_is_known(standins: ModuleType, state: Path) -> None:
    plan = standins.small_plan()
    assert begun.foreign(plan) == [str(plan.contenders[0].library.launcher)]
    begun.remember(begun.decides(plan))
    assert begun.foreign(plan) == []
    assert begun.foreign(standins.small_plan(launches=7)) == []  # runs the same programs
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
    begun.remember(begun.decides(plan))
    assert begun.foreign(with_first(plan, lambda each: exchanged(each, **fields)))
    shell = msgspec.structs.replace(plan, remote_shell="/evil/ssh")
    assert "/evil/ssh" in begun.foreign(shell)
    flags = msgspec.structs.replace(plan.contenders[0].settings, env={"LD_PRELOAD": "/evil.so"})
    changed = with_first(plan, lambda each: msgspec.structs.replace(each, settings=flags))
    assert begun.foreign(changed)


def test_what_this_machine_has_under_these_names_is_known(
    standins: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = standins.small_plan()
    first = plan.contenders[0]
    monkeypatch.setattr(discover, "resolve", lambda _: first.library)
    monkeypatch.setattr(begun.settings, "find", lambda *_: first.settings)
    assert begun.foreign(plan) == []
    assert begun.foreign(with_first(plan, lambda each: exchanged(each, prefix=Path("/evil"))))


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
    begun.remember(begun.decides(standins.small_plan()))
    assert begun.foreign(standins.small_plan())


def test_what_another_user_laid_there_does_not_count(
    standins: ModuleType, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "state", lambda: two_users.place / "state")
    plan = standins.small_plan()
    two_users.folder("state", OTHER, OTHER, 0o755)
    two_users.folder("state/begun", OTHER, OTHER, 0o755)
    two_users.file(f"state/begun/{begun._digest(begun.decides(plan))}", OTHER)
    with acting(OWNER):
        assert begun.foreign(plan)
