# SPDX-License-Identifier: Apache-2.0
"""Settings and parts that changed what was measured are named in one line."""

from pathlib import Path

import msgspec
import pytest

from nearpeak.report.as_shipped import briefs, notice
from nearpeak.results.build import from_json
from nearpeak.results.results import Finding, Results
from nearpeak.terms.identity import Who

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_parts_that_did_not_load_are_named(plain: Results, finding: Finding) -> None:
    first, second, *_ = plain.libraries
    plain.findings, first.lacks = [], "the tables of collectives for processors other than emr"
    assert notice(plain) == ""
    second.broken = ["mtl_ofi"]
    assert notice(plain) == f"Not as shipped: modules of {second.name} did not load."
    second.broken = []
    plain.findings = [msgspec.structs.replace(finding, kind="tuning_tables", who=Who("intel"))]
    assert notice(plain) == "Not as shipped: intel found no tuning table."


@pytest.mark.parametrize(
    ("recording", "text"),
    [
        (
            "h200",
            # Intel MPI lacks tables for processors that this machine does not have.
            "Not as shipped: OMPI_MCA_plm, PMIX_MCA_gds and"
            " OMPI_MCA_btl_vader_single_copy_mechanism were set.",
        ),
        (
            "h200x2-host-gpu",
            "Not as shipped: OMPI_MCA_plm, PMIX_MCA_gds and"
            " OMPI_MCA_btl_vader_single_copy_mechanism were set; a settings file was read.",
        ),
        # NCCL_NVLS_ENABLE and .nccl.conf are NCCL's, which was not measured.
        ("h200x2-shipped", ""),
        # None of the inherited variables is of Intel MPI.
        ("h100x4-pairs", "Not as shipped: a settings file was read."),
        (
            "h200x4",
            "Not as shipped: OMPI_MCA_plm, PMIX_MCA_gds, NCCL_NVLS_ENABLE and"
            " OMPI_MCA_btl_vader_single_copy_mechanism were set; a settings file was read.",
        ),
        ("lammps", ""),
    ],
)
def test_what_changed_the_measurement_is_named(recording: str, text: str) -> None:
    assert notice(from_json((EXAMPLES / recording / "results.json").read_bytes())) == text


def test_where_room_is_short_the_first_variable_is_named() -> None:
    results = from_json((EXAMPLES / "h200x2-host-gpu" / "results.json").read_bytes())
    assert notice(results, most=1).startswith("Not as shipped: OMPI_MCA_plm and 2 more were set; ")
    assert briefs(results) == [
        "Not as shipped: OMPI_MCA_plm and 2 more were set.",
        "OMPI_MCA_plm and 2 more were set.",
        "Not as shipped.",
    ]
    assert briefs(from_json((EXAMPLES / "lammps" / "results.json").read_bytes())) == []
