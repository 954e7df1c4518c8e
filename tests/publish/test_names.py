# SPDX-License-Identifier: Apache-2.0
"""What is private in a text, and what stands there instead."""

import re
from pathlib import Path

import pytest

from nearpeak.publish.names import KINDS, Names

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "private-names.md"
GPU = "GPU-873d55dc-0101-e8d9-dbce-d332b0cd8670"
OTHER = "ffe95ba0-001e-ea8b-c9a6-49aff1cda11e"


def replaced(*texts: str, names: Names | None = None) -> list[str]:
    """All of them, learnt from before."""
    names = names or Names()
    names.learn(texts)
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
        ("ranks on node[01-16,20] and node[01-16,20]-ib", "ranks on host2 and host2-ib"),
        ("login3.cluster.example.org or login3", "host2 or host2"),  # of a domain that is known
        ("node07.cluster.example.org, www.EXAMPLE.org, example.org", "host1, host2, domain2"),
        ("node071, mynode07, node7", "node071, mynode07, node7"),  # others
    ],
)
def test_a_host_is_found_in_texts(text: str, expected: str) -> None:
    names = told("node07" if "login3" not in text else "node07.cluster.example.org")
    assert replaced(text, names=names) == [expected]


def test_a_range_of_racks_is_a_range_of_hosts() -> None:
    text = "rack[1-2]node[01-16] rack1node[03-04],rack1node05"
    assert replaced(text, names=told("rack1node05")) == ["host2 host3,host1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "bob@node07: Permission denied (publickey).",
            "user1@host1: Permission denied (publickey).",
        ),
        ("bob@node07.hpc.example.org's password:", "user1@host1's password:"),
        ("alice@node07:22 alice", "user1@host1:22 user1"),
        (
            "dave@10.1.2.3 eve@fe80::1 fay@localhost",
            "user1@address1 user2@address2 user3@localhost",
        ),
        (
            "gus@elsewhere: Permission denied; gus@elsewhere's",
            "user1@host2: Permission denied; user1@host2's",
        ),
        (
            "ssh://gus@node07/x, ssh -p 22 -l hal node07",
            "ssh://user2@host1/x, ssh -p 22 -l user1 host1",
        ),
        ("https://gus:secret1@node07:3128", "https://user1:word1@host1:3128"),
        (
            "USER=gus SLURM_JOB_USER=hal LOGNAME=ida by gus",
            "USER=user1 SLURM_JOB_USER=user2 LOGNAME=user3 by user1",
        ),
        ("Built by: gus, Configured by: hal", "Built by: user1, Configured by: user2"),
        (
            "[mpiexec@node07] [proxy:0:10@node07.example.org] 10",
            "[mpiexec@host1] [proxy:0:10@host1] 10",
        ),
        ("prterun@node07 openmpi@node07 root@node07", "prterun@host1 openmpi@host1 root@host1"),
        (
            "memcpy@GLIBC_2.14 x@default prterun-node07-1@1",
            "memcpy@GLIBC_2.14 x@default prterun-host1-1@1",
        ),
    ],
)
def test_a_user_is_found_in_texts(text: str, expected: str) -> None:
    assert replaced(text, names=told("node07")) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "[n9:04640] mca: base n9",
        "[1712345.678] [n9:123:0] ucp_context.c:1 n9",
        "n9:1234:1240 [0] NCCL INFO n9",
        "[mpiexec@n9] control_cb n9",
        "[proxy:0:1@n9] HYD_pmcd n9",
        "prterun-n9-4032@1 n9",
        "srun: error: n9: task 0: Killed n9",
        "srun: error: Task launch for 1.0 failed on node n9: n9",
        "slurmstepd: error: *** STEP 1.0 ON n9 CANCELLED AT n9",
        "ssh: connect to host n9 port 22: refused n9",
        "ssh: Could not resolve hostname n9: Name n9",
        "SLURM_SUBMIT_HOST=n9 HOSTNAME=n9 SLURMD_NODENAME=n9 n9",
        "Built host: n9, Configure host: n9",
        "  Local host:   n9\n  Node: n9\nHostname: n9\nfor n9",
        "with PID 0 on node n9 exited on signal 9 n9",
        "daemon died on node n9\non n9",
        "[n9][[1234,1],0][btl_tcp.c:1] n9",
        "=   RUNNING AT n9\nn9",
        "slurmstepd-n9: error: n9",
        "Warning: Permanently added 'n9,10.' (ECDSA) n9",
        "with PID 0 on node n9 calling n9",
        "daemon died on node n9. n9",
        "n9:12:13 [0] init.cc:10 NCCL WARN x n9",
        "[1712345.678] [n9:123  :0] ucp_context.c:1 n9",
        "[n9:12345:0:12345] Caught signal 11 n9",
        "exit status 1: [n9:04640] mca: base n9",
        "exit status 1: n9:12:13 [0] NCCL INFO x n9",
        "error (btl: [n9][[1234,1],0][btl_tcp.c:1] n9)",
        "SLURM_NODELIST=n9 SLURM_JOB_NODELIST=n9, n9",
        "my node:   n9 for n9",
        "  Local host:   n9, n9",
    ],
)
def test_launchers_tell_of_hosts(text: str) -> None:
    assert replaced(text) == [text.replace("n9", "host1")]


