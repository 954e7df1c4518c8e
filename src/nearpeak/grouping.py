# SPDX-License-Identifier: Apache-2.0
"""Items by what they have in common."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """All items of each key, both in their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def firsts(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, Item]:
    """The first item of each key, in their order."""
    return {kind: group[0] for kind, group in grouped(items, key).items()}


def present(values: Iterable[Item | None]) -> list[Item]:
    """The values without None."""
    return [value for value in values if value is not None]


def collected(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """All second parts of the pairs with the same first part, both in their order."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups
