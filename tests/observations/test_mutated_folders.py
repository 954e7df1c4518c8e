# SPDX-License-Identifier: Apache-2.0
"""1,000 study folders in which something was changed: one line of error, or the same figures."""

import json
import random
from collections.abc import Callable
from typing import Any

from nearpeak.errors import UserError
from nearpeak.findings.build import build_results
from nearpeak.results.results import Results

COUNT = 1000
FILES = ("records.jsonl", "records.jsonl", "plan.json", "machine.json")
VALUES: list[Any] = [None, -1, 1e308, 10**30, "", "x\x1b[31m", [], {}, [[]], {"a": 1}, True]

Mutation = Callable[[random.Random, bytes], bytes]


def flip(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def digit(chance: random.Random, data: bytes) -> bytes:
    """A figure becomes another one: the file stays what it is otherwise."""
    at = chance.choice([place for place, byte in enumerate(data) if byte in b"0123456789"])
    return data[:at] + str((data[at] - 47) % 10).encode() + data[at + 1 :]


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def drop_line(chance: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def repeat_line(chance: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return b"".join(lines)


def other_value(chance: random.Random, data: bytes) -> bytes:
    """A value somewhere in one line of JSON becomes one of another kind."""
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    here = line = json.loads(lines[at])
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = chance.choice(keys)
        if not isinstance(here[key], dict | list) or not here[key] or chance.random() < 0.2:
            here[key] = chance.choice(VALUES)
            break
        here = here[key]
    lines[at] = json.dumps(line).encode() + b"\n"
    return b"".join(lines)


def noise(chance: random.Random, _data: bytes) -> bytes:
    return chance.randbytes(chance.randrange(200))


MUTATIONS: list[Mutation] = [flip, digit, cut, drop_line, repeat_line, other_value, noise]


def figures(results: Results) -> list[Any]:
    return [
        (cell.who, cell.place, cell.case, cell.launch_medians, cell.fraction, cell.status)
        for cell in results.cells
    ]


def test_a_changed_folder_is_refused_or_gives_the_same_figures(make_study: Any) -> None:
    study = make_study("alpha", "beta")
    for block in range(2):
        study.ceiling(block, {("bw", "ring", size): 10.0 + block for size in (8, 1024)})
        for library in study.libraries:
            study.launch(block, library, "bw", {8: 5.0 + block, 1024: 6.0})
    folder = study.write()
    right = figures(build_results(folder))
    whole = {name: (folder / name).read_bytes() for name in set(FILES)}
    chance = random.Random(9)
    refused = []
    for _ in range(COUNT):
        name, mutation = chance.choice(FILES), chance.choice(MUTATIONS)
        (folder / name).write_bytes(mutation(chance, whole[name]))
        try:
            results = build_results(folder)
        except UserError as error:
            refused.append(str(error))
        else:  # what is missing at the end was never recorded, and the results say so
            assert figures(results) == right or not results.complete, (name, mutation)
        (folder / name).write_bytes(whole[name])
    assert len(refused) > COUNT / 2
    assert not any("\n" in line for line in refused)
