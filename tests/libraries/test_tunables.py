# SPDX-License-Identifier: Apache-2.0
"""The settings that are worth a try, and what installations say of them."""

import re
from importlib import resources
from pathlib import Path

import msgspec
import pytest
from made_libraries import made_library

from nearpeak.libraries import tunables
from nearpeak.libraries.families import all_families, natives
from nearpeak.libraries.identify import CannotIdentify
from nearpeak.libraries.library import UNSET, Library
from nearpeak.libraries.tunables import Tunable, answer, intel, mpich, openmpi, ucx
from nearpeak.libraries.tunables.answer import Answer, names_in

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
# How the variables of a component begin.
BEGIN = {
    "intel": "I_MPI_",
    "mpich": "MPIR_CVAR_",
    "mvapich": "MV2_",
    "nccl": "NCCL_",
    "openmpi": "OMPI_MCA_",
    "ucx": "UCX_",
}
COMPONENTS = sorted(BEGIN)
ALL = [tunable for component in COMPONENTS for tunable in tunables.of_component(component)]

UCX = """\
version 1.22.0
module cma
module cuda
module ib
UCX_RNDV_SCHEME=auto
UCX_RNDV_THRESH=intra:auto,inter:auto
UCX_ERROR_MAIL_TO=

UCX_CMA_BW=11145.00MBps
"""
OPENMPI = """\
package:Open MPI user@localhost Distribution
mca:btl:sm:param:btl_sm_eager_limit:value:4096
mca:btl:sm:param:btl_sm_eager_limit:source:default
mca:btl:sm:param:btl_sm_eager_limit:help:Maximum size (in bytes): of "short" messages
mca:coll:tuned:param:coll_tuned_bcast_algorithm:value:ignore
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:0:ignore
mca:pml:ucx:param:pml_ucx_multi_send_nb:value:false
mca:pml:ucx:param:pml_ucx_tls:value:rc_verbs,cuda_ipc
mca:pml:ucx:param:pml_ucx_tls:synonym_of:name:opal_common_ucx_tls
mca:opal:base:param:opal_var_dump_color:value:"name=34,value=32:33"
"""
MPICH = """\
466 MPI Control Variables
\tMPIR_CVAR_BARRIER_INTRA_ALGORITHM=0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tTo
auto - Internal algorithm selection
nb            - Force nonblocking algorithm
\tMPIR_CVAR_CH4_IPC_GPU_HANDLE_CACHE=1\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tBy
the generic cache mechanism. Users can
generic - use the cache mechanism in the generic layer
\tMPIR_CVAR_BCAST_MIN_PROCS       =8\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tLet
\tMPIR_CVAR_CH4_NETMOD            =\tSCOPE_LOCAL\tNo-object\tMPI_CHAR\tVERBOSITY_USER_BASIC\tIf
Category COLLECTIVE has 298 control variables, 0 performance variables, and 0 subcategories
\tMPIR_CVAR_BCAST_MIN_PROCS       :\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC
"""
# Some names have a blank after them.
INTEL = f"""\
I_MPI_SPIN_COUNT
  MPI Datatype:
    MPI_INT
I_MPI_OFFLOAD_IPC{" "}
I_MPI_FABRICS{" "}
  Description:
    I_MPI_FABRICS=<ofi|shm:ofi>
 | NAME                           | DEFAULT VALUE  | DATA TYPE   |
 =================================================================
 | I_MPI_FABRICS                  | shm:ofi        | MPI_CHAR    |
 | I_MPI_ADJUST_BCAST             | -1             | MPI_CHAR    |
 | I_MPI_SHM_CMA                  | not defined    | MPI_INT     |
"""


def library(prefix: Path = Path("/nowhere"), family: str = "openmpi") -> Library:
    """One that is not there, unless a test puts its tools into the prefix."""
    return made_library(prefix=prefix, family=family, libmpi=prefix / "lib" / "libmpi.so.40")


def tool(prefix: Path, name: str, body: str) -> Library:
    """A library with one program in its `bin`."""
    file = prefix / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return library(prefix)


def test_every_component_is_of_a_family_and_has_a_file() -> None:
    files = resources.files("nearpeak.libraries.tunables").iterdir()
    assert {file.name for file in files if file.name.endswith(".toml")} == {
        f"{component}.toml" for component in COMPONENTS
    }
    assert {name for family in all_families().values() for name in family.components} == set(BEGIN)


def test_there_is_something_to_try() -> None:
    assert len(ALL) >= 60
    assert all(len(tunables.of_component(component)) >= 10 for component in COMPONENTS)
    names = [tunable.name for tunable in ALL]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("tunable", ALL, ids=lambda tunable: tunable.name)
def test_every_setting_is_whole(tunable: Tunable) -> None:
    benchmarks = {file.stem for file in BENCH.glob("**/*.cpp")}
    assert tunable.name.startswith(BEGIN[tunable.component])
    assert re.fullmatch(r"https?://\S+", tunable.source)
    assert tunable.summary
    assert "\n" not in tunable.summary + tunable.breaks
    assert bool(tunable.values) != bool(tunable.file)
    assert len(set(tunable.values)) == len(tunable.values)
    assert tunable.default not in tunable.values
    assert set(tunable.gpu_values) <= set(tunable.values)
    assert set(tunable.one_host_values) <= set(tunable.values)
    assert set(tunable.benchmarks) <= benchmarks
    assert tunable.name not in tunable.with_
    assert all(name.startswith(BEGIN[tunable.component]) for name in tunable.with_)
    for name, value in tunable.with_.items():
        of_it = next((other for other in ALL if other.name == name), None)
        assert of_it is None or value in [*of_it.values, of_it.default] or value.isdecimal()


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "contributing" / "adding-a-library.md").read_text("utf-8")
    section = page.partition("## Adding a setting that is worth a try")[2]
    keys = {field.encode_name for field in msgspec.structs.fields(Tunable)}
    documented = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))
    assert documented == keys - {"name", "component"}  # the table's name, and the file's


def test_an_unknown_key_is_refused() -> None:
    table = {"name": "A", "component": "ucx", "summary": "a", "values": ["1"], "source": "s"}
    assert msgspec.convert(table, Tunable).env("1") == {"A": "1"}
    with pytest.raises(msgspec.ValidationError, match="unknown field `brakes`"):
        msgspec.convert({**table, "brakes": "all"}, Tunable)
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value 'gpus'"):
        msgspec.convert({**table, "needs": ["gpus"]}, Tunable)


def test_what_a_setting_needs_is_set_with_it() -> None:
    bcast = next(one for one in ALL if one.name == "OMPI_MCA_coll_tuned_bcast_algorithm")
    assert bcast.env("chain") == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "true",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "chain",
    }


def test_what_has_no_network_is_for_one_host() -> None:
    openmpi, intel = library(), library(family="intel")
    assert not tunables.for_one_host(openmpi, {"UCX_TLS": "^cma", "I_MPI_FABRICS": "shm"})
    assert tunables.for_one_host(openmpi, {"A": "1", "UCX_TLS": "sm,cuda,self"})
    assert tunables.for_one_host(intel, {"I_MPI_FABRICS": "shm"})
    assert not tunables.for_one_host(intel, {"I_MPI_FABRICS": "ofi"})
    # A list of transports without the network's.
    (transports,) = (one for one in ALL if one.name == "UCX_TLS")
    lists = [value for value in transports.values if not value.startswith("^")]
    assert transports.one_host_values == lists


def test_what_may_break_is_told_once() -> None:
    env = {"OMPI_MCA_btl_sm_fbox_max": "8", "OMPI_MCA_btl_sm_fbox_size": "8192", "A": "1"}
    (told,) = tunables.may_break(library(), {**env, "UCX_CMA_TX_QUOTA": "4"})
    names, _, what = told.partition(": ")
    assert names == "OMPI_MCA_btl_sm_fbox_size, OMPI_MCA_btl_sm_fbox_max"
    assert what.startswith("ob1 reads GPU buffers by the CPU")
    assert tunables.may_break(library(family="intel"), env) == []


