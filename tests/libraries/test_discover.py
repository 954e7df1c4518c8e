# SPDX-License-Identifier: Apache-2.0
"""Finding libraries: made-up ones in every place where libraries lie, and the real ones."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.libraries import catalogue
from nearpeak.libraries.discover import (
    LACKS,
    UnknownNameError,
    discover,
    find_libraries,
    resolve,
    usual_prefixes,
)
from nearpeak.libraries.families import is_native
from nearpeak.libraries.launch import check_launcher, environment, launcher_of
from nearpeak.libraries.library import Library
from two_users import OTHER, OWNER, SHARED_GROUP, TwoUsers

MPICH = "MPICH Version:      4.2.1\n"
OPEN_MPI = "Open MPI v4.1.6, package: x\n"
HYDRA = "HYDRA build details:"
ORTE = "mpirun (Open MPI) 4.1.6"

Fake = Callable[..., Path]


def on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", ":".join([*map(str, folders), os.environ["PATH"]]))


def in_prefixes(monkeypatch: pytest.MonkeyPatch, *patterns: object) -> None:
    monkeypatch.setattr("nearpeak.libraries.discover.USUAL_PREFIXES", tuple(map(str, patterns)))


def test_nothing_on_a_bare_machine(bare: Path) -> None:
    assert bare.exists()
    found = discover()
    assert (found.libraries, found.problems) == ([], [])


def test_on_path(bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = fake_library(bare / "mpi", MPICH, says=HYDRA)
    on_path(monkeypatch, prefix / "bin")
    (library,) = find_libraries()
    assert library == Library(
        name="mpich-4.2.1",
        family="mpich",
        version="4.2.1",
        version_text=MPICH,
        abi="mpich",
        prefix=prefix,
        origin="path",
        launcher=prefix / "bin/mpirun",
        libmpi=prefix / "lib/libmpi.so.12",
    )


def test_what_a_bundle_left_out_of_it(bare: Path, fake_library: Fake) -> None:
    prefix = fake_library(bare / "mpi", MPICH, says=HYDRA)
    assert resolve(str(prefix)).lacks == ""
    (prefix / LACKS).write_text("a table\n")
    assert resolve(str(prefix)).lacks == "a table"


def test_the_name_of_a_folder_means_nothing(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, fake_library(bare / "openmpi-5.0", MPICH, says=HYDRA) / "bin")
    assert [library.family for library in find_libraries()] == ["mpich"]


def test_one_library_seen_in_many_ways_is_one(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fake_library(bare / "mpi", MPICH, says=HYDRA)
    (prefix / "lib64").symlink_to("lib")
    (prefix / "lib/libmpi.so").symlink_to("libmpi.so.12")
    (bare / "link").symlink_to(prefix)
    (bare / "bin").mkdir()
    (bare / "bin/mpiexec").symlink_to(prefix / "bin/mpirun")
    on_path(monkeypatch, bare / "bin", prefix / "bin")
    in_prefixes(monkeypatch, bare / "*")
    monkeypatch.setenv("MPI_HOME", str(prefix))
    assert len(find_libraries()) == 1


@pytest.mark.parametrize("lib", ["lib", "lib64", "lib/release", "lib/x86_64-linux-gnu"])
def test_folders_of_a_prefix(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch, lib: str
) -> None:
    fake_library(bare / "mpi", MPICH, says=HYDRA, lib=lib)
    in_prefixes(monkeypatch, bare / "m*")
    (library,) = find_libraries()
    assert (library.libmpi.parent, library.origin) == (bare / "mpi" / lib, "prefix")


@pytest.mark.parametrize("variable", ["MPI_HOME", "MPI_ROOT", "I_MPI_ROOT", "MPICH_DIR"])
def test_variables_name_prefixes(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(fake_library(bare / "mpi", MPICH, says=HYDRA)))
    assert [library.name for library in find_libraries()] == ["mpich-4.2.1"]


def test_folders_that_cannot_be_looked_into_are_passed_over(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    beyond = bare / ("x" * 300)  # too long for a name, which stat refuses as what is forbidden
    on_path(monkeypatch, beyond, fake_library(bare / "mpi", MPICH, says=HYDRA) / "bin")
    monkeypatch.setenv("MPI_HOME", str(beyond))
    monkeypatch.setenv("NEARPEAK_CACHE", str(beyond))
    assert [library.name for library in find_libraries()] == ["mpich-4.2.1"]


def test_who_has_no_home_folder_has_libraries(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_account(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", no_account)
    in_prefixes(monkeypatch, bare / "*", "~/*mpi*")
    fake_library(bare / "mpi", MPICH, says=HYDRA)
    assert [library.name for library in find_libraries()] == ["mpich-4.2.1"]
    with pytest.raises(UserError, match=r"there is no .*/~nobody-is-called-so/mpi"):
        resolve("~nobody-is-called-so/mpi")


def two_in_one_prefix(prefix: Path, fake_library: Fake) -> Path:
    """As Debian lays them out."""
    lib = "lib/x86_64-linux-gnu"
    fake_library(
        prefix, OPEN_MPI, says=ORTE, lib=lib, soname="libmpi.so.40", launcher="mpirun.openmpi"
    )
    fake_library(
        prefix, MPICH, says=HYDRA, lib=lib, soname="libmpich.so.12", launcher="mpirun.mpich"
    )
    (prefix / "bin/mpirun").symlink_to("mpirun.openmpi")
    return prefix


def test_two_in_one_prefix_get_their_own_launchers(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = two_in_one_prefix(bare / "usr", fake_library)
    on_path(monkeypatch, prefix / "bin")
    found = {library.name: library for library in find_libraries()}
    assert found["openmpi-4.1.6"].launcher == prefix / "bin/mpirun"
    assert found["mpich-4.2.1"].launcher == prefix / "bin/mpirun.mpich"
    assert resolve(str(prefix / "bin/mpirun.openmpi")).family == "openmpi"
    assert resolve(str(prefix / "bin/mpirun.mpich")).family == "mpich"
    with pytest.raises(UserError, match=r"several MPI libraries: name a launcher \(.*mpirun"):
        resolve(str(prefix))


def test_equal_names_are_told_apart(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        fake_library(bare / "opt" / name, MPICH, says=HYDRA)
    in_prefixes(monkeypatch, bare / "opt/*")
    assert [library.name for library in find_libraries()] == ["mpich-4.2.1", "mpich-4.2.1-2"]
    assert resolve("mpich-4.2.1-2").prefix == bare / "opt/b"


def test_what_cannot_be_used_is_named(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_library(bare / "a", "Strange MPI 7", says=HYDRA)
    fake_library(bare / "b", MPICH, says="something else")
    (bare / "c/lib").mkdir(parents=True)
    (bare / "c/lib/libmpi.so.40").write_text("not a library")
    in_prefixes(monkeypatch, bare / "?")
    found = discover()
    assert found.libraries == []
    strange, alone, broken = found.problems
    assert "of no known family (it says 'Strange MPI 7')" in strange
    assert "MPICH 4.2.1, but no launcher" in alone
    assert str(bare / "c/lib/libmpi.so.40") in broken


@pytest.mark.parametrize(
    ("says", "family", "note"),
    [
        ("CRAY MPICH version 8.1.29.8 (ANL base 3.4a2)", "cray", None),
        (MPICH, "mpich", "MPICH 4.2.1 is started by srun (it has no launcher of its own)"),
    ],
)
def test_srun_starts_what_has_no_launcher_and_in_a_job_alone(
    bare: Path,
    fake_library: Fake,
    monkeypatch: pytest.MonkeyPatch,
    says: str,
    family: str,
    note: str | None,
) -> None:
    fake_library(bare / "cray", says, says="nothing")
    srun = fake_library(bare / "slurm", MPICH, says="slurm 23.11", launcher="srun") / "bin"
    on_path(monkeypatch, srun)
    in_prefixes(monkeypatch, bare / "cray")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found = discover()
    (library,) = found.libraries
    assert (library.family, library.launcher) == (family, srun / "srun")
    assert [said.partition(": ")[2] for said in found.notes] == ([note] if note else [])
    check_launcher(library)

    monkeypatch.delenv("SLURM_JOB_ID")
    found = discover()
    assert found.libraries == [library]  # programs can be built for it
    assert found.notes[0].endswith(
        ": srun starts it in a Slurm job alone, and this is none: start nearpeak in one (sbatch or"
        " salloc)"
    )
    with pytest.raises(UserError, match=f"srun starts {library.name} in a Slurm job alone"):
        check_launcher(library)


@pytest.mark.parametrize(
    ("manager", "program", "variable", "alone"),
    [
        ("flux", "flux/bin/flux", "FLUX_URI", "in a Flux instance alone"),
        ("pals", "cray/pals/1.8/bin/mpiexec", "PBS_JOBID", "in a PBS job alone"),
    ],
)
def test_other_managers_start_what_has_no_launcher(
    bare: Path,
    fake_library: Fake,
    monkeypatch: pytest.MonkeyPatch,
    manager: str,
    program: str,
    variable: str,
    alone: str,
) -> None:
    fake_library(bare / "mpich", "CRAY MPICH version 8.1.29.8 (ANL base 3.4a2)", says="nothing")
    file = bare / program
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    slurm = fake_library(bare / "slurm", MPICH, says="slurm 23.11", launcher="srun") / "bin"
    on_path(monkeypatch, file.parent, slurm)
    in_prefixes(monkeypatch, bare / "mpich")
    for name in ("SLURM_JOB_ID", "FLUX_URI", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)
    (library,) = discover().libraries
    assert launcher_of(library) == "srun"  # the likeliest of this family

    monkeypatch.setenv(variable, "7")
    (library,) = discover().libraries
    assert (library.launcher, launcher_of(library)) == (file, manager)
    check_launcher(library)
    monkeypatch.delenv(variable)
    with pytest.raises(UserError, match=f"{file.name} starts {library.name} {alone}"):
        check_launcher(library)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'libevent.so.5: cannot open' >&2; exit 127", "libevent.so.5: cannot open"),
        ("exit 3", "exit status 3"),
    ],
)
def test_a_launcher_that_does_not_start_becomes_srun_in_a_job_alone(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    prefix = fake_library(bare / "ompi", OPEN_MPI, says=ORTE)
    (prefix / "bin/mpirun").write_text(f"#!/bin/sh\n{script}\n")
    srun = fake_library(bare / "slurm", MPICH, says="slurm 23.11", launcher="srun") / "bin"
    on_path(monkeypatch, srun)
    in_prefixes(monkeypatch, prefix)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    reason = f"({prefix / 'bin/mpirun'} does not start: {why})"
    found = discover()
    assert found.libraries == []
    assert found.problems[0].endswith(f"Open MPI 4.1.6, but no launcher for it {reason}")
    with pytest.raises(UserError, match=why):
        resolve(str(prefix))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found = discover()
    assert [library.launcher for library in found.libraries] == [srun / "srun"]
    assert found.notes[0].endswith(f"Open MPI 4.1.6 is started by srun {reason}")


def test_other_libraries_in_ld_library_path_do_not_come_before_a_wheels_own(
    shared_object: Callable[[str], Path],
    library: Library,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As modules put them there."""
    for name in ("libfabric.so.1", "libucp.so.0", "libpmix.so.2"):
        (tmp_path / name).write_bytes(shared_object("int nothing;").read_bytes())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found = resolve(library.name)
    assert found.version_text == library.version_text
    assert environment(found)["LD_LIBRARY_PATH"].endswith(f":{tmp_path}")


