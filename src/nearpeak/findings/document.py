# SPDX-License-Identifier: Apache-2.0
"""docs/reference/rules.md, made of the rules: `python -m nearpeak.findings.document >
docs/reference/rules.md`."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Rule
from nearpeak.findings.rules import all_rules
from nearpeak.findings.settings import COMPONENTS, SHARED
from nearpeak.markdown import filled

BEGINNING = """# Rules

The rules by which a report finds losses in the figures of a study, and facts in what was recorded
with them. Each rule is a file in `src/nearpeak/findings/rules`; `python -m
nearpeak.findings.document > docs/reference/rules.md` makes this page from these files.
[results.json](results.md#finding) has the fields of a finding; its `kind` is the name of
the rule.

- [statistics.md](../methods/statistics.md#findings) has the order of findings, what costs
  most time first, and the test that confirms a loss.
- Ratios, and the ratios of ceilings, are those of each block. Ceilings are the best that a library
  can reach.
- The origin of a loss is *software*: the library, or what it is asked to do; *settings* of the
  library, the machine or its system; *placement* of ranks; or *hardware* below what it should
  sustain.
- A finding names a setting only if its library reads it and nothing sets it already: the library's
  environment, named settings, or what launches inherit.
- A finding cites a source only if the source is about its library, memory and number of hosts.

A finding in messages (`nearpeak explain`) is confirmed under these conditions:

- Ten messages or more were analysed.
- They are of one of three or more launches with the tracer; as many ran without it.
- The share is large enough even if all the time that the tracer adds lies in these parts, by the
  launches that differ most.

An explanation makes no finding if events, records or ranks are missing, if the driver was not seen,
or if messages take more than 3 times as long with the tracer. Nor does one of another library,
version or path than the study has. Calls of the benchmark itself to the driver are no sign of the
library.
"""


def document() -> str:
    """The complete page."""
    return BEGINNING + "".join(f"\n{part}\n" for rule in all_rules() for part in _parts(rule))


def _parts(rule: Rule) -> Iterator[str]:
    yield f"## {rule.name}"
    yield filled(rule.tells)
    yield filled(f"**Origin.** {rule.origin.capitalize()}.")
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
