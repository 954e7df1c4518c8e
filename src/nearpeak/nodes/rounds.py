# SPDX-License-Identifier: Apache-2.0
"""Rounds of disjoint pairs of nodes, which can be measured at the same time."""

from collections.abc import Iterator, Sequence

import numpy as np

from nearpeak.arrays import Indices

Round = Indices  # pairs x 2, the lower node first; no node twice


def circle(count: int) -> Iterator[Round]:
    """Yields every pair of `count` nodes once, in as few rounds as possible: count - 1, or count if
    that is odd, when one node rests in each.

    The circle method (Kirkman, Cambridge and Dublin Mathematical Journal 2 (1847) 191): the first
    node stays, the others move on by one place each round.
    """
    places = count + count % 2  # the last one is empty if the number is odd
    others = np.arange(1, places)
    for turn in range(places - 1):
        seats = np.concatenate([[0], np.roll(others, turn)])
        half = places // 2
        pairs = np.stack([seats[:half], seats[: half - 1 : -1]], axis=1)
        yield _ordered(pairs[(pairs < count).all(axis=1)])


def shuffled(count: int, rounds: int | None, chance: np.random.Generator) -> list[Round]:
    """Returns the first `rounds` rounds of the circle method, with nodes and rounds in random
    order.

    Neighbours in a list of hosts often share a switch: in the order of the list, the load of the
    network would differ between rounds.
    """
    numbers = chance.permutation(count)
    made = [_ordered(numbers[pairs]) for pairs in circle(count)]
    order = chance.permutation(len(made))
    return [made[turn] for turn in order[:rounds]]


def alone(rounds: Sequence[Round]) -> list[Round]:
    """Puts each pair into a round of its own."""
    return [pairs[number : number + 1] for pairs in rounds for number in range(len(pairs))]


def again(
    count: int,
    suspects: Indices,
    least: int,
    chance: np.random.Generator,
    labels: Indices | None = None,
) -> list[Round]:
    """Returns at least `least` rounds with each suspected pair (pairs x 2) once, in the earliest
    round in which both nodes are free. The remaining nodes get random partners that are no
    suspects, in every other round from their own group: by chance alone, a small group of many
    would have no pair within. `labels`: the group of each node; None: there are no groups.

    A suspected pair is thus measured under the same load as before, and every node in each round.
    """
    busy = [0] * count  # of each node a bit for each round
    rounds: list[list[tuple[int, int]]] = [[] for _ in range(least)]
    suspected = set(map(tuple, suspects.tolist()))
    for first, other in chance.permutation(suspects).tolist() if len(suspects) else []:
        taken = busy[first] | busy[other]
        number = (~taken & (taken + 1)).bit_length() - 1  # its lowest bit that is not set
        if number == len(rounds):
            rounds.append([])
        busy[first] |= 1 << number
        busy[other] |= 1 << number
        rounds[number].append((first, other))
    return [
        _filled(count, pairs, suspected, chance, labels if number % 2 else None)
        for number, pairs in enumerate(rounds)
    ]


def _filled(
    count: int,
    pairs: list[tuple[int, int]],
    suspected: set[tuple[int, ...]],
    chance: np.random.Generator,
    labels: Indices | None,
) -> Round:
    resting = np.ones(count, dtype=bool)
    resting[np.array(pairs, dtype=np.intp).reshape(-1)] = False
    free = chance.permutation(np.flatnonzero(resting))
    if labels is not None:
        free = free[np.argsort(labels[free], kind="stable")]
    both = np.sort(free[: len(free) // 2 * 2].reshape(-1, 2), axis=1)
    partners = [pair for pair in both.tolist() if tuple(pair) not in suspected]
    return np.array([*pairs, *partners], dtype=np.intp).reshape(-1, 2)


def _ordered(pairs: Indices) -> Round:
    return np.sort(pairs, axis=1)


def lines(rounds: Sequence[Round], rails: int = 1) -> Iterator[str]:
    """Yields the lines of the file that `nearpeak-mpi pairs --rounds` reads, one for each round of
    nodes: each pair on every rail."""
    for pairs in rounds:
        yield _line(pairs if rails == 1 else on_rails(pairs, rails))


def lines_inside(rounds: Sequence[Round], nodes: int, rails: int) -> Iterator[str]:
    """Yields the same for rounds within nodes (pairs of rails, on every node): between GPUs, then
    between host memory of the lower rail and the other GPU, then between the lower GPU and host
    memory of the other rail. Each value is of messages both ways."""
    for buffers in ("D,D", "H,D", "D,H"):
        for pairs in rounds:
            yield f"{buffers} {_line(on_nodes(pairs, nodes, rails))}"


def on_nodes(pairs: Round, nodes: int, rails: int) -> Indices:
    """The pairs of ranks of each node, of pairs of rails."""
    return np.asarray((rails * np.arange(nodes)[:, None, None] + pairs).reshape(-1, 2))


def on_rails(pairs: Round, rails: int) -> Indices:
    """The pairs of ranks of each rail of pairs of nodes."""
    ranks = rails * pairs[:, None, :] + np.arange(rails)[None, :, None]
    return np.asarray(ranks.reshape(-1, 2))


def _line(pairs: Indices) -> str:
    """One format a round: a thousand nodes have half a million pairs."""
    return " ".join(["%d-%d"] * len(pairs)) % tuple(pairs.reshape(-1).tolist())
