# SPDX-License-Identifier: Apache-2.0
"""Real launches of nearpeak-mpi whose devices are those of the fake CUDA driver."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from mpi_launches import LIMIT, SLEEPS_SOON, cpus_of, own_cpus

from nearpeak.libraries.build import build_mpi, build_native, compiler, kit_for
from nearpeak.libraries.launch import command_line
from nearpeak.libraries.library import Launch, Library, Rank, Settings

# Buffers that rotate, and cells that no cache holds, are as many on every machine.
SMALL_CACHE = ("--cache", "256K")
# Gives rank 1 another fake driver: the first argument.
RANK_1 = """\
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] && export NEARPEAK_FAKE_CUDA="$1"
shift
exec "$@"
"""


@dataclass
class Done:
    """What a launch has left."""

    code: int
    out: str
    err: str
    records: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["record"] == kind]

    def measured(self) -> set[str]:
        """The benchmarks of a launch in which all went well."""
        assert self.code == 0, (self.out, self.err)
        problems = self.of("problem")
        assert not problems, "\n".join(map(str, problems))
        return {record["benchmark"] for record in self.of("samples")}

    def verified_sizes(self, benchmark: str) -> list[int]:
        """Those of a launch of one benchmark in which all went well."""
        assert self.measured() == {benchmark}
        assert all(record["verified"] for record in self.of("samples"))
        return [
            record["size_bytes"] for record in self.of("samples") if record["metric"] == benchmark
        ]

    def lines(self) -> list[str]:
        """What the program itself has said of an error."""
        return [line for line in self.err.splitlines() if line.startswith("nearpeak-mpi: ")]


def recorded(file: Path) -> list[str]:
    """The lines of a launch's records."""
    return file.read_text().splitlines() if file.exists() else []


@dataclass
class Launcher:
    """Starts ranks of nearpeak-mpi with one library, on two CPUs."""

    library: Library
    fake_cuda: Path
    folder: Path

    def run(
        self,
        *words: str,
        fake: str = "",
        rank_1: str | None = None,
        env: Mapping[str, str] | None = None,
        ranks: int = 2,
        gives_way: bool = False,
    ) -> Done:
        """`fake` are the settings of the fake driver, `rank_1` those of rank 1's. A "+" begins
        another command line of the same launch. `gives_way`: ranks wait as where they share CPUs,
        which takes less of them."""
        file = self.folder / "records.jsonl"
        file.unlink(missing_ok=True)
        probes = words[:1] == ("probe",)
        cache = () if probes or "--cache" in words else SMALL_CACHE
        records = () if "--solve" in words else ("--jsonl", str(file))
        whole = [*cache, *records]  # of the launch: each line has them
        lines = [word for given in words for word in ([*whole, given] if given == "+" else [given])]
        program = [str(build_mpi(self.library)), *lines, *whole]
        if rank_1 is not None:
            program = ["/bin/sh", "-c", RANK_1, "sh", rank_1, *program]
        cpus = cpus_of(ranks)
        variables = {
            **(SLEEPS_SOON if gives_way or (ranks > 2 and not probes) else {}),
            **own_cpus(cpus),
            "NEARPEAK_CUDA_LIBRARY": str(self.fake_cuda),
            "NEARPEAK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so",
            "NEARPEAK_FAKE_CUDA": fake,
            **(env or {}),
        }
        places = [Rank(cpus=[cpu]) for cpu in cpus]
        launch = Launch(program=program, ranks=places, settings=Settings(env=variables))
        line = command_line(self.library, launch)
        try:
            done = subprocess.run(
                line.argv,
                env={**os.environ, **line.env},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.fail(f"it hangs behind {recorded(file)[-1:]}")
        return Done(
            done.returncode, done.stdout, done.stderr, [json.loads(one) for one in recorded(file)]
        )

    def run_each(
        self, lines: Sequence[Sequence[str]], *whole: str, code: int = 0, **more: Any
    ) -> list[Done]:
        """What each of these command lines has left, all of them in one launch, which ends with
        this code. `whole`: what each line has besides, `more` as of run()."""
        words = [word for line in lines for word in ("+", *line, *whole)]
        done = self.run(*words[1:], **more)
        parts: list[Done] = []
        for record in done.records:
            if record["record"] == "environment":  # with which each line begins
                parts.append(replace(done, records=[]))
            parts[-1].records.append(record)
        told = {
            " ".join(line): part.of("problem")
            for line, part in zip(lines, parts, strict=False)
            if part.of("problem")
        }
        last = " ".join(lines[len(parts) - 1]) if parts else "none"
        assert (done.code, len(parts)) == (code, len(lines)), (
            f"the last line that began: {last}; problems: {told}; {done.out}{done.err}"
        )
        return parts

    def ask(self, *words: str, program: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """What the library's program, or another one, says outside of any launch, in an empty
        environment: nothing says where a library is."""
        return subprocess.run(
            [program or build_mpi(self.library), *words],
            env={},
            capture_output=True,
            text=True,
            check=False,
        )

    @cached_property
    def described(self) -> dict[str, Any]:
        """What the program says of itself."""
        told = self.ask("--describe")
        assert told.returncode == 0, told.stderr
        described: dict[str, Any] = json.loads(told.stdout)
        return described

    def axis(self, benchmark: str, name: str) -> list[str]:
        """The values of an axis, as the program describes it."""
        known = {known["name"]: known for known in self.described["benchmarks"]}
        axes = {axis["name"]: axis["values"] for axis in known[benchmark]["axes"]}
        values: list[str] = axes[name]
        return values


@pytest.fixture(params=["openmpi", "mpich"])
def measured_library(
    request: pytest.FixtureRequest, installed: Callable[[str], Library]
) -> Library:
    """Each library in turn, installed if need be."""
    return installed(request.param)


@pytest.fixture
def launcher(measured_library: Library, fake_cuda: Path, tmp_path: Path) -> Launcher:
    """Launches of this library."""
    return Launcher(measured_library, fake_cuda, tmp_path)


@pytest.fixture(scope="session")
def shims() -> dict[tuple[Path, Path], Path]:
    """Those that were compiled, by source and mpi.h."""
    return {}


@pytest.fixture
def compile_shim(
    launcher: Launcher,
    shims: dict[tuple[Path, Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Path]:
    """Compiles a library that makes mistakes, to be preloaded: `faulty_rma` of that source."""

    def compiled(name: str) -> Path:
        source = Path(__file__).with_name(f"{name}.cpp")
        key = (source, kit_for(launcher.library).header)
        if key not in shims:
            shims[key] = tmp_path_factory.mktemp(name) / f"lib{name}.so"
            words = ["-std=c++17", "-shared", "-fPIC", f"-I{key[1].parent}", "-DOMPI_SKIP_MPICXX"]
            subprocess.run([*compiler(), *words, str(source), "-o", str(shims[key])], check=True)
        return shims[key]

    return compiled


@pytest.fixture
def faulty(request: pytest.FixtureRequest, compile_shim: Callable[[str], Path]) -> Path:
    """The one that mistakes what a file of tests is about: of test_rma.py faulty_rma.cpp."""
    return compile_shim(request.path.stem.replace("test_", "faulty_"))


@pytest.fixture(scope="session")
def opencl() -> str:
    """A real device of OpenCL, which PoCL makes of the CPU."""
    done = subprocess.run(
        [build_native(), "devices"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    if not any(line.startswith("opencl 0 ") for line in done.stdout.splitlines()):
        pytest.skip("no OpenCL device here (package pocl-opencl-icd)")
    return "opencl:0"
