# SPDX-License-Identifier: Apache-2.0
"""Finds problems of this machine that spoil measurements, and their remedies."""

import errno
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from nearpeak.files import is_file, working_folder
from nearpeak.machine import allocation
from nearpeak.machine.attempts import bind_memory, read_sibling
from nearpeak.machine.discover import discover
from nearpeak.machine.gpu_doctor import gpu_checks
from nearpeak.machine.gpus.nvidia import nvidia_facts
from nearpeak.machine.limits import (
    CAP_SYS_PTRACE,
    SHM,
    cpu_quota,
    has_capability,
    memory_limit,
    shm_bytes,
    shm_refusal,
    shm_taken,
)
from nearpeak.machine.link_doctor import nic_link_checks
from nearpeak.machine.machine import Diagnosis, Machine
from nearpeak.machine.patient import Patient, bad, ok, warn
from nearpeak.machine.perftest import HINT, PROGRAM, has_perftest
from nearpeak.machine.places import usable_cores
from nearpeak.machine.pmix import pmix_checks
from nearpeak.machine.provenance import governors
from nearpeak.machine.rates import least
from nearpeak.machine.rdma_doctor import rdma_checks
from nearpeak.machine.states import overloaded
from nearpeak.machine.sysfs import CPU
from nearpeak.machine.tree import RecordedTree, Tree, format_list, read_tree
from nearpeak.withheld import withhold

MIB = 1 << 20
# What the windowed benchmarks keep in flight: 64 messages, 64 MiB at most, per rank.
WINDOW = 64
IN_FLIGHT = 64 * MIB
# Segments and queues that MPI libraries take in /dev/shm for each rank, generously.
SEGMENT = 64 * MIB
# Send and receive buffers, fixed and rotating, the window, and the library itself.
RANK_MEMORY = 512 * MIB
STEAL_WARN, STEAL_BAD = 0.01, 0.10
LOOKS, LOOK_SECONDS = 5, 0.05
SYSTEM_UCX = "etc/ucx/ucx.conf"
# Variables that are settings of an MPI library, or of what it stands on.
SETTINGS = (
    "OMPI_MCA_",
    "PRTE_MCA_",
    "PMIX_MCA_",
    "UCX_",
    "FI_",
    "I_MPI_",
    "MPIR_CVAR_",
    "MPICH_",
    "NCCL_",
)
VARIABLES = "settings-variables"  # the diagnosis that names the variables every launch inherits
UCX = "UCX_"  # prefix of its variables
SETTINGS_FILE = "settings-file"  # the diagnosis of a file with settings
# Files of settings by their names: whose they are, and the prefix of these settings as variables.
OWNERS = {
    "ucx.conf": ("UCX", UCX),
    "mca-params.conf": ("Open MPI", "OMPI_MCA_"),
    ".nccl.conf": ("NCCL", "NCCL_"),
}
NO_SETTINGS = (
    "I_MPI_ROOT",
    "FI_PROVIDER_PATH",
    "UCX_CONFIG_DIR",
    "MPICH_HOME",
    "MPICH_DIR",
    "NCCL_HOME",
    "NCCL_ROOT",
    "NCCL_VERSION",  # NVIDIA's containers set it to name their version
)


def examine(
    root: Path = Path("/"),
    ranks: int = 2,
    settings_files: list[Path] | None = None,
    environment: dict[str, str] | None = None,
    machine: Machine | None = None,
) -> list[Diagnosis]:
    """Every finding for `ranks` ranks on this machine, or on the recorded one under `root`.

    On this machine it tries system calls; for a recorded one it only reads files.
    `settings_files` are checked in addition to the system's; None: those of this user.
    `environment`: inherited by launches; None: this process's, empty for a recorded machine.
    `machine`: the result of `discover(root)`, where the caller has it.
    """
    if settings_files is None:
        settings_files = user_settings_files(dict(os.environ), working_folder())
    tree = read_tree(root)
    patient = Patient(
        tree=tree,
        nvidia=RecordedTree(root, nvidia_facts(tree)),
        machine=machine or discover(root),
        ranks=ranks,
        settings_files=settings_files,
        environment=dict(os.environ if tree.live else {}) if environment is None else environment,
    )
    return [finding for check in CHECKS for finding in check(patient)]


