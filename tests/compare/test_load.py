# SPDX-License-Identifier: Apache-2.0
"""A side: one study, several, or a folder of them; and what is none."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.compare.load import check_apart, load_side, load_usable
from nearpeak.errors import UserError

MakeSides = Callable[..., Path]


def test_studies_come_in_the_order_of_their_start(make_sides: MakeSides, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    later = make_sides("many/a", day=3, blocks=1)
    earlier = make_sides("many/b", day=2, blocks=1)
    (tmp_path / "many" / "notes").mkdir()
    assert [study.folder for study in load_side([tmp_path / "many"])] == [earlier, later]
    first = make_sides("first", day=1, blocks=1)
    assert [study.folder for study in load_side([later, first])] == [first, later]


def test_what_is_no_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing: no such folder"):
        load_side([tmp_path / "nothing"])
    with pytest.raises(UserError, match="neither a study nor a folder of studies"):
        load_side([tmp_path])


def test_a_study_counts_once(make_sides: MakeSides, tmp_path: Path) -> None:
    file = make_sides("one", blocks=1)
    shutil.copytree(file, tmp_path / "copy")
    with pytest.raises(UserError, match="are the same study: give it only once"):
        load_side([file, tmp_path / "copy"])


def test_a_study_is_on_one_side_alone(make_sides: MakeSides, tmp_path: Path) -> None:
    file, other = make_sides("one", blocks=1), make_sides("other", day=2, blocks=1)
    shutil.copytree(file, tmp_path / "copy")
    check_apart(load_side([file]), load_side([other]))
    with pytest.raises(UserError, match=f"{file} and {file} are the same study: compare it"):
        check_apart(load_side([file]), load_side([other, file]))
    with pytest.raises(UserError, match=r"/one and .*/copy are the same study"):
        check_apart(load_side([other, file]), load_side([tmp_path / "copy"]))


def test_another_schema_is_named(make_sides: MakeSides) -> None:
    known = make_sides("one", blocks=1)
    file = known / "records.jsonl"
    file.write_bytes(re.sub(rb'"schema":\d+', b'"schema":9', file.read_bytes(), count=1))
    with pytest.raises(UserError, match="schema 9"):
        load_side([known])


def test_unusable_folders_are_skipped_by_name(make_sides: MakeSides, tmp_path: Path) -> None:
    first, second = make_sides("a", day=2), make_sides("b", day=1)
    killed = make_sides("killed", day=3)
    (killed / "records.jsonl").unlink()
    shutil.copytree(first, tmp_path / "copy")
    studies, skipped = load_usable([first, second, killed, tmp_path / "copy"])
    assert [study.folder for study in studies] == [second, first]
    assert [one.folder for one in skipped] == [killed, tmp_path / "copy"]
    assert "the same study" in skipped[1].why
    with pytest.raises(UserError):
        load_usable([killed])
