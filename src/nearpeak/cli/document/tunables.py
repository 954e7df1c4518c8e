# SPDX-License-Identifier: Apache-2.0
"""docs/reference/tunables.md, made of the files of libraries/tunables."""

from collections.abc import Iterator

from nearpeak.cli.document.beginning import first
from nearpeak.libraries.tunables import Tunable, all_components, of_component
from nearpeak.markdown import code, codes, table

BEGINNING = """The environment variables that `nearpeak tune` tries, one table for each component: a
library, or the UCX that it loads. `nearpeak mpi settings NAME` lists those that an installation
has. The form of the files:
[adding a setting](../contributing/adding-a-library.md#adding-a-setting-that-is-worth-a-try).
A variable without a default leaves the choice to the library. A variable is tried for the
benchmarks that it names, or for all."""
NEEDS = {"gpu": "buffers in a GPU only", "network": "between hosts only"}


def page() -> str:
    """The complete page."""
    parts = [first("Tunables", "tunables", BEGINNING)]
    for component in all_components():
        rows = [_row(tunable) for tunable in of_component(component)]
        header = ("Variable", "Values", "Default", "Effect", "Source")
        parts.append(f"\n## {component}\n\n{table(header, rows)}")
    return "".join(parts)


def _row(tunable: Tunable) -> tuple[str, str, str, str, str]:
    values = codes(tunable.values) or f"a file, {code(tunable.file)}"
    return (
        code(tunable.name),
        values,
        code(tunable.default),
        "; ".join(_effects(tunable)),
        f"[source]({tunable.source})",
    )


def _effects(tunable: Tunable) -> Iterator[str]:
    yield tunable.summary
    yield from (NEEDS[need] for need in tunable.needs)
    if tunable.benchmarks:
        yield f"for {codes(tunable.benchmarks)}"
    if tunable.with_:
        yield f"with {codes(f'{name}={value}' for name, value in tunable.with_.items())}"
    if tunable.since:
        yield f"since {tunable.since}"
    if tunable.breaks:
        yield f"may break: {tunable.breaks}"
