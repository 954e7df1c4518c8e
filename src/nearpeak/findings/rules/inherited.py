# SPDX-License-Identifier: Apache-2.0
"""Variables that every launch inherits, and that change what libraries do."""

import re
from collections import Counter
from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sources import OPEN_MPI_SETTINGS
from nearpeak.machine.doctor import NO_SETTINGS
from nearpeak.results.results import Fact

DOCTOR = "settings-variables"
ENV = "env "  # how the conditions of a launch name its variables


def find(view: View) -> Iterator[Noticed]:
    """Those that doctor named, with the values that launches recorded."""
    told = " ".join(view.told(DOCTOR))
    names = set(re.findall(r"\w+", told)) - set(NO_SETTINGS)
    values: Counter[tuple[str, str]] = Counter()
    for launch in view.launches:
        for condition, value in launch.conditions.items():
            name = condition.removeprefix(ENV)
            if condition.startswith(ENV) and name in names:
                values[name, value] += 1
    facts = [
        Fact(of="variable", name=name, value=value, launches=launches)
        for (name, value), launches in sorted(values.items())
    ]
    if facts:
        yield Noticed(facts)


RULE = Rule(
    name="inherited",
    tells="Launches inherited variables that are settings of a library, from the shell or the"
    " container: the settings called `default` are not a library's own.",
    find=find,
    remedy="Unset these variables, or give them to the study as named settings.",
    sources=[OPEN_MPI_SETTINGS],
)
