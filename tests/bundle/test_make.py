# SPDX-License-Identifier: Apache-2.0
"""A bundle from end to end: made, unpacked elsewhere by tar, run there without a compiler."""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_launches import LIMIT

from nearpeak.bundle import make, modules, wheels
from nearpeak.errors import UserError
from nearpeak.libraries import catalogue, whole
from nearpeak.libraries.library import Library

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
TOOLS = ("sh", "bash", "env", "cat", "taskset", "readlink", "dirname", "uname", "hostname")


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages from where they are installed, in place of wheels from an index; little packing."""
    site = sysconfig.get_path("purelib")

    def lay_out(_checkout: Path, _python: str, folder: Path) -> dict[str, str]:
        folder.mkdir(parents=True)
        (folder / "sitecustomize.py").write_text(f"import sys\n\nsys.path.append({site!r})\n")
        return {"sample": "1"}

    monkeypatch.setattr(wheels, "lay_out", lay_out)
    monkeypatch.setattr(make, "PRESET", 0)


@pytest.mark.usefixtures("without_packages")
def test_a_bundle_runs_elsewhere(tmp_path: Path, fake_driver: Path) -> None:
    try:
        catalogue.add("openmpi-cuda")
    except UserError as error:
        pytest.skip(str(error))
    archive = tmp_path / "nearpeak.tar.xz"
    made = make.make(["openmpi-cuda"], HERE, archive, own_compiler=True)  # which has built them
    assert made.size_bytes == archive.stat().st_size
    assert set(made.manifest.libraries) == {"openmpi-cuda", "openmpi", "ucx-cuda"}
    place = tmp_path / "elsewhere"
    place.mkdir()
    subprocess.run(["tar", "xf", str(archive)], cwd=place, check=True)
    start = place / make.FOLDER / "nearpeak"
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    bare = {"PATH": str(tools), "HOME": str(tmp_path), "NEARPEAK_PYTHON": sys.executable}
    words = ["run", "latency", "--mpi", "openmpi-cuda", "--sizes", "8,1K"]

    def run(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [start, *words], env={**bare, **env}, capture_output=True, text=True, timeout=LIMIT
        )

    done = run(*words, "--slot-ms", "5")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != "#"] == ["8", "1024"]
    home = str(place / make.FOLDER)
    assert f"{home}/cache/build/" in done.stderr
    assert str(catalogue.entry("openmpi").prefix) not in done.stderr
    checked = run("bundle", "--check", home)
    assert (checked.returncode, checked.stderr) == (0, "")
    job = tmp_path / "job.sh"
    wrote = run("study", "--mpi", "openmpi-cuda", "--budget", "2m", "--sbatch", str(job))
    assert wrote.returncode == 0, wrote.stderr
    assert f"exec {start} study" in job.read_text("utf-8")
    of_gpus = run("mpi", "show", "openmpi-cuda", LD_LIBRARY_PATH=str(fake_driver)).stdout
    assert re.search(r"UCX watches [1-9]\d* calls of the driver API", of_gpus)
    assert "libuct_cuda" not in of_gpus  # as it loads
    libraries = place / make.FOLDER / "cache/mpi" / catalogue.entry("ucx-cuda").prefix.name
    (libraries / "libucx_cu13.libs").rename(libraries / "elsewhere")
    assert len(modules.problems(place / make.FOLDER)) == 1
    (libraries / "elsewhere").rename(libraries / "libucx_cu13.libs")
    (place / make.FOLDER / "bench/CMakeLists.txt").write_text("")
    checked = run("bundle", "--check", home)
    assert checked.returncode == 1
    assert checked.stderr == (
        "nearpeak: bench/CMakeLists.txt is damaged: unpack the bundle again\n"
    )


@pytest.mark.usefixtures("without_packages")
def test_the_script_refuses_another_python_and_another_machine(tmp_path: Path) -> None:
    make._program(tmp_path, "3.99")
    start = tmp_path / "nearpeak"
    done = subprocess.run([start], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "nearpeak: this bundle needs Python 3.99: set NEARPEAK_PYTHON to one\n"
    env = {**os.environ, "NEARPEAK_PYTHON": "/no python"}
    done = subprocess.run([start], env=env, capture_output=True, text=True, check=False)
    assert done.stderr.endswith(": set NEARPEAK_PYTHON to one, which /no python is not\n")
    start.write_text(start.read_text().replace(platform.machine(), "m68k"))
    done = subprocess.run([start], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "this bundle is for m68k, not " in done.stderr


def test_a_library_that_is_not_whole_is_refused(
    monkeypatch: pytest.MonkeyPatch, installed: Callable[[str], Library]
) -> None:
    library = installed("mpich")
    broken = [
        whole.Module(file=f"/mpi/libuct_{name}.so.0", missing=[f"lib{name}.so.1"], error="none")
        for name in ("a", "b")
    ]
    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules(modules=broken))
    message = r"cannot bundle mpich: .* \(liba\.so\.1 is not found\).*; and 1 module more"
    with pytest.raises(UserError, match=message):
        make._check_whole(library)
    driver = whole.Module(file="/mpi/libuct_cuda.so.0", missing=["libcuda.so.1"], error="none")
    monkeypatch.setattr(whole, "look", lambda _library: whole.Modules(modules=[driver]))
    monkeypatch.setattr(whole, "hardware", lambda _machine: {"nvidia"})
    assert len(whole.faults(library)) == 1
    make._check_whole(library)


def test_the_parts_are_measured(tmp_path: Path) -> None:
    folder = tmp_path / make.FOLDER
    (folder / "cache/mpi/big").mkdir(parents=True)
    (folder / "cache/build").mkdir()
    (folder / "cache/mpi/big/file").write_bytes(os.urandom(2_000_000))
    parts = make._pack(folder, tmp_path / "a.tar.xz")
    assert 1.9e6 < parts["cache/mpi/big"] < 2.1e6


def test_only_an_archive_that_is_called_what_it_is(tmp_path: Path) -> None:
    for name in ("a", "a.tar.gz", "a.tar", "a.zip"):
        with pytest.raises(UserError, match=r"a bundle is a tar\.xz, name it NAME\.tar\.xz"):
            make.make(["mpich"], HERE, tmp_path / name)


def test_a_folder_that_is_read_only_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "is_read_only", lambda _: True)
    with pytest.raises(UserError, match="is read-only"):
        make.make(["mpich"], HERE, tmp_path / "a.tar.xz")


def test_a_processor_that_no_library_has_tables_for(tmp_path: Path) -> None:
    tables = tmp_path / "mpi/opt/mpi/etc"
    tables.mkdir(parents=True)
    make._check(None, [tmp_path])
    with pytest.raises(UserError, match=r"the processor 'emr': leave the option out"):
        make._check("emr", [tmp_path])
    (tables / "tuning_spr_shm.dat").touch()
    make._check("spr", [tmp_path, tmp_path / "mpi"])
    with pytest.raises(UserError, match=r"the processor 'emr'; there are: spr"):
        make._check("emr", [tmp_path / "mpi"])


def test_only_the_catalogues_libraries(tmp_path: Path) -> None:
    for name in ("/opt/mpi", "ucx-cuda"):
        with pytest.raises(UserError, match=f"cannot bundle '{name}': choose of .*openmpi-cuda"):
            make.make([name], HERE, tmp_path / "a.tar.xz")
