# SPDX-License-Identifier: Apache-2.0
"""Kernel lists and small files."""

from pathlib import Path

import pytest

from nearpeak.machine.tree import (
    RecordedTree,
    Tree,
    format_list,
    parse_list,
    parse_recording,
    read_tree,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("", []), ("7", [7]), ("8,0-1", [0, 1, 8])],
)
def test_parse_list(text: str, numbers: list[int]) -> None:
    assert parse_list(text) == numbers
    assert parse_list(format_list(numbers)) == numbers


def test_format_list_joins_runs() -> None:
    assert format_list([8, 0, 1, 2, 10, 11, 2]) == "0-2,8,10-11"


def test_what_is_missing_is_empty(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert tree.text("nothing") == ""
    assert tree.integer("nothing") is None
    assert tree.numbers("nothing") == []
    assert tree.fields("nothing") == {}
    assert tree.names("nothing") == []


def test_files(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("-12\n")
    (tmp_path / "word").write_text("max\n")
    (tmp_path / "fields").write_text("a: 1\nb:\ta: 2\na: 3\nno colon\n")
    for name in ("cpu10", "cpu2", "cpufreq"):
        (tmp_path / name).mkdir()
    tree = Tree(tmp_path)
    assert tree.integer("number") == -12
    assert tree.integer("word") is None
    assert tree.fields("fields") == {"a": "1", "b": "a: 2"}
    assert tree.indices("", "cpu") == [2, 10]
    assert not tree.live
    assert Tree(Path("/")).live


@pytest.mark.parametrize("text", ["0-1\n\0", "0-1\0", "0-\x001\n", "0-1\n\0\0"])
def test_a_nul_is_no_part_of_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    assert Tree(tmp_path).numbers("list") == [0, 1]
    assert RecordedTree(tmp_path, {"list": text}).text("list") == "0-1"


@pytest.mark.parametrize("text", ["<not counted>", "-1", "0x3", "1-2-3"])
def test_what_is_no_list_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    assert Tree(tmp_path).numbers("list") == []


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"list": "0,2"}, [0, 2]),
        ({"list": "0,2", "mask": "ff"}, [0, 2]),
        ({"mask": "00000000,00000101"}, [0, 8]),
        ({"mask": "1,00000000"}, [32]),
        ({"mask": "?"}, []),
        ({}, []),
    ],
)
def test_cpus_by_list_or_mask(files: dict[str, str], cpus: list[int]) -> None:
    assert RecordedTree(Path("none"), files).cpus("list", "mask") == cpus


@pytest.mark.parametrize(
    "names", [["mlx5_2", "mlx5_10"], ["ib0", "ib3", "ib20"], ["a9b1", "a9b12", "a10b2"]]
)
def test_numbers_in_names_sort_as_numbers(tmp_path: Path, names: list[str]) -> None:
    for name in reversed(names):
        (tmp_path / name).touch()
    assert Tree(tmp_path).names("") == names
    assert RecordedTree(tmp_path, dict.fromkeys(names, "")).names("") == names


def test_a_recorded_file_is_a_tree(tmp_path: Path) -> None:
    file = tmp_path / "machine.txt"
    file.write_text("a/b10: 1-3\na/b2/c: x: y\na/bx: 4\n")
    tree = read_tree(file)
    assert not tree.live
    assert tree.numbers("a/b10") == [1, 2, 3]
    assert tree.fields("a/b2/c") == {"x": "y"}
    assert tree.indices("a", "b") == [2, 10]
    assert tree.names("") == ["a"]
    assert tree.exists("a/b2")
    assert tree.exists("a/b2/c")
    assert not tree.exists("b2")
    assert tree.text("a/b2") == ""
    assert tree.names("a/b10") == []
    assert list(tree.above("a/b2")) == ["a/b2"]


def test_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("../far/away")
    (tmp_path / "file").write_text("text")
    tree = Tree(tmp_path)
    assert tree.link("link") == "../far/away"
    assert tree.link("file") == ""
    assert tree.link("missing") == ""
    assert RecordedTree(tmp_path, {"link": "../far/away"}).link("link") == "../far/away"


def test_files_given_stand_for_those_under_the_root() -> None:
    tree = RecordedTree(Path("/"), {"nvidia/gpu0": "a", "nvidia/gpu1": "b", "nvidiax": "c"})
    assert not tree.live
    assert tree.indices("nvidia", "gpu") == [0, 1]
    assert not tree.exists("proc")
    assert tree.under("nvidia") == {"nvidia/gpu0": "a", "nvidia/gpu1": "b"}
    assert Tree(Path("/")).under("nvidia") == {}


def test_recordings_expand_braces_and_escapes() -> None:
    files = parse_recording(
        "# a comment\n\ncpu{0-1,4}/{a,b/c}: one\\ntwo \\\\n\nempty:\ncpu0/a: 7\n"
    )
    assert sorted(files) == [
        "cpu0/a",
        "cpu0/b/c",
        "cpu1/a",
        "cpu1/b/c",
        "cpu4/a",
        "cpu4/b/c",
        "empty",
    ]
    assert files["cpu4/b/c"] == "one\ntwo \\n"
    assert files["empty"] == ""
    assert files["cpu0/a"] == "7"


@pytest.mark.parametrize("line", ["no content", "/etc/passwd: x", "a/../../b: x"])
def test_a_bad_line_of_a_recording_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_recording(f"# first\n{line}\n")
