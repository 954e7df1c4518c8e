# SPDX-License-Identifier: Apache-2.0
"""A file of rules: the algorithm of a collective operation, by message size.

Each algorithm is forced in launches that measure the operation at all sizes, interleaved with
launches of the library with default settings. An algorithm that is significantly better at a size
becomes its rule; elsewhere the library's own choice stays. The file is a value of a setting like
any other, for the search to try. It applies only to the number of ranks that was measured; a
variable that forces an algorithm applies to any number.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from nearpeak.arrays import Floats
from nearpeak.launching.single_launch import LaunchFailed
from nearpeak.libraries.rules import Range, Table
from nearpeak.libraries.tunables import Offered, Ruled
from nearpeak.numbers import count, size
from nearpeak.tune.candidates import Env
from nearpeak.tune.distances import Distances
from nearpeak.tune.estimate import HARM, LEAST_GAIN, LIKELY, SURE, Estimate, estimate, noise_of

SCREENED_BETWEEN = 5  # launches between two of the library's own choice, which show drift
LEAST_ROUNDS = 5  # no proof follows for each rule
MOST_ROUNDS = 7


class Way(NamedTuple):
    """One algorithm of an operation."""

    env: tuple[tuple[str, str], ...]  # the variables that force it
    algorithm: int  # as the library counts them
    segment: int  # bytes of the parts in which it sends; 0: whole
    words: str

    @property
    def label(self) -> str:
        """`NAME=VALUE` of the variable that chooses it."""
        return "=".join(self.env[-1])


class Operation(NamedTuple):
    """A collective operation, and where it is measured."""

    name: str  # of its benchmark
    ruled: Ruled
    ways: tuple[Way, ...]
    sizes: tuple[int, ...]  # of its benchmark, ascending
    targets: tuple[int, ...]  # the sizes that are to be faster
    ranks: int


class Curves(Protocol):
    """The interface that measures curves (launches.Launches)."""

    def curves(
        self, env: Env, sizes: Mapping[str, Sequence[int]], limit_seconds: float, /
    ) -> tuple[dict[str, dict[int, float]], float | None]:
        """Measures the cost of each of these sizes of benchmarks in one launch within this time,
        and the distance of its CPUs in ns (None: unknown); LaunchFailed."""


def ways(offered: Sequence[Offered], benchmark: str) -> list[Way]:
    """Returns the algorithms of an operation that an installation has and that a file of rules can
    express."""
    mine = [
        setting
        for setting in offered
        if setting.tunable.ruled and benchmark in setting.tunable.benchmarks
    ]
    numbers = {setting.tunable.name: setting.numbers for setting in mine if setting.numbers}
    algorithms = []
    for setting in mine:
        for value in setting.values:
            env = setting.tunable.env(value)
            chosen = next((name for name in env if name in numbers), None)
            if chosen is None or env[chosen] not in numbers[chosen]:
                continue
            segment = int(value) if setting.tunable.ruled and setting.tunable.ruled.segment else 0
            description = env[chosen] + (f" in parts of {size(segment)}" if segment else "")
            number = numbers[chosen][env[chosen]]
            algorithms.append(Way(tuple(env.items()), number, segment, description))
    return algorithms


def sizes_of(possible: Sequence[int], targets: Sequence[int]) -> list[int]:
    """Returns the sizes of a study that matter: up to the first one above all targets, so that the
    reach of their rule is known."""
    above = [candidate for candidate in possible if candidate > max(targets)]
    return sorted(
        {*(candidate for candidate in possible if candidate < max(targets)), *targets, *above[:1]}
    )


def measure(
    launches: Curves,
    operations: Sequence[Operation],
    tell: Callable[[str], None],
    limit_seconds: float,
    left: Callable[[], float],
) -> list[Table]:
    """Measures the algorithms and returns the tables of those that beat the library's own choice,
    as far as there is time. `limit_seconds`: of a launch; `left`: returns the seconds left for all
    of them."""
    race = _Race(launches, operations, tell, limit_seconds, left)
    race.run()
    tables: list[Table] = []
    for operation in operations:
        chosen = winners(race.estimates(operation, LEAST_ROUNDS), len(operation.sizes))
        at_targets = [chosen[operation.sizes.index(target)] for target in operation.targets]
        if not any(at_targets):
            reason = "no algorithm is faster beyond chance" if race.timely else "no time to decide"
            tell(f"{operation.name}: {reason}, {race.effort}")
            continue
        table = Table(
            name=operation.name,
            operation=operation.ruled.operation,
            ranks=operation.ranks,
            ranges=ranges(operation, chosen),
        )
        tables.append(table)
        tell(f"{operation.name}: {_listed(operation, chosen)}, {race.effort}")
    return tables


def forced(operations: Sequence[Operation], tables: Sequence[Table]) -> set[str]:
    """Returns the variables that would force an algorithm of the operations of these tables, for
    any number of ranks and at all sizes."""
    named = {table.name for table in tables}
    return {
        way.env[-1][0]
        for operation in operations
        if operation.name in named
        for way in operation.ways
    }


def borders(operations: Sequence[Operation], tables: Sequence[Table]) -> list[int]:
    """Returns the sizes of their benchmarks on both sides of each change of the algorithm, as
    powers of two, since nothing is measured there. Beyond the largest size the library chooses by
    itself."""
    measured = {operation.name: operation for operation in operations}
    sizes: set[int] = set()
    for table in tables:
        operation = measured[table.name]
        for rule in table.ranges[1:]:
            before = -(-rule.first // _blocks(operation)) - 1
            below = 1 << max(0, before.bit_length() - 1)  # an empty message is not measured
            if below < operation.sizes[-1]:
                sizes.update((below, 2 * below))
    return sorted(sizes)


def _blocks(operation: Operation) -> int:
    """Returns how many messages of the benchmark the library counts as one."""
    return operation.ranks if operation.ruled.whole else 1


def winners(estimates: Mapping[Way, Estimate], sizes: int) -> list[Way | None]:
    """Returns the algorithm of each size; None for the library's own choice. `sizes`: their number.

    Candidates are significantly better than the library's own choice, and within a standard error
    of the best at that size. Of these, the algorithm that is a candidate at most sizes wins, so
    that there are few rules.
    """
    tied: list[set[Way]] = []
    for index in range(sizes):
        better = {
            way: estimated
            for way, estimated in estimates.items()
            if estimated.gains[index] > max(HARM, SURE * estimated.errors[index])
        }
        best = max(
            better.values(), key=lambda estimated: float(estimated.gains[index]), default=None
        )
        tied.append(
            {
                way
                for way, estimated in better.items()
                if best and estimated.gains[index] >= best.gains[index] - best.errors[index]
            }
        )
    by_size: list[Way | None] = [None] * sizes

    def wins(way: Way) -> tuple[int, int, float]:
        still = [index for index in range(sizes) if by_size[index] is None and way in tied[index]]
        return len(still), -len(way.env), float(estimates[way].gains[still].sum())

    while any(by_size[index] is None and tied[index] for index in range(sizes)):
        chosen = max(estimates, key=wins)
        by_size = [
            chosen if way is None and chosen in tied[index] else way
            for index, way in enumerate(by_size)
        ]
    return by_size


def ranges(operation: Operation, chosen: Sequence[Way | None]) -> list[Range]:
    """Returns the lines of the table of an operation.

    Between two sizes with different algorithms the border is their geometric mean, since the
    crossing is unknown. It lies above the smaller size, which keeps its algorithm. Beyond the
    largest size the library chooses.
    """
    times = _blocks(operation)
    lines: list[Range] = []
    before: Way | None = None
    for number, way in enumerate(chosen):
        first = 0
        if number:
            low, high = operation.sizes[number - 1 : number + 1]
            first = max(times * low + 1, round(times * math.sqrt(low * high)))
        if not number or way != before:
            lines.append(_range(first, way))
        before = way
    if before is not None:
        lines.append(_range(times * operation.sizes[-1] + 1, None))
    return lines


def _range(first: int, way: Way | None) -> Range:
    if way is None:
        return Range(first=first)
    return Range(first=first, algorithm=way.algorithm, segment=way.segment, words=way.words)


def _listed(operation: Operation, chosen: Sequence[Way | None]) -> str:
    parts = [
        f"{way.words} at {size(size_bytes)}"
        for size_bytes, way in zip(operation.sizes, chosen, strict=True)
        if way is not None
    ]
    return ", ".join(parts)


class _Race:
    """Rounds of all algorithms of operations, one of each operation in a launch."""

    def __init__(
        self,
        launches: Curves,
        operations: Sequence[Operation],
        tell: Callable[[str], None],
        limit_seconds: float,
        left: Callable[[], float],
    ) -> None:
        self._launches = launches
        self._operations = operations
        self._tell = tell
        self._limit = limit_seconds
        self._left = left
        # By operation: default launches, and the gains of each algorithm that is left.
        self._defaults: dict[str, list[Floats]] = {operation.name: [] for operation in operations}
        self._gains: dict[str, dict[Way, list[Floats]]] = {}
        for operation in operations:
            self._gains[operation.name] = {way: [] for way in operation.ways}
        self._distances = {operation.name: Distances() for operation in operations}
        self._longest = 0.0  # seconds of a launch
        self._done = 0  # launches
        self.timely = True  # the time held enough rounds

    @property
    def effort(self) -> str:
        """`by 40 launches`."""
        return f"by {count(self._done, 'launch')}"

    def run(self) -> None:
        """Runs rounds until they decide, or until the time is over."""
        for number in range(MOST_ROUNDS):
            if not self._round(backwards=number % 2 == 1):
                self.timely = number >= LEAST_ROUNDS or not any(self._gains.values())
                break
            for operation in self._operations:
                gains = self._gains[operation.name]
                for way, estimated in self.estimates(operation, 1).items():
                    if _hopeless(estimated, number):
                        del gains[way]
            self._fit(max(1, LEAST_ROUNDS - number - 1))
            if number + 1 >= LEAST_ROUNDS and not any(map(self._is_open, self._operations)):
                break

    def estimates(self, operation: Operation, rounds: int) -> dict[Way, Estimate]:
        """Returns the estimates of the algorithms of an operation that have at least this many
        rounds."""
        defaults = self._defaults[operation.name]
        if not defaults:
            return {}
        noise = noise_of([np.array(defaults)])
        return {
            way: estimate(np.array(gains), noise)
            for way, gains in self._gains[operation.name].items()
            if len(gains) >= rounds
        }

    def _is_open(self, operation: Operation) -> bool:
        return any(map(_open, self.estimates(operation, LEAST_ROUNDS).values()))

    def _fit(self, rounds: int) -> None:
        """Leaves out the algorithms that seem worst, so that the time holds this many rounds of the
        others."""
        seconds = max(self._longest, 1e-3) * (1 + 1 / SCREENED_BETWEEN)
        fitting = max(1, int(self._left() / (seconds * rounds)))
        for operation in self._operations:
            estimates = self.estimates(operation, 1)
            best_first = sorted(estimates, key=lambda way: -float(estimates[way].gains.max()))
            self._gains[operation.name] = {
                way: self._gains[operation.name][way] for way in best_first[:fitting]
            }

    def _round(self, *, backwards: bool) -> bool:
        """Measures each algorithm once, and leaves out those that fail. True if the time held the
        round and an algorithm is left."""
        order = {
            operation: list(self._gains[operation.name])[:: -1 if backwards else 1]
            for operation in self._operations
            if self._gains[operation.name]
        }
        before: dict[str, Floats] = {}
        for number in range(max(map(len, order.values()), default=0)):
            if number % SCREENED_BETWEEN == 0:
                before = self._default_costs(order)
            chosen = {
                operation: ways[number] for operation, ways in order.items() if number < len(ways)
            }
            measured = self._costs(chosen) if before else None
            if measured is None:
                return False
            for operation, way in chosen.items():
                gains = self._gains[operation.name]
                if operation.name in measured:
                    gains[way].append(before[operation.name] - measured[operation.name])
                else:
                    del gains[way]
        return any(self._gains.values())

    def _default_costs(self, operations: Iterable[Operation]) -> dict[str, Floats]:
        """Measures the library's own choices, once more if the launch fails: it may be slow by
        chance. Empty if that fails too, or if the first launch shows that time is too short."""
        choices = dict.fromkeys(operations)
        costs = self._launch(choices) or self._launch(choices)
        is_first = not any(self._defaults.values())
        for name, of_operation in costs.items():
            self._defaults[name].append(of_operation)
        return {} if is_first and not self._holds_least() else costs

    def _costs(self, chosen: Mapping[Operation, Way]) -> dict[str, Floats] | None:
        """Measures an algorithm of each operation in one launch, or each alone if that fails.
        Leaves out those that fail. None: the time was over."""
        parts: list[Mapping[Operation, Way]] = [chosen]
        parts += ({operation: way} for operation, way in chosen.items())
        costs: dict[str, Floats] = {}
        for part in parts if len(chosen) > 1 else parts[:1]:
            if not self._fits():
                return None
            costs |= self._launch(part)
            if len(costs) == len(chosen):
                break
        return costs

    def _holds_least(self) -> bool:
        """True if the time holds what decides about one algorithm: a round of all, and further
        rounds of it."""
        ways = max(map(len, self._gains.values()))
        launches = ways * (1 + 1 / SCREENED_BETWEEN) + 2 * (LEAST_ROUNDS - 1)
        return self._left() >= launches * self._longest

    def _fits(self) -> bool:
        return self._left() >= (self._longest or self._limit)

    def _launch(self, chosen: Mapping[Operation, Way | None]) -> dict[str, Floats]:
        """Measures the cost of each size, by operation; empty if the launch failed or the time does
        not hold it. None: the library's own choice."""
        if not self._fits():
            return {}
        before = self._left()
        self._done += 1
        ways = [way for way in chosen.values() if way]
        env = {name: value for way in ways for name, value in way.env}
        try:
            curves, distance_ns = self._launches.curves(
                env,
                {operation.name: operation.sizes for operation in chosen},
                self._limit,
            )
        except LaunchFailed as error:
            self._tell(f"{' '.join(way.label for way in ways) or 'as it is'}: {error}")
            return {}
        self._longest = max(self._longest, before - self._left())
        corrected = {}
        for operation, way in chosen.items():
            costs = np.array([curves[operation.name][size] for size in operation.sizes])
            corrected[operation.name] = self._distances[operation.name].corrected(
                dict(way.env) if way else {}, distance_ns, costs
            )
        return corrected


def _hopeless(estimated: Estimate, rounds_before: int) -> bool:
    """True if the algorithm is faster at no size. After only one round, which may be slow by
    chance, the margin is wider."""
    most = estimated.gains + (LIKELY if rounds_before else SURE) * estimated.errors
    return bool((most < LEAST_GAIN).all())


def _open(estimated: Estimate) -> bool:
    """True if more rounds may decide about a size."""
    better = estimated.gains > np.maximum(HARM, SURE * estimated.errors)
    worse = estimated.gains + LIKELY * estimated.errors < HARM
    return bool((~better & ~worse).any())
