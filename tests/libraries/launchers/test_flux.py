# SPDX-License-Identifier: Apache-2.0
"""`flux run`, with a stand-in that does what Flux's documents say; tests/flux has a real one."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from nearpeak.errors import UserError

Placed = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def flux(stand_in: Callable[[str, Path], Path], tmp_path: Path) -> Path:
    return stand_in("flux_stand_in.py", tmp_path / "bin" / "flux")


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three nodes, in this order."""
    monkeypatch.setenv("FLUX_URI", "local:///tmp/flux")
    monkeypatch.setenv("STAND_IN_HOSTS", "a b c")


@pytest.mark.parametrize("hosts", ["ab", "ba", "ca", "aabb", "bbaa", "abab", "cbaabc"])
@pytest.mark.usefixtures("instance")
def test_each_rank_runs_on_its_host_and_cpus(flux: Path, placed: Placed, hosts: str) -> None:
    """Tasks are numbered by the nodes' order in the instance where nothing else is said."""
    wanted, ran = placed(flux, "mpich", list(hosts))
    assert ran == wanted


@pytest.mark.usefixtures("instance")
def test_ranks_of_one_host_stay_on_it(
    flux: Path, placed: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_HOSTS", f"x {socket.gethostname()}")
    _, ran = placed(flux, "mpich", [None, None])
    assert [host for host, _ in ran] == [socket.gethostname()] * 2


@pytest.mark.usefixtures("instance")
def test_an_instance_that_ends_need_not_answer(
    flux: Path, words: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = words(flux, "mpich", ["b", "a"])
    monkeypatch.setenv("STAND_IN_HOSTS", "")
    assert words(flux, "mpich", ["b", "a"]) == line


@pytest.mark.parametrize(
    ("family", "pmi"), [("mpich", ""), ("openmpi", " pmi=pmix"), ("cray", " pmi=cray-pals")]
)
@pytest.mark.usefixtures("instance")
def test_what_its_shell_is_told(
    flux: Path, said: Callable[..., str], family: str, pmi: str
) -> None:
    options = said(flux, family, ["a", "b"]).splitlines()[0]
    assert options == f"shell options: cpu-affinity=off gpu-affinity=off{pmi}"


@pytest.mark.usefixtures("instance")
def test_what_it_cannot_start(
    flux: Path, words: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="as many ranks on each host"):
        words(flux, "mpich", ["a", "a", "b"])
    with pytest.raises(UserError, match="host 'd' is none of the Flux instance \\(a,b,c\\)"):
        words(flux, "mpich", ["a", "d"])
    with pytest.raises(UserError, match="flux takes no remote shell"):
        words(flux, "mpich", ["a", "b"], remote_shell="/sh")
    monkeypatch.delenv("FLUX_URI")
    with pytest.raises(UserError, match="flux starts mpich in a Flux instance alone"):
        words(flux, "mpich", ["a", "b"])
