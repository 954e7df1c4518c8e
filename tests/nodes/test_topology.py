# SPDX-License-Identifier: Apache-2.0
"""Groups of nodes from Slurm, from files and from names."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.nodes.topology import (
    Level,
    expanded,
    find,
    of_lines,
    of_names,
    of_slurm,
    plural,
    reordered,
)

NODES = [f"n{number}" for number in range(8)]
PRINTED = """\
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[4-7]
SwitchName=s3 Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]
SwitchName=s4 Level=1 LinkSpeed=1 Nodes=n[4-7] Switches=s2
SwitchName=s5 Level=2 LinkSpeed=1 Nodes=n[0-7] Switches=s[3-4]
"""
FILE = """\
# a tree
SwitchName=s0 Nodes=n[0-1]
SwitchName=s1 Nodes=n[2-3]
SwitchName=s2 Nodes=n[4-7]
SwitchName=s3 Switches=s[0-1]
SwitchName=s4 Switches=s2
SwitchName=s5 Switches=s[3-4]
"""
BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=n[0-3] BlockSize=4
BlockName=b2 BlockIndex=1 Nodes=n[4-7] BlockSize=4
"""


def said(levels: list[Level]) -> list[tuple[str, list[str], list[int]]]:
    return [(level.kind, level.names, level.of) for level in levels]


@pytest.mark.parametrize("text", [PRINTED, FILE])
def test_a_tree_of_slurm(text: str) -> None:
    assert said(of_slurm(text, NODES)) == [
        ("leaf switch", ["s0", "s1", "s2"], [0, 0, 1, 1, 2, 2, 2, 2]),
        ("switch of level 2", ["s3", "s4"], [0, 0, 0, 0, 1, 1, 1, 1]),
    ]


def test_blocks_of_slurm() -> None:
    assert said(of_slurm(BLOCKS, NODES)) == [
        ("block", ["b1", "b2"], [0, 0, 0, 0, 1, 1, 1, 1]),
    ]
    more = BLOCKS + "BlockName=b1,b2 Nodes=n[0-7]\nBlockName=b3,b4 Nodes=n[8-15]\n"
    levels = of_slurm(more, [f"n{number}" for number in range(10)])
    assert [level.kind for level in levels] == ["block", "block of level 2"]
    assert levels[0].names == ["b1", "b2", "n8", "n9"]  # a node of no block is by itself


@pytest.mark.parametrize("text", ["", "topology/flat has nothing to show\n"])
def test_no_topology(text: str) -> None:
    assert of_slurm(text, NODES) == []


def test_a_level_that_divides_nothing_is_left_out() -> None:
    assert [level.names for level in of_slurm(PRINTED, NODES[:4])] == [["s0", "s1"]]
    assert of_slurm(PRINTED, NODES[4:]) == []


def test_switches_in_a_circle_are_bad_input() -> None:
    with pytest.raises(UserError, match="are a circle: a b a"):
        of_slurm("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", NODES)


def test_lines_of_a_file(tmp_path: Path) -> None:
    text = "n[0-3] rack1 row1 # the old ones\nn[4-5] rack2 row1\n\nn[6-7] rack3 row2\n"
    assert said(of_lines(text, NODES)) == [
        ("group", ["rack1", "rack2", "rack3"], [0, 0, 0, 0, 1, 1, 2, 2]),
        ("group", ["row1", "row2"], [0, 0, 0, 0, 0, 0, 1, 1]),
    ]
    file = tmp_path / "groups"
    file.write_text(text)
    found = find([f"{node}.cluster" for node in NODES], str(file))
    assert (len(found.levels), found.source) == (2, "file")
    file.write_text(FILE)
    assert find(NODES, str(file)).levels == of_slurm(FILE, NODES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n0 rack1 row1\nn1 rack1 row2\n", "rack1 in row1 and in row2"),
        ("n0 rack1 row1\nn1 rack1\n", "rack1 in row1 and in none"),
        ("n[0-3] rack1\nn2 rack2\n", "the groups have n2 twice"),
    ],
)
def test_lines_that_contradict_each_other_are_bad_input(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        of_lines(text, NODES)


def test_a_file_with_a_byte_order_mark_and_continued_lines(tmp_path: Path) -> None:
    file = tmp_path / "groups"
    file.write_text("\ufeffn[0-3] a\nn[4-7] b\n", encoding="utf-8")
    assert said(find(NODES, str(file)).levels) == [("group", ["a", "b"], [0, 0, 0, 0, 1, 1, 1, 1])]
    slurm = "SwitchName=a Nodes=n[0-3]\nSwitchName=b \\\n  Nodes=n[4-7]\n"
    assert [level.names for level in of_slurm(slurm, NODES)] == [["a", "b"]]


def test_one_switch_joins_all() -> None:
    assert find(NODES, "none") == ([], "none")


def test_a_pattern_of_names() -> None:
    nodes = ["x1c1n1", "x1c1n2", "x1c2n1", "x2c1n1", "x2c1n2", "login"]
    assert said(of_names(r"(x\d+)(c\d+)n", nodes)) == [
        ("group", ["x1/c1", "x1/c2", "x2/c1", "login"], [0, 0, 1, 2, 2, 3]),
        ("group", ["x1", "x2", "login"], [0, 0, 0, 1, 1, 2]),
    ]
    assert find(nodes, r"(x\d+)").source == "names"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("/nowhere/groups", "--groups /nowhere/groups: neither a file that can be read"),
        ("(x", "is no regular expression"),
        (r"(y\d+)", "no node has such a name"),
    ],
)
def test_bad_input_is_one_line(option: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        find(NODES, option)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_without_these_nodes_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "groups").write_text("other rack1\n")
    with pytest.raises(UserError, match="it has no two groups of the 8 nodes; give --groups none"):
        find(NODES, str(tmp_path / "groups"))


def test_nodes_without_names_have_no_groups() -> None:
    assert find(["", "", ""], None).levels == []
    assert find(NODES, "none").levels == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3,07],login", ["n1", "n2", "n3", "n07", "login"]),
        ("r[1-2]n[08-10]", ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]),
        ("", []),
    ],
)
def test_lists_of_nodes(text: str, names: list[str]) -> None:
    assert expanded(text) == names


@pytest.mark.parametrize("text", ["n[1-99999999]", "n[-]", "n[1-9999]x[1-9999]"])
def test_a_list_that_is_none_or_too_long(text: str) -> None:
    with pytest.raises(UserError):
        expanded(text)


def test_the_order_of_nodes_changes_with_their_groups() -> None:
    [level] = reordered(of_slurm(BLOCKS, NODES), NODES, NODES[::-1])
    assert level.of == [1, 1, 1, 1, 0, 0, 0, 0]
    assert [plural(kind) for kind in ("leaf switch", "switch of level 2", "block", "group")] == [
        "leaf switches",
        "switches of level 2",
        "blocks",
        "groups",
    ]
