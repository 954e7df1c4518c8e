# SPDX-License-Identifier: Apache-2.0
"""docs/rules.md, made of the rules: `python -m nearpeak.findings.document > docs/rules.md`."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Rule
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import COMPONENTS, SHARED
from nearpeak.markdown import filled

BEGINNING = """# Rules

What a report finds in the figures of a study, and in what was recorded beside them. Each rule is
a file in `src/nearpeak/findings/rules`, and this page is made from these files (`python -m
nearpeak.findings.document > docs/rules.md`). [results.json](reference/results.md#finding) has the
fields of a finding, where `kind` is the name of its rule.
[methodology.md](methodology.md#findings) says when a loss is sure. Ratios, and the ceilings'
ratios, are those of each block; ceilings are the best that a library can reach. Settings are
named to who runs the library that reads them, where nothing in force sets them: its own
environment, named settings, or what launches inherit. A source stands under findings of the
libraries, the memory and the hosts alone that it is about.

What messages show (`nearpeak explain`) is sure if 10 or more were looked at, in one of three or
more launches with the tracer beside as many without, and if the share were no less with all
that a message takes longer with it, by those launches that differ most, in these parts. Nothing is
told of explanations with lost events or records, missing ranks, an unseen driver or more than 3
times the time, nor of another library, version or path than the study has. What the benchmark
itself asks of the driver is no sign of the library.
"""


def document() -> str:
    """The complete page."""
    return BEGINNING + "".join(f"\n{part}\n" for rule in all_rules() for part in _parts(rule))


def _parts(rule: Rule) -> Iterator[str]:
    yield f"## {rule.name}"
    yield filled(rule.tells)
    yield filled(f"**Remedy.** {rule.remedy}")
    for setting in rule.settings:
        scope = ", host memory inside a host," if setting.component == SHARED else ""
        scope = ", buffers in a GPU," if setting.of_device else scope
        assignment = f"{COMPONENTS[setting.component]}{scope} `{setting.name}={setting.value}`"
        yield filled(f"**Setting.** {assignment}: {setting.effect}.")
    for setting in rule.reasons:
        assignment = f"{COMPONENTS[setting.component]} `{setting.name}={setting.value}`"
        yield filled(f"**May be the reason.** {assignment}: {setting.effect}.")
    for reference in rule.sources:
        source = reference.source
        only = f" (for {reference.conditions})" if reference.conditions else ""
        yield filled(f"**Source.** [{source.text}]({source.address}){only}")


if __name__ == "__main__":
    print(document(), end="")
