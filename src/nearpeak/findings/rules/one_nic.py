# SPDX-License-Identifier: Apache-2.0
"""One adapter of several that carries everything."""

from collections.abc import Iterator

from nearpeak.findings.counted import of_hosts, on_adapters
from nearpeak.findings.evidence import Noticed, Rule, View
from nearpeak.findings.sentences import Phrases
from nearpeak.findings.settings import Setting
from nearpeak.findings.sources import of_openmpi, of_ucx
from nearpeak.numbers import percent

ALL = 0.9  # of the bytes


def find(view: View) -> Iterator[Noticed]:
    """Yields each library and path between hosts that takes one adapter of a host of several."""
    for who, path, hosts in on_adapters(view):
        busiest = {
            link: f"{percent(share)} % of the bytes on {len(parts)} adapters of its rate"
            for parts in hosts
            for link, share in parts.items()
            if share >= ALL
        }
        if busiest:
            yield Noticed(of_hosts(busiest), who, path.place)


def sentence(it: Phrases) -> str:
    """The finding with its evidence."""
    return f"{it.who.label}, {it.place.path}: one adapter of several carries the messages:" + (
        f" {it.facts(': ')}."
    )


RULE = Rule(
    name="one_nic",
    tells=f"A host has several adapters for RDMA or Slingshot of one kind and rate, and one of them"
    f" counted {100 * ALL:.0f} % or more of the bytes of all large messages on a path between hosts"
    " with two ranks of each or more. One rank may take one adapter by design.",
    find=find,
    origin="settings",
    headline="one adapter of several carries the messages: {it.all_facts}",
    sentence=sentence,
    action="Let messages use several adapters.",
    remedy="Let large messages use several adapters, or let each rank take its own.",
    settings=[
        Setting("ucx", "UCX_MAX_RNDV_RAILS", "4", "large messages on several adapters"),
    ],
    sources=[
        of_ucx(10871, "messages of GPUs as fast as one adapter of several")._replace(
            hosts="several"
        ),
        of_openmpi(6255, "UCX uses several adapters if it is told how many", "ucx")._replace(
            hosts="several"
        ),
    ],
)
