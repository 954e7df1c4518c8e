# SPDX-License-Identifier: Apache-2.0
"""Study files: what they may hold, and that a wrong key is named with its line."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries.model import Settings
from nearpeak.study.options import LibraryChoice, Options, merge, read_study_file

WHOLE = """\
mpi = ["mpich"]
paths = ["host-host same-numa"]
benchmarks = ["latency", "bw:calls=nonblocking"]
sizes = "0:1K,100"
hosts = ["a", "b"]
budget = "5m"
launches = 6
slot_ms = 50
window = 32
in_flight = "8M"
launch_limit = "90s"
seed = 0
remote_shell = "/usr/bin/rsh"
output = "there"

[[library]]
name = "tuned"
mpi = "openmpi"

[[library.settings]]
name = "default"

[[library.settings]]
name = "no-cma"
env = { OMPI_MCA_x = "1" }
flags = ["--mca", "btl", "self,sm"]
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def test_a_study_file_holds_every_option(tmp_path: Path) -> None:
    tuned = Settings(name="no-cma", env={"OMPI_MCA_x": "1"}, flags=["--mca", "btl", "self,sm"])
    assert read_study_file(write(tmp_path, WHOLE)) == Options(
        libraries=[
            LibraryChoice(mpi="mpich"),
            LibraryChoice(mpi="openmpi", name="tuned", settings=(Settings(), tuned)),
        ],
        paths=["host-host same-numa"],
        benchmarks=["latency", "bw:calls=nonblocking"],
        sizes=[0, 1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024],
        hosts=["a", "b"],
        budget_seconds=300,
        launches=6,
        slot_ms=50,
        window=32,
        in_flight_bytes=8 * 2**20,
        launch_limit_seconds=90,
        seed=0,
        remote_shell="/usr/bin/rsh",
        output="there",
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("budget =", "budgte =", 6, "budgte: unknown key; did you mean 'budget'?"),
        ('"5m"', '"soon"', 6, "budget: 'soon' is no time"),
        ('"5m"', "5", 6, "budget: write a text in quotes"),
        ("launches = 6", "launches = 1", 7, "launches: 1 launches are too few"),
        ("slot_ms = 50", 'slot_ms = "50"', 8, "slot_ms: write a whole number"),
        ("sizes = ", 'sizes = "8:4" # ', 4, "sizes: sizes '8:4': 4 is smaller than 8"),
        ('name = "tuned"', 'nam = "tuned"', 17, "library.nam: unknown key; did you mean 'name'?"),
        ('mpi = "openmpi"', "", 16, "library: a library needs the key mpi"),
        ("flags =", "flag =", 26, "library.settings.flag: unknown key"),
        ('name = "no-cma"', "", 23, "library.settings: settings need a name"),
        ('{ OMPI_MCA_x = "1" }', "{ OMPI_MCA_x = 1 }", 25, "library.settings.env: write"),
    ],
)
def test_a_wrong_key_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, why: str
) -> None:
    assert WHOLE.count(old) == 1
    file = write(tmp_path, WHOLE.replace(old, new))
    with pytest.raises(UserError) as error:
        read_study_file(file)
    assert str(error.value).startswith(f"{file} line {line}: {why}")
    assert "\n" not in str(error.value)


def test_a_wrong_key_of_an_inline_table_is_named_with_its_line(tmp_path: Path) -> None:
    text = '[[library]]\nmpi = "x"\nsettings = [\n  { name = "a" },\n  { nmae = "b" },\n]\n'
    with pytest.raises(UserError, match=r"line 5: library\.settings\.nmae: unknown key"):
        read_study_file(write(tmp_path, text))


def test_settings_by_name(tmp_path: Path) -> None:
    text = 'mpi = ["a@x"]\n[[library]]\nmpi = "b"\nsettings = ["default", { name = "own" }]\n'
    assert read_study_file(write(tmp_path, text)).libraries == [
        LibraryChoice(mpi="a", settings=("x",)),
        LibraryChoice(mpi="b", settings=("default", Settings(name="own"))),
    ]


def test_a_file_that_is_no_toml_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no TOML: .*line 2"):
        read_study_file(write(tmp_path, 'budget = "5m"\nlaunches = = 6\n'))
    with pytest.raises(UserError, match="cannot read the study file"):
        read_study_file(tmp_path / "missing.toml")


def test_the_command_line_wins() -> None:
    file = Options(seed=7, launches=6, sizes=[1], output="there")
    line = Options(seed=0, sizes=[2])
    assert merge(file, line) == Options(seed=0, launches=6, sizes=[2], output="there")