def test_what_is_set_to_a_file_is_told() -> None:
    env = {"OMPI_MCA_coll_tuned_dynamic_rules_filename": "/x/y", "OMPI_MCA_pml": "ob1"}
    name, _ = env
    assert tunables.files(library(), env) == {name: "openmpi-rules.conf"}
    assert tunables.files(library(family="intel"), env) == {}


def test_known_are_those_of_the_familys_components() -> None:
    def of(family: str) -> set[str]:
        return {tunable.component for tunable in tunables.library_tunables(library(family=family))}

    assert of("openmpi") == {"openmpi", "ucx"}
    assert of("mpich") == {"mpich", "ucx"}
    assert of("intel") == {"intel"}
    assert of("nccl") == {"nccl"}
    assert tunables.offered(natives()["ceiling"]) == []


def test_ucx_names_of_modules_that_did_not_load_are_hidden() -> None:
    said = ucx.parse(UCX)
    assert said.values == {
        "UCX_RNDV_SCHEME": "auto",
        "UCX_RNDV_THRESH": "intra:auto,inter:auto",
        "UCX_ERROR_MAIL_TO": "",
        "UCX_CMA_BW": "11145.00MBps",
    }
    assert said.version == "1.22.0"
    assert said.has("UCX_RNDV_THRESH") is True
    assert said.has("UCX_CUDA_COPY_DMABUF") is None  # the machine has no driver
    assert said.has("UCX_IB_NUM_PATHS") is None
    assert said.has("UCX_GDR_COPY_BW") is False  # it was built without gdrcopy
    assert said.has("UCX_CMA_NOTHING") is False


def test_a_library_that_loads_no_ucx_has_none_of_its_settings() -> None:
    assert ucx.parse("") == Answer({})
    assert ucx.parse("").has("UCX_TLS") is False


def test_openmpi_tells_the_numbers_of_words() -> None:
    name = "OMPI_MCA_coll_tuned_bcast_algorithm"
    assert openmpi.parse(OPENMPI).numbers == {name: {"ignore": 0}}


def test_openmpi_tells_values_and_originals_of_synonyms() -> None:
    assert openmpi.parse(OPENMPI).values == {
        "OMPI_MCA_btl_sm_eager_limit": "4096",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "ignore",
        "OMPI_MCA_pml_ucx_multi_send_nb": "",  # which it tells wrongly
        "OMPI_MCA_pml_ucx_tls": "rc_verbs,cuda_ipc",
        "OMPI_MCA_opal_common_ucx_tls": "rc_verbs,cuda_ipc",
        "OMPI_MCA_opal_var_dump_color": "name=34,value=32:33",
    }


def test_mpich_tells_words_by_number() -> None:
    assert mpich.parse(MPICH).values == {
        "MPIR_CVAR_BARRIER_INTRA_ALGORITHM": "",
        "MPIR_CVAR_CH4_IPC_GPU_HANDLE_CACHE": "",
        "MPIR_CVAR_BCAST_MIN_PROCS": "8",
        "MPIR_CVAR_CH4_NETMOD": "",
    }


def test_intel_tells_names_and_some_values() -> None:
    assert intel.parse(INTEL).values == {
        "I_MPI_SPIN_COUNT": "",
        "I_MPI_OFFLOAD_IPC": "",
        "I_MPI_FABRICS": "shm:ofi",
        "I_MPI_ADJUST_BCAST": "",
        "I_MPI_SHM_CMA": "",
    }


def test_names_in_a_file_are_whole_strings(tmp_path: Path) -> None:
    file = tmp_path / "libnccl.so.2"
    file.write_bytes(b"\0NCCL_ALGO\0NCCL_PROTO\0NCCL_x\0 NCCL_DEBUG\0xNCCL_NTHREADS\0NCCL_\0")
    assert names_in(file, "NCCL_") == Answer({"NCCL_ALGO": "", "NCCL_PROTO": ""})
    with pytest.raises(CannotIdentify, match="holds no names"):
        names_in(file, "MV2_")
    file.write_bytes(b"")
    for nothing in (file, tmp_path / "none"):
        with pytest.raises(CannotIdentify, match="cannot be read"):
            names_in(nothing, "NCCL_")