@pytest.mark.parametrize(
    "text",
    [
        "prterun has exited due to process rank 1 with PID 0 on node vm calling",
        "[vm:00000] *** An error occurred",
        "exit status 1: [vm:04640] mca: base",
        "  Local host:   vm",
        "[vm:123  :0] ucp_context.c:1",
        "srun: error: vm: tasks 0-1: Killed",
    ],
)
def test_a_host_without_a_number_is_told_by_a_form_that_is_sure(text: str) -> None:
    assert replaced(text) == [text.replace("vm", "host1")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("srun: error: gpu[06-07]: tasks 0-1 gpu07", "srun: error: host3: tasks 0-1 host2"),
        ("srun: error: gpu[06-07]: tasks", "srun: error: host3: tasks"),
        ("SLURM_JOB_NODELIST=n[1-3],m[2,4] n2 m4", "SLURM_JOB_NODELIST=host6,host7 host2 host5"),
        ("http://bob:p@ss@proxy1:80 ss proxy1", "http://user1:word1@host1:80 ss host1"),
        ("https://anna:tok@github.com. github", "https://user1:word1@host1. github"),
        ("https://anna:tok@localhost.localdomain", "https://user1:word1@localhost.localdomain"),
    ],
)
def test_lists_and_addresses_tell_of_hosts(text: str, expected: str) -> None:
    assert replaced(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SLURM_JOB_NODELIST=n[1-999999999] n77 n7-x", "SLURM_JOB_NODELIST=host2 host3 host4-x"),
        ("SLURM_JOB_NODELIST=r[1-99999]k[0-99999] R5K6 r5", "SLURM_JOB_NODELIST=host2 host3 r5"),
        (
            "SLURM_JOB_NODELIST=m[1-5000],n[1-5000] n4999 m5",
            "SLURM_JOB_NODELIST=host3,host4 host5 host6",
        ),
    ],
)
def test_hosts_of_a_list_that_is_too_long_are_known_by_their_names(
    text: str, expected: str
) -> None:
    assert replaced(text) == [expected]


def test_a_list_of_many_ranges_takes_no_time() -> None:
    names = ",".join(f"n{rack}-[1-9999]" for rack in range(100))
    assert replaced(f"SLURM_JOB_NODELIST={names}")[0].count("host") == 100
    assert replaced("SLURM_JOB_NODELIST=" + "k[0-99999999]" * 40)[0].count("[") == 0


def test_numbers_that_no_range_has_stay() -> None:
    text = f"SLURM_JOB_NODELIST=n[1-{'9' * 5000}]"
    assert replaced(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Host: unknown\nLocal host: unknown, unknown",
        "-launcher ssh -n 4 nvcc -lcuda cuda",
        "ssh rank 0 --land x and",
        "[pid:12345] pid",
        "of [size:10240] size a[start:10:2] start",
        "hostname lookup: failed lookup",
        "on node failure, and this node: memory",
        "srun: error: slurm_receive_msgs: task x",
        "package: Open MPI root@host Distribution, in the host",
        "memcpy@libc.so memcpy@libc.so.6",
        "host: 16GB, node: 4x",
    ],
)
def test_words_that_are_no_names_stay(text: str) -> None:
    assert replaced(text) == [text]


def test_a_domain_of_many_sites_is_public() -> None:
    text = "n1.ox.ac.uk ox.ac.uk archer.ac.uk ac.uk, n2.x.psi.ch psi.ch n3.ac.uk"
    names = told("n1.ox.ac.uk", "n2.x.psi.ch", "n3.ac.uk")
    assert replaced(text, names=names) == ["host1 domain1 archer.ac.uk ac.uk, host2 domain3 host3"]


def test_what_has_no_range_is_no_range_of_hosts() -> None:
    text = "rank3[1] rank[1] rank3-[1,2] rank[1,2]"
    assert replaced(text, names=told("rank0")) == ["rank3[1] rank[1] rank3-[1,2] host2"]


def test_the_value_of_a_variable_is_a_user_or_a_host() -> None:
    names = Names()
    values = {
        "SLURM_JOB_USER": "gus",
        "HOSTNAME": "n9",
        "MPICH_USER": "1",
        "SLURM_NODELIST": "m[1-2]",
    }
    names.learn(f"{name}={value}" for name, value in values.items())
    assert names.replace("gus on n9 1 m2") == "user1 on host1 1 host3"


