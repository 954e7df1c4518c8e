# SPDX-License-Identifier: Apache-2.0
"""Verdicts: states, what is missing, and the order of several."""

import pytest
from made_tables import (
    H100,
    MIB,
    appraisals,
    appraised,
    bus_us,
    nccl,
    nvbandwidth,
    osu,
    perftest,
    rules,
)

from nearpeak.errors import UserError
from nearpeak.report.appraisals import lines


@pytest.mark.parametrize(
    ("gbs", "state"), [(470.0, "near"), (350.0, "near"), (100.0, "below"), (900.0, "above")]
)
def test_a_figure_is_compared_with_known_hardware(gbs: float, state: str) -> None:
    """Allreduce may exceed rings, as NVSwitch adds up, but not what the links carry."""
    appraisal = appraised(nccl(H100, [bus_us(8192 * MIB, gbs, 8)]))
    assert (appraisal.state, appraisal.machine) == (state, "h100x8-nvlink")
    assert appraisal.value == pytest.approx(gbs, rel=0.001)


def test_more_than_hardware_sustains_is_named() -> None:
    copies = [(size * MIB, 600_000.0) for size in (1, 2, 4)]
    assert appraised(osu("Bandwidth", copies, "DD"), "h100x8-nvlink").state == "above"


def test_without_hardware_a_table_alone_cannot_tell() -> None:
    appraisal = appraised(osu("Bandwidth", [(MIB, 9000.0), (4 * MIB, 9100.0)], "DD"))
    assert (appraisal.state, appraisal.sustained) == ("unsure", [])
    assert appraisal.missing.startswith("which GPUs and links it was")
    assert appraisal.command.startswith("nearpeak study")


def test_hosts_without_nics_cannot_tell() -> None:
    text = nccl(H100, [bus_us(8192 * MIB, 300, 16)], hosts=2)
    appraisal = appraised(text)
    assert appraisal.state == "unsure"
    assert "NICs" in appraisal.missing
    assert appraised(text, "8x400g").sustained[0].path == "8 NICs of 400 Gb/s"


def test_a_log_says_how_many_nics_there_are() -> None:
    log = "node0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eno1"
    text = nccl(H100, [bus_us(8192 * MIB, 40, 16)], hosts=2, log=log)
    assert appraised(text).missing == "the rate of 2 NICs of a host (--machine 2x200g)"


def test_boards_that_differ_are_all_named() -> None:
    """Two A100 have four NVLinks between them, or twelve through NVSwitch."""
    text = nccl("NVIDIA A100-SXM4-40GB", [bus_us(8192 * MIB, 75, 2)], per_host=2)
    appraisal = appraised(text)
    assert (appraisal.state, len(appraisal.sustained)) == ("unsure", 2)
    assert appraised(text, "a100x4-nv4").state == "near"


@pytest.mark.parametrize(("gbs", "state"), [(2.0, "below"), (11.0, "unsure"), (50.0, "near")])
def test_one_gpu_of_a_host_may_use_one_of_several_nics(gbs: float, state: str) -> None:
    text = nccl(H100, [bus_us(8192 * MIB, gbs, 2)], hosts=2, per_host=1)
    assert appraised(text, "8x100g").state == state


def test_several_models_are_named() -> None:
    text = nccl(H100, [bus_us(8192 * MIB, 300, 2)], per_host=2)
    mixed = text.replace(f"[0x01] {H100}", "[0x01] NVIDIA A40")
    assert appraised(mixed).missing == f"what {H100} and NVIDIA A40 sustain together"


@pytest.mark.parametrize("machine", ["", "1x200g"])
def test_latencies_have_a_level_and_no_judgement(machine: str) -> None:
    appraisal = appraised(osu("Latency", [(8, 1.5)]), machine)
    assert (appraisal.state, rules(appraisal)) == ("unsure", ["latency_level"])
    assert appraisal.missing == "how good a latency is, only its level"


def test_a_model_that_is_not_known_is_named() -> None:
    appraisal = appraised(nccl("AMD Instinct MI210", [bus_us(8192 * MIB, 300, 8)]))
    assert (appraisal.state, appraisal.machine) == ("unsure", "")
    assert "AMD Instinct MI210" in appraisal.missing


def test_a_port_that_sends_to_itself_is_no_network() -> None:
    looped = appraised(perftest([(MIB, 11_500.0)], ("0x05", "0x05")), "1x100g")
    assert (looped.state, looped.missing) == ("unsure", "what the network sustains")


