# SPDX-License-Identifier: Apache-2.0
"""What is said of an unpacked bundle that cannot run here."""

import platform
import sys
from pathlib import Path

import msgspec
import pytest

from nearpeak.bundle import manifest
from nearpeak.errors import UserError

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of two files, one of them a link."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").symlink_to("a")
    write(tmp_path, manifest.make(tmp_path, HERE, {"openmpi": "5"}, {}, {}))
    return tmp_path


def write(folder: Path, whole: manifest.Manifest) -> None:
    (folder / manifest.NAME).write_bytes(msgspec.json.encode(whole))


def change(folder: Path, **fields: str) -> None:
    write(folder, msgspec.structs.replace(manifest.read(folder), **fields))


def test_a_whole_bundle_has_no_problems(bundle: Path) -> None:
    made = manifest.read(bundle)
    assert set(made.files) == {"a", "b"}
    assert (made.machine, made.python) == (platform.machine(), HERE)
    assert manifest.problems(bundle) == []


def test_damage_is_named(bundle: Path) -> None:
    (bundle / "a").write_text("two")
    (bundle / "b").unlink()
    assert manifest.problems(bundle) == [
        "a is damaged: unpack the bundle again",
        "b is missing: unpack the bundle again",
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("machine", "m68k", "the bundle is for m68k"),
        ("glibc", "9.1", "it needs glibc 9.1, here is 2."),
        ("python", "3.99", "it needs Python 3.99: set NEARPEAK_PYTHON"),
    ],
)
def test_another_machine(bundle: Path, field: str, value: str, said: str) -> None:
    change(bundle, **{field: value})
    (problem,) = manifest.problems(bundle)
    assert said in problem


def test_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not a bundle \(manifest\.json: No such file"):
        manifest.problems(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"python":"', b'"python":"../', "at `$.python`"),
        (b'"glibc":"', b'"glibc":"x', "at `$.glibc`"),
        (b'"schema":2', b'"schema":2,"more":1', "unknown field `more`"),
        (b"{", b"\xff", "is not a bundle"),
    ],
)
def test_a_damaged_manifest_is_bad_input(bundle: Path, old: bytes, new: bytes, said: str) -> None:
    file = bundle / manifest.NAME
    file.write_bytes(file.read_bytes().replace(old, new, 1))
    with pytest.raises(UserError) as error:
        manifest.problems(bundle)
    assert said in str(error.value)


def test_no_file_outside_is_looked_at(bundle: Path) -> None:
    (bundle.parent / "outside").write_text("")
    made = manifest.read(bundle)
    made.files = {"../outside": "", "/etc/passwd": "", "x/../../outside": ""}
    write(bundle, made)
    found = manifest.problems(bundle)
    assert [line.partition(" leads out of the bundle")[0] for line in found] == list(made.files)