def user_settings_files(environment: dict[str, str], cwd: Path) -> list[Path]:
    """Files that UCX, Open MPI and NCCL read unasked, with settings that no record has."""
    files = [cwd / "ucx.conf"]
    if home := environment.get("HOME"):
        files += [Path(home) / "ucx.conf", Path(home) / ".openmpi" / "mca-params.conf"]
        files.append(Path(home) / ".nccl.conf")
    if folder := environment.get("UCX_CONFIG_DIR"):
        files.append(Path(folder) / "ucx.conf")
    return list(dict.fromkeys(files))


def _cores(patient: Patient) -> Iterator[Diagnosis]:
    allowed = set(patient.machine.allowed_cpus)
    homeless = patient.machine.cores_of_no_node
    cores = sum(map(len, usable_cores(patient.machine).values()))
    have = f"{cores} of {len(patient.machine.cores)} cores usable (CPUs {format_list([*allowed])})"
    if cores < patient.ranks:
        yield bad(
            "cores",
            f"{have}, fewer than {patient.ranks} ranks: ranks would share cores",
            "use a machine with more cores, or widen the CPU affinity (taskset, cpuset, "
            "the batch job's CPUs)",
        )
    else:
        yield ok("cores", f"{have} for {patient.ranks} ranks")
    if homeless:
        cpus = format_list([cpu for core in homeless for cpu in core.cpus])
        yield warn(
            "cores",
            f"CPUs {cpus} belong to no NUMA node that the kernel lists: no rank is bound to them",
            "see whether their node is offline (/sys/devices/system/node/online), or its memory "
            "is missing; `dmesg` says why",
        )


def _job(patient: Patient) -> Iterator[Diagnosis]:
    """Checks that a Slurm job has all CPUs that it may use."""
    listed = patient.environment.get("SLURM_CPUS_ON_NODE") or patient.environment.get(
        "SLURM_JOB_CPUS_PER_NODE", ""
    )
    counts = [int(number) for number in re.findall(r"(?:^|,)(\d+)", listed)]
    usable = len(patient.machine.allowed_cpus)
    if counts and min(counts) < usable:
        yield bad(
            "job-cpus",
            f"the job has {min(counts)} of the {usable} CPUs that are usable here: other jobs may "
            "run on the rest, which ranks are bound to as well",
            "ask for whole nodes (Slurm: --exclusive)",
        )


def _outside_job(patient: Patient) -> Iterator[Diagnosis]:
    """Warns on a Slurm cluster outside of any job: the findings describe no node of a job."""
    hosts = allocation.hosts_outside() if patient.tree.live else set()
    if not hosts:
        return
    if allocation.is_this(hosts):
        message = "this is a node of Slurm's, but no job: others may run here too"
        severity = warn
    else:
        message = "this is a login node of Slurm's: jobs run on others, which differ"
        severity = bad
    yield severity(
        "outside-job",
        message,
        "look at a node from within a job, with the partition, account and GPUs that you have: "
        "`srun --nodes=1 --exclusive nearpeak machine --check`; at several, "
        "`sbatch --nodes=2 --exclusive --wrap 'nearpeak machine --check'`",
    )


def _smt(patient: Patient) -> Iterator[Diagnosis]:
    allowed = set(patient.machine.allowed_cpus)
    used = [core for core in patient.machine.cores if allowed.intersection(core.cpus)]
    threads = max((len(core.cpus) for core in patient.machine.cores), default=1)
    foreign = sorted({cpu for core in used for cpu in core.cpus} - allowed)
    if threads == 1:
        yield ok("smt", "one logical CPU per core: no SMT")
    elif foreign:
        yield warn(
            "smt",
            f"other jobs may use the SMT siblings of the usable cores (CPUs "
            f"{format_list(foreign)}): their load slows the ranks",
            "ask for whole cores (Slurm: --hint=nomultithread or --exclusive)",
        )
    else:
        yield ok("smt", f"{threads} logical CPUs per core; ranks are bound to one of each core")


