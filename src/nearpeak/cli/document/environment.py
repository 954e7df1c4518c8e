# SPDX-License-Identifier: Apache-2.0
"""docs/reference/environment.md, made of environment.toml."""

from collections.abc import Iterable
from importlib import resources

import msgspec

from nearpeak.cli.document.beginning import first
from nearpeak.markdown import code, table

BEGINNING = "All environment variables of Nearpeak."
READERS = {  # in the order of the sections
    "commands": "`nearpeak`",
    "bundle": "the start script of a [bundle](../how-to/bundle.md)",
    "build": "CMake, for `bench`",
    "programs": "`nearpeak-mpi` and `nearpeak-native`",
    "layer": "the library of [`nearpeak layer`](../how-to/layer.md)",
    "queries": "the library of [`nearpeak layer --only-queries`](../how-to/pointer-queries.md)",
    "trace": "the library of [`nearpeak trace`](../how-to/trace.md)",
    "explain": "the library of [`nearpeak explain`](../how-to/explain.md)",
}
INTERNAL = "Nearpeak sets these for its own processes."


class Variable(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One environment variable. Its texts are Markdown."""

    readers: list[str]  # keys of READERS
    values: str
    default: str = ""  # "": unset
    effect: str
    internal: bool = False


def variables() -> dict[str, Variable]:
    """All variables by name."""
    text = (resources.files(__package__) / "environment.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, Variable])


def page() -> str:
    """The complete page."""
    readers = "".join(f"- *{name}*: {text}\n" for name, text in READERS.items())
    listed = variables().items()
    return (
        f"{first('Environment variables', 'environment', BEGINNING)}\nRead by:\n\n{readers}"
        f"\n## To set\n\n{_table(pair for pair in listed if not pair[1].internal)}"
        f"\n## Internal\n\n{INTERNAL}\n\n{_table(pair for pair in listed if pair[1].internal)}"
    )


def _table(listed: Iterable[tuple[str, Variable]]) -> str:
    header = ("Variable", "Read by", "Values", "Default", "Effect")
    return table(
        header,
        [
            (code(name), ", ".join(entry.readers), entry.values, entry.default, entry.effect)
            for name, entry in listed
        ],
    )
