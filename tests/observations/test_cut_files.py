# SPDX-License-Identifier: Apache-2.0
"""Output of other tools that was cut off, or that nobody reads: never a wrong figure, never half of
one."""

from itertools import pairwise
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.observations.printed import MOST_BYTES, read
from nearpeak.observations.source import Tool
from nearpeak.observations.sources import all_tools

FILES = sorted(
    path
    for path in (Path(__file__).parent / "sources").glob("*/*")
    if path.suffix in (".txt", ".json")
)
IDS = [f"{path.parent.name}/{path.name}" for path in FILES]
Figures = set[tuple[str, str, str, int, float]]


def figures(file: Path) -> Figures:
    """Empty where it is refused."""
    try:
        found = load(file)
    except UserError:
        return set()
    return {
        (
            each.launch.who.settings,
            each.launch.place.path,
            each.case.benchmark,
            each.case.x,
            each.summary.median,
        )
        for each in found.observed
    }


def places(content: bytes) -> list[int]:
    """Where it is cut: at both ends of each line and within it, and anywhere in its last lines."""
    starts = [0, *(at + 1 for at, byte in enumerate(content) if byte == 0x0A)]
    within = {
        at
        for start, end in pairwise([*starts, len(content)])
        for at in (start, start + 1, (start + end) // 2, end - 1)
    }
    return sorted(at for at in within | set(range(len(content) - 150, len(content))) if at >= 0)


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_what_is_left_of_a_file_has_the_figures_of_the_whole(file: Path, tmp_path: Path) -> None:
    content, whole = file.read_bytes(), figures(file)
    assert whole
    cut = tmp_path / file.name
    for length in places(content):
        cut.write_bytes(content[:length])
        assert figures(cut) <= whole, content[max(0, length - 80) : length]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_large_file_is_refused_unread(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it begins with."""
    huge = tmp_path / file.name
    huge.write_bytes(file.read_bytes())
    with huge.open("ab") as more:
        more.truncate(1 << 30)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it was read"))
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(UserError, match=f"has more than {MOST_BYTES >> 20} MiB: give the output"):
        load(huge)


@pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.name)
def test_no_importer_takes_what_is_of_nobody(tool: Tool, tmp_path: Path) -> None:
    for name, content in {
        "binary": bytes(range(256)) * 64,
        "nulls": b"\0" * 4096,
        "json": b'{"name": "something else"}',
        "array": b"[1, 2, 3]",
        "words": b"# a table of another tool\n1 2 3\n",
    }.items():
        (tmp_path / name).write_bytes(content)
        assert not tool.titles(read(tmp_path / name))