def _shared_memory(patient: Patient) -> Iterator[Diagnosis]:
    tree = patient.tree
    room, taken, refusal = shm_bytes(tree), shm_taken(tree), shm_refusal(tree)
    wanted = patient.ranks * (IN_FLIGHT + SEGMENT)
    size = f"size={wanted // MIB}M"
    needs = (
        f"a window of {WINDOW} large messages ({IN_FLIGHT // MIB} MiB in flight) needs "
        f"{wanted // MIB} MiB for {patient.ranks} ranks: "
    )
    container = f"in a container: --shm-size={wanted // MIB}m or --ipc=host"
    if room is None:
        yield bad(
            "shared-memory",
            f"{SHM} is not mounted",
            f"{needs}mkdir -p {SHM}; mount -t tmpfs -o {size},mode=1777 tmpfs {SHM}; {container}",
        )
    elif refusal:
        yield bad(
            "shared-memory",
            f"{SHM} cannot be written to ({os.strerror(refusal)}): libraries fail at their start",
            _shm_remedy(refusal),
        )
    elif room < wanted:
        # With less than the segments, libraries crash (SIGBUS); with more, they only run short.
        grow = f"{needs}mount -o remount,{size} {SHM}; {container}"
        remove = f"remove what ended programs left in {SHM} ({taken // MIB} MiB are taken)"
        yield (bad if room < patient.ranks * SEGMENT else warn)(
            "shared-memory",
            f"{room // MIB} MiB free in {SHM}, through which ranks of a host exchange data",
            grow if room + taken < wanted else f"{remove}; or {grow}",
        )
    else:
        yield ok("shared-memory", f"{room // MIB} MiB free in {SHM}")


def _shm_remedy(refusal: int) -> str:
    """Say how /dev/shm takes files again."""
    full = f"remove what ended programs left in {SHM}, or mount -o remount,nr_inodes=0 {SHM}"
    remedies = {
        errno.EROFS: f"mount -o remount,rw {SHM}; in a container: without --read-only, or with "
        f"--tmpfs {SHM}:rw",
        errno.EACCES: f"chmod 1777 {SHM}",
        errno.EPERM: f"chmod 1777 {SHM}",
        errno.ENOSPC: full,
        errno.EDQUOT: full,
    }
    return remedies.get(refusal, f"umount {SHM}; mount -t tmpfs -o mode=1777 tmpfs {SHM}")


def _memory(patient: Patient) -> Iterator[Diagnosis]:
    wanted = patient.ranks * RANK_MEMORY
    limit = memory_limit(patient.tree)
    free = patient.tree.kibibytes("proc/meminfo", "MemAvailable")
    if limit is not None and limit < wanted:
        yield bad(
            "memory",
            f"the control group may use {limit // MIB} MiB: ranks may be killed",
            f"raise its memory limit to {wanted // MIB} MiB or more",
        )
    elif free is not None and free < wanted:
        yield bad(
            "memory",
            f"{free // MIB} MiB of memory available: ranks may swap or be killed",
            f"end other programs until {wanted // MIB} MiB are available",
        )
    else:
        room = least([limit, free])
        size = "no memory limit found" if room is None else f"{room // MIB:.0f} MiB usable"
        yield ok("memory", size)


def _quota(patient: Patient) -> Iterator[Diagnosis]:
    quota = cpu_quota(patient.tree)
    if quota is None:
        yield ok("cpu-quota", "no CPU quota")
        return
    short = quota < patient.ranks
    yield (bad if short else warn)(
        "cpu-quota",
        f"the control group may use the time of {quota:g} CPUs"
        + (f", less than {patient.ranks} ranks need" if short else "")
        + ": when it is used up, the ranks are stopped until the next period",
        "run without a CPU quota (Docker: no --cpus; Kubernetes: no CPU limit); bind CPUs instead",
    )


def _cma(patient: Patient) -> Iterator[Diagnosis]:
    """Checks single copy between ranks by process_vm_readv (CMA)."""
    scope = patient.tree.integer("proc/sys/kernel/yama/ptrace_scope") or 0
    slower = "large messages between ranks of a host are copied twice"
    if patient.tree.live:
        plain = read_sibling(permit=False)
        permitted = read_sibling(permit=True) if plain else 0
        reason = f"{errno.errorcode.get(permitted, permitted)}, ptrace_scope {scope}"
    else:
        ptrace = has_capability(patient.tree, CAP_SYS_PTRACE)
        plain = 0 if scope == 0 or (ptrace and scope < 3) else errno.EPERM
        permitted = 0 if scope == 1 else plain
        reason = f"ptrace_scope {scope}"
    if permitted:
        yield warn(
            "single-copy",
            f"single copy (process_vm_readv) is forbidden ({reason}): {slower}",
            cma_remedy(patient, scope, permitted),
        )
    elif plain:
        yield warn(
            "single-copy",
            "single copy (process_vm_readv) works only for ranks that permit it "
            f"(ptrace_scope {scope}). UCX permits it; with libraries that do not, {slower}",
            cma_remedy(patient, scope, 0),
        )
    else:
        yield ok("single-copy", "single copy (process_vm_readv) works")


