# SPDX-License-Identifier: Apache-2.0
"""The launches of a plan as records describe them, and the plan's launch of a record."""

from collections.abc import Iterable

from nearpeak.planning.plan import Group, Plan, PlannedLaunch
from nearpeak.study.records import Chosen, GroupRecord, LaunchRecord
from nearpeak.terms.identity import Axes, Who

Measured = tuple[str, Axes, str, Axes]  # buffers and their state; benchmark and axes, of a library


def launch_record(
    plan: Plan, planned: PlannedLaunch, number: int, command: str, started: str, session: int
) -> LaunchRecord:
    """Returns the record that begins a launch of the plan, with this number, in a session."""
    who = plan.who(planned)
    return LaunchRecord(
        launch=number,
        block=planned.block,
        role=planned.role,
        library=who.library,
        settings=who.settings,
        path=planned.path,
        groups=[_group_record(plan, group) for group in planned.groups],
        adapter=planned.adapter,
        slot_ms=planned.slot_ms,
        methods=list(planned.methods),
        command=command,
        started=started,
        session=session,
    )


def _group_record(plan: Plan, group: Group) -> GroupRecord:
    variants = [plan.variants[number] for number in group.variants]
    return GroupRecord(
        buffers=group.buffers,
        axes=group.axes,
        benchmarks=[Chosen(benchmark=variant.benchmark, axes=variant.axes) for variant in variants],
    )


class Templates:
    """Finds the template of a plan that a recorded launch is of, by their contents."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._variants = plan.variant_numbers
        # Contender and place -> the templates with all that they measure.
        self._by_place: dict[tuple[object, ...], list[tuple[int, set[Measured]]]] = {}
        for index, template in enumerate(plan.launches):
            key = (template.role, plan.who(template), template.path, template.adapter)
            groups = [_group_record(plan, group) for group in template.groups]
            self._by_place.setdefault(key, []).append((index, set(_measured(groups))))

    def index_of(self, record: LaunchRecord) -> int:
        """Returns the index into Plan.launches of the template that measures all that the launch
        did, which may be less; ValueError when the plan has no such launch."""
        who = Who(record.library, record.settings)
        key = (record.role, who, record.path, record.adapter)
        mine = _measured(record.groups)
        matches = [
            (index, measured)
            for index, measured in self._by_place.get(key, [])
            if measured >= {*mine}
        ]
        if not matches or len(mine) != len({*mine}) or not mine:
            raise ValueError(f"launch {record.launch} is none of the plan's: {_describe(record)}")
        index = min(matches, key=lambda candidate: len(candidate[1]))[0]
        if record.launch < 0 or record.block < self._plan.launches[index].since:
            raise ValueError(f"launch {record.launch} is not of block {record.block}")
        return index

    def groups_of(self, record: LaunchRecord) -> tuple[Group, ...]:
        """Returns the groups of a launch of the plan, with no more than it was to measure."""
        return tuple(
            Group(
                buffers=group.buffers,
                axes=group.axes,
                variants=tuple(map(self._variants.__getitem__, group.variants)),
            )
            for group in record.groups
        )


def _measured(groups: Iterable[GroupRecord]) -> list[Measured]:
    return [
        (group.buffers, Axes(group.axes), benchmark, axes)
        for group in groups
        for benchmark, _, axes in group.variants or [("", "", Axes())]
    ]


def _describe(record: LaunchRecord) -> str:
    who = Who(record.library, record.settings).label
    groups = [" ".join([group.buffers, *group.names]) for group in record.groups]
    return f"{who} on {record.path} with {'; '.join(groups)}"
