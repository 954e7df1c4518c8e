# SPDX-License-Identifier: Apache-2.0
"""Writes the script of a job that runs a command (--sbatch)."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from nearpeak.errors import UserError
from nearpeak.files import put_whole, working_folder
from nearpeak.launching.batch import JOB_NAME, JobRequest, job_script, without
from nearpeak.runs.messages import say

OPTION = "--sbatch"


def write_script(
    file: Path,
    job: JobRequest,
    command: Sequence[str],
    lacking: Iterable[str],
    *left_out: str,
) -> None:
    """Writes the script of a job that runs this command without --sbatch, and without the options
    `left_out` and their values. UserError for a folder that has begun, and for a file that is no
    script of these. `lacking`: why named libraries are not on this machine."""
    program, *arguments = command
    if "/" in program:
        program = str(Path(program).absolute())
    for option in (OPTION, *left_out):
        arguments = without(arguments, option)
    script = job_script(job, [program, *arguments], working_folder())
    if (job.folder / job.begun).exists():
        raise UserError(
            f"{job.folder} has begun already, and the script would complete that: choose another"
            " folder with -o"
        )
    for reason in lacking:
        say(f"nearpeak: not here, so that the job must have it: {reason}")
    try:
        if file.exists() and JOB_NAME not in file.read_text("utf-8", errors="replace"):
            raise UserError(f"{OPTION} {file} is no script of nearpeak's: name another file")
        put_whole(file, script.encode())
    except OSError as error:
        raise UserError(f"{OPTION} {file}: {error.strerror}") from None
    say(f"Submit it with: sbatch {file}")
