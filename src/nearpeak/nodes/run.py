# SPDX-License-Identifier: Apache-2.0
"""Runs the launches of a plan, one after the other."""

import itertools
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from nearpeak.arrays import Indices
from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError
from nearpeak.files import make_anew, make_inside
from nearpeak.launching.command_lines import Seats, Tools, device_options, rank_launch
from nearpeak.launching.growing import GrowingLines
from nearpeak.launching.interrupts import Interrupt
from nearpeak.launching.paths import rails_path, select_paths
from nearpeak.launching.places import NO_PLACE, Wanted, misplaced, wanted_at
from nearpeak.launching.process import run_tree
from nearpeak.launching.program_records import EnvironmentRecord
from nearpeak.libraries.library import Library, Settings
from nearpeak.machine.machine import Machine
from nearpeak.nodes import plan, suspects
from nearpeak.nodes.journal import Launch, LaunchEnd, NodesJournal, Ranks, Round, Wrong, read
from nearpeak.nodes.rounds import lines, lines_inside
from nearpeak.nodes.stopped import stopped
from nearpeak.terms.buffers import turned
from nearpeak.terms.command_words import check_word
from nearpeak.terms.logs import crash_words, last_words, words_of_ranks
from nearpeak.terms.path import DataPath
from nearpeak.terms.sizes import format_seconds
from nearpeak.watch.watched import temporary_folder

LOGS = "logs"
NO_TIME = "the job has no time left for it"
Tell = Callable[[str], None]


class _Pairs(msgspec.Struct, tag_field="record", tag="pairs"):
    """The program's record of a round."""

    round: int
    first: list[int]
    second: list[int]
    latency_us: list[float]
    bandwidth_gbs: list[float]


class _Problem(msgspec.Struct, tag_field="record", tag="problem"):
    status: str
    message: str
    rank: int
    sender: int


_DECODER = msgspec.json.Decoder(EnvironmentRecord | _Pairs | _Problem)


def path_of(machine: Machine, chosen: plan.Chosen) -> DataPath:
    """Returns the path with a rank on each node, or on each GPU of each node; UserError."""
    if chosen.rails:
        return rails_path(machine, chosen.nodes, [rail.gpu for rail in chosen.rails])
    number = len(chosen.nodes)
    return select_paths(machine, chosen.nodes, [f"host x{number} {number}-nodes"])[0]


