# SPDX-License-Identifier: Apache-2.0
"""The benchmarks that a program offers (`--describe`), and variants checked against them."""

import itertools
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from nearpeak.decoding import UNDECODABLE
from nearpeak.errors import UserError, closest
from nearpeak.grouping import grouped
from nearpeak.terms.benchmarks import EVERYTHING, Benchmark, by_name, named
from nearpeak.terms.private import Public

SCHEMA = 3


class Variant(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark with a value for each of its axes."""

    benchmark: Public  # its name
    axes: dict[Public, Public]  # value of each axis
    buffers: Public = "H,H"  # of the first half of the ranks, and of the second


class Operation(msgspec.Struct, frozen=True):
    """One operation that `nearpeak-mpi probe` can try and that no benchmark is made of."""

    name: str
    summary: str = ""
    family: str = "rma"
    on_devices: bool = False  # it needs buffers on a device on some rank


class Allocator(msgspec.Struct, frozen=True):
    """A way to allocate memory of a kind, other than the usual one."""

    name: str
    buffers: str  # "H", "P", "D" or "M"
    summary: str = ""


class _Version(msgspec.Struct):
    schema: int


class Description(msgspec.Struct, frozen=True):
    """The answer to `--describe`. Of nearpeak-native: the benchmarks that it measures too."""

    schema: int
    program: str
    version: str
    benchmarks: list[Benchmark]
    operations: list[Operation] = []
    allocators: list[Allocator] = []

    def benchmark(self, variant: Variant) -> Benchmark:
        """Returns the benchmark of a variant."""
        return named(self.benchmarks, variant.benchmark)

    def measures(self, variant: Variant, defaults: Mapping[str, str]) -> bool:
        """True if it has the benchmark with these axes. It behaves like `defaults` on an axis that
        it lacks."""
        benchmark = by_name(self.benchmarks).get(variant.benchmark)
        if benchmark is None:
            return False
        offered = {name: [value] for name, value in defaults.items()}
        offered |= {axis.name: axis.values for axis in benchmark.axes}
        return all(value in offered[name] for name, value in variant.axes.items())

    def of_families(self, families: Sequence[str]) -> list[str]:
        """Returns the names of the benchmarks of these families; `all` stands for those that are no
        applications. UserError for an unknown family."""
        members = grouped(self.benchmarks, lambda benchmark: benchmark.family)
        offered = sorted(members.keys() - {""})
        over_bytes = {benchmark.family for benchmark in self.benchmarks if benchmark.over_bytes}
        if EVERYTHING in families:
            families = [family for family in offered if family in {*over_bytes, *families}]
        if unknown := [family for family in families if family not in offered]:
            problem = f"there are no operations {unknown[0]!r}"
            raise UserError(f"{problem}{closest(unknown[0], offered)}")
        return [benchmark.name for family in families for benchmark in members[family]]

    @property
    def defaults(self) -> list[str]:
        """The benchmarks that are measured when nothing is asked for, as `parse_variant` takes
        them."""
        return self.usual(benchmark.name for benchmark in self.benchmarks if benchmark.default)

    def usual(self, names: Iterable[str]) -> list[str]:
        """Benchmarks with each value of their axes that a study measures by itself, as
        `parse_variant` takes them."""
        described = by_name(self.benchmarks)
        texts = []
        for name in names:
            choices = [axis.usual_settings for axis in described[name].axes if axis.usual]
            for chosen in itertools.product(*choices):
                texts.append(":".join(filter(None, [name, ",".join(filter(None, chosen))])))
        return texts


def describe(program: Path, env: dict[str, str], mode: str | None = None) -> Description:
    """Asks a measuring program, or a mode of it, what it measures; UserError when it does not
    answer."""
    command = [str(program), *filter(None, [mode]), "--describe"]
    try:
        answer = subprocess.run(command, env=env, capture_output=True, check=True, timeout=60)
        schema = msgspec.json.decode(answer.stdout, type=_Version).schema
        if schema == SCHEMA:
            return msgspec.json.decode(answer.stdout, type=Description)
    except (OSError, subprocess.SubprocessError, *UNDECODABLE) as error:
        raise UserError(
            f"{program} does not describe itself ({error}): remove {program.parent} and try again"
        ) from None
    raise UserError(
        f"{program} describes itself in schema {schema}, not {SCHEMA}: "
        f"remove {program.parent} and try again"
    )


def joined(descriptions: Sequence[Description]) -> Description:
    """Merges descriptions: every benchmark, with all values that an axis has in any. The rest is as
    in the first, with the axes of others that go without saying."""
    first, *others = descriptions
    merged = {benchmark.name: benchmark for benchmark in first.benchmarks}
    for benchmark in itertools.chain.from_iterable(other.benchmarks for other in others):
        mine = merged.setdefault(benchmark.name, benchmark)
        theirs = {axis.name: axis for axis in benchmark.axes}
        axes = [axis.joined(theirs.pop(axis.name, axis)) for axis in mine.axes]
        axes += [axis for axis in theirs.values() if axis.implied]
        merged[benchmark.name] = msgspec.structs.replace(mine, axes=axes)
    return msgspec.structs.replace(first, benchmarks=list(merged.values()))


def check_axis(benchmark: Benchmark, name: str, value: str) -> None:
    """UserError when the benchmark has no such axis, or the axis no such value."""
    values = {axis.name: axis.values for axis in benchmark.axes}
    if name not in values:
        problem = f"benchmark {benchmark.name} has no axis {name!r}"
        raise UserError(f"{problem}{closest(name, list(values))}")
    if value not in values[name]:
        problem = f"benchmark {benchmark.name}: {name} cannot be {value!r}"
        raise UserError(f"{problem}{closest(value, values[name])}")


def parse_variant(description: Description, text: str, host: bool = True) -> Variant:
    """`latency`, or `latency:calls=nonblocking,reuse=rotating`, with every other axis' default for
    the ranks' buffers: all of them in ordinary host memory, or not."""
    name, _, rest = text.partition(":")
    benchmark = named(description.benchmarks, name.strip())
    axes = {axis.name: axis.default_of(host) for axis in benchmark.axes}
    for part in filter(None, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise UserError(f"benchmark {text!r}: write {part!r} as AXIS=VALUE")
        check_axis(benchmark, key, value)
        axes[key] = value
    in_case = [axis.name for axis in benchmark.axes if axis.names(axes[axis.name])]
    return Variant(benchmark=benchmark.name, axes={name: axes[name] for name in in_case})
