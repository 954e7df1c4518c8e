# SPDX-License-Identifier: Apache-2.0
"""Which libraries a study measures."""

from pathlib import Path

import pytest
from made_libraries import made_library

from nearpeak.errors import UserError
from nearpeak.libraries import whole
from nearpeak.libraries.discover import UnknownNameError
from nearpeak.libraries.library import Contender, Library, Settings
from nearpeak.machine.machine import unknown
from nearpeak.planning import contenders
from nearpeak.planning.contenders import check_modules, choose_contenders, why_missing
from nearpeak.planning.options import LibraryChoice


def made(name: str, family: str, launcher: str) -> Library:
    return made_library(
        name,
        family=family,
        version="8.1",
        prefix=Path("/opt/mpi"),
        origin="prefix",
        launcher=Path(launcher),
    )


CRAY, MPICH = made("cray-8.1", "cray", "/bin/srun"), made("mpich-8.1", "mpich", "/bin/mpiexec")


def test_what_srun_starts_is_left_out_outside_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "find_libraries", lambda: [CRAY, MPICH])
    monkeypatch.setattr(contenders, "resolve", lambda _: CRAY)
    said: list[str] = []
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert [contender.library for contender in choose_contenders([], said.append)] == [CRAY, MPICH]
    assert not said
    monkeypatch.delenv("SLURM_JOB_ID")
    assert [contender.library for contender in choose_contenders([], said.append)] == [MPICH]
    [line] = said
    assert line.startswith("srun starts cray-8.1 in a Slurm job alone, and this is none: start ")
    assert line.endswith("; it is left out")
    with pytest.raises(UserError, match=r"srun starts cray-8\.1 in a Slurm job alone"):
        choose_contenders([LibraryChoice(mpi="cray-8.1")], said.append)


def test_names_that_no_machine_knows_are_refused_and_others_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolve(spec: str) -> Library:
        if spec == "mpihc":
            raise UnknownNameError("unknown 'mpihc'")
        if spec == "cray-8.1":
            raise UserError("no 'cray-8.1' here")
        return MPICH

    monkeypatch.setattr(contenders, "resolve", resolve)
    away = LibraryChoice(mpi="cray-8.1", settings=("no-such",))  # of which nothing is known here
    profile = LibraryChoice(mpi="mpich", settings=("there/profile.toml",))
    assert [*why_missing([away, profile])] == ["no 'cray-8.1' here"]
    for wrong, message in (
        (LibraryChoice(mpi="mpihc"), "unknown 'mpihc'"),
        (LibraryChoice(mpi="mpich", settings=("no-such",)), "unknown settings 'no-such' of mpich"),
    ):
        with pytest.raises(UserError, match=message):
            list(why_missing([away, wrong]))


def test_settings_of_a_study_file_leave_out_what_nearpeak_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contenders, "resolve", lambda _: MPICH)

    def chosen(name: str) -> list[Contender]:
        settings = (Settings(name="own", unset=[name]),)
        return choose_contenders([LibraryChoice(mpi="mpich", settings=settings)], lambda _: None)

    [contender] = chosen("MPIR_CVAR_ENABLE_GPU")
    assert contender.settings.unset == ["MPIR_CVAR_ENABLE_GPU"]
    with pytest.raises(UserError, match="settings 'own' cannot leave out LD_LIBRARY_PATH"):
        chosen("LD_LIBRARY_PATH")


def test_a_library_that_is_not_whole_is_measured_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = whole.Module(file="/mpi/ucx/libuct_a.so.0", missing=["liba.so.1"], error="liba.so.1")
    looks = {MPICH.name: whole.Modules(modules=[module])}
    monkeypatch.setattr(whole, "look", lambda library: looks.get(library.name, whole.Modules()))
    settings = [Settings(), Settings(name="other")]
    chosen = [Contender(library=MPICH, settings=one) for one in settings]
    chosen.append(Contender(library=CRAY, settings=Settings()))
    lines: list[str] = []
    first, second, whole_one = check_modules(chosen, unknown(), lines.append)
    what = "libuct_a.so.0 does not load (liba.so.1 is not found): UCX lacks its transports"
    assert first.library.broken == second.library.broken == [what]
    assert whole_one.library.broken == []
    assert lines == [
        f"mpich-8.1 is not whole: {what}; install liba.so.1, or put its folder into LD_LIBRARY_PATH"
    ]
