# SPDX-License-Identifier: Apache-2.0
"""The notice that libraries ran with other settings, or with other parts, than as shipped."""

from collections.abc import Iterator

from nearpeak.numbers import agreeing, listed
from nearpeak.results.results import Fact, FindingKind, Results

BRIEF = "Not as shipped."
MOST_NAMED = 6  # variables on the page, which links to all of them and their values


def notice(results: Results, most: int = MOST_NAMED) -> str:
    """`Not as shipped: OMPI_MCA_plm and 2 more were set; modules of openmpi did not load.`; empty
    if nothing changed what was measured. Parts that a library did not look for are no reason.
    `most`: the number of variables from which on one is named."""
    text = "; ".join([*_settings(results, most), *_libraries(results)])
    return f"{BRIEF.removesuffix('.')}: {text}." if text else ""


def briefs(results: Results) -> list[str]:
    """The notice in fewer words each time, the last one without what changed; empty without one."""
    if not notice(results):
        return []
    first, *_ = [*_settings(results, most=1), *_libraries(results)]
    named = f"{first[:1].upper()}{first[1:]}."
    return [f"{BRIEF.removesuffix('.')}: {first}.", named, BRIEF]


def _settings(results: Results, most: int) -> Iterator[str]:
    """Names the variables that launches inherited, and files with settings."""
    inherited = {fact.name for fact in _facts(results, "inherited")}
    if names := sorted(inherited, key=lambda name: (len(name), name)):
        rest = [] if len(names) <= most else [f"{len(names) - 1} more"]
        shown = [*(names[:1] if rest else names), *rest]
        yield f"{listed(shown)} {agreeing(len(names), 'was', 'were')} set"
    if any(_facts(results, "settings_files")):
        yield "a settings file was read"


def _facts(results: Results, kind: FindingKind) -> Iterator[Fact]:
    """Yields the facts of the findings of one kind."""
    for finding in results.findings:
        if finding.kind == kind:
            yield from finding.facts


def _libraries(results: Results) -> Iterator[str]:
    if names := [library.name for library in results.libraries if library.broken]:
        yield f"modules of {listed(names)} did not load"
    tables = [one.who.label for one in results.findings if one.kind == "tuning_tables" and one.who]
    if tables:
        yield f"{listed(list(dict.fromkeys(tables)))} found no tuning table"
