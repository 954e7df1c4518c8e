# SPDX-License-Identifier: Apache-2.0
"""Which modules of a library load: of one made here, and of UCX with CUDA as it is and damaged."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.libraries import catalogue, loading, whole
from nearpeak.libraries.build import compiler
from nearpeak.libraries.discover import resolve
from nearpeak.libraries.families import natives
from nearpeak.libraries.library import Library
from nearpeak.machine.machine import Gpu, Machine, Nic, unknown

VERSION = 'extern "C" int MPI_Get_library_version(char*, int*) { return 0; }'
STARTS = "__attribute__((constructor)) static void starts()"
GPU = Gpu(
    index=0, vendor="nvidia", name="a GPU", uuid="GPU-1", pci="0", numa_node=None,
    memory_bytes=None, memory_gbs=None, host_link="pcie", host_gbs=None,
)  # fmt: skip
WITH_GPU = msgspec.structs.replace(unknown(), gpus=[GPU])


class Made:
    """A library of Open MPI's family with a UCX, whose modules tests make."""

    def __init__(self, prefix: Path) -> None:
        self.lib = prefix / "lib"
        self.shared("libucs.so.0")
        self.shared("libmpi.so.40", VERSION, needs=["libucs.so.0"])
        self.library = made_library(prefix=prefix, libmpi=self.lib / "libmpi.so.40")

    def shared(self, name: str, code: str = "int none;", *, needs: list[str] | None = None) -> Path:
        """Compiles a shared library of this name, that needs others of the folder."""
        file = self.lib / name
        file.parent.mkdir(parents=True, exist_ok=True)
        source = self.lib / "code.cpp"
        source.write_text(code)
        words = [*compiler(), "-shared", "-fPIC", str(source), "-o", str(file)]
        words += ["-Wl,--no-as-needed", f"-Wl,-soname,{file.name}", "-Wl,-rpath,$ORIGIN"]
        words += [str(self.lib / other) for other in needs or []]
        subprocess.run(words, check=True)
        return file

    def module(self, name: str, code: str = "int none;", *, needs: list[str] | None = None) -> Path:
        return self.shared(f"ucx/{name}", code, needs=needs)

    def without(self, name: str, lacks: list[str]) -> None:
        """A module that needs libraries which are not there when it is loaded."""
        files = [self.shared(lacking) for lacking in lacks]
        self.module(name, needs=lacks)
        for file in files:
            file.unlink()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "made")


def errors(library: Library) -> dict[str, str]:
    """Why modules do not load, by name."""
    return {module.name: module.error for module in whole.look(library).modules}


def test_every_module_that_loads(made: Made) -> None:
    made.module("libuct_one.so.0")
    made.module("libucm_one.so.0")
    made.module("libucx_perftest_one.so.0")
    made.module("libuct_one.so")  # a name for the linker
    made.shared("openmpi/mca_btl_one.so")
    made.shared("openmpi/libother.so")
    assert errors(made.library) == dict.fromkeys(
        ("libuct_one.so.0", "libucm_one.so.0", "libucx_perftest_one.so.0", "mca_btl_one.so"), ""
    )
    assert whole.faults(made.library, WITH_GPU) == []
    assert [*whole.lines(made.library)] == ["4 of 4 load"]


