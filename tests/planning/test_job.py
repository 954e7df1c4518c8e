# SPDX-License-Identifier: Apache-2.0
"""The script of a job; tests/slurm submits one."""

import subprocess
from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.launching.batch import job_script, without
from nearpeak.planning.job import check_paths, of_study
from nearpeak.planning.options import Options

TEN_MINUTES = Options(budget_seconds=600.0)
COMMAND = ["nearpeak", "study"]


def test_it_asks_for_whole_nodes_and_more_time_than_the_budget() -> None:
    lines = job_script(of_study(TEN_MINUTES, Path("s")), COMMAND, Path("/here")).splitlines()
    assert lines[0] == "#!/bin/sh"
    # 10 min, and 2 to begin; a tenth and half a minute behind
    assert {"#SBATCH --nodes=1", "#SBATCH --exclusive", "#SBATCH --time=00:14:00"} <= {*lines}
    assert not [line for line in lines if "nodelist=" in line]


def test_named_hosts_are_its_nodes() -> None:
    options = Options(budget_seconds=7200.0, hosts=["a", "b"])
    script = job_script(of_study(options, Path("s")), COMMAND, Path("/here"))
    assert "#SBATCH --nodes=2\n#SBATCH --nodelist=a,b\n#SBATCH --time=02:17:00\n" in script


@pytest.mark.parametrize("host", ["b\n#SBATCH --wrap=id", "b --wrap=id", "-b", "b,c"])
def test_no_host_writes_another_line_of_a_script(host: str) -> None:
    options = Options(budget_seconds=7200.0, hosts=["a", host])
    with pytest.raises(UserError, match="is not a host name") as error:
        job_script(of_study(options, Path("s")), COMMAND, Path("/here"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("said", "nodes"),
    [
        ({"paths": ["host-host same-numa"]}, 1),
        ({"require": ["host-host two-nodes:latency<=5us"]}, 2),
        ({"paths": ["host-host two-nodes", "host x3 3-nodes"]}, 3),
    ],
)
def test_paths_between_nodes_take_as_many(said: dict[str, list[str]], nodes: int) -> None:
    options = Options(budget_seconds=60, **said)
    script = job_script(of_study(options, Path("s")), COMMAND, Path("/"))
    assert f"#SBATCH --nodes={nodes}\n" in script


WITHIN, BETWEEN = "host-host same-numa", "host-host two-nodes"


@pytest.mark.parametrize(
    ("said", "required", "why"),
    [
        ({}, [WITHIN], ""),
        ({}, [BETWEEN, "host x3 3-nodes"], ""),
        ({"paths": [BETWEEN, WITHIN]}, [WITHIN, BETWEEN], ""),
        ({"paths": [WITHIN]}, [f"{WITHIN[:-1]}*"], ""),
        ({"paths": [WITHIN]}, ["*x"], "'\\*x' is none of the paths of --paths"),
        ({}, [WITHIN, BETWEEN], f"--paths '{BETWEEN},{WITHIN}'$"),
        ({"hosts": ["a", "b"]}, [WITHIN], f"the job is of 2, .*--paths '{WITHIN}'$"),
        ({"paths": [BETWEEN]}, [WITHIN], f"'{WITHIN}' is none of the paths of --paths"),
    ],
)
def test_a_job_that_cannot_measure_all_that_is_required_is_refused(
    said: dict[str, list[str]], required: list[str], why: str
) -> None:
    texts = [f"{path}:latency:8<=5us" for path in required]
    options = Options(budget_seconds=60, require=texts, **said)
    if not why:
        check_paths(options, required)
        return
    with pytest.raises(UserError, match=why):
        check_paths(options, required)


def test_a_study_of_unknown_time_is_refused() -> None:
    with pytest.raises(UserError, match="give it --budget"):
        of_study(Options(launches=3), Path("s"))


@pytest.mark.parametrize("begun", [False, True])
def test_it_starts_a_study_and_completes_one_that_has_begun(tmp_path: Path, begun: bool) -> None:
    program = tmp_path / "near peak"
    program.write_text('#!/bin/sh\npwd; for word in "$@"; do echo "$word"; done\n')
    program.chmod(0o755)
    if begun:
        (tmp_path / "a study").mkdir()
        (tmp_path / "a study" / "plan.json").touch()
    command = [str(program), "study", "--mpi", "it's", "-o", "a study"]
    script = job_script(of_study(TEN_MINUTES, Path("a study")), command, tmp_path)
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    words = ["study", "--resume", "-o", "a study"] if begun else command[1:]
    assert said.splitlines() == [str(tmp_path), *words]


@pytest.mark.parametrize(("there", "status"), [("2", 2), ("3", 0), ("4", 0), (None, 0)])
def test_a_job_of_fewer_nodes_is_refused(there: str | None, status: int) -> None:
    options = Options(budget_seconds=60, hosts=["a", "b", "c"])
    script = job_script(of_study(options, Path("s")), ["echo", "begun"], Path("/"))
    job = {} if there is None else {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": there}
    argv = ["sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=job)
    assert (done.returncode, done.stdout) == (status, "" if status else "begun\n")
    line = (
        "nearpeak: this is for 3 nodes, and job 7 has 2: submit it with --nodes=3, or write a "
        "script for fewer\n"
    )
    assert done.stderr == (line if status else "")


def test_the_option_that_asked_for_it_is_left_out() -> None:
    for given in (["--sbatch", "f"], ["--sbatch=f"]):
        assert without(["study", *given, "-o", "f"], "--sbatch") == ["study", "-o", "f"]