def test_from_a_module(
    bare: Path,
    fake_library: Fake,
    module_command: Callable[[str, str], None],
) -> None:
    prefix = fake_library(bare / "apps/mpi", MPICH, says=HYDRA)
    module_command(
        "mpich/4.2.1\ngcc/12\n",
        f"export PATH={prefix}/bin:$PATH LD_LIBRARY_PATH={bare}/deps UCX_TLS=all MANPATH=/man",
    )
    (library,) = find_libraries()
    assert (library.origin, library.prefix) == ("module", prefix)
    assert library.env == {"LD_LIBRARY_PATH": f"{bare}/deps", "UCX_TLS": "all"}


def test_usual_prefixes_exist() -> None:
    assert Path("/usr") in usual_prefixes()
    assert all(prefix.is_dir() for prefix in usual_prefixes())


def test_real_libraries_are_found_under_their_names(library: Library) -> None:
    found = {known.name: known for known in find_libraries()}
    assert found[library.name] == library
    assert library.family == catalogue.entry(library.name).family
    assert library.version == catalogue.entry(library.name).version
    assert (library.origin, library.entry) == ("installed", library.name)
    assert resolve(f"alias={library.name}").entry == library.name


def test_real_library_by_path_and_alias(library: Library) -> None:
    for path in (library.prefix, library.launcher):
        given = resolve(str(path))
        assert (given.family, given.origin, given.entry) == (library.family, "given", "")
        assert given.libmpi == library.libmpi
    alias = resolve(f"again={library.name}")
    assert (alias.name, alias.prefix) == ("again", library.prefix)
    assert resolve(f"again={library.prefix}").name == "again"