def test_the_first_folder_with_a_module_counts(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made.module("libuct_one.so.0")
    shutil.copytree(made.lib / "ucx", tmp_path / "named")
    (tmp_path / "named/libuct_one.so.0").rename(tmp_path / "named/libuct_two.so.0")
    shutil.copy(first, tmp_path / "named")
    monkeypatch.setenv("UCX_MODULE_DIR", str(tmp_path / "named"))
    files = [Path(module.file) for module in whole.look(made.library).modules]
    assert files == [first, tmp_path / "named/libuct_two.so.0"]


def test_a_provider_of_libfabric(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.module("libone-fi.so").rename(tmp_path / "libone-fi.so")
    monkeypatch.setenv("FI_PROVIDER_PATH", f"@{tmp_path}")
    assert errors(made.library) == {"libone-fi.so": ""}


def test_each_library_that_is_not_found_is_named(made: Made) -> None:
    made.without("libucm_one.so.0", ["libown.so.1", "libother.so.2"])
    [fault] = whole.faults(made.library, unknown())
    assert fault.what == (
        "libucm_one.so.0 does not load (libown.so.1 and libother.so.2 are not found): UCX does not"
        " hear of memory that GPUs allocate, and may take it for the host's"
    )
    assert fault.remedy == (
        "install libown.so.1 and libother.so.2, or put its folder into LD_LIBRARY_PATH"
    )
    assert not fault.driver
    assert whole.not_whole(made.library, fault) == (
        f"made-up is not whole: {fault.what}; {fault.remedy}"
    )


def test_a_module_of_a_driver_is_a_fault_where_there_is_a_gpu(made: Made) -> None:
    made.without("libuct_cuda.so.0", ["libcuda.so.1", "libgdrapi.so.2"])
    assert whole.faults(made.library, unknown()) == []
    [fault] = whole.faults(made.library, WITH_GPU)
    assert fault.driver
    assert "(libcuda.so.1 is not found): UCX lacks its transports" in fault.what
    assert fault.remedy.startswith("install libcuda.so.1 of the driver")


def test_what_is_its_own_is_a_fault_beside_what_is_the_drivers(made: Made) -> None:
    made.without("libucm_cuda.so.0", ["libcuda.so.1", "libcudart-1234.so.13"])
    [fault] = whole.faults(made.library, unknown())
    assert "(libcudart-1234.so.13 is not found)" in fault.what
    assert not fault.driver


def test_adapters_that_may_be_used_bring_libraries(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.without("libuct_ib.so.0", ["libibverbs.so.1", "libefa.so.1"])
    nic = Nic(
        name="ib0", kind="infiniband", numa_node=0, rate_gbs=25.0, addresses=[], verbs="mlx5_0:1"
    )
    machine = msgspec.structs.replace(unknown(), nics=[nic])
    monkeypatch.setattr(whole, "VERBS", tmp_path / "missing")
    assert whole.faults(made.library, machine) == []
    monkeypatch.setattr(whole, "VERBS", tmp_path)
    assert whole.hardware(machine) == {"rdma", "mlx5"}
    [fault] = whole.faults(made.library, machine)
    assert "(libibverbs.so.1 is not found)" in fault.what


def test_lines_say_what_is_not_here_and_no_fault(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "discover", unknown)
    made.module("libuct_one.so.0")
    made.without("libuct_ib.so.0", ["libibverbs.so.1"])
    made.without("libuct_two.so.0", ["libown.so.1"])
    assert [line.partition(" (")[0] for line in whole.lines(made.library)] == [
        "1 of 3 load, 1 needs hardware that is not here",
        "libuct_ib.so.0 needs libibverbs.so.1, which is not here",
        "libuct_two.so.0 does not load",
    ]


def test_a_module_finds_another_that_it_needs(made: Made) -> None:
    """By its name, as UCX loads that before: no folder of theirs is searched."""
    other = made.shared("libuct_z.so.0")
    made.module("libuct_a.so.0", needs=["libuct_z.so.0"])
    other.rename(made.lib / "ucx/libuct_z.so.0")
    assert set(errors(made.library).values()) == {""}


def test_what_another_module_lacks_is_named(made: Made) -> None:
    brought = made.shared("libibverbs.so.1")
    other = made.shared("libuct_ib.so.0", needs=["libibverbs.so.1"])
    made.module("libuct_rdmacm.so.0", needs=["libuct_ib.so.0"])
    other.rename(made.lib / "ucx/libuct_ib.so.0")
    brought.unlink()
    modules = whole.look(made.library).modules
    assert [module.missing for module in modules] == [["libibverbs.so.1"]] * 2
    assert whole.faults(made.library, unknown()) == []


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (f"#include <cstdlib>\n{STARTS} {{ abort(); }}", "it ends the process with signal 6"),
        (f"#include <unistd.h>\n{STARTS} {{ _exit(3); }}", "it ends the process with status 3"),
        ("extern int lacking; int* there() { return &lacking; }", "undefined symbol: lacking"),
    ],
)
def test_a_module_that_cannot_be_loaded_says_why(made: Made, code: str, why: str) -> None:
    made.module("libuct_a.so.0", code)
    made.module("libuct_b.so.0")
    assert [why in error for error in errors(made.library).values()] == [True, False]
    [fault] = whole.faults(made.library, unknown())
    assert str(made.lib) not in fault.what
    assert (fault.driver, fault.remedy) == (False, "install the library again")


def test_a_module_that_hangs(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    text = loading.text().replace(f"SECONDS = {loading.SECONDS} ", "SECONDS = 1 ")
    monkeypatch.setattr(loading, "text", lambda: text)
    made.module("libuct_a.so.0", f"#include <unistd.h>\n{STARTS} {{ for (;;) pause(); }}")
    assert errors(made.library) == {"libuct_a.so.0": "it takes more than 1 s"}


def test_a_library_that_does_not_load_has_no_modules(tmp_path: Path) -> None:
    library = made_library(libmpi=tmp_path / "libmpi.so.40")
    assert whole.faults(library, unknown()) == []
    [line] = whole.lines(library)
    assert line.startswith("they cannot be looked at: ")


def test_the_ceilings_have_none() -> None:
    assert whole.look(natives()["ceiling"]) == whole.Modules()


@pytest.fixture
def copy_of_ucx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[str], Library]
) -> Path:
    """The folder of UCX with CUDA in a copy of the cache, for Open MPI."""
    installed("openmpi-cuda")
    entry = catalogue.entry("ucx-cuda")
    mpi = tmp_path / "cache/mpi"
    mpi.mkdir(parents=True)
    (mpi / catalogue.entry("openmpi").prefix.name).symlink_to(catalogue.entry("openmpi").prefix)
    copy = mpi / entry.prefix.name
    shutil.copytree(entry.prefix, copy, symlinks=True)
    monkeypatch.setenv("NEARPEAK_CACHE", str(tmp_path / "cache"))
    return copy