def test_what_a_later_text_tells_is_known_in_those_before() -> None:
    texts = ("bob@n9: refused", "ssh: connect to host n9 port 22")
    assert replaced(*texts)[0] == "user1@host1: refused"


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
        ("~20 GB/s ~dan:~erin", "~20 GB/s ~user1:~user2"),
        ("../../home/erin/x, by erin", "../../home/user1/x, by user1"),
        ("/work/data-2/gus /work/nearpeak-of-gus/x", "/work/dir1/dir2 /work/dir3/dir4"),
        ("file:///scratch/x.txt, https://docs.open-mpi.org/a/b", None),
        ("'NAME=/work/a=b/c,d' (/work/e)", "'NAME=/work/dir1/dir2' (/work/dir3)"),
        ("/data/q/mpi/openmpi-5.0.11/lib/openmpi/x.so", None),
        ("/data/q/nearpeak-bundle/cache/build/84cd44ae600d9dcd-fe44e709/nearpeak-mpi", None),
        ("12 GB/s, 3/4 and/or ./a/b, /top, H,D / 2", "12 GB/s, 3/4 and/or ./a/b, /top, H,D / 2"),
        ("/var/lib/x /var/tmp/y", "/var/lib/x /var/tmp/dir1"),
        # Their names are who reads these files.
        ("/home/carol/.openmpi/mca-params.conf", "/home/user1/.openmpi/mca-params.conf"),
        ("/root/.nccl.conf /data/q/ucx.conf", "/root/.nccl.conf /data/dir1/ucx.conf"),
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


def test_folders_with_blanks_in_a_shells_line() -> None:
    line = "env 'TMPDIR=/data/zeus one/tmp' '/data/zeus one/build/0123456789abcdef/nearpeak-mpi' bw"
    names = Names()
    names.learn([line])
    said = "env 'TMPDIR=/data/dir1/tmp' '/data/dir1/build/dir2/nearpeak-mpi' bw"
    assert names.replace(line) == said


def test_what_lies_beside_a_folder_below_one_with_blanks() -> None:
    names = Names()
    names.folder("/data/zeus one/cache/mpi/mpich-5.0.2")
    said = names.replace("cannot open /data/zeus one/cache/build/x.log: no space")
    assert said == "cannot open /data/dir1/cache/build/dir2: no space"


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
        ("::ffff:10.1.2.3 ::ffff:10.1.2.3:22. ::10.1.2.3,", "address1 address1:22. address2,"),
        ("[::1]:22 [2001:db8::5]:22 [fe80::1%ib0]:5", "[::1]:22 [address1]:22 [address2%ib0]:5"),
        (
            "::ffff:127.0.0.1 std::add a1::b2c 1:2:3.4.5",
            "::ffff:127.0.0.1 std::add address1 1:2:3.4.5",
        ),
        ("84cd44ae600d9dcd-fe44e709 873d55dc-0101", "84cd44ae600d9dcd-fe44e709 873d55dc-0101"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:cc:b8:f6", "mac1"),
        ("v1.2.3.4 1.2.3 1.2.3.4.5 999.1.1.1", "v1.2.3.4 1.2.3 1.2.3.4.5 999.1.1.1"),
        ("at 19:27:13.345, 0000:00:06.0, 2:0 0,1 0", "at 19:27:13.345, 0000:00:06.0, 2:0 0,1 0"),
        ("a4:bf:01:2f:33:10 enxa4bf012f3310", "mac1 mac2"),
        ("enp1s0 rocex1070fd0300b5eb54:1 ibx506b4b0300ccb8f6", "enp1s0 mac1:1 mac2"),
        ("/sys/class/infiniband/rocex1070fd0300b5eb54/x", "/sys/class/infiniband/mac1/x"),
        ("0x506b4b0300ccb8f6 506b:4b03:00cc:b8f6 0x7ffe12", "guid1 guid2 0x7ffe12"),
        ("fe80:0000:0000:0000:506b:4b03:00cc:b8f6 FE80::506b:4b03:cc:b8f6", "address1 address1"),
        ("ba050000-d6c6-69d0-1e61-0600441f477d", "uuid1"),
        ("board serial number: 1650221003322, S/N", "board serial number: serial1, S/N"),
    ],
)
def test_what_identifies_hardware(text: str, expected: str) -> None:
    assert replaced(text) == [expected]


def test_the_value_of_a_variable_is_a_serial_number() -> None:
    names = Names()
    names.learn(["BOARD_SERIAL=QX-81722", "I_MPI_INFO_SERIAL=0000"])
    assert names.replace("0000:00 of QX-81722") == "0000:00 of serial1"


def test_hidden_words_go_in_capitals_and_beside_an_underscore() -> None:
    text = "Apollo APOLLO_ROOT=/opt/apollo_2 -A apollo_gpu apollonian"
    assert replaced(text, names=Names(hidden=["apollo"])) == [
        "word1 word1_ROOT=/opt/word1_2 -A word1_gpu apollonian"
    ]


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
