# SPDX-License-Identifier: Apache-2.0
"""Predictions with another library's messages, from results made by hand."""

from typing import Any

import pytest

from nearpeak.errors import UserError
from nearpeak.report.what_if import what_if
from nearpeak.terms.identity import Who

BETA = Who("beta", "fast")


def test_its_messages_in_place_of_those_measured(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 1000.0)
    made.plane(made_applications.TWO, 900.0, overlap="yes")
    made.add(made_applications.TWO, "latency", "latency", 25.0, 8000)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000, who=BETA)
    table = what_if(made.results(), "plane", "beta@fast")
    [rows] = table.groups
    [row] = rows.rows  # not with overlap, where messages cost what is not hidden of them
    assert rows.title == "host-host same-numa, side 1000 cells"
    assert row.values["time"].value == 1000.0
    assert row.values["messages"].value == 30.0
    assert row.values["predicted"].value == 985.0
    assert row.values["measured"].value is None


def test_no_more_is_saved_than_messages_took(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.TWO, 50.0)  # 30 of them of messages
    made.add(made_applications.TWO, "latency", "latency", 100.0, 8000)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000, who=BETA)
    with pytest.raises(UserError, match="the study cannot predict plane"):
        what_if(made.results(), "plane", "beta@fast")


def test_what_the_study_does_not_have_is_said(made_applications: Any) -> None:
    made = made_applications.Made()
    made.plane(made_applications.ONE, 1000.0)
    made.add(made_applications.TWO, "latency", "latency", 10.0, 8000, who=BETA)
    results = made.results()
    with pytest.raises(UserError, match="no application 'cube'; there are: plane"):
        what_if(results, "cube", "beta@fast")
    with pytest.raises(
        UserError, match="the study has no messages of 'gamma'; there are: beta@fast"
    ):
        what_if(results, "plane", "gamma")
    with pytest.raises(UserError, match="the study cannot predict plane"):
        what_if(results, "plane", "beta@fast")
