# SPDX-License-Identifier: Apache-2.0
"""Words for sizes (`0:64M`) and for times (`5m`), as options and the study file use them."""

import math
import re
from collections.abc import Sequence

from nearpeak.errors import UserError

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
SHOWN = 40  # characters of a text that is quoted in an error
_TOO_MANY = 1 << 63  # bytes, for the measuring programs
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_bytes(text: str) -> int:
    """`64`, `4K`, `64M`, `1G` (1024 each) in bytes; UserError for anything else."""
    match = re.fullmatch(r"(\d{1,18})([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(match[1]) * _UNITS[match[2].upper()] if match else _TOO_MANY
    if size >= _TOO_MANY:
        raise UserError(
            f"{quoted(text)} is not a size: write bytes, or a number with K, M or G, like 64M"
        )
    return size


def parse_sizes(text: str) -> list[int]:
    """Bytes of `0:64M,100,3K`: a range is its first size and the powers of two up to its last.

    The sizes are sorted and unique. UserError names the wrong part.
    """
    sizes: set[int] = set()
    for part in text.split(","):
        first, colon, last = part.partition(":")
        low, high = parse_bytes(first), parse_bytes(last if colon else first)
        if high < low:
            raise UserError(f"sizes {quoted(part.strip())}: {last} is smaller than {first}")
        powers = (1 << bit for bit in range(high.bit_length()))
        sizes.update([low], (power for power in powers if power >= low))
    return sorted(sizes)


def format_bytes(size: int) -> str:
    """The shortest exact way to write a size: 65536 is `64K`."""
    for unit in ("G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)


def format_sizes(sizes: Sequence[int]) -> str:
    """A text that `parse_sizes` turns back into `sizes` (sorted), with runs written as ranges."""
    parts: list[str] = []
    rest = sorted(sizes)
    while rest:
        length = 1
        # A run starts at 0 or at a power of two, and then doubles.
        starts = rest[0] & (rest[0] - 1) == 0 or rest[0] == 0
        while starts and rest[length : length + 1] == [rest[length - 1] * 2 or 1]:
            length += 1
        length = length if length > 2 else 1
        ends = dict.fromkeys([rest[0], rest[length - 1]])
        parts.append(":".join(map(format_bytes, ends)))
        rest = rest[length:]
    return ",".join(parts)


def parse_seconds(text: str) -> float:
    """Seconds of `90s`, `5m`, `1h` or `1h30m`; UserError for anything else, or for zero."""
    compact = text.strip().lower()
    if re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h))+", compact):
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", compact)
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        if 0 < seconds < math.inf:
            return seconds
    raise UserError(f"{quoted(text)} is not a time: write a number with s, m or h, like 90s or 5m")


def quoted(text: str) -> str:
    """A text that cannot be parsed, shortened for an error message."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def format_seconds(seconds: float) -> str:
    """A time for people: `0.4 s`, `12 s`, `4m05s`, `1h02m`."""
    total = round(seconds)
    if total < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{total} s"
    if total < 3600:
        return f"{total // 60}m{total % 60:02d}s"
    return f"{total // 3600}h{total % 3600 // 60:02d}m"


def split_list(text: str) -> list[str]:
    """Splits a text at its commas, without the blanks around the parts; UserError when there are
    none."""
    items = [word.strip() for word in text.split(",") if word.strip()]
    if not items:
        raise UserError(f"{text!r} is an empty list")
    return items
