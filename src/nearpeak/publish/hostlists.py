# SPDX-License-Identifier: Apache-2.0
"""Lists of hosts as Slurm writes them: `node[001-004,7],login1`."""

import itertools
import math
import re

Spans = list[tuple[str, str]]  # the first and the last of each

_RANGE = r"\[\d{1,9}(?:[,-]\d{1,9})+\]"
_ENTRY = re.compile(rf"(?:[\w.-]|{_RANGE})+")
_MOST = 1 << 12  # hosts of a list: of a longer one all that are called alike are taken for its own


def listed(names: str) -> tuple[list[str], list[str]]:
    """The hosts of a list; then the hosts of long lists, each list as one host with the first
    number of each range."""
    hosts: list[str] = []
    alike: list[str] = []
    for entry in _ENTRY.findall(names):
        parts = [_spans(part) for part in re.split(rf"({_RANGE})", entry.strip(".-"))]
        if len(hosts) + math.prod(map(_count, parts)) > _MOST:
            alike.append("".join(spans[0][0] for spans in parts))
        else:
            hosts += map("".join, itertools.product(*map(_numbers, parts)))
    return hosts, alike


def is_numbered(host: str) -> bool:
    """True if a host may be one of many, which Slurm writes as `node[001-004]`."""
    return re.fullmatch(r"[\w-]*[A-Za-z-]\d+[\w-]*", host) is not None


def range_pattern(host: str) -> str:
    """A pattern of hosts that differ only in their numbers, at least one of which is a range."""
    fixed = [re.escape(part) for part in re.split(r"\d+", host)]
    any_of = "|".join(  # by the number that is the first range
        r"\d+".join(fixed[:first]) + _RANGE + rf"(?:\d+|{_RANGE})".join(fixed[first:])
        for first in range(1, len(fixed))
    )
    return rf"(?<![A-Za-z0-9])(?:{any_of})(?![A-Za-z0-9])"


def alike_pattern(host: str) -> str:
    """A pattern of hosts that differ only in their numbers."""
    fixed = r"\d+".join(map(re.escape, re.split(r"\d+", host)))
    return rf"(?<![A-Za-z0-9])(?i:{fixed})(?![A-Za-z0-9])"


def _spans(part: str) -> Spans:
    """The spans of a range, `[1-3,7]`; any other part as itself."""
    if not part.startswith("["):
        return [(part, part)]
    return [(first, last or first) for first, last in re.findall(r"(\d+)(?:-(\d+))?", part)]


def _count(spans: Spans) -> int:
    """The number of texts that a part of a list stands for."""
    return sum(first == last or max(0, int(last) - int(first) + 1) for first, last in spans)


def _numbers(spans: Spans) -> list[str]:
    """The texts that a part of a list stands for."""
    return [*itertools.chain.from_iterable(itertools.starmap(_numbers_between, spans))]


def _numbers_between(first: str, last: str) -> list[str]:
    if first == last:
        return [first]
    return [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