def test_messages_in_host_memory_leave_the_caches() -> None:
    text = osu("Bandwidth", [(16384, 20e3), (65536, 22e3), (4 * MIB, 8e3)])
    assert (appraised(text).state, rules(appraised(text))) == ("unsure", ["falls"])


def test_other_gpus_than_those_of_the_file_are_refused() -> None:
    with pytest.raises(UserError, match="the file is of H100 SXM"):
        appraised(nccl(H100, [bus_us(512 * MIB, 300, 8)]), "a100x8-nvlink")


def test_fewer_gpus_than_those_of_the_file_are_refused() -> None:
    with pytest.raises(UserError, match="the file has 8 GPUs of a host"):
        appraised(nccl(H100, [bus_us(512 * MIB, 300, 8)]), "h100x4-nvlink")


def test_old_boards_may_have_half_of_the_links_in_rings() -> None:
    text = nccl("Tesla V100-SXM2-16GB", [bus_us(512 * MIB, 60, 4)], per_host=4)
    assert (appraised(text).state, len(appraised(text).sustained)) == ("unsure", 2)


def test_wrong_data_is_no_figure() -> None:
    text = "# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s) Validation\n"
    alone = appraised(f"{text}1048576 9000.00 Fail\n", "1x100g")
    assert list(lines(alone)) == ["Verdict: wrong data: no payload passed validation."]
    mixed = f"{text}1048576 9000.00 Pass\n2097152 9000.00 Fail\n"
    assert appraised(mixed, "1x100g").state == "wrong data"


def test_ranks_of_collectives_may_be_unknown() -> None:
    text = "# OSU MPI Allreduce Latency Test v5.7\n# Size Avg Latency(us)\n8 4.00\n"
    appraisal = appraised(text)
    assert (appraisal.state, appraisal.missing) == ("unsure", "how many ranks there were")


def test_the_worst_of_several_is_first() -> None:
    matrix = [["N/A", "380.00", "90.00"], ["380.00", "N/A", "380.00"], ["380.00", "380.00", "N/A"]]
    pairs = nvbandwidth(H100, "device_to_device_memcpy_write_ce", matrix)
    host = nvbandwidth(H100, "host_to_device_memcpy_ce", [["12.00", "12.00", "12.00"]])
    text = "\n".join([pairs, *host.splitlines()[4:]])
    shown = appraisals(text, "h100x8-nvlink")
    assert [(one.case.buffers, one.state) for one in shown] == [("P,D", "below"), ("D,D", "below")]


def test_reasons_of_a_figure_near_its_ceiling_are_only_remarks() -> None:
    appraisal = appraised(nccl(H100, [bus_us(8192 * MIB, 470, 8)]))
    assert rules(appraisal) == []


@pytest.mark.parametrize(
    ("pairs", "machine", "missing"),
    [
        (4, "h100x8-nvlink", "what several pairs of GPUs sustain"),
        (4, "h100x8-nvlink+8x400g", "what several pairs of GPUs sustain"),
        (1, "h100x8-nvlink", ""),
    ],
)
def test_pairs_of_gpus_at_once_have_no_rate(pairs: int, machine: str, missing: str) -> None:
    text = (
        "# OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.3\n"
        "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# [ pairs: {pairs} ] [ window size: 64 ]\n# Size MB/s Messages/s\n"
        f"4194304 {pairs * 385e3:.2f} 90000.00\n"
    )
    appraisal = appraised(text, machine)
    assert (appraisal.state, appraisal.missing) == ("unsure" if missing else "near", missing)


def test_full_hosts_follow_from_the_gpus_that_are_named() -> None:
    rows = nccl("", [bus_us(8192 * MIB, 370, 32)], hosts=4)
    bare = "\n".join(line for line in rows.splitlines() if not line.startswith("#  Rank"))
    command = "mpirun -np 32 all_reduce_perf\n"
    assert appraised(command + bare).missing == "how many hosts there were: name the GPUs of one"
    appraisal = appraised(command + bare, "h100x8-nvlink+8x400g")
    assert (appraisal.hosts, appraisal.state) == (4, "near")
    few = appraised(command.replace("32", "8") + bare, "h100x8-nvlink+8x400g")
    assert (few.hosts, few.missing) == (None, "how many hosts there were")


def test_a_rate_above_all_nics_was_in_one_host() -> None:
    text = osu("Bandwidth", [(65536, 40e3), (262144, 61e3), (MIB, 30e3), (4 * MIB, 21e3)])
    assert (appraised(text, "1x200g").hosts, appraised(text, "1x800g").hosts) == (1, None)
