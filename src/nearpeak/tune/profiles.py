# SPDX-License-Identifier: Apache-2.0
"""The profiles of the settings that a tuning has taken."""

import re
from collections.abc import Mapping, Sequence

from nearpeak.libraries import preload
from nearpeak.libraries.launch import needed
from nearpeak.libraries.library import UNSET
from nearpeak.libraries.profiles import SCHEMA, Apart, Evidence, Profile, slower_at
from nearpeak.libraries.tunables import files, for_one_host, may_break
from nearpeak.terms.buffers import needs_gpu
from nearpeak.tune import tuned
from nearpeak.tune.candidates import Env
from nearpeak.tune.confirm import TUNED, Confirmed
from nearpeak.tune.journal import TuneJournal
from nearpeak.tune.prepare import Prepared
from nearpeak.tune.written import ONLY


def profiles(
    prepared: Prepared,
    journal: TuneJournal,
    tuning: tuned.Tuned,
    judged: Mapping[str, Confirmed],
) -> dict[str, Profile]:
    """Returns the profiles of the taken settings, by folder below that of the search. "" is the
    folder of settings that cost nothing elsewhere and may be used for all."""
    everywhere = f"on this machine, with this version of {journal.begin.library}"
    if tuning.unguarded:
        everywhere += f" (not measured: {', '.join(tuning.unguarded)})"
    if tuning.verdict == "taken":
        return {"": _made(prepared, journal, tuning, everywhere, tuning)}
    written = {}
    if tuning.free and tuning.free.taken:
        written[""] = _made(prepared, journal, tuning, everywhere, tuning.free)
    if tuning.verdict == "taken here alone":
        folder = ONLY + re.sub(r"[^\w.]+", "-", f"{journal.begin.path} {tuning.buffers}")
        scope = _local_scope(tuning, judged[TUNED])
        written[folder] = _made(prepared, journal, tuning, scope, tuning, tuning.slower)
    return written


def _made(
    prepared: Prepared,
    journal: TuneJournal,
    tuning: tuned.Tuned,
    scope: str,
    taken: tuned.Tuned | tuned.Free,
    slower: Sequence[Evidence] = (),
) -> Profile:
    """Returns the profile of the settings in `taken`."""
    begun, gpu = journal.begin, needs_gpu(prepared.asked.buffers)
    library, base = prepared.single.library, prepared.single.settings
    given = base.changed({**taken.env, **dict.fromkeys(taken.unset, UNSET)})
    env = preload.without_others(given.env)
    anyway = needed(library, gpu=gpu or prepared.single.path.gpu_support)
    if unknown := _unknown(prepared, env):
        scope += f" (nothing is known of {', '.join(unknown)})"
    return Profile(
        schema=SCHEMA,
        name=TUNED,
        family=begun.family,
        version=begun.version,
        build=begun.build,
        components=begun.components,
        made=begun.started[:10],
        host=begun.host,
        cpu=begun.cpu,
        gpus=begun.gpus,
        driver=begun.driver or "",
        path=begun.path,
        scope=f"for jobs on one host, {scope}" if for_one_host(library, env) else scope,
        breaks=may_break(library, env),
        env=env,
        unset=given.unset,
        files={**files(library, env), **preload.files(env)},
        needed=given.kept_of(anyway),
        evidence=taken.evidence,
        host_messages=taken.host_messages if gpu else None,
        slower=list(slower),
        distances=tuning.distances,
        lacking=tuning.lacking,
    )


def _local_scope(tuning: tuned.Tuned, confirmed: Confirmed) -> str:
    """`for host-gpu pcie with buffers H,D alone: elsewhere it is slower`."""
    distances = tuning.distances.get(tuning.path, [])
    scope = (
        f"for {tuning.path} with buffers {tuning.buffers}{_targets_scope(confirmed)} alone"
        f"{_distances_scope(confirmed, tuning.path, distances)}"
    )
    if all(evidence.is_slower_by_distance for evidence in tuning.slower):
        return scope
    return f"{scope}: elsewhere it is slower"


def _distances_scope(confirmed: Confirmed, path: str, measured: Sequence[Apart]) -> str:
    """`, with the CPUs 60.0 ns apart and not 300 ns`, where a case on this path is slower at one of
    several distances."""
    on_path = [shown for shown in confirmed.slower if shown.path == path]
    far = [
        distance
        for shown in [*confirmed.targets, *on_path]
        for distance in slower_at(shown.distances)
    ]

    def is_slower(group: Apart) -> bool:
        return any(
            distance.low_ns <= group.high_ns and group.low_ns <= distance.high_ns
            for distance in far
        )

    slower = [group.label for group in measured if is_slower(group)]
    if not slower:
        return ""
    others = [group.label for group in measured if group.label not in slower]
    return (
        f", with the CPUs {' or '.join(others)} apart and not {' or '.join(slower)} (something is"
        " slower there; on a virtual machine nobody can choose, so do not use it)"
    )


def _targets_scope(confirmed: Confirmed) -> str:
    """`, for latency H,D at 8 B`: the faster targets, where another one is slower; else nothing."""
    if not any(shown in confirmed.slower for shown in confirmed.targets):
        return ""
    faster = [
        shown.label_on_path
        for shown in confirmed.targets
        if shown.comparison.verdict == "faster" and shown not in confirmed.slower
    ]
    return f", for {' and '.join(faster)}"


def _unknown(prepared: Prepared, env: Env) -> list[str]:
    """Lists untested effects of these variables: `A with other than 2 ranks`."""
    path = prepared.single.path
    unknown = [
        f"{name} with other than {len(path.ends)} ranks"
        for name in prepared.collective
        if name in env
    ]
    if files(prepared.single.library, env) and not path.between_hosts:
        unknown.append(f"its rules for {len(path.ends)} ranks on several hosts")
    return unknown
