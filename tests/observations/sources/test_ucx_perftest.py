# SPDX-License-Identifier: Apache-2.0
"""Output of ucx_perftest 1.22 (libucx-cu12), both ends on one machine that had other work.

server_client.txt is of two runs: what the server printed, and then what the client did. batch.txt
is of a client with -f and two batch files, stages.txt of one without -f.
"""

from pathlib import Path

import pytest

from nearpeak.errors import UserError
from nearpeak.observations.load import load
from nearpeak.observations.printed import read
from nearpeak.observations.sources.ucx_perftest import TOOL

FILES = Path(__file__).with_name("ucx_perftest")
BOTH = (FILES / "server_client.txt").read_text()
LOOPBACK = (FILES / "loopback.txt").read_text()
BATCH = (FILES / "batch.txt").read_text()
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
        ("tag", "latency", 8, 0.285, 1),
        ("tag", "latency", 1024, 0.786, 1),
    ]
    assert "times are medians of half the way" in scope(FILES / "server_client.txt")


def test_rates_are_of_mebibytes() -> None:
    [(how, benchmark, size, rate, window)] = figures(FILES / "loopback.txt")
    assert (how, benchmark, size, window) == ("tag", "bw", 4096, 32)
    assert rate == pytest.approx(19893.39 * 1048576e-9)


def test_tests_of_a_batch_are_known_by_their_names() -> None:
    """With the final figures alone (-f), and with all stages."""
    found = figures(FILES / "batch.txt")
    assert found[:2] == [("tag", "latency", 8, 0.09, 1), ("tag", "latency", 1024, 0.22, 1)]
    assert [each[:3] for each in found[2:]] == [("tag", "bw", 8), ("tag", "bw", 1024)]
    assert "what the batch files call them" in scope(FILES / "batch.txt")
    first, second = figures(FILES / "stages.txt")
    assert first == ("tag", "latency", 8, 0.29, 1)
    assert second[:3] == ("tag", "bw", 65536)


def test_what_is_logged_is_no_row(written: Path) -> None:
    line = "[1795614006.749348] [vm:15256:0] perftest_run.c:363  UCX  WARN  there are 2\n"
    end = BATCH.index("ucp_contig_tag_bw/8 ")
    written.write_text(BATCH[:end] + line + BATCH[end:])
    assert figures(written) == figures(FILES / "batch.txt")


def test_another_percentile_is_no_median(written: Path) -> None:
    written.write_text(BOTH.replace("50.0%ile", "99.0%ile"))
    assert [each[3] for each in figures(written)] == [3.386, 7.039]
    assert "where another percentile was asked for means" in scope(written)


