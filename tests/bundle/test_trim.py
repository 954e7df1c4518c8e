# SPDX-License-Identifier: Apache-2.0
"""What of a library is left when it is bundled."""

import subprocess
from pathlib import Path

from nearpeak.bundle import trim
from nearpeak.libraries.discover import LACKS

TABLES = [
    f"opt/mpi/etc/tuning_{name}.dat"
    for name in ("generic_shm", "generic_ofi_mlx_hcoll", "emr_shm", "gnr_shm-ofi_thread-split")
] + ["opt/mpi/etc/tuning_clx-ap_shm-ofi.dat"]


def fill(prefix: Path, *names: str) -> None:
    for name in names:
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text(name)


def names(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir()}


def test_what_runs_stays(tmp_path: Path) -> None:
    kept = {
        *("bin/mpirun", "bin/ompirun_wrapper", "lib/libmpi.so.12", "lib/ucx/libuct.so.0"),
        *("include/mpi.h", "share/doc/license.txt", *TABLES),
    }
    dropped = {
        *("bin/mpicc", "bin/mpitune_fast", "bin/opal_wrapper", "lib/libmpifort.so.12", "lib/a.a"),
        *("lib/libmpi_abi.so.1", "lib/python3.11/site-packages/x.py", "include/openmpi/x.h"),
        *("requirements.txt", "opt/mpi/tune_fast/x.py", "lib/libmpcp.so"),
    }
    fill(tmp_path / "mpi", *kept, *dropped, "bin/IMB-MPI1")
    assert trim.copy(tmp_path / "mpi", tmp_path / "there", imb=False) == ""
    assert names(tmp_path / "there") == kept
    trim.copy(tmp_path / "mpi", tmp_path / "again", imb=True)
    assert names(tmp_path / "again") == kept | {"bin/IMB-MPI1"}


def test_tables_for_one_processor_alone_are_less_than_its_makers_ship(tmp_path: Path) -> None:
    fill(tmp_path / "mpi", *TABLES, "lib/libmpi.so.12")
    assert trim.processors(tmp_path / "mpi") == {"clx-ap", "emr", "gnr"}
    lacks = trim.copy(tmp_path / "mpi", tmp_path / "there", imb=False, processor="emr")
    assert lacks == "the tables of collectives for processors other than emr"
    assert names(tmp_path / "there") == {
        *("lib/libmpi.so.12", "opt/mpi/etc/tuning_emr_shm.dat", LACKS),
        *("opt/mpi/etc/tuning_generic_shm.dat", "opt/mpi/etc/tuning_generic_ofi_mlx_hcoll.dat"),
    }
    assert (tmp_path / "there" / LACKS).read_text() == f"{lacks}\n"
    assert trim.processors(tmp_path / "there/lib") == set()


def test_equal_files_become_one(tmp_path: Path) -> None:
    for name in ("libx.so.1", "libx.so.1.0"):
        fill(tmp_path / "mpi", f"lib/{name}")
        (tmp_path / "mpi/lib" / name).write_bytes(b"x" * 5000)
    (tmp_path / "mpi/lib/libx.so").symlink_to("libx.so.1.0")
    trim.copy(tmp_path / "mpi", tmp_path / "there", imb=False)
    lib = tmp_path / "there/lib"
    assert not (lib / "libx.so.1").is_symlink()
    assert (lib / "libx.so.1.0").readlink() == Path("libx.so.1")
    assert (lib / "libx.so").read_bytes() == b"x" * 5000


def test_programs_lose_their_symbols_and_still_run(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("int used() { return 7; }\nint main() { return used(); }\n")
    (tmp_path / "mpi/bin").mkdir(parents=True)
    subprocess.run(["c++", "-g", str(source), "-o", str(tmp_path / "mpi/bin/a")], check=True)
    trim.copy(tmp_path / "mpi", tmp_path / "there", imb=False)
    program = tmp_path / "there/bin/a"
    assert b"\0.symtab\0" not in program.read_bytes()
    assert subprocess.run([program], check=False).returncode == 7
