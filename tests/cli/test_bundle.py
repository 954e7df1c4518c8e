# SPDX-License-Identifier: Apache-2.0
"""`nearpeak bundle`: its words; what they do is tested in tests/bundle."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.bundle import make, manifest, modules
from nearpeak.bundle.manifest import SCHEMA, Manifest

Nearpeak = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("bundle", "-o", "a.tar.xz", "--mpi", "openmpi", "--python", "3"),
            "write a version from 3.10 on, like 3.12",
        ),
        (
            ("bundle", "-o", "a.tar.xz", "--mpi", "openmpi", "--python", "3.9"),
            "--python '3.9': Nearpeak needs Python 3.10 or later",
        ),
        (("bundle", "-o", "a.tar.xz", "--mpi", "nompi"), "cannot bundle 'nompi': choose of "),
        (("bundle", "-o", "a.tar.xz"), "--mpi"),
        (("bundle", "-o", "no/a.tar.xz", "--mpi", "openmpi"), "no/a.tar.xz: there is no folder "),
        (("bundle", "-o", "a.tar.gz", "--mpi", "openmpi"), "a bundle is a tar.xz"),
        (("bundle", "--mpi", "openmpi"), "to pack a bundle give -o FILE and --mpi NAME; --unpack"),
        (("bundle", "--unpack", "missing"), "cannot unpack missing"),
        (("bundle", "--unpack", "a", "--imb"), "--unpack goes only with -o: leave out --imb"),
        (("bundle", "--check", "."), "is not a bundle"),
        (("bundle", "--check", "a", "-o", "b"), "--check goes alone: leave out -o"),
        (("bundle", "--unpack", "a", "--check", "b"), "leave out --check"),
    ],
)
def test_bad_input_is_one_line(
    nearpeak: Nearpeak, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = set(tmp_path.iterdir())
    code, out, err = nearpeak(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_what_a_bundle_needs_and_lacks_is_said(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Manifest(
        schema=SCHEMA,
        nearpeak="1",
        python="3.12",
        machine="x86_64",
        glibc="2.36",
        parts={"python": "2.27", "cache/build": "2.36"},
        libraries={"intel": "1"},
        lacks={"intel": "a table"},
        packages={},
        files={},
    )
    sizes = {"python": 1_500_000}
    monkeypatch.setattr(make, "make", lambda *_, **__: make.Made(2_000_000, sizes, made))
    code, out, _ = nearpeak("bundle", "-o", "a.tar.xz", "--mpi", "intel")
    assert code == 0
    assert out.splitlines() == [
        "     1.5 MB  python",
        "a.tar.xz: 2.0 MB, for x86_64, Python 3.12, glibc 2.36 or later (cache/build)",
        "intel is not as its makers ship it: it lacks a table",
    ]


def test_modules_that_do_not_load_on_this_machine_are_named(
    nearpeak: Nearpeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(manifest, "problems", lambda _place: [])
    monkeypatch.setattr(modules, "problems", lambda _place: ["intel is not whole"])
    code, out, err = nearpeak("bundle", "--check", str(tmp_path))
    assert (code, out, err) == (1, "", "nearpeak: intel is not whole\n")
