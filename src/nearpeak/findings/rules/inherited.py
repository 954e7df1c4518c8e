# SPDX-License-Identifier: Apache-2.0
"""Inherited variables that are settings of libraries."""

from collections import Counter
from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import CONDITION
from nearpeak.findings.sources import OPEN_MPI_SETTINGS, UCX_SETTINGS, Reference
from nearpeak.libraries.variables import may_read
from nearpeak.machine.doctor import VARIABLES
from nearpeak.results.results import Fact, Source


def find(view: View) -> Iterator[Noticed]:
    """The variables that doctor named, with the values that launches recorded whose library may
    read them."""
    diagnoses = view.observations.machine.diagnoses
    names = {
        name for diagnosis in diagnoses if diagnosis.id == VARIABLES for name in diagnosis.variables
    }
    values: Counter[tuple[str, str]] = Counter()
    for launch in view.launches:
        family = view.families.get(launch.who, "")
        for condition, value in launch.conditions.items():
            name = condition.removeprefix(CONDITION)
            if condition.startswith(CONDITION) and name in names and may_read(family, name):
                values[name, value] += 1
    facts = [
        Fact(of="variable", name=name, value=value, launches=launches)
        for (name, value), launches in sorted(values.items())
    ]
    if facts:
        yield Noticed(facts)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"Launches inherited settings of their libraries: {it.facts('=')}."


RULE = Rule(
    name="inherited",
    tells="Launches inherited variables that their library may read as settings, from the shell or"
    " the container: the settings called `default` are not a library's own.",
    find=find,
    origin="settings",
    headline="launches inherited settings of their libraries from the shell",
    sentence=sentence,
    remedy="Unset these variables, or give them to the study as named settings.",
    sources=[
        OPEN_MPI_SETTINGS._replace(names="OMPI_MCA_"),
        UCX_SETTINGS._replace(names="UCX_"),
        Reference(
            Source(
                text="MPICH, its configuration variables",
                address="https://github.com/pmodels/mpich/blob/main/doc/wiki/cvar.md",
            ),
            names="MPIR_CVAR_",
        ),
        Reference(
            Source(
                text="Intel MPI, impi_info: the variables of the environment that it reads",
                address="https://intel.com/content/www/us/en/docs/mpi-library/"
                "developer-reference-linux/2021-15/impi-info.html",
            ),
            names="I_MPI_",
        ),
    ],
)
