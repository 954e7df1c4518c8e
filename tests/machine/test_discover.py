# SPDX-License-Identifier: Apache-2.0
"""Which source tells what the machine is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.machine import discover as discovery
from nearpeak.machine.lstopo import lstopo_xml


def test_this_machine_from_lstopo_where_there_is_one() -> None:
    found = discovery.discover()
    assert found.source == ("lstopo" if lstopo_xml() else "sysfs")
    assert found.cores


def test_another_xml_falls_back_to_sysfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "lstopo_xml", lambda: "<topology version='1.0'/>")
    assert discovery.discover().source == "sysfs"


def test_a_recorded_machine_is_read_as_sysfs(recorded: Callable[[str], Path]) -> None:
    found = discovery.discover(recorded("grace-hopper"))
    assert found.source == "sysfs"
    assert len(found.cores) == 72
