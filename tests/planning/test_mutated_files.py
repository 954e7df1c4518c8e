# SPDX-License-Identifier: Apache-2.0
"""A thousand damaged study files: each is read, or is one clear line."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.planning.options import Options, read_study_file

DOCS = Path(__file__).parents[2] / "docs"
WHOLE = """\
mpi = ["mpich", "openmpi@rndv-1", "a=b"]
paths = ["host-host same-numa"]
all_pairs = false
benchmarks = ["latency", "bw:calls=nonblocking,reuse=fixed"]
buffers = ["D,D", "H"]
sizes = "0:1K,100"
hosts = ["a", "b"]
budget = "1h30m"
launches = 6
slot_ms = 50
window = 32
in_flight = "8M"
launch_limit = "90s"
seed = 0
remote_shell = "/usr/bin/rsh"
output = "there"
"""
COUNT = 1000
VALUES = [
    *("1", "-1", "0", "1e400", "-inf", "nan", "0x7fffffffffffffff", "9" * 30, "9" * 5000),
    *('""', '"\\u0000"', '"\\u001b[2J"', '"ü\\U0001F600"', "'''\n\n'''", '"' + "9" * 5000 + 's"'),
    *('"9999999999999999999G"', '"0:999999999999999999"', '"1:0"', '","', '"@"', '"=@x"', '"D,X"'),
    *("true", "1979-05-27", "1979-05-27T07:32:00Z", "25:61:61", "[]", "{}", "[[], {}]", "[1, 'a']"),
    *("[" * 100 + "]" * 100, "[" * 20_000, "{a=" * 2000 + "1" + "}" * 2000, "{ a = { b = 1 } }"),
    *('["", "a"]', '[{ name = "x", env = { A = 1 } }]', '{ name = "x" }', "a", "", "\\", '"'),
]
CHARACTERS = "\0\n\r\t \"'[]{}=#.,:\\@-_0a\x1b\x7f\x85\u2028ü\U0001f600"


def originals() -> list[str]:
    """The one above, that of the documents, and both in one."""
    text = (DOCS / "how-to" / "study.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text, flags=re.MULTILINE)
    (block,) = [block for block in blocks if "[[library]]" in block]
    told = re.sub(r"^    ", "", block, flags=re.MULTILINE)
    return [WHOLE, told, WHOLE + told[told.index("[[library]]") :]]


ORIGINALS = originals()


def character(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(CHARACTERS) + text[at + dice.randrange(3) :]


def value(dice: random.Random, text: str) -> str:
    """Another value for a key."""
    found = list(re.finditer(r"(?m)^(\w+) = (.*)$", text))
    if not found:
        return text
    match = dice.choice(found)
    return text[: match.start(2)] + dice.choice(VALUES) + text[match.end(2) :]


def key(dice: random.Random, text: str) -> str:
    """Another name for a key, which may be that of another one."""
    found = list(re.finditer(r"[A-Za-z_]+(?= =|\]\])", text))
    if not found:
        return text
    match, other = dice.choice(found), dice.choice(found)
    name = dice.choice(
        [other[0], match[0][:-1], f'"{match[0]}\\u0007"', f"{match[0]}.x", "`", "__class__"]
    )
    return text[: match.start()] + name + text[match.end() :]


def lines(dice: random.Random, text: str) -> str:
    """One line left out, doubled, or put elsewhere."""
    rows = text.splitlines(keepends=True)
    row = rows.pop(dice.randrange(len(rows))) if rows else ""
    for _ in range(dice.randrange(3)):
        rows.insert(dice.randrange(len(rows) + 1), row)
    return "".join(rows)


def cut(dice: random.Random, text: str) -> str:
    return text[: dice.randrange(len(text) + 1)]


MUTATIONS: list[Callable[[random.Random, str], str]] = [character, value, value, key, lines, cut]


def mutated(seed: int) -> bytes:
    """The same bytes for the same seed."""
    dice = random.Random(seed)
    text = dice.choice(ORIGINALS)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        text = dice.choice(MUTATIONS)(dice, text)
    data = text.encode()
    if dice.random() < 0.05:  # no UTF-8
        at = dice.randrange(len(data) + 1)
        data = data[:at] + bytes([dice.randrange(128, 256)]) + data[at:]
    return data


@pytest.mark.parametrize("text", ORIGINALS)
def test_the_originals_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert read_study_file(file).libraries


def test_each_is_read_or_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    read = refused = 0
    for seed in range(COUNT):
        file.write_bytes(mutated(seed))
        try:
            assert isinstance(read_study_file(file), Options), seed
            read += 1
        except UserError as error:
            words = str(error)
            assert words.startswith(str(file)), seed
            assert "\n" not in words, seed
            assert len(words) < 1000, seed
            refused += 1
    assert min(read, refused) > COUNT // 20


def test_a_refused_file_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearpeak.cli.main import main

    file = tmp_path / "study.toml"
    file.write_text('"\\u001b[2J\\n" = 1\n')
    monkeypatch.setattr("sys.argv", ["nearpeak", "study", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.removesuffix("\n").isprintable()
    assert "unknown field" in said