def test_thousands_may_be_apart(written: Path) -> None:
    written.write_text(BOTH.replace(" 100000 ", " 100,000 ").replace(" 142076\n", " 142,076\n"))
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
        (BOTH[:-30], "line .* is not a whole row of the table of one thread"),
        (
            LOOPBACK.replace("protocol layer", "transport layer"),
            r"bandwidth' \(transport layer\); ",
        ),
        (LOOPBACK.replace("match bandwidth", "sync match rate"), "is of 'tag sync match rate'"),
        (LOOPBACK.replace("4096 ", "? "), "the heading of 'tag match bandwidth' is not whole"),
        (LOOPBACK.replace("host ", "gaudi "), "the heading of 'tag match bandwidth' is not whole"),
        (BATCH.replace("ucp_contig_tag_lat/8", "mine"), "'mine' does not say which test and size"),
        (BATCH.replace("/1024", "/8"), "has several figures of one test and size"),
        ("x,iterations,50.0_percentile_lat,avg_lat\n8,1,2,3\n", "is a table of commas: run it wit"),
    ],
)
def test_what_cannot_be_read_is_one_line(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    assert TOOL.titles(read(written))
    with pytest.raises(UserError, match=message):
        load(written)


# As UCX 1.8 prints it with one terminal for both: the client's heading comes first.
OLD = """\
+--------------+-----------------------------+---------------------+-----------------------+
| # iterations | typical | average | overall |  average |  overall |   average |   overall |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
| API:          protocol layer                                                             |
| Test:         tag match {test}                                                        |
| Data layout:  (automatic)                                                                |
| Send memory:  rocm                                                                       |
| Recv memory:  rocm                                                                       |
| Message size: {size}                                                                  |
+------------------------------------------------------------------------------------------+
                 5      1.500     2.500     2.500     1000.00    1000.00         110         110
                10      {typical}     2.600     2.600     2000.00    3000.00         110         110
"""


@pytest.mark.parametrize(
    ("test", "median", "window"), [("bandwidth", 3.145728, None), ("latency", 1.25, 1)]
)
def test_old_versions_have_neither_stages_nor_a_window(
    written: Path, test: str, median: float, window: int | None
) -> None:
    """The last row is that of the whole test."""
    texts = [OLD.format(test=test, size=size, typical="1.250") for size in (64, 128)]
    written.write_text("".join(texts))
    found = load(written).observed
    assert [each.case.x for each in found] == [64, 128]
    assert {(round(each.summary.median, 6), each.window, each.case.buffers) for each in found} == {
        (median, window, "D,D")
    }


@pytest.mark.parametrize(
    ("command", "found", "buffers"),
    [
        ("$ ucx_perftest node2 -t tag_bw -s 4096 -n 100", ("tag", "bw", 4096), "H,H"),
        ("+ ./bin/ucx_perftest 10.0.0.1 -t ucp_am_lat -m cuda", ("am", "latency", 8), "D,D"),
        ("ucx_perftest -t tag_lat -m cuda,host -s 16 b > out.txt", ("tag", "latency", 16), "D,H"),
        ("ucx_perftest -t tag_bw &\nucx_perftest -t tag_bw localhost", ("tag", "bw", 8), "H,H"),
    ],
)
def test_the_command_of_a_client_says_what_it_measured(
    written: Path, command: str, found: tuple[str, str, int], buffers: str
) -> None:
    client = LOOPBACK[LOOPBACK.index("+--------------+-") :]
    client = "\n".join(line for line in client.splitlines() if ":  " not in line[:20])
    written.write_text(f"{command}\n{client}\nFinal:  1000  1.1  1.2  1.3  4.0  5.0  600  700\n")
    [each] = figures(written)
    assert each[:3] == found
    assert "are those of the commands" in scope(written)
    assert {each.case.buffers for each in load(written).observed} == {buffers}


@pytest.mark.parametrize(
    "command",
    [
        "ucx_perftest node2 -t tag_bw -s $((1 << 20))",
        "ucx_perftest node2 -t put_lat -s 8",
        "ucx_perftest node2 -t tag_bw -s 8\nucx_perftest node2 -t tag_bw -s 16",
        "ucx_perftest node2 -t tag_bw -m gaudi",
        "ucx_perftest node2 -t ; echo",
        "ucx_perftest node2 -t tag_bw -b tests.txt",
        "ucx_perftest node2",
    ],
)
def test_commands_that_do_not_tell_are_no_help(written: Path, command: str) -> None:
    written.write_text(f"{command}\n{CLIENT[: CLIENT.index('Final')]}Final: 9 1 1 1 1 1 1 1\n")
    with pytest.raises(UserError, match="does not say which test and size it is of: run it with"):
        load(written)


def test_old_headings_have_the_memory_of_the_command(written: Path) -> None:
    old = "".join(line for line in LOOPBACK.splitlines(True) if " memory: " not in line)
    written.write_text(old)
    with pytest.raises(UserError, match="does not say in which memory its buffers were, as older"):
        load(written)
    written.write_text(f"ucx_perftest -t tag_bw -s 4096 -m rocm\n{old}")
    assert {each.case.buffers for each in load(written).observed} == {"D,D"}


def test_another_program_with_such_tables_is_not_taken_for_it(written: Path) -> None:
    text = "".join(line for line in LOOPBACK.splitlines(True) if "| API: " not in line)
    written.write_text(text)
    with pytest.raises(UserError, match=r"a heading without '. API: .*', which ucx_perf"):
        load(written)
