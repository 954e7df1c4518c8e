# SPDX-License-Identifier: Apache-2.0
"""`nearpeak nodes`: what is bad input, and what a plan says."""

from collections.abc import Callable
from pathlib import Path

import pytest

Nearpeak = Callable[..., tuple[int, str, str]]
GPUS = ("--mpi", "one", "--nodes", "4", "--buffers", "D", "--dry-run")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a library with --mpi"),
        (("--mpi", "one"), "no nodes: name three or more with --hosts, like --hosts a,b,c"),
        (("--mpi", "one", "--hosts", "a,b"), "2 nodes: it takes 3 or more, by --hosts"),
        (("--mpi", "one", "--hosts", "a,b,c", "--launches", "3"), "--launches 3: a slow pair"),
        (("--mpi", "one", "--hosts", "a,b,c", "--rounds", "0"), "--rounds: give 1 or more"),
        (("--mpi", "one", "--hosts", "a,b,c", "--large", "0"), "--large 0: give one size"),
        (("--mpi", "one", "--hosts", "a,b,c", "--small", "8,9"), "--small 8,9: give one size"),
        (("--mpi", "one", "--hosts", "a,b,c", "--launch-limit", "5"), "--launch-limit: '5' is not"),
        (("--mpi", "one", "--hosts", "a,b,a"), "--hosts: 'a' is named twice"),
        (("--mpi", "one", "--hosts", "a,b,c", "--groups", "/no"), "--groups /no: neither a file"),
        (("--resume", "--groups", "none"), "--resume takes every option from the run"),
        (
            ("--mpi", "one", "--hosts", "a,b,c", "--require", "bw>=2GB/s"),
            "--require 'bw>=2GB/s' is not a requirement of nodes: write 'bandwidth>=20GB/s'",
        ),
        (
            ("--mpi", "one", "--hosts", "a,b,c", "--require", "alone latency<=2us"),
            "pairs are not all measured alone here",
        ),
        (("--mpi", "one", "--hosts", "a,b,c", "--small", "1M"), "--large 1048576: the message of"),
        (("--mpi", "ceiling", "--nodes", "9", "--dry-run"), "ceiling is no MPI library"),
        (("--mpi", "one", "--hosts", "a,b,c", "--gpus", "0"), "--gpus is of GPUs: give --buffers"),
        (("--mpi", "one", "--hosts", "a,b,c", "--buffers", "P"), "--buffers: 'P' is not measured"),
        (("--mpi", "one", "--hosts", "a,b,c", "--buffers", "X"), "--buffers: 'X' does not name"),
        (("--mpi", "one", "--nodes", "4", "--buffers", "D", "--dry-run"), "like --gpus 0-7"),
        ((*GPUS, "--gpus", "0,0"), "--gpus: '0,0' names a GPU twice"),
        ((*GPUS, "--gpus", "0-3", "--adapters", "a,b"), "--adapters names 2 for 4 GPUs"),
        (("--resume", "--buffers", "D"), "--resume takes every option from the run"),
        (("--mpi", "one", "--nodes", "9"), "--nodes N is for --dry-run and --sbatch"),
        (("--mpi", "one", "--nodes", "2", "--dry-run"), "2 nodes: it takes 3 or more"),
        (("--resume", "--sbatch", "f"), "--sbatch writes a script that completes its run"),
        (("--resume", "--launch-limit", "5m"), "--resume takes every option from the run"),
        (("--resume", "--mpi", "one"), "--resume takes every option from the run"),
        (("--resume", "-o", "/nowhere"), "/nowhere/nodes.jsonl cannot be read"),
    ],
)
def test_bad_input_is_one_line(nearpeak: Nearpeak, words: tuple[str, ...], message: str) -> None:
    code, out, err = nearpeak("nodes", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_plan_says_what_it_covers_and_costs(nearpeak: Nearpeak, tmp_path: Path) -> None:
    hosts = ",".join(f"n{number}" for number in range(100))
    words = ["--mpi", "one", "--hosts", hosts, "--rounds", "14", "-o", str(tmp_path / "nodes")]
    code, out, _ = nearpeak("nodes", *words, "--dry-run")
    assert code == 0
    assert "nodes:      100 hosts, n0 to n99, a rank on each, with buffers in host memory" in out
    assert "covers:     700 of 4950 pairs (14.1 %): links of the others are not tested" in out
    assert "node hours, and more where much looks slow" in out
    assert not (tmp_path / "nodes").exists()


def test_a_plan_says_which_groups_it_knows_and_what_it_finds(nearpeak: Nearpeak) -> None:
    words = ("nodes", "--mpi", "mpich", "--dry-run", "--hosts", "r1n1,r1n2,r2n1,r2n2,r2n3")
    status, out, _ = nearpeak(*words, "--groups", r"(r\d+)n\d+")
    assert status == 0
    assert "groups:     2 groups, by names\n" in out
    assert "10 rounds" not in out
    assert "in 5 rounds of disjoint pairs, and each pair alone, 12 times\n" in out
    assert "finds:      a node that takes 7 % longer, and a link 15 %, in 90 % of runs, if" in out
    _, out, _ = nearpeak(*words, "--groups", "none")
    assert "groups:     none: all nodes are alike\n" in out


def test_a_plan_of_gpus_has_their_adapters(nearpeak: Nearpeak) -> None:
    words = ("nodes", *GPUS, "--gpus", "0-1", "--adapters", "mlx5_0:1,mlx5_3:1")
    status, out, _ = nearpeak(*words)
    assert status == 0
    assert "nodes:      4, 2 ranks on each, one for each GPU, buffers in GPU memory\n" in out
    assert "rails:      2: GPU 0 with mlx5_0:1, GPU 1 with mlx5_3:1\n" in out
    assert "within:     each node, 8 rounds between its GPUs and 16 between host and GPU" in out


def test_a_job_of_gpus_asks_for_them(nearpeak: Nearpeak, tmp_path: Path) -> None:
    words = ["nodes", "--mpi", "one", "-o", "there", "--buffers", "D,D", "--gpus", "0-3"]
    code, _, _ = nearpeak(*words, "--nodes", "16", "--sbatch", "job.sh")
    assert code == 0
    script = (tmp_path / "job.sh").read_text()
    assert "#SBATCH --gpus-per-node=4\n" in script
    assert script.endswith("exec nearpeak nodes --mpi one -o there --buffers D,D --gpus 0-3\n")


def test_the_script_of_a_job_is_written_and_nothing_measured(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    words = ["nodes", "--mpi", "one", "-o", "there"]
    code, out, err = nearpeak(*words, "--nodes", "16", "--sbatch", "job.sh")
    assert (code, err) == (0, "Submit it with: sbatch job.sh\n")
    assert "nodes:      16, a rank on each" in out
    script = (tmp_path / "job.sh").read_text()
    assert "#SBATCH --nodes=16\n" in script
    assert "nodelist=" not in script
    assert "if [ -e there/nodes.jsonl ]; then\n  exec nearpeak nodes --resume -o there\n" in script
    assert script.endswith("exec nearpeak nodes --mpi one -o there\n")
    assert not (tmp_path / "there").exists()
    assert nearpeak(*words, "--hosts", "a,b,c", "--sbatch", "job.sh")[0] == 0
    assert "#SBATCH --nodelist=a,b,c\n" in (tmp_path / "job.sh").read_text()
