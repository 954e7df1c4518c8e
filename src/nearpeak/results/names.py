# SPDX-License-Identifier: Apache-2.0
"""How the libraries and cases of a study are called, wherever people read of them."""

from collections.abc import Mapping


def label(library: str, settings: str) -> str:
    """`openmpi`, or `openmpi@dmabuf-off` when the settings are not the default ones."""
    return library if settings == "default" else f"{library}@{settings}"


def staging(axes: Mapping[str, str]) -> str | None:
    """How the benchmark itself copies through host memory; None: the library gets the buffers.

    Such a cell is a baseline that every user could write, not what the library can do.
    """
    value = axes.get("staging", "none")
    return None if value == "none" else value


def staged(value: str) -> str:
    """`staged by the benchmark (pinned)`, of a value of the axis `staging`."""
    return f"staged by the benchmark ({value})"


def axes_words(axes: Mapping[str, str]) -> list[str]:
    """`name=value` of each axis; that nothing was staged goes without saying."""
    how = staging(axes)
    words = [f"{name}={value}" for name, value in axes.items() if name != "staging"]
    return words if how is None else [staged(how), *words]


def case(benchmark: str, buffers: str, axes: Mapping[str, str]) -> str:
    """`bw`, `bw D,D`, `bw D,D staged by the benchmark (pinned)`: a case in running text."""
    how = staging(axes)
    words = [benchmark, "" if buffers == "H,H" else buffers, "" if how is None else staged(how)]
    return " ".join(filter(None, words))
