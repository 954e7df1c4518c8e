# SPDX-License-Identifier: Apache-2.0
"""No name in a plan becomes an option of a launcher, or another file of a program."""

import pytest

from nearpeak.errors import UserError
from nearpeak.terms.command_words import check_host, check_option, check_word


@pytest.mark.parametrize("host", ["n1", "a-b.example.org", "10.0.0.7", "::1", "fe80::2", "n_1"])
def test_names_and_addresses_are_host_names(host: str) -> None:
    assert check_host(host) == host


@pytest.mark.parametrize(
    "host",
    [
        *("", "-oProxyCommand=id", "/evil/x.sh", "../x", "a,b", "a b", "a\n", "a\n#SBATCH --x"),
        *("$(id)", "a;id", "root@a", "n[1-2]", "é", "a*2", "^file"),
    ],
)
def test_nothing_else_is_one(host: str) -> None:
    with pytest.raises(UserError, match="is not a host name") as error:
        check_host(host)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"), [("calls", "blocking"), ("reuse", "4,x:1"), ("a-b", "")]
)
def test_axes_are_options(name: str, value: str) -> None:
    assert check_option(name, value) == [f"--{name}", value]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("jsonl", "/home/me/.bashrc"), ("library", "/evil.so"), ("", "x"), ("-x", "y")),
        *(("calls=x --jsonl", "y"), ("Calls", "x"), ("calls\n", "x")),
    ],
)
def test_what_names_a_file_is_no_axis(name: str, value: str) -> None:
    with pytest.raises(UserError, match="is not an axis of a benchmark"):
        check_option(name, value)


@pytest.mark.parametrize("word", ["--jsonl=/home/me/.bashrc", "-x", "+"])
def test_no_value_becomes_an_option(word: str) -> None:
    for check in (check_word, lambda value: check_option("calls", value)):
        with pytest.raises(UserError, match="would be an option of the program"):
            check(word)
    assert [check_word(each) for each in ("-", "H,D", "a-b")] == ["-", "H,D", "a-b"]
