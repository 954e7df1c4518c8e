# SPDX-License-Identifier: Apache-2.0
"""The transports of messages with the layer, on the terminal."""

from rich.table import Table

from nearpeak.console import PlainConsole
from nearpeak.numbers import number, size
from nearpeak.observations.ways import Ways, alike


def print_ways(ways: Ways) -> None:
    """Prints a table for each pair of memories, and the settings that decide."""
    console = PlainConsole()
    console.print(f"{ways.library} {ways.version} on {ways.host}", style="bold", soft_wrap=True)
    for leg in ways.legs:
        console.print(f"\n{leg.words.capitalize()}, {leg.path}", style="bold", soft_wrap=True)
        table = Table("Size", "Way", box=None, pad_edge=False)
        table.add_column("µs" if leg.buffers == "D,D" else "µs, mean of there and back")
        for group in alike(leg.steps):
            sizes = _range([size(step.size_bytes) for step in group])
            times = _range([number(step.latency_us) for step in group])
            table.add_row(sizes, group[0].way or "not told", times)
        console.print(table)
    console.print()
    for failure in ways.failed:
        console.print(f"Failed: {failure}", soft_wrap=True)
    if ways.no_kernel:
        console.print(f"No kernel copies: {ways.no_kernel}", soft_wrap=True)
    for rank, most in ways.kernel_bytes.items():
        console.print(
            f"Measured meanwhile: of what rank {rank} sends between devices a kernel copies up to"
            f" {size(most)}, the copy engine what is longer.",
            soft_wrap=True,
        )
    settings = " ".join(f"{name}={value}" for name, value in ways.settings.items())
    console.print(f"Decided by (docs/layer.md): {settings}", soft_wrap=True)


def _range(figures: list[str]) -> str:
    """`8 B to 64 B`."""
    return figures[0] if len(figures) == 1 else f"{figures[0]} to {figures[-1]}"
