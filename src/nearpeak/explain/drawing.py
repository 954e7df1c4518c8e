# SPDX-License-Identifier: Apache-2.0
"""The timeline of one message: a lane for each rank, and one for the GPU's work for it."""

from markupsafe import Markup

from nearpeak.document.lanes import lanes
from nearpeak.explain.wording import shown
from nearpeak.numbers import number
from nearpeak.observations.explained import Budget, Kind, Lane, Span, thinned

TICKS = 4
WIDE = 780  # pixels of a lane in a wide window, in which close spans must be distinguishable
LEAST_FOR_TEXT = 60  # pixels
NARROWEST = 6  # pixels: narrower spans are drawn together with their neighbours
LETTER = 6.2  # pixels
KINDS: dict[Kind, str] = {
    "device": "bytes moved on the GPU",
    "call": "calls that do something",
    "microscope": "what it takes to see calls",
    "sync": "calls that wait for the GPU",
    "wait": "calls that wait for whatever comes",
}
STYLE = """
.timeline .lane { height: 1.65rem; background: var(--sunken); }
.timeline .lane span {
  position: absolute; top: 0; bottom: 0; min-width: 1px; overflow: hidden; white-space: nowrap;
  text-overflow: ellipsis; text-indent: .3rem; font-size: .75rem; line-height: 1.65rem;
  color: var(--bg);
}
.timeline .device, i.device { background: var(--c2); }
.timeline .call, i.call { background: var(--c0); }
.timeline .microscope, i.microscope { background: var(--c3); }
.timeline .sync, i.sync { background: var(--c4); }
/* Waiting is work for nobody: hatched, and no colour. */
.timeline .lane .wait, i.wait {
  color: var(--fg); outline: 1px solid var(--muted); outline-offset: -1px;
  background: repeating-linear-gradient(-45deg, var(--rule) 0 2px, var(--bg) 2px 6px);
}
.timeline .wait { text-shadow: 0 0 2px var(--bg), 0 0 3px var(--bg), 0 0 4px var(--bg); }
"""
_SPAN = Markup('<span class="{}" style="left:{:.2f}%;width:{:.2f}%" title="{}">{}</span>')


def timeline(budget: Budget) -> Markup:
    """The drawing; each span has its name and time as a title."""
    whole_us = budget.shown_us
    label = f"What went on during one message of {number(whole_us)} µs"
    rows = [(_name(lane), _lane(lane, whole_us)) for lane in budget.lanes]
    ticks = [(100 * n / TICKS, f"{number(whole_us * n / TICKS)} µs") for n in range(TICKS + 1)]
    return lanes("timeline", label, rows, ticks) if rows else Markup("")


def legend(budget: Budget) -> list[tuple[str, str]]:
    """The kinds of its spans, and of the parts that are shown."""
    kinds = {span.kind for lane in budget.lanes for span in lane.spans}
    kinds |= {part.kind for part in shown(budget)}
    return [(kind, text) for kind, text in KINDS.items() if kind in kinds]


def _name(lane: Lane) -> str:
    return f"rank {lane.rank}" if lane.of == "rank" else f"GPU, rank {lane.rank}"


def _lane(lane: Lane, whole_us: float) -> Markup:
    spans = thinned(lane.spans, whole_us * NARROWEST / WIDE)
    return Markup("").join(_span(span, whole_us) for span in spans)


def _span(span: Span, whole_us: float) -> Markup:
    left, share = span.begin_us / whole_us, (span.end_us - span.begin_us) / whole_us
    several = f" and {span.count - 1} more" if span.count > 1 else ""
    title = f"{span.name}{several}: {number(span.end_us - span.begin_us)} µs"
    fits = share * WIDE > max(LEAST_FOR_TEXT, LETTER * len(span.name))
    return _SPAN.format(span.kind, 100 * left, 100 * share, title, span.name if fits else "")
