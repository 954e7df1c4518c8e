# SPDX-License-Identifier: Apache-2.0
"""`nearpeak publish`: its words; what it does is tested in tests/publish."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "h200x4-collectives"
Nearpeak = Callable[..., tuple[int, str, str]]


def test_what_was_replaced_is_said(nearpeak: Nearpeak, tmp_path: Path) -> None:
    code, out, err = nearpeak("publish", str(EXAMPLE), "-o", str(tmp_path / "public"))
    assert code == 0
    rows = {row[0]: row[1:] for row in map(str.split, out.splitlines())}
    assert rows["replaced"] == ["names", "places"]
    assert rows["gpu"][0] == "4"
    assert err == f"nearpeak: wrote {tmp_path / 'public'}; replaced.json there has these counts\n"
    own = shutil.copytree(EXAMPLE, tmp_path / "own")  # `report` writes into the folder
    assert nearpeak("report", str(tmp_path / "public"))[0] == nearpeak("report", str(own))[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing", "-o", "out"), "there is no study in missing: give the folder that "),
        ((".", "-o", "out"), "there is no study in .: give the folder that "),
        ((str(EXAMPLE), "-o", str(EXAMPLE)), "is not empty: choose another folder with -o"),
        ((str(EXAMPLE), "-o", str(EXAMPLE / "copy")), f"copy is inside {EXAMPLE}: choose a folder"),
        ((str(EXAMPLE), "-o", "/proc/no/out"), "cannot make the folder /proc/no/out"),
        ((str(EXAMPLE), "-o", "out", "--hide", "a"), "--hide 'a': give a word of 3 letters"),
        ((str(EXAMPLE),), "Missing option"),
    ],
)
def test_bad_input_is_one_line(
    nearpeak: Nearpeak, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = set(tmp_path.iterdir())
    code, out, err = nearpeak("publish", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