def cma_remedy(patient: Patient, scope: int, refusal: int) -> str:
    """Say how ranks may read each other's memory, the likeliest remedy first.

    `refusal`: the errno of a rank that permits it; 0: it may be read, so that only Yama forbids
    the others.
    """
    container = (
        "in a container: a seccomp profile that allows process_vm_readv, or --cap-add=SYS_PTRACE"
    )
    if refusal == errno.ENOSYS:
        return f"{container}; else a kernel with CONFIG_CROSS_MEMORY_ATTACH"
    yama = "sysctl kernel.yama.ptrace_scope=0"
    if scope == 3:
        yama = f"restart the machine with {yama}, as 3 cannot be lowered"
    if scope == 0:
        filtered = patient.tree.fields("proc/self/status").get("Seccomp") == "2"
        module = "a security module may forbid it (SELinux: setsebool deny_ptrace off)"
        return container if filtered else f"{container}; else {module}"
    # Scope 1 lets a rank be read that permits it: if that fails, not only Yama forbids it.
    return f"{container}, and {yama}" if scope == 1 and refusal else f"{yama}; {container}"


def _perftest(patient: Patient) -> Iterator[Diagnosis]:
    adapters = [nic.verbs for nic in patient.machine.nics if nic.verbs]
    if not adapters or not patient.tree.live:
        return
    if has_perftest():
        yield ok("perftest", f"{PROGRAM} is on PATH")
    else:
        yield warn(
            "perftest",
            f"no {PROGRAM} on PATH: studies of two hosts have no ceiling over the RDMA "
            f"adapter {', '.join(adapters)}",
            HINT,
        )


def _frequency(patient: Patient) -> Iterator[Diagnosis]:
    tree = patient.tree
    names = governors(tree)
    if not names:
        yield ok("governor", "no frequency governor is shown (fixed or hidden)")
    elif names == ["performance"]:
        yield ok("governor", "frequency governor: performance")
    else:
        yield warn(
            "governor",
            f"frequency governor: {', '.join(names)}: clocks rise only after a while under load",
            "cpupower frequency-set -g performance",
        )
    boost = tree.integer(f"{CPU}/cpufreq/boost")
    no_turbo = tree.integer(f"{CPU}/intel_pstate/no_turbo")
    if boost == 1 or no_turbo == 0:
        yield ok(
            "turbo",
            "turbo is on: clocks depend on heat and on neighbours; fractions stay fair, "
            "since each block measures its own ceiling",
        )
    elif boost == 0 or no_turbo == 1:
        yield ok("turbo", "turbo is off")


def _settings_files(patient: Patient) -> Iterator[Diagnosis]:
    files = list(filter(is_file, patient.settings_files))
    system = patient.tree.exists(SYSTEM_UCX)
    for path in files:
        owner, prefix = OWNERS[path.name]
        diagnosis = bad(
            SETTINGS_FILE,
            f"{path} changes {owner}'s settings: `default` would not be the default",
            "move it away, and give its settings to the study by name instead",
        )
        yield msgspec.structs.replace(diagnosis, settings_prefix=prefix)
    if system:
        diagnosis = warn(
            SETTINGS_FILE,
            f"/{SYSTEM_UCX} changes UCX's settings for every user of this machine",
            "look at its settings; results are valid for these settings only",
        )
        yield msgspec.structs.replace(diagnosis, settings_prefix=UCX)
    if not files and not system:
        yield ok(SETTINGS_FILE, "no stray settings file")


def with_prefixes(machine: Machine) -> Machine:
    """The machine of a recording that may be older than `settings_prefix`: by the name of the file
    with which its messages begin, if a published one has it."""

    def prefixed(diagnosis: Diagnosis) -> Diagnosis:
        if diagnosis.id != SETTINGS_FILE or diagnosis.settings_prefix:
            return diagnosis
        name = Path(diagnosis.message.partition(" changes ")[0]).name
        return msgspec.structs.replace(diagnosis, settings_prefix=OWNERS.get(name, ("", ""))[1])

    return msgspec.structs.replace(machine, diagnoses=[*map(prefixed, machine.diagnoses)])


