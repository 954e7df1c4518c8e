# SPDX-License-Identifier: Apache-2.0
"""The nodes that stopped a launch, such as one that lacks a GPU or an adapter."""

from collections.abc import Mapping

from nearpeak.grouping import grouped
from nearpeak.nodes.plan import Chosen
from nearpeak.numbers import agreeing, count, listed
from nearpeak.terms.logs import brief


def stopped(chosen: Chosen, said: Mapping[int, str]) -> str:
    """Returns all nodes that stopped a launch, each with what it lacks. `said`: by rank."""
    rails: dict[int, dict[str, list[int]]] = {}  # of a node, by what they said
    for rank, text in sorted(said.items()):
        node, rail = divmod(rank, chosen.per_node)
        # An option that the run itself gave needs no advice.
        rails.setdefault(node, {}).setdefault(brief(text.partition(": give ")[0]), []).append(rail)
    lacking = {node: "; ".join(_texts(chosen, texts)) for node, texts in rails.items()}
    parts = [
        f"{listed([chosen.nodes[node] for node in nodes])} ({text})"
        for text, nodes in grouped(lacking, lacking.__getitem__).items()
    ]
    of_all, them = count(len(chosen.nodes), "node"), agreeing(len(lacking), "it", "them")
    advice = f"repair {them}, or measure without {them}"
    return f"{len(lacking)} of {of_all} stopped it: {'; '.join(parts)}: {advice}"


def _texts(chosen: Chosen, texts: Mapping[str, list[int]]) -> list[str]:
    """Returns what GPUs of a node said; if all said the same, without their numbers."""
    if [len(rails) for rails in texts.values()] == [chosen.per_node]:
        return [*texts]
    return [
        f"{listed([f'GPU {chosen.rails[rail].gpu}' for rail in rails])}: {text}"
        for text, rails in texts.items()
    ]
