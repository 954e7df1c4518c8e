# SPDX-License-Identifier: Apache-2.0
"""`nearpeak study` on stand-in launches: options, study files, bad input."""

import shlex
import subprocess
from pathlib import Path

import pytest

from commands import SMALL, Nearpeak
from nearpeak.errors import UserError
from nearpeak.libraries.discover import UnknownNameError


def test_the_script_of_a_job_is_written_and_nothing_run(nearpeak: Nearpeak, tmp_path: Path) -> None:
    words = ["study", "--mpi", "one", *SMALL, "--budget", "10m", "-o", "there"]
    code, out, err = nearpeak(*words, "--sbatch", "job.sh")
    assert (code, out, err) == (0, "", "Submit it with: sbatch job.sh\n")
    assert (tmp_path / "job.sh").read_text().endswith(f"exec {shlex.join(['nearpeak', *words])}\n")
    assert not (tmp_path / "there").exists()
    for wrong in (["--resume"], ["--extend", "there"]):
        code, _, err = nearpeak("study", *wrong, "--sbatch", "job.sh")
        assert (code, err.count("\n")) == (2, 1)
    between = ["--require", "host-host two-nodes:latency:8<=50us"]
    assert nearpeak(*words, *between, "--sbatch", "two.sh")[0] == 2  # it is none of --paths
    among = ["host-host two-nodes" if word.startswith("host-host") else word for word in words]
    assert nearpeak(*among, *between, "--sbatch", "two.sh")[0] == 0
    assert "#SBATCH --nodes=2\n" in (tmp_path / "two.sh").read_text()
    unknown = (["--benchmarks", "latncy"], ["--operations", "colective"])
    for more in (["--dry-run"], ["--require", "latency>=5"], *unknown):
        code, _, err = nearpeak(*words, *more, "--sbatch", "job.sh")
        assert (code, err.count("\n")) == (2, 1)
    (tmp_path / "own.txt").write_text("mine\n")
    code, _, err = nearpeak(*words, "--sbatch", "own.txt")
    assert (code, err.count("\n")) == (2, 1)
    assert (tmp_path / "own.txt").read_text() == "mine\n"
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "plan.json").touch()
    code, _, err = nearpeak(*words, "--sbatch", "job.sh")
    assert (code, err) == (
        2,
        "nearpeak: there has begun already, and the script would complete that: choose another"
        " folder with -o\n",
    )


