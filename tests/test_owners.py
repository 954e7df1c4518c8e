# SPDX-License-Identifier: Apache-2.0
"""Nearpeak runs, loads and writes only where the user and root alone can change things."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nearpeak import owners
from nearpeak.errors import UserError
from nearpeak.files import check_target, make_anew, make_output, write_whole
from two_users import OTHER, OWNER, SHARED_GROUP, TwoUsers, acting


def why(path: Path, *trusted: int) -> list[str]:
    """By whom a path can be changed, with the last words of where that is."""
    return [f"{risk.by} {risk.path.name}" for risk in owners.risks(path, trusted)]


@pytest.mark.parametrize(
    ("owner", "group", "mode", "found"),
    [
        (OWNER, OWNER, 0o755, []),
        (0, 0, 0o755, []),
        (OTHER, OWNER, 0o700, ["owner kept"]),
        (OTHER, OWNER, 0o777, ["owner kept", "others kept"]),
        (OWNER, OWNER, 0o777, ["others kept"]),
        (OWNER, SHARED_GROUP, 0o775, ["group kept"]),
        (0, SHARED_GROUP, 0o2775, ["group kept"]),
        (0, 0, 0o1777, []),  # as /tmp
        (OTHER, 0, 0o1777, ["owner kept"]),
    ],
)
def test_a_folder_above(
    two_users: TwoUsers, owner: int, group: int, mode: int, found: list[str]
) -> None:
    folder = two_users.folder("kept", owner, group, mode)
    program = two_users.file("kept/program", OWNER)
    with acting(OWNER):
        assert why(program) == found
        assert why(folder / "missing") == found


@pytest.mark.parametrize(
    ("owner", "mode", "found"),
    [
        (OWNER, 0o755, []),
        (0, 0o755, []),
        (OTHER, 0o755, ["owner program"]),
        (OWNER, 0o757, ["others program"]),
        (OWNER, 0o775, ["group program"]),
    ],
)
def test_a_program_in_a_folder_of_all(
    two_users: TwoUsers, owner: int, mode: int, found: list[str]
) -> None:
    two_users.folder("all", 0, 0, 0o1777)
    program = two_users.file("all/program", owner, SHARED_GROUP, mode)
    with acting(OWNER):
        assert why(program) == found


def test_a_folder_of_all_holds_what_anybody_lays_there(two_users: TwoUsers) -> None:
    folder = two_users.folder("all", 0, 0, 0o1777)
    with acting(OWNER):
        assert why(folder) == ["others all"]


def test_links_lead_through_folders_too(two_users: TwoUsers) -> None:
    two_users.folder("mine", OWNER, OWNER, 0o755)
    two_users.folder("theirs", OTHER, OTHER, 0o755)
    two_users.file("mine/program", OWNER)
    (two_users.place / "theirs/link").symlink_to("../mine/program")
    (two_users.place / "mine/link").symlink_to(two_users.place / "theirs/link")
    (two_users.place / "mine/loop").symlink_to("loop")
    for link in ("theirs/link", "mine/link"):
        os.chown(two_users.place / link, OWNER, OWNER, follow_symlinks=False)
    with acting(OWNER):
        assert why(two_users.place / "mine/link") == ["owner theirs"]
        assert why(two_users.place / "mine/loop") in (["owner loop"], [])
        assert why(two_users.place / "mine/../mine/program") == []


def test_what_others_cannot_enter_they_cannot_write(two_users: TwoUsers) -> None:
    two_users.folder("closed", OWNER, OWNER, 0o700)
    two_users.folder("closed/open", OWNER, SHARED_GROUP, 0o777)
    program = two_users.file("closed/open/program", OWNER, SHARED_GROUP, 0o777)
    planted = two_users.file("closed/open/planted", OTHER)
    with acting(OWNER):
        assert why(program) == []
        assert why(planted) == ["owner planted"]


def test_a_group_of_the_user_alone_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's own group is one wherever there are groups."""
    monkeypatch.setattr(os, "geteuid", lambda: OWNER)
    assert owners._is_private(Path("/"), 0, {0, OWNER})
    assert not owners._is_private(Path("/"), SHARED_GROUP, {0, OWNER})
    monkeypatch.setattr(os, "getxattr", lambda *_: b"")  # an access list
    assert not owners._is_private(Path("/"), 0, {0, OWNER})