def test_versions_are_those_of_what_is_no_part_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [Answer({}, version="1.22.0"), Answer({}), CannotIdentify("x")]

    def ask(_: Library) -> Answer:
        answer = answers.pop(0)
        if isinstance(answer, CannotIdentify):
            raise answer
        return answer

    monkeypatch.setattr(ucx, "ask", ask)
    monkeypatch.setattr(openmpi, "ask", lambda _: pytest.fail("asked"))
    assert tunables.versions(library()) == {"ucx": "1.22.0"}
    assert tunables.versions(library()) == {"ucx": ""}
    assert tunables.versions(library()) == {}
    assert tunables.versions(library(family="intel")) == {}


def test_a_tool_is_run_with_the_librarys_environment(tmp_path: Path) -> None:
    made = tool(tmp_path, "ompi_info", 'echo "mca:x:y:param:z:value:$LD_LIBRARY_PATH $*"')
    (value,) = openmpi.ask(made).values.values()
    assert value.startswith(str(tmp_path / "lib"))
    assert value.endswith("--all --parsable --level 9")


@pytest.mark.parametrize(
    ("body", "why"),
    [("exit 3", "exit status 3"), ("exec sleep 60", "no answer"), (None, "No such")],
)
def test_a_tool_that_fails_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str | None, why: str
) -> None:
    monkeypatch.setattr(answer, "LIMIT_SECONDS", 0.2 if why == "no answer" else 20)
    made = tool(tmp_path, "ompi_info", body) if body else library(tmp_path)
    with pytest.raises(CannotIdentify, match=why):
        openmpi.ask(made)
    assert tunables.installed(made) == {"openmpi": None, "ucx": None}
    for offered in tunables.offered(made):
        assert offered.there is None
        assert offered.default == offered.tunable.default
        assert offered.values == offered.tunable.values


def test_offered_are_the_librarys_own_defaults(tmp_path: Path) -> None:
    lines = [
        "mca:btl:sm:param:btl_sm_eager_limit:value:8192",
        "mca:pml:base:param:pml:value:",
        "mca:coll:tuned:param:coll_tuned_bcast_algorithm:value:ignore",
    ]
    made = tool(tmp_path, "ompi_info", "\n".join(f"echo {line}" for line in lines))
    offered = {each.tunable.name: each for each in tunables.offered(made)}
    eager = offered["OMPI_MCA_btl_sm_eager_limit"]
    assert (eager.there, eager.default) == (True, "8192")
    assert eager.values == ["1024", "2048", "16384", "32768"]  # without its default here
    assert eager.tunable.default == "4096"
    # What it needs is not there: the rules that algorithms are set by.
    assert offered["OMPI_MCA_coll_tuned_bcast_algorithm"].there is False
    assert offered["OMPI_MCA_smsc"].there is False
    assert offered["UCX_TLS"].there is None


def test_what_nearpeak_gives_and_nobody_proved_is_tried_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MV2_USE_CUDA", "1")  # launches would inherit it

    def without(family: str) -> dict[str, tunables.Offered]:
        offered = tunables.offered(library(tmp_path / family, family=family))
        return {each.tunable.name: each for each in offered if UNSET in each.values}

    assert without("intel") == {}  # harmless and needed ones stay
    unproven = without("mvapich")
    pin, on_gpus = unproven["MV2_ENABLE_AFFINITY"], unproven["MVP_USE_CUDA"]
    assert (pin.there, pin.default, pin.values, pin.tunable.needs) == (True, "0", [UNSET], [])
    assert on_gpus.tunable.needs == ["gpu"]
    assert "MV2_USE_CUDA" not in unproven
    assert pin.tunable.summary.startswith("Nearpeak gives it: its own binding is off")


def test_a_component_without_a_way_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    made = library(family="nccl")
    monkeypatch.setattr(tunables, "components", lambda _library: ("another",))
    assert tunables.installed(made) == {"another": None}
