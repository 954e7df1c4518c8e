# SPDX-License-Identifier: Apache-2.0
"""The groups of nodes: below one switch, in one rack or one block, and wider ones.

They come from Slurm (`scontrol show topology`, topology.conf), from a file, or from the names of
the nodes.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from nearpeak.arrays import Indices
from nearpeak.errors import UserError
from nearpeak.machine import allocation
from nearpeak.terms.private import HostName, Public

NONE = "none"  # --groups: all nodes are alike, as below one switch
GROUP = "group"
MOST_LISTED = 1 << 16  # nodes of a list
_RANGE = re.compile(r"\[([\d,-]+)\]")
_FIELD = re.compile(r"(\w+)=(\S+)")


class Level(msgspec.Struct, kw_only=True, frozen=True):
    """The groups of a level; each node is in one of them."""

    kind: Public  # "leaf switch", "block", "group"
    names: list[HostName]
    of: list[int]  # the group of each node

    @property
    def labels(self) -> Indices:
        """The group of each node."""
        return np.array(self.of, dtype=np.intp)


def plural(kind: str) -> str:
    """`leaf switches`, `switches of level 2`, `blocks`."""
    return re.sub(r"switch\b", "switches", re.sub(r"(block|group)\b", r"\1s", kind))


class Topology(NamedTuple):
    """The levels, the smallest groups first, and the source that knew them."""

    levels: list[Level]
    source: str


UNKNOWN = Topology([], "")


def find(nodes: Sequence[str], option: str | None) -> Topology:
    """Returns the groups of these nodes. `option`: of --groups; None: asks Slurm. UserError."""
    if option == NONE:
        return Topology([], NONE)
    if not all(nodes):
        return UNKNOWN
    if option is None:
        return Topology(of_slurm(allocation.topology(), nodes), "Slurm")
    if "(" in option:
        return Topology(of_names(option, nodes), "names")
    return Topology(_of_file(Path(option), nodes), "file")


def reordered(levels: Sequence[Level], before: Sequence[str], after: Sequence[str]) -> list[Level]:
    """Returns the levels of the same nodes in another order."""
    places = [before.index(node) for node in after]
    return [
        msgspec.structs.replace(level, of=[level.of[place] for place in places]) for level in levels
    ]


def _of_file(file: Path, nodes: Sequence[str]) -> list[Level]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(
            f"--groups {file}: neither a file that can be read ({error}), nor a pattern like"
            r" '(rack\d+)node\d+'"
        ) from None
    slurm = re.search(r"(Switch|Block)Name=", text)
    levels = of_slurm(text, nodes) if slurm else of_lines(text, nodes)
    if not levels:
        raise UserError(
            f"--groups {file}: it has no two groups of the {len(nodes)} nodes; give --groups none"
            " if one switch joins them all"
        )
    return levels


def of_lines(text: str, nodes: Sequence[str]) -> list[Level]:
    """Returns the levels of lines `NODE GROUP [WIDER GROUP...]`; a `#` begins a comment."""
    rows = [line.partition("#")[0].split() for line in text.splitlines()]
    groups: dict[str, dict[int, str]] = {}
    wider: dict[str, list[str]] = {}
    for listed, *names in filter(None, rows):
        if names and wider.setdefault(names[0], names) != names:
            raise UserError(
                f"the groups have {names[0]} in {' '.join(wider[names[0]][1:]) or 'no wider group'}"
                f" and in {' '.join(names[1:]) or 'none'}: give one of them another name"
            )
        for node in expanded(listed):
            if groups.setdefault(node, dict(enumerate(names))) != dict(enumerate(names)):
                raise UserError(f"the groups have {node} twice, in different ones")
    members = [_groups_of(groups, node) for node in nodes]
    depth = max(map(len, members), default=0)
    return _levels([GROUP] * depth, members, nodes)


def of_names(pattern: str, nodes: Sequence[str]) -> list[Level]:
    r"""Returns the levels that a regular expression finds in the names of the nodes: its groups
    are the widest group first, as in `(row\d+)(rack\d+)node\d+`. UserError."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UserError(f"--groups {pattern!r} is no regular expression: {error}") from None
    matches = [compiled.match(node) for node in nodes]
    if not any(matches):
        raise UserError(f"--groups {pattern!r}: no node has such a name, as {nodes[0]!r}")
    depth = compiled.groups
    parts = [
        {level: _joined(match, depth - level) for level in range(depth)} if match else {}
        for match in matches
    ]
    return _levels([GROUP] * depth, parts, nodes)


def _joined(match: re.Match[str], parts: int) -> str:
    """A rack of one row is not that of another: its name has both."""
    return "/".join(part or "" for part in match.groups()[:parts])


def of_slurm(text: str, nodes: Sequence[str]) -> list[Level]:
    """Returns the levels of topology.conf, or of what `scontrol show topology` prints."""
    switches, blocks = {}, {}
    for line in text.replace("\\\n", " ").splitlines():
        fields = dict(_FIELD.findall(line.partition("#")[0]))
        if "SwitchName" in fields:
            switches[fields["SwitchName"]] = fields
        elif "BlockName" in fields:
            blocks[fields["BlockName"]] = fields
    return _of_blocks(blocks, nodes) if blocks else _of_switches(switches, nodes)