def test_a_library_that_is_not_here_is_the_jobs_to_have(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(spec: str) -> None:
        error = UnknownNameError if spec == "mpitch" else UserError
        raise error(f"no library {spec!r}")

    monkeypatch.setattr("nearpeak.planning.contenders.resolve", resolve)
    words = ["study", "--budget", "10m", "--sbatch", "job.sh", "--mpi"]
    code, _, err = nearpeak(*words, "mpitch")
    assert (code, err) == (2, "nearpeak: no library 'mpitch'\n")
    assert not (tmp_path / "job.sh").exists()
    code, _, err = nearpeak(*words, "mpich-4")
    assert code == 0
    assert "nearpeak: not here, so that the job must have it: no library 'mpich-4'\n" in err


def test_a_dry_run_prints_lines_that_run_and_writes_nothing(
    nearpeak: Nearpeak, tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    code, out, err = nearpeak("study", *SMALL, "--launches", "2", "--seed", "5", "--dry-run")
    assert code == 0
    assert "libraries:  one" in err
    assert len(out.splitlines()) == 4
    assert set(tmp_path.iterdir()) == before
    for line in out.splitlines():
        if "pair" in line:
            done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
            assert '"record": "samples"' in done.stdout


def test_the_command_line_wins_over_the_file(nearpeak: Nearpeak, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('mpi = ["two"]\nsizes = "1,2"\nlaunches = 3\nbenchmarks = ["latency"]\n')
    code, out, err = nearpeak("study", str(file), "--sizes", "4", "--dry-run")
    assert (code, len(out.splitlines())) == (0, 3 * 5)
    assert "libraries:  two" in err
    messages = [line for line in out.splitlines() if "memory --cpus" not in line]
    assert len(messages) == 12
    assert all("--sizes 4 " in line for line in messages)


def test_the_folder_of_a_file_may_be_below_home(
    nearpeak: Nearpeak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    words = 'mpi = ["one"]\nsizes = "8"\nlaunches = 2\nbenchmarks = ["latency"]\n'
    (tmp_path / "a.toml").write_text(f'{words}paths = ["host-host same-numa"]\noutput = "~/s"\n')
    code, _, err = nearpeak("study", "a.toml")
    assert code == 0, err
    assert (tmp_path / "home" / "s" / "results.json").is_file()
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mpi", "three"), "unknown MPI library 'three'"),
        (("--benchmark", "latncy"), "unknown benchmark 'latncy'; did you mean 'latency'?"),
        (("--benchmark", "bw:calls=x"), "calls cannot be 'x'; there are: "),
        (("--sizes", "8,x"), "--sizes: 'x' is not a size"),
        (("--budget", "5"), "--budget: '5' is not a time"),
        (("--launches", "1"), "1 is too few launches"),
        (("--hosts", "a"), "name two different hosts"),
        (("--hosts", "a,localhost", "--remote-shell", "/nowhere"), "host 'a' cannot be reached"),
        (("--remote-shell", "rsh"), "--remote-shell rsh calls other hosts, and there are none"),
        (("--oversubscribe",), "--oversubscribe is of as many ranks as --ranks says: give --ranks"),
        (("--buffers", "H,H,H"), "--buffers: 'H,H,H' names 3 buffers alike: give H for all ranks"),
        (("--buffers", "M,D,D"), "buffers M,D,D need a GPU"),
        (("--paths", "host-host same-nuam"), "did you mean 'host-host same-numa'?"),
        (("--paths", "host-host cross-numa"), "host-host cross-numa: the machine has one NUMA"),
        (("--paths", "host-memory node0"), "host-memory node0: ceilings are measured there"),
        (("missing.toml",), "cannot read the study file missing.toml"),
        (("--resume",), "there is no study in study"),
        (("--resume", "--retry"), "--retry is for a new study"),
        (("--force",), "--force needs --resume or --extend"),
        (("--resume", "--mpi", "one"), "--resume takes every option from the study"),
        (("--resume", "--launches", "4", "--sizes", "8"), "--budget or --launches to add to it"),
        (("--resume", "--launches", "4"), "there is no study in study"),
        (("--require", "bw>=0.9"), "--require: 'bw>=0.9' is not a requirement: write"),
        (
            ("--require", "host-host same-nuam:bw>=0.9"),
            "no path 'host-host same-nuam'; did you mean 'host-host same-numa'?",
        ),
        (("--require", "host-host same-numa:bw:3>=0.9"), "bw is not measured at 3 B there"),
        (
            ("--require", "host-all 4:allreduce>=0.9", "--benchmarks", "allreduce"),
            "allreduce has no ceiling to be a fraction of: write <=NUMBERus",
        ),
        (
            ("--require", "host-all 4:allreduce<=9us", "--benchmarks", "allreduce"),
            "allreduce has no ceiling that chooses the size: name a size, like :8",
        ),
        (("-o", "/proc/nowhere"), "cannot make the folder /proc/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    nearpeak: Nearpeak, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = set(tmp_path.iterdir())
    code, out, err = nearpeak("study", *words)
    assert (code, out) == (2, "")
    assert err.startswith("nearpeak: ")
    assert message in err
    assert err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mpi", "one"), "one is in the study already: name another library, or other settings"),
        (("--mpi", "two", "--mpi", "two"), "two is in the study already"),
        (("--mpi", "three"), "unknown MPI library 'three'"),
        ((), "--extend needs --mpi: name the libraries that are added"),
        (("--mpi", "two", "--sizes", "8"), "--extend takes every option from the study that"),
        (("--mpi", "two", "--resume"), "--extend takes every option from the study that"),
        (("--mpi", "two", "-o", "there"), "--extend takes every option from the study that"),
        (("--mpi", "two", "--launches", "1"), "1 is too few launches"),
    ],
)
def test_what_cannot_be_added_is_one_line_and_changes_nothing(
    nearpeak: Nearpeak, begun: Path, words: tuple[str, ...], message: str
) -> None:
    before = (begun / "records.jsonl").read_bytes()
    code, out, err = nearpeak("study", "--extend", "study", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert (begun / "records.jsonl").read_bytes() == before
