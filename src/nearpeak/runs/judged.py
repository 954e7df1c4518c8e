# SPDX-License-Identifier: Apache-2.0
"""The results of a study, judged by its requirements: shown, and concluded with an exit status."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from nearpeak.errors import parsed
from nearpeak.findings import build
from nearpeak.numbers import count
from nearpeak.planning.subjects import planned
from nearpeak.report import page as pages
from nearpeak.report.beside import Published
from nearpeak.report.terminal import print_study
from nearpeak.results.faults import effect, faults
from nearpeak.results.requirements import Requirement, check, judge, parse_requirement
from nearpeak.results.results import Results
from nearpeak.results.subjects import measured
from nearpeak.runs import lifecycle
from nearpeak.runs.messages import tell
from nearpeak.study.folder import read_plan
from nearpeak.terms.study_files import PLAN
from nearpeak.trace.measured import read_trace
from nearpeak.trace.measured import weights as weights_of


def requirements_of(texts: Iterable[str]) -> list[Requirement]:
    """The requirements of --require; UserError for a text that is none."""
    return [parsed("--require", parse_requirement, text) for text in texts]


def judged(folder: Path, required: Sequence[str] = (), trace: Path | None = None) -> Results:
    """The results of the study in `folder`, judged by the requirements `required`, else by those of
    its plan; UserError for a requirement that does not fit. `trace`: of the application whose calls
    order the findings."""
    weights = partial(weights_of, read_trace(trace)) if trace else None
    results = build.build_results(folder, weights)
    plan = read_plan(folder) if (folder / PLAN).is_file() else None
    if wanted := required or (plan.requirements if plan else []):
        subjects = planned(plan) if plan else measured(results)
        requirements = requirements_of(wanted)
        check(requirements, subjects, left_out=results.left_out)
        results.requirements = judge(requirements, subjects, results)
    return results


def present(
    results: Results,
    target: Path | None,
    study: Path,
    machines: Sequence[Published] = (),
    *,
    verbose: bool = False,
) -> Path | None:
    """Writes the results and the report of the study in `study` into a folder, if there is one, and
    prints its answer, with `verbose` all that it rests on. Returns the page's path. `machines`:
    with published figures to compare."""
    page = pages.write_report(results, target, machines, study) if target else None
    print_study(results, page, study=study, machines=machines, verbose=verbose)
    return page


def without_findings(results: Results, trace: Path) -> str:
    """A sentence if no finding is about a call of the application of this trace; else empty."""
    if any(finding.weighted_us for finding in results.findings):
        return ""
    return f"No finding is about a call in {trace}: those of the answer are about other messages."


def conclude(results: Results) -> int:
    """Prints how each requirement was met and, last, what went wrong; returns the exit status."""
    for judgement in results.requirements:
        tell(judgement.sentence)
    wrong = faults(results)
    if wrong:
        wrong[0] = f"{effect(results)}{wrong[0]}"
    if missed := sum(not judgement.met for judgement in results.requirements):
        wrong.append(f"{missed} of {count(len(results.requirements), 'requirement')} missed")
    return lifecycle.conclude(bool(wrong), "; ".join(wrong))
