# SPDX-License-Identifier: Apache-2.0
"""The files that processes leave."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nearpeak.explain import events
from nearpeak.explain.events import EVENT, HEADER, NAME_BYTES, NAMES, Unreadable, copy_name, read

SECOND = 1_000_000_000


def file(
    folder: Path,
    rows: Sequence[tuple[int, ...]],
    *,
    lost: tuple[int, int, int, int] = (0, 0, 0, 0),
    instants: tuple[int, int, int, int] = (0, 0, 0, 0),
    cut: int = 0,
) -> Path:
    """One with these events: begin, end, bytes, thread, name, kind, unused. `lost`: how many, of
    the host and of the device, and when the first of them began."""
    of_device = [row for row in rows if row[5] in (events.COPY, events.KERNEL, events.FILL)]
    of_host = [row for row in rows if row not in of_device]
    room = len(of_host), len(of_device) + 1
    header = HEADER.pack(
        b"NPEXPL3\0",
        HEADER.size + NAMES * NAME_BYTES,
        4711,
        *room,
        len(of_host) + lost[0],
        len(of_device) + (lost[1] + 1 if lost[1] else 0),
        *lost[2:],
        1,
        2,
        *instants,
        b"CUPTI was not found",
        300,
        20,
        5,
    )
    names = b"".join(f"name {n}".encode().ljust(NAME_BYTES, b"\0") for n in range(NAMES))
    data = (
        header + names + np.array([*of_host, *of_device], EVENT).tobytes() + bytes(EVENT.itemsize)
    )
    path = folder / "here-4711.events"
    path.write_bytes(data[: len(data) - cut])
    return path


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    rows = [
        (5000, 6000, 64, 0, 3, events.HOST_CALL, 0),
        (0, 0, 0, 0, 0, 0, 0),  # not written to its end
        (5500, 9000, 8, 1, 70, events.DRIVER_CALL, 0),
    ]
    seen = read(file(tmp_path, rows))
    assert (seen.rank, seen.device) == (1, "CUPTI was not found")
    assert seen.thread.tolist() == [0, 1]
    assert seen.start == 5000
    assert seen.begin.tolist() == [0, 500]
    assert seen.end.tolist() == [1000, 4000]
    assert [seen.names[number] for number in seen.name] == ["name 3", "name 70"]
    assert (seen.driver_call_ns, seen.host_call_ns, seen.lost) == (300, 20, 0)


def test_times_are_after_those_of_another_process(tmp_path: Path) -> None:
    seen = read(file(tmp_path, [(5000, 6000, 0, 0, 1, events.HOST_CALL, 0)]), start=4000)
    assert seen.begin.tolist() == [1000]


def test_what_the_device_did_is_on_the_hosts_clock(tmp_path: Path) -> None:
    """Its clock is ahead, and a tenth faster."""
    rows = [
        (10 * SECOND, 10 * SECOND, 0, 0, 1, events.MARK, 0),
        (111 * SECOND, 122 * SECOND, 0, 0, 1, events.COPY, 0),
    ]
    instants = (100 * SECOND, 1 * SECOND, 210 * SECOND, 101 * SECOND)  # of both clocks, twice
    seen = read(file(tmp_path, rows, instants=instants))
    assert seen.begin[1] == pytest.approx(1 * SECOND)
    assert seen.end[1] == pytest.approx(11 * SECOND)


def test_what_found_no_place_is_counted_and_when_the_first_of_it_began(tmp_path: Path) -> None:
    rows = [(1000, 2000, 0, 0, 1, events.HOST_CALL, 0), (90, 91, 0, 0, 1, events.COPY, 0)]
    clocks = (0, 1, 50, 51)  # the device's is behind by one
    assert read(file(tmp_path, rows[:1])).known_until == np.inf
    seen = read(file(tmp_path, rows[:1], lost=(7, 0, 1500, 0)))
    assert (seen.lost, seen.known_until) == (7, 500)
    seen = read(file(tmp_path, rows, instants=clocks, lost=(7, 2, 1500, 100)), start=0)
    assert (seen.lost, seen.known_until) == (9, 101)


@pytest.mark.parametrize("content", [b"", b"NPEXPL0\0" + bytes(10000), b"text"])
def test_other_files_are_not_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.events"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"x\.events (has no header|is of another version)"):
        read(path)


def test_a_file_that_was_cut_off_is_not_read(tmp_path: Path) -> None:
    row = (1, 2, 0, 0, 1, events.HOST_CALL, 0)
    with pytest.raises(Unreadable, match="was cut off"):
        read(file(tmp_path, [row, row], cut=5))


def test_copies_are_named_by_their_memories() -> None:
    assert copy_name(1 << 10 | 1 << 5 | 3) == "copy, pageable to device"
    assert copy_name(2 << 10 | 3 << 5 | 2) == "copy, device to pinned"
    assert copy_name(10 << 10 | 3 << 5 | 3) == "copy to another GPU"
    assert copy_name(1 << 10 | 31 << 5 | 3) == "copy, unknown to device"
