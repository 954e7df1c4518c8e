# SPDX-License-Identifier: Apache-2.0
"""Tries all cases with every library, in jobs whose ends do not affect later ones."""

import itertools
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

import nearpeak
from nearpeak.clock import now
from nearpeak.conform import plan
from nearpeak.conform.journal import (
    CASES,
    SCHEMA,
    BadlyEnded,
    Begin,
    ConformJournal,
    Contended,
    Ended,
    Record,
    resume_command,
)
from nearpeak.conform.plan import Chosen
from nearpeak.errors import UserError, closest
from nearpeak.files import disk_is_full, make_inside, put_whole
from nearpeak.grouping import present
from nearpeak.journal import CannotWriteError, cannot_write
from nearpeak.launching import mps
from nearpeak.launching.command_lines import Seats, Tools, probe_launch
from nearpeak.launching.describe import Description
from nearpeak.launching.paths import between_ranks, gpu_path
from nearpeak.launching.trials import Job, cases_text
from nearpeak.libraries.families import is_native
from nearpeak.libraries.launch import shell_line
from nearpeak.libraries.library import CommandLine, Contender
from nearpeak.machine.machine import Machine
from nearpeak.machine.paths import discover_paths
from nearpeak.terms.buffers import HOST, Ends, parse_buffers, rank_ends
from nearpeak.terms.identity import Who
from nearpeak.terms.outcomes import NOT_TRIED
from nearpeak.terms.path import DataPath
from nearpeak.terms.trials import RANKS, Outcome, TrialCase

GPU_BUFFERS = ("D,D", "M,M", "P,P", "H,D")
# If ranks share a core: libraries wait without yielding it, and larger messages take minutes
# (MPICH's allreduce of 4 MiB), which would look like hanging.
MOST_BYTES_SHARED = 64 << 10
Tell = Callable[[Contender, Outcome], None]


@dataclass(frozen=True)
class Place:
    """The path and the ends of ranks, for some kinds of buffers."""

    path: DataPath
    ends: Ends  # of two ranks
    buffers: str  # that represent all kinds that are tried there
    more: Ends  # for more ranks, round-robin: with fewer cores or GPUs, ranks share them

    def seats(self, ranks: int) -> Ends:
        """Returns the end of each rank."""
        seats = self.ends if ranks == RANKS else self.more
        return tuple(seats[rank % len(seats)] for rank in range(ranks))


def places(
    paths: Sequence[DataPath], chosen: Chosen, named: DataPath | None = None
) -> dict[str, Place]:
    """Returns the place of each kind of buffers: on the host, or between two GPUs (on the path
    `named`, if given).

    Without chosen buffers it has all that this machine supports; UserError for buffers without a
    place.
    """
    on_host = (path for path in paths if path.transport == "memory" and rank_ends(path, HOST))
    by_kind = _placed([HOST], next(on_host, None), paths)
    by_kind |= _placed(GPU_BUFFERS, named or gpu_path(paths), [] if named else paths)
    wanted = [parse_buffers(kind) for kind in chosen.buffers] or list(by_kind)
    for kind in wanted:
        if "D,D" in by_kind and len(kind.split(",")) == RANKS:
            by_kind.setdefault(kind, by_kind["D,D"])
        if kind not in by_kind:
            raise UserError(
                f"--buffers {kind}: there is no place for them on this machine: choose some of "
                f"{', '.join(by_kind) or 'none'}"
            )
    if not wanted:
        raise UserError("two ranks have no place on this machine: see `nearpeak machine`")
    if named and all(by_kind[kind].path is not named for kind in wanted):
        raise UserError(f"--path {named.id!r}: no --buffers are tried there")
    return {kind: by_kind[kind] for kind in wanted}


def _placed(
    kinds: Sequence[str], path: DataPath | None, paths: Sequence[DataPath]
) -> dict[str, Place]:
    """Returns the place of these kinds of buffers on a path that the first of them fit, with the
    widest of `paths` for more ranks; nothing without a path."""
    ends = rank_ends(path, kinds[0]) if path else None
    if path is None or ends is None:
        return {}
    wide = [other for other in paths if other.transport == "memory" and len(other.ends) > RANKS]
    further = filter(None, (rank_ends(other, kinds[0]) for other in wide))
    return dict.fromkeys(kinds, Place(path, ends, kinds[0], max(further, key=len, default=ends)))