def of_ucx(library: Library, machine: Machine) -> list[whole.Fault]:
    return [fault for fault in whole.faults(library, machine) if "libuc" in fault.module]


def test_ucx_with_cuda_is_whole(
    copy_of_ucx: Path, fake_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copy_of_ucx.is_dir()
    assert of_ucx(resolve("openmpi-cuda"), unknown()) == []
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_driver))
    library = resolve("openmpi-cuda")
    assert of_ucx(library, WITH_GPU) == []
    hooks = whole.look(library).hooks
    assert hooks is not None
    assert hooks["driver"] > 0


def test_ucx_with_cuda_away_from_what_its_rpath_names(
    copy_of_ucx: Path, fake_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy_of_ucx / "libucx_cu13.libs").rename(copy_of_ucx / "elsewhere")
    without_driver = of_ucx(resolve("openmpi-cuda"), unknown())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_driver))
    library = resolve("openmpi-cuda")
    with_driver = of_ucx(library, WITH_GPU)
    assert with_driver == without_driver
    assert [fault.module for fault in with_driver] == [
        "libucm_cuda.so.0",
        "libucx_perftest_cuda.so.0",
    ]
    assert "libucm_cuda.so.0 does not load (libcudart-" in with_driver[0].what
    assert with_driver[0].remedy == (
        f"remove {copy_of_ucx} and run `nearpeak mpi add openmpi-cuda`"
    )
    assert whole.look(library).hooks == {}
    assert "UCX watches no call of CUDA" in next(whole.lines(library))
