# SPDX-License-Identifier: Apache-2.0
"""A study as a test of ReFrame: its figures are parts of ceilings, so one reference holds on many
machines."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import SanityError
from reframe.utility import typecheck as typ

STUDY = "study"


@rfm.simple_test
class NearpeakStudy(rfm.RunOnlyRegressionTest):
    """Fails where a launch failed, a requirement is missed, or a figure is below its reference.

    Each figure is there twice: as it was measured, which is logged, and as a part of its ceiling,
    which is judged.
    """

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    executable = "nearpeak"
    time_limit = "20m"

    mpi = variable(typ.List[str], value=["openmpi"])  # as `nearpeak mpi list` names them
    paths = variable(str, value="host-host same-numa")  # "": all that the job's nodes have
    benchmarks = variable(str, value="latency,bw")
    sizes = variable(str, value="8,64K,4M")
    budget = variable(str, value="5m")
    require = variable(typ.List[str], value=[])  # as `nearpeak study --require` takes them
    options = variable(typ.List[str], value=[])  # more of `nearpeak study`
    nodes = variable(int, value=1)
    history = variable(str, value="")  # a folder that keeps every study, for `nearpeak history`
    # The smallest part of the ceiling at "BENCHMARK BYTES"; 0, or not named: not judged.
    least = variable(typ.Dict[str, float], value={"latency 8": 0.01, "bw 4194304": 0.02})

    @run_before("run")
    def ask_for_nodes(self) -> None:
        """Whole ones, with one task each: nearpeak starts the ranks of its launches itself."""
        self.num_tasks = self.nodes
        self.num_tasks_per_node = 1
        self.exclusive_access = True
        self.job.launcher = getlauncher("local")()

    @run_before("run")
    def make_command(self) -> None:
        """The study, and its exit status, which not every scheduler tells."""
        words = ["study", "-o", STUDY, "--benchmarks", self.benchmarks, "--sizes", self.sizes]
        words += ["--budget", self.budget]
        words += [f"--paths={self.paths}"] if self.paths else []
        words += [f"--mpi={library}" for library in self.mpi]
        words += [f"--require={requirement}" for requirement in self.require]
        self.executable_opts = [shlex.quote(word) for word in [*words, *self.options]]
        self.postrun_cmds = ['echo "nearpeak ended with $?"', *self.judge_history()]
        self.keep_files = [STUDY]

    def judge_history(self) -> list[str]:
        """Keeps the study, and judges it with all that were kept before."""
        if not self.history:
            return []
        folder = shlex.quote(self.history)
        return [
            f'mkdir -p {folder} && cp -r {STUDY} {folder}/"$(date -u +%Y-%m-%dT%H-%M-%S)"',
            f"nearpeak history {folder}",
            'echo "nearpeak history ended with $?"',
        ]

    @sanity_function
    def ended_well(self) -> bool:
        """The study ended with 0, and has all that is to be judged."""
        said = sn.evaluate(sn.extractall(r"^Exit status .*", self.stdout))  # what was wrong
        sn.evaluate(sn.assert_found(r"^nearpeak ended with 0$", self.stdout, msg="; ".join(said)))
        if self.history:  # 3: too few studies yet
            ended = r"^nearpeak history ended with [03]$"
            sn.evaluate(sn.assert_found(ended, self.stdout, msg="; ".join(said)))
        known = set()
        for name, cell in self.cells():
            known.add(point(cell))
            if self.least.get(point(cell)) and cell["fraction"] is None:
                raise SanityError(f"{name}: {cell['no_fraction'] or cell['status']}")
        if missing := sorted(set(self.least) - known):
            raise SanityError(f"the study has no {', '.join(missing)}")
        return True

    @run_before("performance")
    def take_figures(self) -> None:
        """All of the study."""
        judged = {}
        self.perf_variables = {}
        for name, cell in self.cells():
            part = f"{name}, of ceiling"
            self.add(name, cell["median"], cell["unit"])
            self.add(part, cell["fraction"], "1")
            if least := self.least.get(point(cell)):
                judged[part] = (least, 0, None, "1")  # this or more
        self.reference = {"*": judged}

    def add(self, name: str, value: float | None, unit: str) -> None:
        """A figure, unless the study has none."""
        if value is not None:
            figure = sn.make_performance_function(sn.defer(value), unit)
            self.perf_variables[name] = figure

    def cells(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each figure of the study, with its name (docs/reference/results.md)."""
        results = json.loads(Path(self.stagedir, STUDY, "results.json").read_text())
        for cell in results["cells"]:
            who, case = cell["who"], cell["case"]
            settings = "" if who["settings"] == "default" else f"@{who['settings']}"
            words = [
                who["library"] + settings,
                results["places"][cell["place"]]["path"],
                case["buffers"],
                case["benchmark"],
                *([case["metric"]] if case["metric"] != case["benchmark"] else []),
                *(f"{axis}={value}" for axis, value in differing(results, case).items()),
                f"{case['x']} B",
            ]
            yield " ".join(words), cell


def point(cell: dict[str, Any]) -> str:
    """What `least` calls it."""
    return f"{cell['case']['benchmark']} {cell['case']['x']}"


def differing(results: dict[str, Any], case: dict[str, Any]) -> dict[str, str]:
    """The axes in which the study has the benchmark in several variants."""
    others = [
        cell["case"]["axes"]
        for cell in results["cells"]
        if cell["case"]["benchmark"] == case["benchmark"]
    ]
    return {
        axis: value
        for axis, value in case["axes"].items()
        if any(other.get(axis) != value for other in others)
    }