def _of_switches(switches: dict[str, dict[str, str]], nodes: Sequence[str]) -> list[Level]:
    heights: dict[str, int] = {}
    members: dict[str, set[str]] = {}
    for name in switches:
        _visit(name, switches, heights, members, ())
    depth = max(heights.values(), default=-1) + 1
    above: dict[str, dict[int, str]] = {}
    for name, height in heights.items():
        for node in members[name]:
            above.setdefault(node, {}).setdefault(height, name)
    kinds = ["leaf switch", *(f"switch of level {level + 1}" for level in range(1, depth))]
    return _levels(kinds[:depth], [_groups_of(above, node) for node in nodes], nodes)


def _visit(
    name: str,
    switches: dict[str, dict[str, str]],
    heights: dict[str, int],
    members: dict[str, set[str]],
    path: tuple[str, ...],
) -> None:
    """Adds the height of a switch above its leaves, and all nodes below it. UserError for a
    circle."""
    if name in path:
        raise UserError(f"the switches of the topology are a circle: {' '.join([*path, name])}")
    if name in heights or name not in switches:
        return
    below = [one for one in expanded(switches[name].get("Switches", "")) if one in switches]
    for one in below:
        _visit(one, switches, heights, members, (*path, name))
    heights[name] = 1 + max((heights[one] for one in below), default=-1)
    members[name] = set(expanded(switches[name].get("Nodes", "")))
    for one in below:
        members[name] |= members[one]


def _of_blocks(blocks: dict[str, dict[str, str]], nodes: Sequence[str]) -> list[Level]:
    """Blocks; an aggregated one is named by all of its blocks, as `b1,b2`."""
    groups: dict[str, dict[int, str]] = {}
    depths = {size: level for level, size in enumerate(sorted(_sizes(blocks)))}
    for name, fields in blocks.items():
        for node in expanded(fields.get("Nodes", "")):
            groups.setdefault(node, {})[depths[len(name.split(","))]] = name
    kinds = ["block", *(f"block of level {level + 1}" for level in range(1, len(depths)))]
    return _levels(kinds, [_groups_of(groups, node) for node in nodes], nodes)


def _sizes(blocks: dict[str, dict[str, str]]) -> set[int]:
    return {len(name.split(",")) for name in blocks}


def _groups_of(groups: dict[str, dict[int, str]], node: str) -> dict[int, str]:
    """The groups of a node by the name that is given, else by the one without its domain."""
    short = node.partition(".")[0]
    return groups.get(node) or groups.get(short) or {}


def _levels(
    kinds: Sequence[str], groups_of: Sequence[dict[int, str]], nodes: Sequence[str]
) -> list[Level]:
    """Returns the levels that divide these nodes; a node without a group is one of its own."""
    levels: list[Level] = []
    before = np.arange(len(nodes))
    for number, kind in enumerate(kinds):
        names = [of.get(number) or node for of, node in zip(groups_of, nodes, strict=True)]
        index = {name: place for place, name in enumerate(dict.fromkeys(names))}
        labels = np.array([index[name] for name in names], dtype=np.intp)
        # A wider group has all of the narrower ones that it shares a node with.
        labels = _nested(before, labels)
        groups = len(np.unique(labels))
        if 1 < groups < len(np.unique(before)):
            used = np.unique(labels)
            ordered = [list(index)[place] for place in used.tolist()]
            of = np.searchsorted(used, labels).tolist()
            levels.append(Level(kind=kind, names=ordered, of=of))
            before = labels
    return levels


def _nested(narrow: Indices, wide: Indices) -> Indices:
    _, firsts, of = np.unique(narrow, return_index=True, return_inverse=True)
    return np.asarray(wide[firsts][of])


def expanded(text: str) -> list[str]:
    """Returns the names of a list like `rack[1-2]node[01-16],login1`. UserError for one that is
    too long or has no sense."""
    names: list[str] = []
    for entry in re.split(r",(?![^\[]*\])", text):
        parts = _RANGE.split(entry)
        numbers = [list(_numbers(part)) if at % 2 else [part] for at, part in enumerate(parts)]
        if len(names) + np.prod([float(len(part)) for part in numbers]) > MOST_LISTED:
            raise UserError(f"the groups have a list of more than {MOST_LISTED} nodes: {entry}")
        names += map("".join, itertools.product(*numbers))
    return [name for name in names if name]


def _numbers(text: str) -> Iterator[str]:
    """Yields the numbers of `1-3,07`, with their leading zeros."""
    for span in text.split(","):
        first, _, last = span.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise UserError(f"the groups have a list of nodes that is none: [{text}]")
        if int(last or first) - int(first) > MOST_LISTED:
            raise UserError(f"the groups have a list of more than {MOST_LISTED} nodes: [{text}]")
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))
