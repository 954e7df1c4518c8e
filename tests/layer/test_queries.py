# SPDX-License-Identifier: Apache-2.0
"""Programs that find cuPointerGetAttribute in different ways, and a driver that is none."""

import os
import subprocess
from pathlib import Path

import pytest

from nearpeak.libraries.build import build_queries, compiler, preloaded_sources

TIMES, ADDRESSES, ATTRIBUTES = 30, 6, 25  # of fake_program.cpp
ASKED = TIMES * ADDRESSES * ATTRIBUTES
QUICK = 3 * 5 * TIMES  # of the stack, reserved and freed addresses, for five attributes
WAYS = ["link", "dlsym", "default", "procaddress-old", "procaddress", "procaddress-twice"]
SLOW = {"FAKE_QUERY_US": "50"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a driver, and programs that link with it and that do not."""
    folder = tmp_path_factory.mktemp("queries")
    here = preloaded_sources() / "tests" / "queries"
    shared = ["-std=c++20", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    driver = folder / "libcuda.so.1"
    subprocess.run([*compiler(), *shared, here / "fake_driver.cpp", "-o", driver], check=True)
    for name, more in {"loads": [], "links": ["-DLINKED", str(driver)]}.items():
        words = ["-std=c++20", "-O1", str(here / "fake_program.cpp"), *more, "-ldl"]
        subprocess.run([*compiler(), *words, "-o", folder / name], check=True)
    return folder


def run(
    built: Path, way: str, *, preload: Path | None, **env: str
) -> subprocess.CompletedProcess[str]:
    program = built / ("links" if way in ("link", "default") else "loads")
    own = {"LD_PRELOAD": str(preload)} if preload else {}
    environment = {**os.environ, "LD_LIBRARY_PATH": str(built), **own, **env}
    return subprocess.run([program, way], env=environment, capture_output=True, text=True)


def calls(done: subprocess.CompletedProcess[str]) -> int:
    """How often the driver's own function was called."""
    return int(done.stderr.split()[-1])


@pytest.mark.parametrize("way", WAYS)
def test_no_answer_changes_and_the_driver_is_asked_less(built: Path, way: str) -> None:
    alone = run(built, way, preload=None)
    assert (alone.returncode, calls(alone)) == (0, ASKED)
    quick = run(built, way, preload=build_queries(), **SLOW)
    assert quick.returncode == 0
    assert quick.stdout == alone.stdout
    trial = 50  # and the first query for each attribute
    assert ASKED - QUICK < calls(quick) < ASKED - QUICK + trial


@pytest.mark.parametrize("way", WAYS)
def test_it_is_off_with_a_driver_that_is_not_slow(built: Path, way: str) -> None:
    done = run(built, way, preload=build_queries(), NEARPEAK_QUERIES_REPORT="1")
    assert done.stdout == run(built, way, preload=None).stdout
    calls_line, report = done.stderr.splitlines()
    assert report.startswith("nearpeak-queries: off: ")
    assert int(calls_line.split()[1]) >= ASKED


def test_the_report_says_how_many_were_quick(built: Path) -> None:
    done = run(built, "dlsym", preload=build_queries(), NEARPEAK_QUERIES_REPORT="1", **SLOW)
    assert f" of {ASKED} queries answered quickly" in done.stderr
    assert "off: " not in done.stderr


def test_another_library_with_such_a_function_is_left_alone(built: Path, tmp_path: Path) -> None:
    (tmp_path / "other.cpp").write_text(
        'extern "C" int cuPointerGetAttribute(void*, int, unsigned long long) { return 99; }\n'
    )
    other = tmp_path / "other.so"
    words = ["-shared", "-fPIC", str(tmp_path / "other.cpp"), "-o", str(other)]
    subprocess.run([*compiler(), *words], check=True)
    (tmp_path / "main.cpp").write_text(
        "#include <dlfcn.h>\n#include <cstdio>\nint main(int, char** argv) {\n"
        '  dlopen("libcuda.so.1", RTLD_NOW);\n'
        "  void* const other = dlopen(argv[1], RTLD_NOW);\n"
        '  void* const found = dlsym(other, "cuPointerGetAttribute");\n'
        "  using Query = int (*)(void*, int, unsigned long long);\n"
        '  std::printf("%d\\n", reinterpret_cast<Query>(found)(nullptr, 2, 0));\n}\n'
    )
    program = tmp_path / "main"
    words = [str(tmp_path / "main.cpp"), "-ldl", "-o", str(program)]
    subprocess.run([*compiler(), *words], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(built), "LD_PRELOAD": str(build_queries())}
    done = subprocess.run([program, other], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "99\n"


def test_a_process_without_a_driver_says_nothing() -> None:
    env = {**os.environ, "LD_PRELOAD": str(build_queries()), "NEARPEAK_QUERIES_REPORT": "1"}
    words = ["sh", "-c", "true; (exit 0); true"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_finds_it_in_another_way_is_told_so(built: Path) -> None:
    """As a program that takes the address of a version, which dlsym does not see."""
    without = preloaded_sources() / "tests" / "queries" / "fake_driver.cpp"
    script = built / "map"
    script.write_text("FAKE_1 { *; };")
    versions = built / "versions"
    versions.mkdir()
    words = ["-std=c++20", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    words += [f"-Wl,--version-script={script}", str(without)]
    subprocess.run([*compiler(), *words, "-o", versions / "libcuda.so.1"], check=True)
    done = subprocess.run(
        [built / "loads", "versions"],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(versions),
            "LD_PRELOAD": str(build_queries()),
            "NEARPEAK_QUERIES_REPORT": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nearpeak-queries: cuPointerGetAttribute was not called in a way that is seen" in (
        done.stderr
    )
    assert f"calls {ASKED}" in done.stderr


def test_without_a_driver_nothing_is_found(tmp_path: Path) -> None:
    source = tmp_path / "default.cpp"
    source.write_text(
        "#include <dlfcn.h>\n#include <cstdio>\nint main() {\n"
        '  std::puts(dlsym(RTLD_DEFAULT, "cuPointerGetAttribute") ? "there" : "none");\n}\n'
    )
    program = tmp_path / "default"
    subprocess.run([*compiler(), source, "-o", program, "-ldl"], check=True)
    env = {**os.environ, "LD_PRELOAD": str(build_queries())}
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"


def test_the_next_of_another_library_stays_its_own(tmp_path: Path) -> None:
    """dlsym(RTLD_NEXT) is relative to the library that calls it."""
    for name, number in {"first": 1, "second": 2}.items():
        (tmp_path / f"{name}.cpp").write_text(
            '#include <dlfcn.h>\nextern "C" {\n'
            f"int named() {{ return {number}; }}\n"
            f"int next_of_{name}() {{\n"
            '  void* const found = dlsym(RTLD_NEXT, "named");\n'
            "  return found ? reinterpret_cast<int (*)()>(found)() : 0;\n}\n}\n"
        )
        words = ["-O1", "-shared", "-fPIC", str(tmp_path / f"{name}.cpp")]
        library = tmp_path / f"lib{name}.so"
        subprocess.run([*compiler(), *words, "-o", library, "-ldl"], check=True)
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\nextern "C" int next_of_first();\nextern "C" int next_of_second();\n'
        'int main() { std::printf("%d %d\\n", next_of_first(), next_of_second()); }\n'
    )
    libraries = [f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lfirst", "-lsecond"]
    program = tmp_path / "program"
    subprocess.run([*compiler(), tmp_path / "main.cpp", *libraries, "-o", program], check=True)
    for env in ({}, {"LD_PRELOAD": str(build_queries())}):
        done = subprocess.run(
            [program], env={**os.environ, **env}, capture_output=True, text=True, check=True
        )
        assert done.stdout == "2 0\n"