class Run:
    """A new run, or one that is resumed."""

    def __init__(
        self,
        journal: NodesJournal,
        library: Library,
        settings: Settings,
        path: DataPath,
        tools: Tools,
        tell: Tell,
        seconds: float | None = None,
    ) -> None:
        """`path`: from `path_of`, for the chosen nodes; `tell`: prints a line of progress;
        `seconds`: the most that the run may take, None for no limit."""
        self._journal = journal
        self._chosen = journal.begin.chosen
        self._library = library
        self._settings = settings
        self._path = path
        self._tools = tools
        self._tell = tell
        self._interrupt = Interrupt()
        self._suspects: dict[plan.Stage, suspects.Suspects] = {}
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.cut_short = False  # by the deadline
        self._pace = 1.0
        for launched in read(journal.folder).launches:
            self._learn(launched.launch, launched.end.seconds)

    def expected(self) -> float:
        """Returns the seconds that the remaining launches will take."""
        return sum(self._expected(measures) for _, measures in self._left())

    def run(self) -> int | None:
        """Runs all launches that have not ended well, as far as there is time for them. Returns the
        signal that has ended the run, if any.

        CannotWriteError. If a launch fails, later ones are left out.
        """
        with self._interrupt.listening():
            for number, measures in self._left():
                if time.monotonic() + self._expected(measures) > self._deadline:
                    self._tell(f"launch {number + 1} is not begun: {NO_TIME}")
                    self.cut_short = True
                    break
                if not self._launch(number, measures) or self._interrupt.signal is not None:
                    break
        return self._interrupt.signal

    def _left(self) -> list[tuple[int, plan.Measures]]:
        done = {launched.launch.launch for launched in read(self._journal.folder).launches}
        launches = enumerate(plan.planned(self._chosen))
        return [(number, measures) for number, measures in launches if number not in done]

    def _expected(self, measures: plan.Measures) -> float:
        """Returns the seconds of a launch: the guess, times how wrong the guess of the last launch
        was."""
        return self._pace * plan.cost(self._chosen, [measures]).seconds

    def _learn(self, launch: Launch, seconds: float) -> None:
        """Adjusts the pace to a launch that has ended well."""
        inside, host, together = launch.inside, launch.host, launch.together
        took = plan.Measures(
            stage=launch.stage,
            together=together,
            alone=launch.rounds - together - inside - host,
            inside=inside,
            host=host,
        )
        self._pace = seconds / plan.cost(self._chosen, [took]).seconds

    def _launch(self, number: int, measures: plan.Measures) -> bool:
        """Runs a launch; true if it ended well."""
        suspected: tuple[Indices | None, Indices | None] = (None, None)
        if measures.stage in ("sift", "again"):
            suspects_again = self._suspected(measures.stage)
            suspected = suspects_again.pairs, suspects_again.labels
        together, alone = plan.rounds_of(self._chosen, number, *suspected)
        inside = plan.rounds_inside(self._chosen, number)
        rounds = 3 * len(inside) + len(together) + len(alone)
        launch = Launch(
            launch=number,
            stage=measures.stage,
            together=len(together),
            rounds=rounds,
            inside=len(inside),
            host=2 * len(inside),
        )
        self._journal.append(launch)
        with temporary_folder("nearpeak-nodes-") as folder:
            file, jsonl = Path(folder) / "rounds", Path(folder) / "records.jsonl"
            with file.open("w", encoding="ascii") as out:
                nodes, rails = len(self._chosen.nodes), self._chosen.per_node
                within = lines_inside(inside, nodes, rails)
                between = lines([*together, *alone], rails)
                out.writelines(f"{line}\n" for line in itertools.chain(within, between))
            end = self._run(number, file, jsonl, rounds)
        self._journal.append(end)
        if end.status != "ok":
            self._tell(f"launch {number + 1} {end.status}: {end.message}")
            return False
        self._learn(launch, end.seconds)
        return True

    def _suspected(self, stage: plan.Stage) -> suspects.Suspects:
        """Returns the suspects of a stage, computed once, as nodes wait meanwhile."""
        if stage not in self._suspects:
            self._suspects[stage] = suspects.find(read(self._journal.folder))
        return self._suspects[stage]

    def _run(self, number: int, file: Path, jsonl: Path, rounds: int) -> LaunchEnd:
        wanted = wanted_at(self._path.ends, between_hosts=True, library=self._library.version_text)
        records = _Records(jsonl, wanted, self._journal, self._progress(number, rounds))
        line = self._tools.command_line(
            self._library,
            rank_launch(
                self._program(file, jsonl, number),
                Seats(self._path, self._path.ends, self._chosen.buffers),
                self._settings,
                self._chosen.remote_shell,
            ),
        )
        log = self._journal.folder / LOGS / f"launch-{number}.log"
        make_inside(log.parent)
        make_anew(log)
        ended = run_tree(
            line.argv,
            env={**os.environ, **line.env},
            log=log,
            limit_seconds=self._chosen.launch_limit_seconds,
            tick=records.read,
            stop=lambda: bool(records.wrong) or self._is_over(),
        )
        records.read()

        def end(status: str, message: str) -> LaunchEnd:
            return LaunchEnd(launch=number, status=status, message=message, seconds=ended.seconds)

        if self._is_over() and ended.end == "stopped":
            self.cut_short = self._interrupt.signal is None
            return end("stopped", NO_TIME if self.cut_short else self._interrupt.reason())
        if ended.exit_status and self._interrupt.has_come():
            return end("stopped", self._interrupt.reason())
        if records.wrong:
            return end("failed", records.wrong)
        if ended.end == "not started":
            return end("failed", ended.reason)
        if ended.end == "hung":
            limit = format_seconds(self._chosen.launch_limit_seconds)
            return end("hung", f"no round within {limit}; {last_words(log)}")
        # Wrong data of a pair is reported; the other pairs count.
        if ended.exit_status and not records.wrong_data:
            said = words_of_ranks(log)
            if said:
                return end("failed", stopped(self._chosen, said))
            return end("failed", crash_words(ended.exit_status, log))
        if records.rounds < rounds:
            return end("failed", f"{records.rounds} of {rounds} rounds; {last_words(log)}")
        return end("ok", "")

    def _is_over(self) -> bool:
        return self._interrupt.signal is not None or time.monotonic() > self._deadline

    def _program(self, file: Path, jsonl: Path, number: int) -> list[str]:
        chosen = self._chosen
        of_gpus: list[str] = []
        if chosen.rails:
            # Two different kinds are measured in both orders, so that a pair has no direction.
            orders = "+".join(dict.fromkeys([chosen.buffers, turned(chosen.buffers)]))
            adapters = ",".join(check_word(rail.adapter or "-") for rail in chosen.rails)
            of_gpus = ["--buffers", orders, "--adapters", adapters]
            of_gpus += device_options(self._path.ends, chosen.buffers)
        return [
            *(str(self._tools.mpi_program(self._library)), "pairs", "--rounds", str(file)),
            *of_gpus,
            *("--small", str(chosen.small_bytes), "--large", str(chosen.large_bytes)),
            *("--window", str(chosen.window), "--slot-ms", f"{chosen.slot_ms:g}"),
            *("--least-samples", "3", "--seed", str(number), "--jsonl", str(jsonl)),
        ]

    def _progress(self, number: int, rounds: int) -> Callable[[int], None]:
        """Returns a function that prints the progress of rounds now and then."""
        every = max(rounds // 4, 1)
        last = len(plan.planned(self._chosen))

        def tell(done: int) -> None:
            if done % every == 0 or done == rounds:
                self._tell(f"launch {number + 1} of {last}: {done} of {rounds} rounds")

        return tell


class _Records:
    """Copies the records of a launch into the journal."""

    def __init__(
        self, file: Path, wanted: Wanted, journal: NodesJournal, tell: Callable[[int], None]
    ) -> None:
        self._lines = GrowingLines(file)
        self._wanted = wanted
        self._journal = journal
        self._tell = tell
        self._on_gpus = bool(journal.begin.chosen.rails)
        self._placed = False
        self.rounds = 0
        self.wrong_data = False
        self.wrong = ""  # why its figures are invalid

    def read(self) -> bool:
        """Reads the new complete lines; true if there were any."""
        return self._lines.give(self._take)

    def _take(self, line: bytes) -> None:
        if self.wrong:
            return
        try:
            record = _DECODER.decode(line)
        except UNDECODABLE as error:
            self.wrong = f"its records were not understood: {error}"
            return
        if isinstance(record, EnvironmentRecord):
            self.wrong = misplaced(self._wanted, record)
            self._placed = True
            if self._on_gpus:
                self._journal.append(Ranks(ranks=record.ranks))
        elif not self._placed:
            self.wrong = NO_PLACE
        elif isinstance(record, _Problem):
            self.wrong_data = True
            self._journal.append(
                Wrong(message=record.message, rank=record.rank, sender=record.sender)
            )
        else:
            self._journal.append(Round(**msgspec.structs.asdict(record)))
            self.rounds += 1
            self._tell(self.rounds)


def check_library(library: Library, native: bool) -> None:
    """Raises UserError if a library is no MPI library."""
    if native:
        raise UserError(
            f"{library.name} is no MPI library, and `nearpeak nodes` measures pairs with MPI alone:"
            " choose another with --mpi; `nearpeak study` measures NCCL"
        )
