# SPDX-License-Identifier: Apache-2.0
"""What spoils a measurement, on recorded machines."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from nearpeak.machine import doctor
from nearpeak.machine.doctor import examine, user_settings_files, with_prefixes
from nearpeak.machine.machine import Diagnosis
from nearpeak.machine.patient import Patient
from nearpeak.machine.sysfs import from_sysfs
from nearpeak.machine.tree import RecordedTree

Recorded = Callable[[str], Path]
Put = Callable[[Path, str, str], None]


def find(root: Path, name: str, ranks: int = 2, files: list[Path] | None = None) -> Diagnosis:
    findings = examine(root, ranks, files or [])
    return next(finding for finding in findings if finding.id == name)


def test_a_finding_that_is_not_ok_says_what_to_do(any_machine: Path) -> None:
    for ranks in (2, 1000):
        findings = examine(any_machine, ranks, [])
        assert {finding.severity for finding in findings} <= {"bad", "warn", "ok"}
        for finding in findings:
            assert (finding.hint != "") == (finding.severity != "ok"), finding
            assert "\n" not in finding.message + finding.hint


def test_a_quiet_server_is_healthy(recorded: Recorded) -> None:
    findings = examine(recorded("two-sockets-smt"), 2, [])
    assert [finding for finding in findings if finding.severity != "ok"] == []
    assert {"cores", "smt", "shared-memory", "single-copy", "governor", "turbo", "load"} <= {
        finding.id for finding in findings
    }


def test_fewer_cores_than_ranks(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    assert find(root, "cores", 40).severity == "ok"
    assert find(root, "cores", 41).severity == "bad"
    put(root, "proc/self/status", "Cpus_allowed_list: 0,40")
    assert find(root, "cores").severity == "bad"  # two logical CPUs, but one core
    assert "1 of 40 cores" in find(root, "cores").message


def test_cores_of_no_numa_node_are_told(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    put(root, "sys/devices/system/node/node0/cpulist", "")
    count, homeless = (finding for finding in examine(root, 2, []) if finding.id == "cores")
    assert "20 of 40 cores usable" in count.message
    assert homeless.severity == "warn"
    assert "belong to no NUMA node" in homeless.message


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SLURM_JOB_CPUS_PER_NODE": "80(x2)"}, None),
        ({"SLURM_JOB_CPUS_PER_NODE": "80,4(x3)"}, "the job has 4 of the 80 CPUs"),
        ({"SLURM_JOB_CPUS_PER_NODE": "80(x2)", "SLURM_CPUS_ON_NODE": "2"}, "the job has 2 of"),
    ],
)
def test_a_job_with_fewer_cpus_than_it_may_use(
    recorded: Recorded, environment: dict[str, str], words: str | None
) -> None:
    found = examine(recorded("two-sockets-smt"), 2, [], environment)
    said = [finding.message for finding in found if finding.id == "job-cpus"]
    assert [words in message for message in said if words] == ([True] if words else [])
    assert bool(said) == bool(words)


@pytest.mark.parametrize(
    ("told", "severity", "words"),
    [
        ("n1\\nn2", "bad", "this is a login node of Slurm's"),
        (f"n1\\n{socket.gethostname()}", "warn", "this is a node of Slurm's, but no job"),
        ("", None, ""),  # nobody answers
    ],
)
def test_outside_of_a_job_of_slurm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str, severity: str | None, words: str
) -> None:
    (tmp_path / "sinfo").write_text(f"#!/bin/sh\nprintf '{told}\\n'\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("FLUX_URI", "SLURM_JOB_ID", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)
    said = [found for found in examine(settings_files=[]) if found.id == "outside-job"]
    assert [found.severity for found in said] == ([severity] if severity else [])
    assert all(words in found.message for found in said)
    assert all(
        "srun --nodes=1 --exclusive nearpeak machine --check" in found.hint for found in said
    )
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "outside-job" not in [found.id for found in examine(settings_files=[])]


def test_siblings_that_belong_to_others(recorded: Recorded, put: Put) -> None:
    root = recorded("two-sockets-smt")
    put(root, "proc/self/status", "Cpus_allowed_list: 0,2")
    finding = find(root, "smt")
    assert finding.severity == "warn"
    assert "40,42" in finding.message


def test_small_shared_memory(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    mount = "25 24 0:23 / /dev/shm rw - tmpfs shm rw,size={}k"
    for size, severity in ((65536, "bad"), (200 * 1024, "warn"), (256 * 1024, "ok")):
        put(root, "proc/self/mountinfo", mount.format(size))
        assert find(root, "shared-memory").severity == severity
    put(root, "proc/self/mountinfo", mount.format(65536))
    assert "--shm-size=256m" in find(root, "shared-memory").hint
    assert "--shm-size=512m" in find(root, "shared-memory", 4).hint
    put(root, "proc/self/mountinfo", "")
    assert "not mounted" in find(root, "shared-memory").message


@pytest.mark.parametrize(
    "options", ["ro - tmpfs shm rw", "ro,nosuid - tmpfs shm rw", "rw - tmpfs shm ro,size=1g"]
)
def test_shared_memory_that_was_mounted_read_only(
    recorded: Recorded, put: Put, options: str
) -> None:
    root = recorded("one-socket")
    put(root, "proc/self/mountinfo", f"25 24 0:23 / /dev/shm {options}")
    finding = find(root, "shared-memory")
    assert finding.severity == "bad"
    assert "cannot be written to (Read-only file system)" in finding.message
    assert finding.hint.startswith("mount -o remount,rw /dev/shm")


@pytest.mark.parametrize(
    ("refusal", "hint"),
    [
        (errno.EROFS, "mount -o remount,rw /dev/shm"),
        (errno.EACCES, "chmod 1777 /dev/shm"),
        (errno.ENOSPC, "remove what ended programs left in /dev/shm"),
        (errno.EIO, "umount /dev/shm; mount"),
    ],
)
def test_shared_memory_that_takes_no_file(
    monkeypatch: pytest.MonkeyPatch, refusal: int, hint: str
) -> None:
    monkeypatch.setattr(doctor, "shm_bytes", lambda _: 1 << 40)
    monkeypatch.setattr(doctor, "shm_refusal", lambda _: refusal)
    finding = find(Path("/"), "shared-memory")
    assert finding.severity == "bad"
    assert os.strerror(refusal) in finding.message
    assert finding.hint.startswith(hint)


@pytest.mark.parametrize(
    ("room", "taken", "hint"),
    [
        (10, 0, "a window of 64 large messages"),
        (10, 400, "remove what ended programs left in /dev/shm (400 MiB are taken)"),
        (200, 56, "remove what ended programs left"),
    ],
)
def test_small_shared_memory_is_emptied_before_it_grows(
    monkeypatch: pytest.MonkeyPatch, room: int, taken: int, hint: str
) -> None:
    monkeypatch.setattr(doctor, "shm_bytes", lambda _: room << 20)
    monkeypatch.setattr(doctor, "shm_taken", lambda _: taken << 20)
    monkeypatch.setattr(doctor, "shm_refusal", lambda _: 0)
    assert find(Path("/"), "shared-memory").hint.startswith(hint)


YAMA, CONTAINER = "sysctl kernel.yama.ptrace_scope=0", "in a container: a seccomp profile"


@pytest.mark.parametrize(
    ("scope", "seccomp", "refusal", "first", "then"),
    [
        (0, "2", errno.EPERM, CONTAINER, "SYS_PTRACE"),
        (0, "0", errno.EPERM, CONTAINER, "SELinux"),
        (1, "2", errno.EPERM, CONTAINER, YAMA),
        (1, "0", 0, YAMA, "SYS_PTRACE"),
        (2, "0", errno.EPERM, YAMA, "SYS_PTRACE"),
        (3, "0", errno.EPERM, "restart the machine", YAMA),
        (0, "2", errno.ENOSYS, CONTAINER, "CONFIG_CROSS_MEMORY_ATTACH"),
    ],
)
def test_the_likeliest_remedy_of_single_copy_comes_first(
    recorded: Recorded, scope: int, seccomp: str, refusal: int, first: str, then: str
) -> None:
    machine = doctor.discover(recorded("one-socket"))
    patient = Patient(
        tree=RecordedTree(Path("none"), {"proc/self/status": f"Seccomp:\t{seccomp}"}),
        nvidia=RecordedTree(Path("none"), {}),
        machine=machine,
        ranks=2,
        settings_files=[],
        environment={},
    )
    hint = doctor.cma_remedy(patient, scope, refusal)
    assert hint.startswith(first)
    assert then in hint
    assert (YAMA in hint) == (scope > 0)


@pytest.mark.parametrize(
    ("scope", "capabilities", "severity", "words"),
    [
        (0, "0", "ok", "works"),
        (1, "0", "warn", "only for ranks that permit it"),
        (2, "0", "warn", "forbidden"),
        (2, f"{1 << 19:x}", "ok", "works"),
        (3, f"{1 << 19:x}", "warn", "forbidden"),
    ],
)
def test_ptrace_scope(
    recorded: Recorded, put: Put, scope: int, capabilities: str, severity: str, words: str
) -> None:
    root = recorded("one-socket")
    put(root, "proc/sys/kernel/yama/ptrace_scope", str(scope))
    put(root, "proc/self/status", f"CapEff: {capabilities}")
    finding = find(root, "single-copy")
    assert finding.severity == severity
    assert words in finding.message


@pytest.mark.parametrize(
    ("plain", "permitted", "severity", "words"),
    [
        (0, 0, "ok", "works"),
        (errno.EPERM, 0, "warn", "only for ranks that permit it"),
        (errno.EPERM, errno.EPERM, "warn", "forbidden (EPERM"),
        (errno.ENOSYS, errno.ENOSYS, "warn", "forbidden (ENOSYS"),
    ],
)
def test_the_attempt_decides_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, plain: int, permitted: int, severity: str, words: str
) -> None:
    monkeypatch.setattr(doctor, "read_sibling", lambda permit: permitted if permit else plain)
    finding = find(Path("/"), "single-copy")
    assert finding.severity == severity
    assert words in finding.message


def test_memory_binding(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(recorded("one-socket"), "memory-binding").severity == "ok"
    # GPU memory and empty nodes are no reason to bind.
    assert "memory-binding" not in [f.id for f in examine(recorded("two-sockets-smt"), 2, [])]
    two = doctor.discover(recorded("two-sockets-smt"))
    monkeypatch.setattr(doctor, "discover", lambda _: two)
    for result, severity in ((0, "ok"), (errno.EPERM, "bad")):
        monkeypatch.setattr(doctor, "bind_memory", lambda _, result=result: result)
        assert find(Path("/"), "memory-binding").severity == severity
    monkeypatch.setattr(doctor, "bind_memory", lambda _: None)
    assert "memory-binding" not in [finding.id for finding in examine(Path("/"), 2, [])]


def test_governor_and_turbo(recorded: Recorded) -> None:
    assert find(recorded("one-socket"), "governor").severity == "warn"
    assert "powersave" in find(recorded("one-socket"), "governor").message
    assert find(recorded("two-sockets-smt"), "turbo").message == "turbo is off"
    assert find(recorded("epyc-nps4"), "turbo").message.startswith("turbo is on")
    assert find(recorded("cloud-vm"), "governor").severity == "ok"


def test_cpu_quota(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    assert find(root, "cpu-quota").severity == "ok"
    put(root, "sys/fs/cgroup/cpu.max", "200000 100000")
    assert find(root, "cpu-quota", 2).severity == "warn"
    assert find(root, "cpu-quota", 3).severity == "bad"


def test_memory(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")
    assert find(root, "memory").severity == "ok"
    put(root, "proc/meminfo", "MemTotal: 32768000 kB\nMemAvailable: 1000000 kB")
    assert find(root, "memory").severity == "bad"
    put(root, "proc/meminfo", "MemTotal: 32768000 kB\nMemAvailable: 30000000 kB")
    put(root, "sys/fs/cgroup/memory.max", "536870912")
    assert "512 MiB" in find(root, "memory").message
    assert find(root, "memory").severity == "bad"


def test_stray_settings_files(recorded: Recorded, put: Put, tmp_path: Path) -> None:
    root = recorded("one-socket")
    stray = tmp_path / "ucx.conf"
    beyond = tmp_path / ("x" * 300) / "ucx.conf"  # refused, as what may not be entered
    assert find(root, "settings-file", files=[stray, beyond]).severity == "ok"
    stray.write_text("UCX_TLS=tcp\n")
    finding = find(root, "settings-file", files=[stray])
    assert finding.severity == "bad"
    assert finding.message.startswith(f"{stray} changes UCX's settings:")
    for name, owner, prefix in (
        (".nccl.conf", "NCCL", "NCCL_"),
        ("mca-params.conf", "Open MPI", "OMPI_MCA_"),
    ):
        file = tmp_path / name
        file.write_text("")
        finding = find(root, "settings-file", files=[file])
        assert f"{name} changes {owner}'s settings" in finding.message
        assert finding.settings_prefix == prefix
    put(root, "etc/ucx/ucx.conf", "")
    finding = find(root, "settings-file")
    assert (finding.severity, finding.settings_prefix) == ("warn", "UCX_")


@pytest.mark.parametrize(
    ("message", "prefix"),
    [
        ("/home/a user/.nccl.conf changes NCCL's settings: ...", "NCCL_"),
        ("/etc/ucx/ucx.conf changes UCX's settings for every user of this machine", "UCX_"),
        ("dir1 changes Open MPI's settings: ...", ""),  # published without its name
        ("no stray settings file", ""),
    ],
)
def test_a_recording_without_the_prefix_has_it_by_the_files_name(
    recorded: Recorded, message: str, prefix: str
) -> None:
    older = Diagnosis(severity="bad", id="settings-file", message=message)
    other = Diagnosis(severity="bad", id="load", message="ucx.conf changes")
    machine = msgspec.structs.replace(from_sysfs(recorded("one-socket")), diagnoses=[older, other])
    assert [each.settings_prefix for each in with_prefixes(machine).diagnoses] == [prefix, ""]


def test_settings_that_launches_would_inherit(recorded: Recorded) -> None:
    given = {"UCX_TLS": "tcp", "OMPI_MCA_btl": "self", "I_MPI_ROOT": "/opt/mpi", "HOME": "/root"}
    given["NCCL_VERSION"] = "2.28.3-1"  # of the container, and no setting
    found = examine(recorded("one-socket"), 2, [], given)
    (finding,) = [diagnosis for diagnosis in found if diagnosis.id == "settings-variables"]
    assert finding.severity == "warn"
    assert "inherits OMPI_MCA_btl, UCX_TLS:" in finding.message
    assert finding.variables == ["OMPI_MCA_btl", "UCX_TLS"]


def test_where_settings_files_are_read() -> None:
    files = user_settings_files(
        {"HOME": "/home/somebody", "UCX_CONFIG_DIR": "/opt/conf"}, Path("/work")
    )
    assert [str(file) for file in files] == [
        "/work/ucx.conf",
        "/home/somebody/ucx.conf",
        "/home/somebody/.openmpi/mca-params.conf",
        "/home/somebody/.nccl.conf",
        "/opt/conf/ucx.conf",
    ]
    assert user_settings_files({"HOME": "/work"}, Path("/work"))[0] == Path("/work/ucx.conf")
    assert len(user_settings_files({"HOME": "/work"}, Path("/work"))) == 3


def test_load_of_others(recorded: Recorded, put: Put) -> None:
    root = recorded("one-socket")  # 8 cores
    for load, severity in (("5.9", "ok"), ("6.5", "warn"), ("7.5", "bad")):
        put(root, "proc/loadavg", f"{load} 0.1 0.1 9/900 4242")
        assert find(root, "load").severity == severity


def test_load_of_what_has_ended_is_nobodys(recorded: Recorded, put: Put) -> None:
    """The mean of a minute remembers the runs just before."""
    root = recorded("one-socket")
    put(root, "proc/loadavg", "7.5 0.1 0.1 1/900 4242")
    found = find(root, "load")
    assert found.severity == "ok"
    assert found.message.endswith(": 7.5 on 8 cores, of what has ended: besides this none run now")
    put(root, "proc/loadavg", "7.5 0.1 0.1 8/900 4242")
    assert find(root, "load").severity == "bad"


def test_steal_time(recorded: Recorded, put: Put) -> None:
    root = recorded("cloud-vm")
    stat = "cpu  600 0 300 9999999 0 0 0 {} 0 0\ncpu0 1 2 3"
    for steal, severity in ((5, "ok"), (50, "warn"), (500, "bad")):
        put(root, "proc/stat", stat.format(steal))
        assert find(root, "steal").severity == severity
    assert "steal" not in [finding.id for finding in examine(recorded("one-socket"), 2, [])]


def test_this_machine() -> None:
    findings = examine()
    assert {"cores", "shared-memory", "single-copy"} <= {finding.id for finding in findings}
    assert msgspec.json.decode(msgspec.json.encode(findings), type=list[Diagnosis]) == findings


def test_an_adapter_wants_perftest(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    root = recorded("two-sockets-smt")
    assert "perftest" not in [
        diagnosis.id for diagnosis in examine(root, 2, [])
    ]  # its PATH is not recorded
    here = msgspec.structs.replace(doctor.discover(Path("/")), nics=doctor.discover(root).nics)
    monkeypatch.setattr(doctor, "discover", lambda _: here)
    monkeypatch.setattr(doctor, "has_perftest", lambda: False)
    finding = find(Path("/"), "perftest")
    assert finding.severity == "warn"
    assert finding.message.endswith("no ceiling over the RDMA adapter mlx5_0:1")
    assert "perftest" in finding.hint
    monkeypatch.setattr(doctor, "has_perftest", lambda: True)
    assert find(Path("/"), "perftest").severity == "ok"
    monkeypatch.setattr(doctor, "discover", lambda _: msgspec.structs.replace(here, nics=[]))
    assert "perftest" not in [diagnosis.id for diagnosis in examine(Path("/"), 2, [])]
