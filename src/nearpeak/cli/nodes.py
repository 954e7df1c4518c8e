# SPDX-License-Identifier: Apache-2.0
"""`nearpeak nodes`: all pairs of the nodes of a cluster, to find slow nodes and slow links."""

import random
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from nearpeak.cli import AcceptCommands, RemoteShell, Verbose, given, leave
from nearpeak.errors import UserError, parsed
from nearpeak.terms.exit_statuses import sentence

HELP = f"""Measure all pairs of nodes of a cluster; find slow nodes and links.

A rank runs on one core of each node, with buffers in the memory of the host, over the
adapter that the library takes by itself. With --buffers D,D a rank runs for each GPU
of each node, with buffers in its memory and, if the library sends by UCX, with the
adapter that is nearest to it: GPU i and its adapter are rail i. Pairs are GPUs of one
rail, of two nodes, all rails together. Before that, each node by itself: its GPUs
with each other, and host with GPU. In rounds of disjoint pairs, all pairs of a round
are measured at the same time: the latency of small messages, then the bandwidth of
large ones. Up to 64 nodes, every launch measures every pair, also alone; of more
nodes, one launch measures all pairs and others measure again what looked slow.
Reports slow nodes, slow links between two, slow groups, uplinks and routes of groups,
and with GPUs slow GPUs, NICs, host memory and rails, with one error rate for all.
Groups are the nodes below one switch, in one rack or block. Prints the plan before it
runs, with its price in node hours, and how small a loss it finds.

In a job of Slurm, its nodes are measured, as far as its time allows; --resume goes
on in another job of the same nodes. --sbatch writes the script of such a job.

The folder has nodes.jsonl (all that was measured), nodes.json and nodes.html;
`nearpeak report DIR` makes both again.

{sentence("nodes")}

Examples:

  nearpeak nodes --mpi openmpi --hosts node1,node2,node3,node4

  nearpeak nodes --mpi mpich --hosts node1,node2,node3 --slot-ms 50 -o rack7

  nearpeak nodes --mpi openmpi --groups /etc/slurm/topology.conf

  nearpeak nodes --mpi openmpi --groups '(rack\\d+)node\\d+'

  nearpeak nodes --mpi openmpi --nodes 512 --dry-run

  nearpeak nodes --mpi openmpi --nodes 16 --sbatch job.sh

  nearpeak nodes --mpi openmpi --require "bandwidth>=20GB/s" --require "latency<=3us"

  nearpeak nodes --mpi openmpi --buffers D,D --hosts node1,node2,node3,node4

  nearpeak nodes --mpi mpich+layer --buffers D,D --gpus 0-3 -o gpus

  nearpeak nodes --mpi openmpi --buffers H,D --gpus 0-7 --nodes 64 --dry-run

  nearpeak nodes --resume -o nodes
"""
DEFAULT_FOLDER = "nodes"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("nodes", help=HELP)(nodes)