def test_who_is_named_is_trusted(two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = two_users.folder("site", OTHER, SHARED_GROUP, 0o2775)
    with acting(OWNER):
        assert why(folder) == ["owner site", "group site"]
        assert why(folder, OTHER) == ["group site"]
        monkeypatch.setenv("NEARPEAK_TRUST", f"nobody-of-this-name, {OTHER},@{SHARED_GROUP}")
        assert why(folder) == []
    monkeypatch.setenv("NEARPEAK_TRUST", "")
    monkeypatch.setenv("SUDO_UID", str(OTHER))
    assert why(folder) == ["group site"]  # root was made by whom the folder belongs to
    with acting(OWNER):
        assert why(folder) == ["owner site", "group site"]


def test_a_user_namespace_shows_root_of_the_host_as_nobody(
    two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = two_users.folder("hosts", 65534, 65534, 0o755)
    with acting(OWNER):
        assert why(folder) == ["owner hosts"]
        monkeypatch.setattr(owners, "_is_unknown", lambda uid: uid == 65534)
        assert why(folder) == []


def test_a_kept_program_is_refused_in_a_line(
    two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = two_users.folder("cache", OWNER, SHARED_GROUP, 0o775)
    program = two_users.file("cache/program", OTHER)
    monkeypatch.setattr("nearpeak.owners.folders.cache", lambda: cache)
    monkeypatch.delenv("NEARPEAK_CACHE", raising=False)
    with acting(OWNER), pytest.raises(UserError) as error:
        owners.check_kept(program)
    assert str(error.value) == (
        f"{program} is not run, as others can exchange it: group {SHARED_GROUP} may write {cache}; "
        f"run `chmod g-w {cache}`, or set NEARPEAK_CACHE to a folder of your own"
        " (docs/how-to/security.md)"
    )
    cache.chmod(0o755)
    with acting(OWNER), pytest.raises(UserError, match=f"program belongs to {OTHER}"):
        owners.check_kept(program)
    os.chown(program, OWNER, OWNER)
    with acting(OWNER):
        owners.check_kept(program)


def test_a_site_may_share_a_cache(two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = two_users.folder("cache", OTHER, OTHER, 0o755)
    program = two_users.file("cache/program", OTHER)
    monkeypatch.setenv("NEARPEAK_CACHE", str(cache))
    with acting(OWNER), pytest.raises(UserError, match="cache belongs to"):
        owners.check_kept(program)  # below /tmp, where who comes first has the name
    monkeypatch.setattr(Path, "parents", property(lambda path: [path.parent]))
    with acting(OWNER):
        owners.check_kept(program)
        cache_of_group = two_users.place / "cache"
    cache_of_group.chmod(0o777)
    with acting(OWNER), pytest.raises(UserError, match="all users may write"):
        owners.check_kept(program)


@pytest.mark.parametrize(
    ("owner", "group", "mode", "made", "refused"),
    [
        (OTHER, OTHER, 0o777, True, "belongs to 12346"),
        (OTHER, OTHER, 0o777, False, "belongs to 12346"),
        (OWNER, OWNER, 0o777, True, "all users may write .*; run `chmod o-w"),
        (OWNER, OWNER, 0o777, False, "all users may write"),
        (OWNER, SHARED_GROUP, 0o2775, True, "group 54321 may write .*; run `chmod g-w"),
        (OWNER, SHARED_GROUP, 0o2775, False, ""),  # a folder of a project
        (0, SHARED_GROUP, 0o2775, False, ""),
        (0, 0, 0o1777, False, ""),  # as /tmp
        (0, 0, 0o1777, True, "all users may write"),
        (OWNER, OWNER, 0o755, True, ""),
    ],
)
def test_where_others_write_nothing_is_written(
    two_users: TwoUsers, owner: int, group: int, mode: int, made: bool, refused: str
) -> None:
    """`made`: -o names the folder itself, else a new one in it."""
    folder = two_users.folder("out", owner, group, mode)
    output = folder if made else folder / "a" / "study"
    with acting(OWNER, SHARED_GROUP):
        before = os.umask(0o002)
        try:
            if refused:
                with pytest.raises(
                    UserError, match=rf"nothing is written into {output}.*{refused}"
                ):
                    make_output(output)
                assert list(folder.iterdir()) == []
                return
            make_output(output)
        finally:
            os.umask(before)
    for new in () if made else (folder / "a", output):
        assert not new.stat().st_mode & 0o022


def test_a_temporary_name_cannot_be_laid_beforehand(
    two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that wait below every name that could be guessed destroy nothing."""
    place = two_users.folder("group", OWNER, OWNER, 0o777)
    precious = two_users.file("precious", OWNER, mode=0o600)
    text = precious.read_text()
    names = [f".machine.svg.{pid}" for pid in range(os.getpid(), os.getpid() + 50)]
    for name in names:
        (place / name).symlink_to(precious)
        os.chown(place / name, OTHER, OTHER, follow_symlinks=False)
    with acting(OWNER):
        write_whole(place / "machine.svg", "drawn")
    assert precious.read_text() == text
    assert (place / "machine.svg").read_text() == "drawn"
    monkeypatch.setattr("nearpeak.files.secrets.token_hex", lambda _: str(os.getpid()))
    with acting(OWNER), pytest.raises(UserError, match=r"cannot write .*: File exists"):
        write_whole(place / "machine.svg", "again")
    assert precious.read_text() == text


def test_a_link_of_another_is_not_followed(two_users: TwoUsers) -> None:
    place = two_users.folder("group", OWNER, OWNER, 0o777)
    precious = two_users.file("precious", OWNER, mode=0o600)
    text = precious.read_text()
    (place / "machine.svg").symlink_to(precious)
    os.chown(place / "machine.svg", OTHER, OTHER, follow_symlinks=False)
    with acting(OWNER):
        write_whole(place / "machine.svg", "drawn")
    assert precious.read_text() == text
    assert (place / "machine.svg").read_text() == "drawn"
    assert stat.S_ISREG((place / "machine.svg").lstat().st_mode)
    (place / "log").symlink_to(precious)
    with acting(OWNER):
        make_anew(place / "log")
    assert precious.read_text() == text
    assert stat.S_ISREG((place / "log").lstat().st_mode)


def test_no_folder_of_another_leads_to_files_of_the_user(two_users: TwoUsers) -> None:
    theirs = two_users.folder("theirs", OTHER, OTHER, 0o777)
    mine = two_users.folder("mine", OWNER, OWNER, 0o700)
    (theirs / "reports").symlink_to(mine)
    os.chown(theirs / "reports", OTHER, OTHER, follow_symlinks=False)
    two_users.folder("open", OWNER, OWNER, 0o777)
    two_users.folder("open/sub", OWNER, OWNER, 0o755)
    with acting(OWNER):
        for target in (theirs / "reports/results.csv", two_users.place / "open/sub/results.csv"):
            with pytest.raises(UserError, match="others can exchange its folder"):
                write_whole(target, "text")
            with pytest.raises(UserError, match="others can exchange its folder"):
                check_target(target)
        assert not [*mine.iterdir()]


def test_a_folder_that_another_makes_meanwhile_is_refused(
    two_users: TwoUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = two_users.folder("tmp", 0, 0, 0o1777)
    real = os.mkdir

    def other_is_faster(folder: Path) -> None:
        real(folder)
        os.chown(folder, OTHER, OTHER)

    monkeypatch.setattr("nearpeak.files.make_folder", other_is_faster)
    with pytest.raises(UserError, match="as others can exchange what is in it"):
        make_output(place / "study")


def test_what_is_written_no_group_can_write(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from nearpeak.files import *; os.umask(0o002);"
        "folder = Path(sys.argv[1]) / 'a' / 'b'; make_folder(folder);"
        "write_whole(folder / 'x', 'text'); make_anew(folder / 'y'); make_private(folder / 'z')"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o755, "b": 0o755, "x": 0o644, "y": 0o644, "z": 0o700}


def test_owners_of_search_paths(two_users: TwoUsers) -> None:
    two_users.folder("site", OTHER, SHARED_GROUP, 0o2775)
    two_users.folder("open", 12347, 12347, 0o777)
    two_users.folder("mine", OWNER, OWNER, 0o755)
    env = {
        "PATH": f"{two_users.place}/mine:{two_users.place}/open:/no/where::.",
        "LD_LIBRARY_PATH": f"{two_users.place}/mine",
        "MPI_HOME": f"{two_users.place}/site",
    }
    with acting(OWNER):
        assert owners.of_search_paths(env) - {0} == {OWNER}
        assert owners.of_search_paths(env, ["MPI_HOME"]) - {0} == {OWNER, OTHER}