def named_path(machine: Machine, path_id: str) -> DataPath:
    """Returns the path that was named for buffers on devices; UserError if it does not exist or
    lacks two ends with a GPU."""
    paths, missing = discover_paths(machine, all_pairs=True)
    fit = {path.id: path for path in between_ranks(paths) if _is_between_gpus(path)}
    if path_id in fit:
        return fit[path_id]
    reasons = [reason.why for reason in missing if reason.path == path_id]
    if not reasons and path_id not in {path.id for path in paths}:
        raise UserError(f"--path: unknown path {path_id!r}{closest(path_id, fit)}")
    unpaired = [name for name, path in fit.items() if not path.pair]
    pair = next((f"{name} and other pairs" for name, path in fit.items() if path.pair), None)
    choices = ", ".join(present([*unpaired, pair])) or "none"
    raise UserError(
        f"--path {path_id!r} {'; '.join(reasons) or 'has not two ends with a GPU'}: choose one"
        f" of {choices}"
    )


def _is_between_gpus(path: DataPath) -> bool:
    return len(path.ends) == RANKS and rank_ends(path, "D,D") is not None


def begin(
    machine: Machine,
    chosen: Chosen,
    described: Description,
    kinds: Sequence[str],
) -> Begin:
    """Returns the first record of a new run."""
    return Begin(
        schema=SCHEMA,
        nearpeak=nearpeak.__version__,
        started=now(),
        chosen=chosen,
        host=machine.hostname,
        gpus=[gpu.name for gpu in machine.gpus],
        driver=machine.provenance.nvidia_driver,
        memories=plan.memories(described, chosen, kinds),
        operations=plan.operations(described, chosen),
    )


def check_resumed(records: Sequence[Record], now: Begin, contenders: Sequence[Contender]) -> None:
    """Raises UserError if a run was begun on another machine or with another version of a library:
    the report would mix outcomes of both."""
    first, *others = records
    assert isinstance(first, Begin)
    versions = {
        Who(record.library, record.settings): record.version
        for record in others
        if isinstance(record, Contended)
    }
    facts = [
        ("GPUs", ", ".join(first.gpus), ", ".join(now.gpus)),
        ("driver", first.driver, now.driver),
    ]
    for contender in contenders:
        version = contender.library.version
        facts.append((contender.label, versions.get(contender.who, version), version))
    differ = [
        f"{name}: {before or 'none'}, now {current or 'none'}"
        for name, before, current in facts
        if before != current
    ]
    if differ:
        raise UserError(f"it was begun with others ({'; '.join(differ)}): start anew with -o")


def check_library(contender: Contender) -> None:
    """Raises UserError if a library is no MPI library."""
    if is_native(contender.library):
        raise UserError(f"{contender.label} is no MPI library: choose others with --mpi")