def nodes(
    mpi: Annotated[
        str | None,
        typer.Option(metavar="SPEC[@SETTINGS]", help="The library: its name, or a path."),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C[,...]",
            help="The nodes, three or more, or two with GPUs, all pairs of which are measured; this"
            " one must be among them. The others are called by ssh, which must ask for no password."
            " Default: those of the Slurm job.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="N",
            min=1,
            help="With --dry-run or --sbatch: the number of nodes, whichever they are.",
        ),
    ] = None,
    remote_shell: RemoteShell = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|PATTERN|none",
            help="The groups of nodes: a file with a line `NODE GROUP [WIDER GROUP...]` for each"
            " node, a topology.conf of Slurm, or a pattern of the names of nodes in which each"
            " (part) names a group, the widest first; none: one switch joins all. Default: the"
            " switches or blocks of Slurm; without it, groups that the figures show.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Rounds of the first launch, each with half as many pairs as there are nodes: for"
            " thousands of nodes, as links outside of these pairs are not tested. Default: every"
            " pair once, of up to 1,448 nodes with 8 GPUs.",
        ),
    ] = None,
    buffers: Annotated[
        str | None,
        typer.Option(
            metavar="H,H|D,D|H,D",
            help="Buffers of both ends of a pair: H in host memory, D in GPU memory. D,D and H,D"
            " measure all GPUs of each node, H,D in both orders, as D,H does. Default: H,H.",
        ),
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option(
            metavar="0-7|0,2",
            help="With D: only these GPUs of each node, by their numbers. Default: all of this"
            " node.",
        ),
    ] = None,
    adapters: Annotated[
        str | None,
        typer.Option(
            metavar="A,B[,...]",
            help="With D: the adapter of each GPU, as UCX names it, like mlx5_0:1,mlx5_1:1."
            " Default: the nearest by PCIe, if the library sends by UCX.",
        ),
    ] = None,
    launches: Annotated[
        int | None, typer.Option(metavar="N", help="Launches, 4 or more. Default: 5.")
    ] = None,
    slot_ms: Annotated[
        float | None,
        typer.Option(
            metavar="MS",
            min=0.1,
            help="Time for the latency of a round, and for its bandwidth. Default: 10.",
        ),
    ] = None,
    small: Annotated[
        str | None, typer.Option(metavar="SIZE", help="A message of latency. Default: 8.")
    ] = None,
    large: Annotated[
        str | None, typer.Option(metavar="SIZE", help="A message of bandwidth. Default: 1M.")
    ] = None,
    launch_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="A launch that ends no round for this time is ended as hung. Default: 2m.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Repeat a run in the same order.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REQUIREMENT",
            help="What the usual pair must reach: 'bandwidth>=20GB/s' (both ways), 'latency<=3us',"
            " 'alone bandwidth>=20GB/s'. May be given several times.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="The folder.")
    ] = DEFAULT_FOLDER,
    resume: Annotated[
        bool, typer.Option("--resume", help="Complete the run in DIR, with its own options.")
    ] = False,
    sbatch: Annotated[
        Path | None,
        typer.Option(
            "--sbatch",
            metavar="FILE",
            help="Write the script of a Slurm job that measures this, and measure nothing.",
        ),
    ] = None,
    accept_commands: AcceptCommands = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its cost, and measure nothing.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    from nearpeak.launching import paths
    from nearpeak.nodes import plan, required, topology
    from nearpeak.runs import nodes as runs
    from nearpeak.terms.sizes import parse_seconds, split_list

    if sbatch is not None and (resume or dry_run):
        raise UserError(
            "--sbatch writes a script that completes its run by itself: leave --resume and "
            "--dry-run out"
        )
    if number is not None and (hosts or not (sbatch or dry_run)):
        raise UserError(
            "--nodes N is for --dry-run and --sbatch, in the place of --hosts: which nodes are"
            " measured, --hosts or a job says"
        )
    options: dict[str, Any] = {
        "mpi": mpi,
        "launches": launches,
        "rounds": rounds,
        "slot_ms": slot_ms,
        "small_bytes": _size("--small", small, least=0),
        "large_bytes": _size("--large", large, least=1),
        "seed": seed,
        "launch_limit_seconds": given("--launch-limit", parse_seconds, launch_limit),
        "remote_shell": remote_shell,
        "require": require,
    }
    options = {name: value for name, value in options.items() if value is not None}
    of_gpus = {"--buffers": buffers, "--gpus": gpus, "--adapters": adapters}
    folder = Path(output)
    if resume:
        asked = [*options.values(), hosts, number, groups, *of_gpus.values()]
        if any(value is not None for value in asked):
            raise UserError(
                "--resume takes every option from the run that it completes: give only -o DIR"
            )
        leave(runs.resume(folder, accept=accept_commands, dry_run=dry_run, verbose=verbose))
        return
    if accept_commands:
        raise UserError("--accept-commands needs --resume: give it, or leave this out")
    if not mpi:
        raise UserError(
            "name a library with --mpi, one of `nearpeak mpi list` or a path, like `nearpeak nodes "
            "--mpi openmpi`"
        )
    if number is None:
        nodes = paths.hosts_of_job() if hosts is None else parsed("--hosts", split_list, hosts)
    else:
        nodes = [""] * number
    options |= runs.of_gpus(of_gpus, mpi, is_node=number is None and sbatch is None)
    options.setdefault("seed", random.SystemRandom().getrandbits(32))
    levels, source = topology.find(nodes, groups)
    chosen = plan.Chosen(nodes=nodes, levels=levels, levels_from=source, **options)
    if not nodes:
        raise UserError(
            "no nodes: name three or more with --hosts, like --hosts a,b,c, or run it in a job of"
            " Slurm that has as many (salloc --nodes=3, or --nodes 3 --sbatch FILE)"
        )
    plan.check(chosen)
    required.check(chosen.require, alone=plan.has_alone(chosen))
    if sbatch is not None:
        runs.write_job(sbatch, chosen, folder, sys.argv)
    elif dry_run:
        leave(runs.dry_run(chosen))
    else:
        leave(runs.start(folder, chosen, verbose=verbose))


def _size(option: str, text: str | None, *, least: int) -> int | None:
    """The one size that an option names, in bytes; None without it."""
    from nearpeak.terms.sizes import parse_sizes

    sizes = given(option, parse_sizes, text)
    if sizes is not None and (len(sizes) != 1 or sizes[0] < least):
        raise UserError(f"{option} {text}: give one size, like 8 or 1M")
    return sizes[0] if sizes else None