def settings_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of libraries that every launch inherits, without secrets."""
    return {
        name: withhold(name, value)
        for name, value in environment.items()
        if name.startswith(SETTINGS) and name not in NO_SETTINGS
    }


def _settings_variables(patient: Patient) -> Iterator[Diagnosis]:
    names = sorted(settings_in(patient.environment))
    if names:
        diagnosis = warn(
            VARIABLES,
            f"every launch inherits {', '.join(names)}: `default` would not be the default",
            "unset them, and give them to the study as named settings instead; the records "
            "keep their values",
        )
        yield msgspec.structs.replace(diagnosis, variables=names)


def _memory_binding(patient: Patient) -> Iterator[Diagnosis]:
    machine = patient.machine
    nodes = [node.index for node in machine.numa_nodes if node.memory == "host"]
    allowed = nodes if machine.allowed_nodes is None else machine.allowed_nodes
    nodes = sorted(set(nodes).intersection(allowed))
    if len(nodes) < 2:
        yield ok("memory-binding", "the machine has one NUMA node: memory need not be bound")
        return
    if not patient.tree.live:
        return  # only an attempt can tell
    failure = bind_memory(nodes[0])
    if failure:
        yield bad(
            "memory-binding",
            f"memory cannot be bound to a NUMA node ({errno.errorcode.get(failure)})",
            "in a container: --cap-add=SYS_NICE, or a seccomp profile that allows "
            "set_mempolicy and mbind",
        )
    elif failure == 0:
        yield ok("memory-binding", "memory can be bound to a NUMA node")


def _load(patient: Patient) -> Iterator[Diagnosis]:
    mean = re.match(r"\d+(\.\d+)?", patient.tree.text("proc/loadavg"))
    if not mean:
        return
    load = float(mean[0])
    spare = max(0, len(patient.machine.cores) - patient.ranks)
    message = f"load of the last minute: {load:g} on {len(patient.machine.cores)} cores"
    hint = "end other programs (see top), or wait a minute until the load has gone"
    busy = load > spare + 0.3
    running = _running(patient.tree) if busy else None
    if running is not None and running <= spare:
        # The mean still contains programs that have ended, such as the runs just before.
        yield ok("load", f"{message}, of what has ended: besides this {running or 'none'} run now")
    elif overloaded(load, len(patient.machine.cores), patient.ranks):
        yield bad("load", f"{message}: others take the ranks' time", hint)
    elif busy:
        yield warn("load", f"{message}: other programs run too", hint)
    else:
        yield ok("load", message)


def _running(tree: Tree) -> int | None:
    """The number of other processes that run or wait for a core; None: not known.

    It is the median of several samples, as some processes run for a moment only.
    """
    counts = []
    for sample in range(LOOKS if tree.live else 1):
        time.sleep(LOOK_SECONDS if sample else 0)
        if not (match := re.match(r"(?:\S+ ){3}(\d+)/", tree.text("proc/loadavg"))):
            return None
        counts.append(max(0, int(match[1]) - 1))
    return sorted(counts)[len(counts) // 2]


def _steal(patient: Patient) -> Iterator[Diagnosis]:
    first = patient.tree.text("proc/stat").partition("\n")[0]
    if not re.fullmatch(r"cpu( +\d+){8,}", first):
        return
    user, nice, system, _, _, irq, softirq, steal = (int(word) for word in first.split()[1:9])
    wanted = user + nice + system + irq + softirq + steal
    share = steal / wanted if wanted else 0.0
    if share <= STEAL_WARN:
        if patient.machine.virtual:
            yield ok("steal", f"{share:.1%} of the time stolen")
        return
    yield (bad if share > STEAL_BAD else warn)(
        "steal",
        f"{share:.1%} of the CPU time of this virtual machine went to others on its host "
        "(since it started)",
        "use a machine with dedicated CPUs, or measure when its neighbours are quiet",
    )


CHECKS: list[Callable[[Patient], Iterator[Diagnosis]]] = [
    _outside_job,
    _cores,
    _job,
    _smt,
    _quota,
    _memory,
    _shared_memory,
    _cma,
    _perftest,
    rdma_checks,
    nic_link_checks,
    pmix_checks,
    _memory_binding,
    _settings_files,
    _settings_variables,
    _frequency,
    _load,
    _steal,
    gpu_checks,
]