class Run:
    """A new run, or one that is resumed."""

    def __init__(
        self,
        journal: ConformJournal,
        described: Description,
        place_of: dict[str, Place],
        tools: Tools,
    ) -> None:
        """`place_of`: the place of every chosen kind of buffers."""
        first = journal.begin
        self._journal = journal
        self._chosen = first.chosen
        self._described = described
        self._place_of = place_of
        self._tools = tools
        self._cases = plan.cases(described, self._chosen, first.operations, first.memories)
        self._threaded = {benchmark.name for benchmark in described.benchmarks if benchmark.threads}

    @property
    def planned(self) -> int:
        """The number of cases of one library."""
        return len(self._cases)

    def left(self, contender: Contender) -> list[TrialCase]:
        """Returns the cases that have no outcome, or that still have to be tried alone."""
        done = {outcome.case for outcome in self._outcomes(contender) if outcome.settled}
        return [case for case in self._cases if case not in done]

    def begin(self, contenders: Sequence[Contender]) -> None:
        """Records all libraries before the first is tried, so that the report of an interrupted run
        names the missing ones."""
        for contender in contenders:
            version, who = contender.library.version, msgspec.structs.asdict(contender.who)
            self._journal.append(Contended(**who, version=version, planned=self.planned))

    def try_library(self, contender: Contender, tell: Tell) -> None:
        """Tries the remaining cases of a library; calls `tell` with each outcome.

        CannotWriteError if a disk is full; then no process is left running. MpsError if the path
        needs a daemon that does not start.
        """
        while True:
            for outcome in self._outcomes(contender):
                if not outcome.settled:
                    self._try_alone(contender, outcome, tell)
            self._leave_out(contender, self.left(contender), tell)
            if not (left := self.left(contender)):
                return
            self._try_in_turn(contender, self._alike(left), tell)

    def _outcomes(self, contender: Contender) -> list[Outcome]:
        """Returns the last outcome of each case."""
        last = {
            record.outcome.case: record.outcome
            for record in self._journal.records
            if isinstance(record, Ended) and Who(record.library, record.settings) == contender.who
        }
        return list(last.values())

    def _leave_out(self, contender: Contender, left: Sequence[TrialCase], tell: Tell) -> None:
        if self._chosen.depth == "full":
            return
        for case, reason in plan.pointless(left, self._outcomes(contender)).items():
            self._record(contender, Outcome(case=case, status=NOT_TRIED, message=reason), tell)

    def _alike(self, left: Sequence[TrialCase]) -> list[TrialCase]:
        """Returns the first case, and the following ones that can share its job."""

        def sort(case: TrialCase) -> tuple[str, int, bool, bool]:
            path = self._place_of[case.buffers].path.id
            return path, case.ranks, case.operation in self._threaded, plan.is_first(case)

        return list(next(itertools.groupby(left, key=sort))[1])

    def _try_in_turn(self, contender: Contender, cases: Sequence[TrialCase], tell: Tell) -> None:
        """Tries cases in one job, as far as it gets."""

        def record(outcome: Outcome, before: list[TrialCase]) -> None:
            if not outcome.settled:
                again = self._repeating(contender, [*before, outcome.case])
                outcome = msgspec.structs.replace(outcome, command=again)
            self._record(contender, outcome, tell)

        self._run_job(contender, cases, record)

    def _try_alone(self, contender: Contender, outcome: Outcome, tell: Tell) -> None:
        """Tries a case that ended badly after others as the only case of a job, too."""

        def record(alone: Outcome, _: list[TrialCase]) -> None:
            command = outcome.command
            if alone.bad:
                command = alone.command
                self._cases_file(contender, outcome.case).unlink(missing_ok=True)
            both = msgspec.structs.replace(outcome, alone=alone.status, command=command)
            self._record(contender, both, tell)

        self._run_job(contender, [outcome.case], record)

    def _run_job(
        self,
        contender: Contender,
        cases: Sequence[TrialCase],
        record: Callable[[Outcome, list[TrialCase]], None],
    ) -> None:
        job = Job(cases, self._sizes, partial(self._launch, contender, cases[0]), record)
        # More ranks may share cores, and then take longer.
        path = self._place_of[cases[0].buffers].path
        # A daemon for each job, as killed clients may leave one in a bad state.
        with mps.daemon() if path.mps else nullcontext():
            job.run(self._chosen.limit_seconds * cases[0].ranks / RANKS)
        if (end := job.bad_end) is not None:
            if len(job.ended) > 1:
                again = self._repeating(contender, job.ended, "-end")
                end = msgspec.structs.replace(end, command=again)
            self._journal.append(BadlyEnded(**msgspec.structs.asdict(contender.who), end=end))

    def _launch(self, contender: Contender, case: TrialCase, options: list[str]) -> CommandLine:
        """Returns the command line of `nearpeak-mpi probe` at the place of the case."""
        place = self._place_of[case.buffers]
        seats = Seats(place.path, place.seats(case.ranks), place.buffers)
        return probe_launch(self._tools, contender, options, seats)

    def _sizes(self, case: TrialCase) -> list[int]:
        sizes = plan.sizes_of(case, self._chosen)
        cpus = [tuple(end.cpus) for end in self._place_of[case.buffers].seats(case.ranks)]
        if len(set(cpus)) == len(cpus):
            return sizes
        return [size for size in sizes if size <= MOST_BYTES_SHARED]

    def _repeating(self, contender: Contender, cases: Sequence[TrialCase], suffix: str = "") -> str:
        """Writes these cases to a file in the folder, and returns the shell line that tries them in
        one job."""
        file = self._cases_file(contender, cases[-1], suffix)
        try:
            make_inside(file.parent)
            put_whole(file, cases_text(cases, self._sizes).encode())
        except OSError as error:
            raise self._cannot_write(self._journal.folder, error) from None
        return shell_line(self._launch(contender, cases[0], ["--cases", str(file)]))

    def _cases_file(self, contender: Contender, case: TrialCase, suffix: str = "") -> Path:
        parts = (contender.label, case.operation, case.buffers, case.allocator, case.offset)
        ranks = (f"{case.ranks}-ranks",) if case.ranks > RANKS else ()
        name = "-".join(map(str, (*parts, case.check, *ranks))) + suffix
        return self._journal.folder.resolve() / CASES / f"{name}.txt"

    def _cannot_write(self, folder: Path, error: OSError | None) -> CannotWriteError:
        return cannot_write(folder, error, resume_command(self._journal.folder))

    def _record(self, contender: Contender, outcome: Outcome, tell: Tell) -> None:
        # Jobs and their libraries write into the second folder.
        for folder in (self._journal.folder, Path(tempfile.gettempdir())):
            if outcome.bad and disk_is_full(folder):
                raise self._cannot_write(folder, None)
        self._journal.append(Ended(**msgspec.structs.asdict(contender.who), outcome=outcome))
        if outcome.settled:
            tell(contender, outcome)
