# SPDX-License-Identifier: Apache-2.0
"""Files with settings that libraries read by default."""

from collections.abc import Iterator

from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import diagnosed
from nearpeak.findings.sources import OPEN_MPI_SETTINGS, UCX_SETTINGS

DOCTOR = "settings-file"


def find(view: View) -> Iterator[Noticed]:
    """The files that doctor found before the study."""
    if facts := view.doctor(DOCTOR):
        yield Noticed(facts)


RULE = Rule(
    name="settings_files",
    tells="A file that UCX, Open MPI or NCCL read unasked was there before the study (`ucx.conf` in"
    " the working directory, `mca-params.conf`, `.nccl.conf`): the settings called `default` are"
    " not a library's own.",
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