def test_a_library_with_the_layer(bare: Path, fake_library: Fake) -> None:
    prefix = bare / "opt" / "mpi"
    fake_library(prefix, MPICH, says=HYDRA)
    plain = resolve(str(prefix))
    assert not plain.layer
    found = resolve(f"{prefix}+layer")
    assert found == msgspec.structs.replace(plain, name=f"{plain.name}+layer", layer=True)
    assert resolve(f"mine={prefix}+layer") == msgspec.structs.replace(found, name="mine")
    with pytest.raises(UserError, match=r"\+layer is named twice: once will do"):
        resolve(f"{prefix}+layer+layer")
    with pytest.raises(UserError, match=r"ceiling is no MPI library: \+layer goes with those of"):
        resolve("ceiling+layer")


def test_a_folder_may_be_called_so(bare: Path, fake_library: Fake) -> None:
    prefix = bare / "opt" / "mpi+layer"
    fake_library(prefix, MPICH, says=HYDRA)
    assert not resolve(str(prefix)).layer
    assert resolve(f"{prefix}+layer").layer


def test_not_yet_installed(bare: Path) -> None:
    assert bare.exists()
    with pytest.raises(UserError, match="openmpi is not installed: run `nearpeak mpi add openmpi`"):
        resolve("openmpi")


