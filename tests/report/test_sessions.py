# SPDX-License-Identifier: Apache-2.0
"""The sessions of a study, set against one another."""

from pathlib import Path

import msgspec

from nearpeak.observations.observed import Block
from nearpeak.report import sessions
from nearpeak.report.notices import notices
from nearpeak.results.results import Results
from nearpeak.statistics.sessions import ENOUGH_LAUNCHES


def test_what_differs_is_named_with_both_values() -> None:
    earlier = {
        "driver": {"nvidia": "550.1"},
        "build": {"nearpeak": "a"},
        "library": {"mpich version": "4"},
    }
    later = {
        "driver": {"nvidia": "560.2"},
        "build": {"nearpeak": "a", "nearpeak-mpi openmpi": "b"},
        "library": {"mpich version": "5", "openmpi version": "6", "openmpi@default settings": "c"},
    }
    assert sessions.differences(earlier, later) == [
        "driver nvidia: 550.1 -> 560.2",
        "library mpich version: 4 -> 5",
    ]


def test_each_session_stands_against_the_one_before(results: Results) -> None:
    results.sessions.append(results.sessions[0])
    changes = [found for _, found in sessions.rows(results.sessions)]
    assert changes == [
        [],
        ["driver nvidia: 550.1 -> 560.2"],
        ["driver nvidia: 560.2 -> 550.1"],
    ]


def test_files_are_no_sessions_that_anything_changed_in(results: Results) -> None:
    """Their fingerprints are empty, as nobody knows them."""
    before = sessions.sentence(results)
    file = msgspec.structs.replace(
        results.sessions[0], session=9, fingerprint={}, source="bw.txt", verdicts=False
    )
    results.sessions.append(file)
    assert len(sessions.rows(results.sessions)) == 2
    assert sessions.sentence(results) == (
        f"{before} Imported beside it: bw.txt; when, and on which software, nobody knows."
    )
    results.sessions = [file]
    assert sessions.sentence(results) == ""
    results.sessions = [file, file]
    assert sessions.sentence(results).startswith("Taken from 2 files: whether all are of one mach")


def test_one_session_is_not_worth_a_line(plain: Results) -> None:
    assert sessions.sentence(plain) == ""
    plain.sessions.append(msgspec.structs.replace(plain.sessions[0], session=1))
    assert sessions.sentence(plain) == ("Measured in 2 sessions, on the same machine and software.")


def test_a_session_that_measured_nothing_is_told_as_such(results: Results) -> None:
    idle = results.sessions[0]
    results.sessions += [msgspec.structs.replace(idle, session=number) for number in (2, 3)]
    assert [session.session for session in results.measuring_sessions] == [0, 1]
    assert sessions.sentence(results) == (
        "Measured in 2 sessions. Changed in session 2 (forced): driver nvidia: 550.1 -> 560.2."
        " 2 more sessions measured nothing that counts."
    )
    results.sessions[0].verdicts = results.sessions[2].verdicts = True
    assert " Verdicts rest on session 1 alone, which has " in sessions.sentence(results)
    results.comparisons = []
    results.sessions[1:] = results.sessions[2:]
    assert (
        sessions.sentence(results)
        == "Measured in 1 session. 2 more sessions measured nothing that counts."
    )


def test_the_line_of_several_says_which_was_forced(results: Results) -> None:
    assert sessions.sentence(results) == (
        "Measured in 2 sessions. Changed in session 2 (forced): driver nvidia: 550.1 -> 560.2."
    )


def test_which_session_the_verdicts_rest_on(results: Results) -> None:
    results.sessions[1].verdicts = True
    results.judging.blocks = 3
    assert sessions.sentence(results).endswith(
        "Verdicts rest on session 2 alone, which has 3 blocks: too few for verdicts and for saying"
        " who is first."
    )
    results.judging.blocks = 6
    assert sessions.sentence(results).endswith("session 2 alone, which has 6 blocks.")
    results.sessions[0].verdicts = True
    words = sessions.sentence(results)
    assert words.endswith("Verdicts rest on 2 sessions (1 and 2), which have 6 blocks.")
    results.comparisons = []
    assert "Verdicts" not in sessions.sentence(results)


def test_who_was_not_measured_in_all_sessions_is_told(plain: Results) -> None:
    plain.sessions.append(msgspec.structs.replace(plain.sessions[0], session=1))
    later = [cell for cell in plain.cells if cell.who.library == "mpich"]
    for cell in plain.cells:
        if cell not in later:
            cell.blocks = [*cell.blocks, Block(1, 9)]
    assert sessions.sentence(plain).endswith(
        " mpich was measured in session 1 alone: compare its fractions, which are of ceilings of"
        " the same blocks, not its figures."
    )


def test_blocks_that_were_added_are_told(plain: Results) -> None:
    added = msgspec.structs.replace(plain.sessions[0], session=1, added="ended by SIGINT")
    plain.sessions.append(added)
    assert sessions.sentence(plain).endswith(
        "Session 2 added blocks to a study that had ended like this: ended by SIGINT."
    )


def _in_sessions(results: Results, sessions: int, *apart: int) -> None:
    """The blocks of all cells in turn, as many as sessions need; with the flag of some of them."""
    for number, cell in enumerate(results.cells):
        cell.blocks = [Block(i % sessions, i) for i in range(ENOUGH_LAUNCHES * sessions)]
        cell.flags = ["sessions apart"] if number in apart else []


def test_figures_that_differ_between_sessions_are_told_with_what_helps(plain: Results) -> None:
    assert sessions.apart(plain, Path("DIR")) is None
    _in_sessions(plain, 2)
    assert sessions.apart(plain, Path("DIR")) is None
    _in_sessions(plain, 2, 0)
    two = sessions.apart(plain, Path("a b"))
    assert two is not None
    assert two.text.startswith("1 of ")
    assert two.text.endswith(
        " figures differs between sessions by more than launches explain (by chance alone, a"
        " quarter would); intervals take that in. With two sessions, they hold for these two only."
        " A third session shows how far sessions scatter:"
    )
    assert two.command == "nearpeak study --resume -o 'a b' --launches 12"


def test_a_session_of_few_blocks_is_none_that_intervals_hold_for(plain: Results) -> None:
    _in_sessions(plain, 2, 0)
    for cell in plain.cells:
        cell.blocks.append(Block(2, 6))
    two = sessions.apart(plain, Path("DIR"))
    assert two is not None
    assert " With two sessions, they hold for these two only." in two.text


def test_what_is_not_complete_has_one_command(plain: Results) -> None:
    """That which completes it, in another session."""
    _in_sessions(plain, 2, 0)
    plain.complete = False
    two = sessions.apart(plain, Path("DIR"))
    assert two is not None
    assert two.text.endswith(" With two sessions, they hold for these two only.")
    commands = [notice.command for notice in notices(plain) if notice.command]
    assert commands == ["nearpeak study --resume -o DIR"]


def test_of_more_sessions_intervals_may_reach_further(plain: Results) -> None:
    _in_sessions(plain, 3, 0, 1)
    more = sessions.apart(plain, Path("DIR"))
    assert more is not None
    assert more.text.startswith("2 of ")
    assert more.text.endswith(
        " With several sessions, they hold for any like these, and may reach beyond all that was"
        " measured. More sessions tell more of their scatter:"
    )
    _in_sessions(plain, 6, 0)
    many = sessions.apart(plain, Path("DIR"))
    assert many is not None
    assert " they hold for any like these. More" in many.text
