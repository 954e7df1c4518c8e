# SPDX-License-Identifier: Apache-2.0
"""Settings and parts that changed what was measured are named in one line."""

from pathlib import Path

import pytest

from nearpeak.report.as_shipped import notice
from nearpeak.results.build import from_json

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("recording", "text"),
    [
        (
            "h200x2-shipped",
            "Not as shipped: launches inherited OMPI_MCA_plm and 2 more settings and read a"
            " settings file; intel lacks parts.",
        ),
        # None of the inherited variables is of Intel MPI.
        ("h100x4-pairs", "Not as shipped: launches read a settings file."),
        (
            "h200x4",
            "Not as shipped: launches inherited OMPI_MCA_plm and 3 more settings and read a"
            " settings file.",
        ),
        ("lammps", ""),
    ],
)
def test_what_changed_the_measurement_is_named(recording: str, text: str) -> None:
    assert notice(from_json((EXAMPLES / recording / "results.json").read_bytes())) == text
