# SPDX-License-Identifier: Apache-2.0
"""Study files: what they may hold, and that a wrong key is named."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.libraries.library import Settings
from nearpeak.planning.options import LibraryChoice, Options, merge, parse_ranks, read_study_file

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
    ("old", "new", "why"),
    [
        ("budget =", "budgte =", "unknown field `budgte`; did you mean 'budget'?"),
        (
            '"5m"',
            '"soon"',
            "'soon' is not a time: write a number with s, m or h, like 90s or 5m - at `$.budget`",
        ),
        ('"5m"', "5", "Expected `str | null`, got `int` - at `$.budget`"),
        (
            "launches = 6",
            "launches = 1",
            "1 is too few launches: choose 2 or more (6 give an interval) - at `$.launches`",
        ),
        ("slot_ms = 50", 'slot_ms = "50"', "Expected `int | null`, got `str` - at `$.slot_ms`"),
        ("slot_ms = 50", "slot_ms = 0", "Expected `int` >= 1 - at `$.slot_ms`"),
        ('"8M"', '"0M"', "'0M' is too little: write 1 or more - at `$.in_flight`"),
        ('"8M"', "0", "Expected `int` >= 1 - at `$.in_flight`"),
        ('sizes = "0:1K,100"', 'sizes = "8:4"', "sizes '8:4': 4 is smaller than 8 - at `$.sizes`"),
        (
            'name = "tuned"',
            'nam = "tuned"',
            "unknown field `nam` - at `$.library[0]`; did you mean 'name'?",
        ),
        ('mpi = "openmpi"', "", "missing required field `mpi` - at `$.library[0]`"),
        (
            "flags =",
            "flag =",
            "unknown field `flag` - at `$.library[0].settings[1]`; did you mean 'flags'?",
        ),
        ('name = "no-cma"', "", "missing required field `name` - at `$.library[0].settings[1]`"),
        (
            '{ OMPI_MCA_x = "1" }',
            "{ OMPI_MCA_x = 1 }",
            "Expected `str`, got `int` - at `$.library[0].settings[1].env[...]`",
        ),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert WHOLE.count(old) == 1
    file = write(tmp_path, WHOLE.replace(old, new))
    with pytest.raises(UserError) as error:
        read_study_file(file)
    assert (
        str(error.value)
        .removeprefix(f"{file}: ")
        .removeprefix("Object contains ")
        .removeprefix("Object ")
        == why
    )
    assert "\n" not in str(error.value)


def test_settings_by_name(tmp_path: Path) -> None:
    text = 'mpi = ["a@x"]\n[[library]]\nmpi = "b"\nsettings = ["default", '
    text += '{ name = "own", unset = ["A"] }]\n'
    assert read_study_file(write(tmp_path, text)).libraries == [
        LibraryChoice(mpi="a", settings=("x",)),
        LibraryChoice(mpi="b", settings=("default", Settings(name="own", unset=["A"]))),
    ]


def test_a_file_that_is_no_toml_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not TOML: .*line 2"):
        read_study_file(write(tmp_path, 'budget = "5m"\nlaunches = = 6\n'))
    with pytest.raises(UserError, match="cannot read the study file"):
        read_study_file(tmp_path / "missing.toml")


def test_an_empty_study_file_is_no_wish_for_all_there_is(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("# nothing\n")
    with pytest.raises(UserError, match="is empty: name in it what is to be measured"):
        read_study_file(file)


def test_the_command_line_wins() -> None:
    file = Options(seed=7, launches=6, sizes=[1], output="there")
    line = Options(seed=0, sizes=[2])
    assert merge(file, line) == Options(seed=0, launches=6, sizes=[2], output="there")
    assert line.given == {"seed": 0, "sizes": [2]}  # a 0 is given too


@pytest.mark.parametrize(
    "line",
    [
        'output = "a\\u0000b"',
        'hosts = ["a\\nb"]',
        'paths = [""]',
        "launches = 1001",
        "slot_ms = 2147483648",
        "seed = 9223372036854775808",
        "in_flight = 9223372036854775808",
        'in_flight = "9999999999G"',
        '[[library]]\nmpi = "x"\nsettings = [{ name = "a", env = { "A=B" = "1" } }]',
        '[[library]]\nmpi = "x"\nsettings = [{ name = "a", env = { A = "\\u0000" } }]',
    ],
)
def test_what_no_program_could_take_is_bad_input(tmp_path: Path, line: str) -> None:
    with pytest.raises(UserError):
        read_study_file(write(tmp_path, line))


def test_numbers_of_ranks() -> None:
    assert parse_ranks("16,2,4,4") == [2, 4, 16]
    assert parse_ranks("1") == [1]
    for wrong in ("0", "-2", "two", "99999999999999999999", "5000", ""):
        with pytest.raises(UserError):
            parse_ranks(wrong)
