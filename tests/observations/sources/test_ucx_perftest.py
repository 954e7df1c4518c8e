# SPDX-License-Identifier: Apache-2.0
"""Output of ucx_perftest 1.22, written by hand as its source prints."""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.observations.sources.ucx_perftest import recognises

FILES = Path(__file__).with_name("ucx_perftest")
BOTH = (FILES / "server_client.txt").read_text()
LOOPBACK = (FILES / "loopback.txt").read_text()
BATCH = (FILES / "batch.txt").read_text()
RULES = (
    "+{}-----+--------------+----------+---------+---------+----------+----------+-----------+---\n"
)
FINAL = "Final:  1000000  1.202  1.223  1.225  6.23  6.24  817900  818000\n"
CLIENT = BOTH[BOTH.index("+--------------+") :]
SERVER = BOTH[: BOTH.index("+--------------+")]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def figures(file: Path) -> list[tuple[str, str, int, float, int | None]]:
    return [
        (
            each.launch.who.settings,
            each.case.benchmark,
            each.case.x,
            each.summary.median,
            each.window,
        )
        for each in load(file).observed
    ]


def scope(file: Path) -> str:
    [said] = {library.scope for library in load(file).libraries}
    return said


def test_what_server_and_client_print_belongs_together() -> None:
    assert figures(FILES / "server_client.txt") == [
        ("tag", "latency", 8, 1.202, 1),
        ("tag", "latency", 1024, 1.502, 1),
    ]
    assert "times are medians of half the way" in scope(FILES / "server_client.txt")


def test_rates_are_of_mebibytes() -> None:
    [(how, benchmark, size, rate, window)] = figures(FILES / "loopback.txt")
    assert (how, benchmark, size, window) == ("tag", "bw", 65536, 32)
    assert rate == pytest.approx(11950.25 * 1048576e-9)


def test_tests_of_a_batch_are_known_by_their_names(written: Path) -> None:
    """With the final figures alone (-f), and with all stages."""
    expected = [("tag", "latency", 8, 1.2, 1), ("tag", "latency", 1024, 1.5, 1)]
    assert figures(FILES / "batch.txt")[:2] == expected
    assert figures(FILES / "batch.txt")[2][:3] == ("tag", "bw", 65536)
    assert "what the batch files call them" in scope(FILES / "batch.txt")
    table = CLIENT[: CLIENT.index("[thread")]
    written.write_text(table + RULES.format("tag_lat_16") + FINAL)
    assert figures(written) == [("tag", "latency", 16, 1.202, 1)]


def test_another_percentile_is_no_median(written: Path) -> None:
    written.write_text(BOTH.replace("50.0%ile", "99.0%ile"))
    assert [each[3] for each in figures(written)] == [1.222, 1.522]
    assert "where another percentile was asked for means" in scope(written)


def test_thousands_may_be_apart(written: Path) -> None:
    written.write_text(BOTH.replace(" 1000000 ", " 1,000,000 ").replace(" 817900 ", " 817,900 "))
    assert figures(written) == figures(FILES / "server_client.txt")


@pytest.mark.parametrize(
    ("memory", "buffers"), [("cuda", "D,D"), ("rocm-managed", "M,M"), ("ze-host", "P,P")]
)
def test_memory_is_that_of_the_heading(written: Path, memory: str, buffers: str) -> None:
    written.write_text(LOOPBACK.replace("host" + 4 * " ", memory + 4 * " "))
    assert [each.case.buffers for each in load(written).observed] == [buffers]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CLIENT, "does not say which test and size it is of: run it with -l, or give the outputs"),
        (SERVER, "has no figures, which the client prints: run it with -l, or give"),
        (BOTH[: BOTH.index("Final:", len(BOTH) - 300)], "of 2 tests and has the figures of 1: giv"),
        (BOTH[:-60], "line .* is not a whole row of the table of one thread"),
        (
            LOOPBACK.replace("protocol layer", "transport layer"),
            r"bandwidth' \(transport layer\); ",
        ),
        (LOOPBACK.replace("match bandwidth", "sync match rate"), "is of 'tag sync match rate'"),
        (LOOPBACK.replace("65536", "?"), "the heading of 'tag match bandwidth' is not whole"),
        (LOOPBACK.replace("host ", "gaudi "), "the heading of 'tag match bandwidth' is not whole"),
        (BATCH.replace("8/ucp_contig_tag_lat", "mine"), "'mine' does not say which test and size"),
        (BATCH.replace("1024/", "8/"), "has several figures of one test and size"),
        ("x,iterations,50.0_percentile_lat,avg_lat\n8,1,2,3\n", "is a table of commas: run it wit"),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert recognises(written)
    with pytest.raises(UserError, match=message):
        load(written)
