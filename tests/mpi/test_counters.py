# SPDX-License-Identifier: Apache-2.0
"""Bytes that links count while a library is measured, beside the payload."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import one_library

from nearpeak.libraries.families import all_families

pytestmark = one_library

QUICK = ("--slot-ms", "2", "--in-flight", "4M")
MIB = 1 << 20


def counted_by_kind(done: Any, record: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """What all links of a kind sent and received."""
    (environment,) = done.of("environment")
    links = environment["counters"]["links"]
    sums: dict[str, tuple[int, int]] = {}
    for on in record["counted"]["links"]:
        link = links[on["link"]]
        kind = "loopback" if link["name"] == "lo" else link["kind"]
        sent, received = sums.get(kind, (0, 0))
        sums[kind] = sent + on["sent_bytes"], received + on["received_bytes"]
    return sums


def test_tcp_inside_a_host_is_counted_on_loopback(launcher: Any) -> None:
    env = all_families()[launcher.library.family].network_only.env
    done = launcher.run("bw", "--sizes", "1M", *QUICK, env=env)
    assert done.measured() == {"bw"}
    (record,) = done.of("samples")
    sent = record["counted"]["payload"]["sent_bytes"]
    assert sent == [record["counted"]["payload"]["received_bytes"][1], 0]
    iterations = record["iterations"] + record["warmup_iterations"]
    assert sent[0] >= iterations * record["window"] * MIB
    out, back = counted_by_kind(done, record)["loopback"]
    assert sent[0] <= out
    assert sent[0] <= back
    assert record["counted"]["reading_us"] >= 0
    assert record["counted"]["seconds"] > record["seconds"]


def test_shared_memory_is_counted_on_no_link(launcher: Any) -> None:
    done = launcher.run("bw", "--sizes", "1M", *QUICK)
    (record,) = done.of("samples")
    assert record["counted"]["payload"]["sent_bytes"][0] >= MIB
    out, _ = counted_by_kind(done, record).get("loopback", (0, 0))
    assert out < record["counted"]["payload"]["sent_bytes"][0] / 10


def test_the_first_rank_reads_the_gpus_of_all(launcher: Any, fake_nvml: Path) -> None:
    env = {
        "NEARPEAK_NVML_LIBRARY": str(fake_nvml),
        "NEARPEAK_FAKE_NVML": "nvlink=1000,pcie=64",
    }
    done = launcher.run(
        "latency", "--buffers", "D,D", "--sizes", "64K", *QUICK, fake="reachable=1", env=env
    )
    assert done.measured() == {"latency"}
    (environment,) = done.of("environment")
    uuids = [rank["device"]["uuid"] for rank in environment["ranks"]]
    assert len(set(uuids)) == 2
    gpus = [link for link in environment["counters"]["links"] if link["kind"] in ("nvlink", "pcie")]
    assert [(link["rank"], link["kind"], link["name"]) for link in gpus] == [
        (0, kind, uuid) for uuid in uuids for kind in ("nvlink", "pcie")
    ]
    (record,) = done.of("samples")
    sent, received = counted_by_kind(done, record)["nvlink"]
    assert sent > 0
    assert received > 0
    assert sent % (1000 * 1024) == received % (1000 * 1024) == 0


def test_a_launch_asks_nvml_once_for_each_gpu_and_only_where_messages_are_large(
    launcher: Any, fake_nvml: Path, tmp_path: Path
) -> None:
    calls = tmp_path / "calls.txt"
    env = {
        "NEARPEAK_NVML_LIBRARY": str(fake_nvml),
        "NEARPEAK_FAKE_NVML": "generation=1,width=1",  # wraps after 14 s: nothing between readings
        "NEARPEAK_FAKE_NVML_CALLS": str(calls),
    }
    line = ("latency", "--buffers", "D,D", "--sizes", "8,1K,64K,256K", *QUICK)
    done = launcher.run(*line, fake="reachable=1", env=env)
    assert done.measured() == {"latency"}
    counted = {record["size_bytes"]: "counted" in record for record in done.of("samples")}
    assert counted == {8: False, 1024: False, 65536: True, 262144: True}
    gpus, readings = 2, 4  # when it is opened, before the first large size, and after each
    assert Counter(calls.read_text().splitlines()) == {
        "nvmlInit_v2": 1,
        "nvmlDeviceGetHandleByUUID": gpus,
        "nvmlDeviceGetFieldValues 4": gpus * readings,
    }


def test_ranks_that_share_a_gpu_read_it_once(launcher: Any, fake_nvml: Path) -> None:
    env = {"NEARPEAK_NVML_LIBRARY": str(fake_nvml), "NEARPEAK_FAKE_NVML": "nvlink=1"}
    one = ("--devices", "0*2")
    line = ("latency", "--buffers", "D,D", "--sizes", "8", *one, *QUICK)
    done = launcher.run(*line, fake="reachable=1", env=env)
    (environment,) = done.of("environment")
    kinds = [link["kind"] for link in environment["counters"]["links"]]
    assert kinds.count("nvlink") == kinds.count("pcie") == 1


def test_what_cannot_be_read_says_why_once(launcher: Any) -> None:
    env = {"NEARPEAK_NVML_LIBRARY": "/nowhere/libnvidia-ml.so"}
    done = launcher.run(
        "latency", "--buffers", "D,D", "--sizes", "64K", *QUICK, fake="reachable=1", env=env
    )
    (environment,) = done.of("environment")
    unread = environment["counters"]["unread"]
    assert [(one["kind"], one["rank"]) for one in unread] == [("nvlink", 0), ("pcie", 0)]
    assert all("/nowhere/libnvidia-ml.so" in one["why"] for one in unread)
    for record in done.of("samples"):
        assert {"nvlink", "pcie"}.isdisjoint(counted_by_kind(done, record))


def test_an_option_turns_it_off(launcher: Any) -> None:
    done = launcher.run("latency", "--sizes", "8", *QUICK, "--no-counters")
    assert done.measured() == {"latency"}
    (environment,) = done.of("environment")
    assert "counters" not in environment
    assert all("counted" not in record for record in done.of("samples"))


def test_of_several_metrics_the_first_has_the_bytes(launcher: Any) -> None:
    done = launcher.run("mbw_mr", "--sizes", "64K", *QUICK)
    counted = {record["metric"]: record.get("counted") for record in done.of("samples")}
    assert counted["mr"] is None
    payload = counted["mbw"]["payload"]["sent_bytes"]
    assert payload[0] % (64 << 10) == 0
    assert payload[1] == 0


@pytest.mark.parametrize("name", ["allreduce", "isend_irecv", "stream_latency"])
def test_operations_without_one_payload_have_bytes_alone(
    launcher: Any, fake_nvrtc: Path, name: str
) -> None:
    env = {"NEARPEAK_NVRTC_LIBRARY": str(fake_nvrtc)}
    done = launcher.run(
        name, "--buffers", "D", "--sizes", "64K", *QUICK, fake="reachable=1", env=env
    )
    assert done.measured() == {name}
    assert done.of("samples")[0]["counted"]["payload"] is None
