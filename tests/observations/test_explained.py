# SPDX-License-Identifier: Apache-2.0
"""Explanations in the folder of a study."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearpeak.errors import UserError
from nearpeak.observations.explained import FOLDER, keep, read_explanations


def test_each_is_kept_behind_the_others(by_hand: Any, tmp_path: Path) -> None:
    one, other = by_hand.explained(size=8), by_hand.explained(size=16)
    assert keep(one, tmp_path).name == "001.json"
    assert keep(other, tmp_path).name == "002.json"
    assert read_explanations(tmp_path) == [one, other]


def test_a_study_without_any(tmp_path: Path) -> None:
    assert read_explanations(tmp_path) == []


@pytest.mark.parametrize("whole", [b"{", b"[]", b""])
def test_a_damaged_file_is_named(by_hand: Any, tmp_path: Path, whole: bytes) -> None:
    keep(by_hand.explained(), tmp_path).write_bytes(whole)
    with pytest.raises(UserError, match=r"001\.json cannot be read"):
        read_explanations(tmp_path)


def test_one_of_another_version_is_named(by_hand: Any, tmp_path: Path) -> None:
    later = msgspec.structs.replace(by_hand.explained(), schema=2)
    keep(later, tmp_path)
    with pytest.raises(UserError, match="schema 2, this nearpeak reads schema 1"):
        read_explanations(tmp_path)
    assert (tmp_path / FOLDER).is_dir()
