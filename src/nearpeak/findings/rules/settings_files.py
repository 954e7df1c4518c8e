# SPDX-License-Identifier: Apache-2.0
"""Files with settings that libraries read by default."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import diagnosed
from nearpeak.findings.sources import OPEN_MPI_SETTINGS, UCX_SETTINGS
from nearpeak.libraries.variables import may_read
from nearpeak.machine.doctor import SETTINGS_FILE
from nearpeak.results.results import Fact


def find(view: View) -> Iterator[Noticed]:
    """The files that doctor found before the study, and that a measured library may read."""
    families = {*view.families.values()}
    facts = [
        Fact(of="doctor", name=SETTINGS_FILE, value=entry.message)
        for entry in view.diagnoses(SETTINGS_FILE)
        if any(may_read(family, entry.settings_prefix) for family in families)
    ]
    if facts:
        yield Noticed(facts)


RULE = Rule(
    name="settings_files",
    tells="A file that a measured library may read unasked was there before the study (`ucx.conf`"
    " in the working directory, Open MPI's `mca-params.conf`, NCCL's `.nccl.conf`): the settings"
    " called `default` are not a library's own.",
    find=find,
    origin="settings",
    headline="{it.diagnosis}",
    sentence=diagnosed,
    remedy="Move the file away, and give its settings to the study as named settings.",
    sources=[
        OPEN_MPI_SETTINGS._replace(names="mca-params.conf"),
        UCX_SETTINGS._replace(names="ucx.conf"),
    ],
)