def test_what_the_machine_has_of_the_family_comes_first(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, fake_library(bare / "mpi", MPICH, says=HYDRA) / "bin")
    with pytest.raises(UserError) as error:
        resolve("mpich")
    assert str(error.value) == (
        "mpich is not installed, but this machine has mpich-4.2.1: name that, like --mpi "
        "mpich-4.2.1; or run `nearpeak mpi add mpich`"
    )
    with pytest.raises(UserError, match="openmpi is not installed: run `nearpeak mpi add openmpi`"):
        resolve("openmpi")


def test_a_broken_installation_says_how_to_mend_it(bare: Path) -> None:
    lib = catalogue.entry("openmpi").prefix / "lib"
    lib.mkdir(parents=True)
    (lib / "libmpi.so.40").write_text("half a library")
    with pytest.raises(UserError, match=r"does not work .* remove that folder and run") as error:
        resolve("openmpi")
    assert str(bare) in str(error.value)


def test_ld_library_path_is_named_before_a_folder_is_to_be_removed(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = catalogue.entry("openmpi").prefix / "lib"
    lib.mkdir(parents=True)
    (lib / "libmpi.so.40").write_text("half a library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(bare / "fabric"))
    with pytest.raises(UserError, match=f": unset LD_LIBRARY_PATH, which is {bare}/fabric; else"):
        resolve("openmpi")


def test_unknown_name_lists_the_known_ones(
    bare: Path, fake_library: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, fake_library(bare / "mpi", MPICH, says=HYDRA) / "bin")
    with pytest.raises(
        UserError,
        match=r"'nope'; there are: ceiling, intel, mpich, mpich-4\.2\.1, openmpi, openmpi-cuda",
    ):
        resolve("nope")


@pytest.mark.usefixtures("bare")
def test_a_family_that_is_not_here_is_no_typo_of_another() -> None:
    with pytest.raises(UserError, match=r"no MVAPICH was found here.* --mpi mvapich=/opt/mvapich"):
        resolve("mvapich")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("spec", "elsewhere"),
    [
        ("cray-8.1.29.8", True),
        ("mpich-4.2.1-2", True),
        ("mpich", True),  # not installed
        ("nccl-2.27.5", True),
        ("/nowhere/at/all", True),
        ("openmpi/4.1.6", True),
        ("mpihc-4.2.1", False),
        ("mine=mpihc+layer", False),
        ("cray", False),
    ],
)
def test_what_no_other_machine_can_have_is_told_apart(spec: str, elsewhere: bool) -> None:
    with pytest.raises(UserError) as raised:
        resolve(spec)
    assert isinstance(raised.value, UnknownNameError) != elsewhere


@pytest.mark.parametrize("spec", ["/nowhere/at/all", "./nothing", "x=/nowhere", "~/no-such-mpi"])
def test_no_such_path(spec: str) -> None:
    with pytest.raises(UserError, match="there is no /"):
        resolve(spec)


def test_a_path_without_a_library(bare: Path) -> None:
    with pytest.raises(UserError, match="no MPI library that works at"):
        resolve(str(bare))
    with pytest.raises(UserError, match="no MPI library that works at"):
        resolve(str(bare / "tools/sh"))


def test_the_ceiling_stands_in_for_a_library() -> None:
    library = resolve("ceiling")
    assert (library.name, library.family, is_native(library)) == ("ceiling", "ceiling", True)
    assert resolve("mine=ceiling").name == "mine"
    assert environment(library) == {}


@pytest.mark.usefixtures("bare")
def test_a_library_of_another_user_beside_a_folder_of_path_is_not_loaded(
    fake_library: Fake, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user has a launcher in a folder of her own; somebody lays a library beside that."""
    two_users.place.chmod(0o1777)
    prefix = fake_library(two_users.place, MPICH, says=HYDRA)
    given_to(prefix / "bin", OWNER)
    given_to(prefix / "lib", OTHER)
    on_path(monkeypatch, prefix / "bin")
    monkeypatch.setattr(os, "geteuid", lambda: OWNER)
    found = discover()
    assert found.libraries == []
    assert found.problems == [
        f"{prefix}/lib/libmpi.so.12: not loaded, as others can exchange it: {prefix}/lib belongs "
        f"to {OTHER}; name it with --mpi if you trust it (docs/how-to/security.md)"
    ]
    assert resolve(str(prefix)).family == "mpich"
    given_to(prefix / "lib", OWNER)
    given_to(prefix / "bin", OTHER)  # whose programs the user runs anyway: it is a folder of PATH
    (library,) = discover().libraries
    assert library.launcher == prefix / "bin/mpirun"


@pytest.mark.usefixtures("bare")
def test_a_launcher_that_others_may_write_is_not_started(
    fake_library: Fake, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fake_library(two_users.place / "mpi", MPICH, says=HYDRA)
    (prefix / "bin/mpirun").chmod(0o777)
    on_path(monkeypatch, prefix / "bin")
    found = discover()
    assert found.libraries == []
    assert f"all users may write {prefix}/bin/mpirun" in found.problems[0]


@pytest.mark.usefixtures("bare")
def test_software_of_a_site_is_trusted_with_those_who_install_it(
    fake_library: Fake, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It belongs to a user of its own, and a group may write it: that is noted."""
    site = two_users.folder("site", OTHER, SHARED_GROUP, 0o2775)
    prefix = fake_library(site / "mpi", MPICH, says=HYDRA)
    given_to(prefix, OTHER)
    in_prefixes(monkeypatch, prefix)
    monkeypatch.setattr(os, "geteuid", lambda: OWNER)
    found = discover()
    assert (found.libraries, len(found.problems)) == ([], 1)  # nobody has named it
    on_path(monkeypatch, prefix / "bin")
    found = discover()
    assert [library.origin for library in found.libraries] == ["path"]
    assert found.notes == [
        f"group {SHARED_GROUP} may write {site}, and can exchange the libraries in it"
    ]


@pytest.mark.usefixtures("bare")
def test_an_installed_library_that_others_can_exchange_is_not_loaded(
    fake_library: Fake, two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARPEAK_CACHE", str(two_users.place / "cache"))
    prefix = fake_library(catalogue.entry("mpich").prefix, MPICH, says=HYDRA)
    assert resolve("mpich").prefix == prefix
    given_to(prefix / "lib", OTHER)
    assert discover().libraries == []
    with pytest.raises(
        UserError, match=r"is not run, as others can exchange it: .*/lib belongs to"
    ):
        resolve("mpich")


def given_to(folder: Path, owner: int) -> None:
    """All of it belongs to a user then."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)
