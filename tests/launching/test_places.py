# SPDX-License-Identifier: Apache-2.0
"""A launch whose ranks hold other devices than its path says is not believed."""

from types import ModuleType
from typing import Any

import pytest

from nearpeak.launching.places import misplaced, wanted_at
from nearpeak.launching.program_records import EnvironmentRecord


def ran_on(*devices: str | None) -> EnvironmentRecord:
    ranks: list[dict[str, Any]] = [
        {"rank": rank, "host": "a", "cpus": [rank], "device": {"uuid": uuid} if uuid else None}
        for rank, uuid in enumerate(devices)
    ]
    return EnvironmentRecord(
        program="", version="", library_version=None, ranks=ranks, clock={}, env={}
    )


@pytest.mark.parametrize(
    ("device", "ran", "said"),
    [
        ("GPU-0", "GPU-0", ""),
        ("GPU-0", "GPU-1", "rank 0 ran on device GPU-1, wanted GPU-0"),
        ("GPU-0", None, "rank 0 ran on device None, wanted GPU-0"),
        ("-", None, ""),
        ("-", "GPU-1", "rank 0 ran on device GPU-1, wanted none"),
        (None, "GPU-1", ""),  # an older plan does not say
    ],
)
def test_the_rank_of_the_host_holds_what_the_path_says(
    standins: ModuleType, device: str | None, ran: str | None, said: str
) -> None:
    path = standins.gpu_path("host-gpu near", device=device)
    wanted = wanted_at(path.ends, between_hosts=False)
    assert misplaced(wanted, ran_on(ran, "GPU-1")) == said
