# SPDX-License-Identifier: Apache-2.0
"""The notice that libraries ran with other settings, or with other parts, than as shipped."""

from collections.abc import Iterator

from nearpeak.libraries.variables import may_read
from nearpeak.numbers import count, listed
from nearpeak.results.results import FindingKind, Results

BRIEF = "Not as shipped."


def notice(results: Results) -> str:
    """`Not as shipped: launches inherited OMPI_MCA_plm and 2 more settings; modules of openmpi did
    not load.`; empty if nothing changed what was measured. Parts that a library did not look for
    are no reason."""
    text = "; ".join([*_settings(results), *_libraries(results)])
    return f"{BRIEF.removesuffix('.')}: {text}." if text else ""


def _settings(results: Results) -> Iterator[str]:
    """Names the variables that a measured library may read, and files with settings."""
    sources = []
    inherited = [name for name in _facts(results, "inherited") if _is_read(results, name)]
    if names := sorted(inherited, key=len):
        rest = f" and {count(len(names) - 1, 'more setting')}" if names[1:] else ""
        sources.append(f"inherited {names[0]}{rest}")
    if list(_facts(results, "settings_files")):
        sources.append("read a settings file")
    if sources:
        yield f"launches {listed(sources)}"


def _is_read(results: Results, name: str) -> bool:
    """True if a measured library may read a variable; those of NCCL are for NCCL alone."""
    if name.startswith("NCCL_"):
        return any(not library.mpi for library in results.libraries)
    return any(may_read(library.family, name) for library in results.libraries if library.mpi)


def _facts(results: Results, kind: FindingKind) -> Iterator[str]:
    """Yields the names of the facts of the findings of one kind."""
    for finding in results.findings:
        if finding.kind == kind:
            yield from dict.fromkeys(fact.name for fact in finding.facts)


def _libraries(results: Results) -> Iterator[str]:
    if names := [library.name for library in results.libraries if library.broken]:
        yield f"modules of {listed(names)} did not load"
    tables = [one.who.label for one in results.findings if one.kind == "tuning_tables" and one.who]
    if tables:
        yield f"{listed(list(dict.fromkeys(tables)))} found no tuning table"
