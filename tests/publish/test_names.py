# SPDX-License-Identifier: Apache-2.0
"""What is private in a text, and what stands there instead."""

import re
from pathlib import Path

import pytest

from nearpeak.publish.names import KINDS, Names

DOCS = Path(__file__).parents[2] / "docs" / "publish.md"
GPU = "GPU-873d55dc-0101-e8d9-dbce-d332b0cd8670"
OTHER = "ffe95ba0-001e-ea8b-c9a6-49aff1cda11e"


def replaced(*texts: str, names: Names | None = None) -> list[str]:
    """All of them, learnt from before."""
    names = names or Names()
    for text in texts:
        names.learn(text)
    return [names.replace(text) for text in texts]


def told(*hosts: str) -> Names:
    names = Names()
    for host in hosts:
        names.host(host)
    return names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[node07:04640] mca: base", "[host1:04640] mca: base"),
        ("prterun-node07-4032@1", "prterun-host1-4032@1"),
        ("/tmp/ompi.node07.1000/x: NODE07", "/tmp/dir1/dir2: host1"),
        ("UCX_node07_shm", "UCX_host1_shm"),
        ("node07.cluster.example.org and cluster.example.org", "host1 and domain1"),
        ("node07.local", "host1"),
        ("alice@node07:22", "user1@host1:22"),
        ("ranks on node[01-16,20]", "ranks on host2"),
        ("node071, mynode07, node7", "node071, mynode07, node7"),  # others
    ],
)
def test_a_host_is_found_in_texts(text: str, expected: str) -> None:
    names = told("node07")
    if "@node07" in text:
        names.host("alice@node07")
    assert replaced(text, names=names) == [expected]


def test_a_short_name_is_no_part_of_a_word() -> None:
    assert replaced("vm: process_vm_readv on vm", names=told("vm")) == [
        "host1: process_vm_readv on host1"
    ]


def test_hosts_of_one_short_name_are_told_apart() -> None:
    names = told("n1.a.example.org", "n1.b.example.org", "n2", "n2.a.example.org")
    text = "n1.a.example.org n1.b.example.org n1 n2 n2.a.example.org n2"
    assert names.replace(text) == "host1 host2 host1 host3 host3 host3"
    assert names.names("host") == 3


def test_names_that_all_machines_have_stay() -> None:
    text = "user@localhost root 127.0.0.1 ::1 0.0.0.0 /root /home/user/.. /usr/lib/x /dev/shm/y"
    assert replaced(text, names=told("localhost")) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/carol/x/carol.txt", "/home/user1/dir1/dir2"),
        ("LD=/home/carol/lib:/Users/dan/lib64", "LD=/home/user1/lib:/Users/user2/lib64"),
        ("-L/gpfs/projects/carol -I/usr/include", "-L/dir1/dir2/dir3 -I/usr/include"),
        ("~carol/mpi ~/runs 7 ~/3", "~user1/mpi ~/dir1 7 ~/dir2"),
        ("file:///scratch/x.txt, https://docs.open-mpi.org/a/b", None),
        ("'NAME=/work/a=b/c,d' (/work/e)", "'NAME=/work/dir1/dir2' (/work/dir3)"),
        ("/data/q/mpi/openmpi-5.0.11/lib/openmpi/x.so", None),
        ("/data/q/nearpeak-bundle/cache/build/84cd44ae600d9dcd-fe44e709/nearpeak-mpi", None),
        ("12 GB/s, 3/4 and/or ./a/b, /top, H,D / 2", "12 GB/s, 3/4 and/or ./a/b, /top, H,D / 2"),
        ("/var/lib/x /var/tmp/y", "/var/lib/x /var/tmp/dir1"),
    ],
)
def test_private_paths(text: str, expected: str | None) -> None:
    expected = expected or text.replace("/q/", "/dir1/").replace("x.txt", "dir1")
    assert replaced(text) == [expected]


def test_a_user_of_one_text_is_replaced_in_all() -> None:
    assert replaced("by carol, not caroline", "/home/carol") == [
        "by user1, not caroline",
        "/home/user1",
    ]


def test_who_built_open_mpi_is_private() -> None:
    text = "Open MPI v4.1.4, package: Open MPI builder7@login3.example.org Distribution, ident: 4.1"
    assert replaced(text, "login3 of builder7") == [
        "Open MPI v4.1.4, package: Open MPI user1@host1 Distribution, ident: 4.1",
        "host1 of user1",
    ]


def test_a_library_with_settings_is_no_address_of_mail() -> None:
    text = "openmpi@profile.toml openmpi-cuda@default mail eve@mail.example.org"
    assert replaced(text) == ["openmpi@profile.toml openmpi-cuda@default mail user1@domain1"]


def test_folders_with_blanks() -> None:
    names = Names()
    names.folder("/home/al ice/my mpi:/usr/lib")
    assert replaced("env '/home/al ice/my mpi/bin/mpirun' al", names=names) == [
        "env '/home/user1/dir1/bin/mpirun' al"
    ]


def test_a_gpu_has_one_name_however_it_is_written() -> None:
    names = Names()
    names.gpu(GPU)
    bare = GPU.removeprefix("GPU-")
    text = f"{GPU} {GPU[:12]} {bare} {bare.replace('-', '')} MIG-{OTHER} GPU-{OTHER} {OTHER}"
    assert names.replace(text) == "gpu1 gpu1 gpu1 gpu1 gpu2 gpu2 gpu2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.1.2.3:5000 10.1.2.3/24 fe80::1%ib0", "address1:5000 address1/24 address2%ib0"),
        ("v1.2.3.4 1.2.3 1.2.3.4.5 999.1.1.1", "v1.2.3.4 1.2.3 1.2.3.4.5 999.1.1.1"),
        ("at 19:27:13.345, 0000:00:06.0, 2:0 0,1 0", "at 19:27:13.345, 0000:00:06.0, 2:0 0,1 0"),
        ("a4:bf:01:2f:33:10 enxa4bf012f3310", "mac1 mac2"),
        ("0x506b4b0300ccb8f6 506b:4b03:00cc:b8f6 0x7ffe12", "guid1 guid2 0x7ffe12"),
        ("fe80:0000:0000:0000:506b:4b03:00cc:b8f6", "address1"),
        ("ba050000-d6c6-69d0-1e61-0600441f477d", "uuid1"),
        ("board serial number: 1650221003322, S/N", "board serial number: serial1, S/N"),
    ],
)
def test_what_identifies_hardware(text: str, expected: str) -> None:
    assert replaced(text) == [expected]


def test_the_value_of_a_variable_is_a_serial_number() -> None:
    names = Names()
    names.learn("QX-81722", "BOARD_SERIAL")
    names.learn("0000", "I_MPI_INFO_SERIAL")
    assert names.replace("0000:00 of QX-81722") == "0000:00 of serial1"


def test_kept_phrases_stay_and_hidden_words_go() -> None:
    names = Names(kept=["host-memory node0", "10.3.1.2"], hidden=["apollo"])
    names.host("node0")
    text = "host-memory node0:copy>=20GB/s on node0, 10.3.1.2 apollo /opt/apollo/lib"
    expected = "host-memory node0:copy>=20GB/s on host1, 10.3.1.2 word1 /opt/word1/lib"
    assert replaced(text, names=names) == [expected]
    assert (names.places["host"], names.places["word"], names.names("word")) == (1, 2, 1)


def test_the_document_has_all_kinds() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert [row for row in rows if row in KINDS] == list(KINDS)
