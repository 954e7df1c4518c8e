# SPDX-License-Identifier: Apache-2.0
"""600 outputs of tools in which something was changed: figures, or one line of error."""

import random
from pathlib import Path
from typing import Any

from nearpeak.errors import UserError
from nearpeak.observations.load import load

COUNT = 600
FILES = [
    path
    for path in sorted((Path(__file__).parent / "sources").glob("*/*"))
    if path.suffix in (".txt", ".json")
]
WORDS = ["-1", "nan", "inf", "1e999", "9" * 30, "N/A", "", "x", "²", "٣", "1_0", "\0"]


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


def test_no_output_is_a_traceback(outputs: Any, tmp_path: Path) -> None:
    chance = random.Random(7)
    texts = [*map(Path.read_text, FILES), *outputs.BY_TOOL.values()]
    file = tmp_path / "out.txt"
    refusals: list[str] = []
    for _ in range(COUNT):
        text = chance.choice(texts)
        for _ in range(chance.randint(1, 3)):
            text = changed(chance, text, texts)
        file.write_text(text)
        try:
            assert load(file).launches
        except UserError as error:
            refusals.append(str(error))
    assert 0 < len(refusals) < COUNT
    assert not [refusal for refusal in refusals if "\n" in refusal]
