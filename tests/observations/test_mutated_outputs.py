# SPDX-License-Identifier: Apache-2.0
"""Outputs of tools in which something was changed: figures, or one line of error.

FUZZ_SECONDS=60 in the environment fuzzes each importer for so long, and prints what it did.
"""

import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load

COUNT = 150  # of each tool
FILES = [
    path
    for path in sorted((Path(__file__).parent / "sources").glob("*/*"))
    if path.suffix in (".txt", ".json")
]
TOOLS = ("osu", "imb", "nccl-tests", "perftest", "nvbandwidth", "ucx_perftest")
WORDS = ["-1", "1.5", "nan", "inf", "1e999", "9" * 30, "N/A", "", "x", "²", "٣", "1_0", "\0"]


def changed(chance: random.Random, text: str, others: list[str]) -> str:
    """A line is dropped, repeated, swapped, cut, or of another output; or a word is another one."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, chance.choice(lines))
        case 2:
            chance.shuffle(lines)
        case 3:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
        case 4:
            lines[at:at] = chance.choice(others).split("\n")[:5]
        case _:
            words = lines[at].split(" ")
            words[chance.randrange(len(words))] = chance.choice(WORDS)
            lines[at] = " ".join(words)
    return "\n".join(lines)


def changed_bytes(chance: random.Random, content: bytes) -> bytes:
    """A byte is any other, some are dropped or repeated, a number is long, or lists are deep."""
    at = chance.randrange(len(content) + 1)
    piece = content[at : at + chance.randrange(40)]
    match chance.randrange(5):
        case 0:
            return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
        case 1:
            return content[:at] + content[at + len(piece) :]
        case 2:
            return content[:at] + piece * chance.randrange(2, 200) + content[at:]
        case 3:
            digits = str(chance.choice([10**12, 10**19, 10**400, 10**4000])).encode()
            return re.sub(rb"\d+", digits, content[:at], count=1) + re.sub(
                rb"\d+", digits, content[at:], count=1
            )
        case _:
            return content[:at] + b"[" * chance.choice([3, 3000]) + content[at:]


def cases(tool: str, outputs: Any) -> Iterator[bytes]:
    """Mutated outputs of a tool without end, always the same ones."""
    chance = random.Random(tool)
    folder = {"nccl-tests": "nccl_tests"}.get(tool, tool)
    texts = [*map(Path.read_text, FILES), *outputs.BY_TOOL.values()]
    mine = [each.read_text() for each in FILES if each.parent.name == folder]
    mine.append(outputs.BY_TOOL[tool])
    while True:
        text = chance.choice(mine)
        for _ in range(chance.randint(0, 3)):
            text = changed(chance, text, texts)
        content = text.encode()
        for _ in range(chance.randint(0, 2)):
            content = changed_bytes(chance, content)
        yield content


@pytest.mark.parametrize("tool", TOOLS)
def test_an_importer_gives_figures_or_one_line(tool: str, outputs: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    seconds = float(os.environ.get("FUZZ_SECONDS", 0))
    ends = time.monotonic() + seconds
    refusals: list[str] = []
    bugs: list[tuple[BaseException, bytes]] = []  # which users see as one line of error
    count = 0
    for content in cases(tool, outputs):
        if count >= COUNT and time.monotonic() >= ends:
            break
        count += 1
        file.write_bytes(content)
        try:
            found = load(file)
            assert found.launches
        except UserError as error:
            refusals.append(str(error))
            bugs += [(error.__cause__, content)] if error.__cause__ else []
    assert not bugs
    assert 0 < len(refusals) < count
    assert not [refusal for refusal in refusals if "\n" in refusal]
    if seconds:
        print(f"{tool}: {count} cases, {len(refusals)} refused")
