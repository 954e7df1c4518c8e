# SPDX-License-Identifier: Apache-2.0
"""Runs that were cut off."""

import pytest
from made_tables import H100, MIB, appraised, bus_us, nccl, rules

TABLE = nccl(H100, [bus_us(8192 * MIB, 470, 8)])
END = "# Out of bounds values : 0 OK"


@pytest.mark.parametrize(("text", "said"), [(TABLE.replace(END, ""), True), (TABLE, False)])
def test_a_run_that_did_not_finish_is_named(text: str, said: bool) -> None:
    appraisal = appraised(text)
    assert appraisal.state == "near"
    assert ("unfinished" in rules(appraisal)) is said
