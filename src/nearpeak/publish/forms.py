# SPDX-License-Identifier: Apache-2.0
"""The forms in which texts of other programs name hosts, users and what else is private.

The messages are those of Hydra, PRRTE, Open MPI, UCX, NCCL, Slurm and OpenSSH.
"""

import ipaddress
import re

from nearpeak.terms.private import HARDWARE_ADDRESS

# A path begins behind no word, or behind an option of a compiler or a URL of a file.
START = r"(?:(?<![\w/.~$-])|(?<=-[LIB])|(?<=file://))"
PART = r"(?:\\.|[^\s/:;'\"()<>|&`\\])+"
BEHIND = ".,]}!?"  # what may follow a path in a sentence, or a list
PATH = rf"{START}(?:/{PART})+|(?<![\w/])~(?:[A-Za-z_][\w.-]*)?(?:/{PART})+"
FROM_ANYWHERE = re.compile(rf"(?:{START}|(?<![\w/.])\.{{1,2}})(?:/{PART})+")
GPU = r"(?:MIG-)?(?:GPU|MIG)-[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*"
UUID = r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"
MAC = (
    r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![\w:])"  # of InfiniBand 20
    rf"|(?<![A-Za-z0-9])(?:en|wl|ww|ib|iw|opa|rdma|roce|usnic){HARDWARE_ADDRESS}"
)
GUID = r"\b0x[0-9a-fA-F]{16}\b|(?<![\w:])(?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}(?![\w:])"
_FOUR = r"\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
_V6 = rf"(?<![\w:.])(?:[0-9a-fA-F]{{0,4}}:){{2,7}}(?:{_FOUR}|[0-9a-fA-F]{{0,4}}(?![\w:]|\.\d))"
ADDRESS = rf"{_V6}|(?<![\w.]){_FOUR}"
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
# Values behind a secret name that have a kind of their own, or are its word or number.
NO_SECRET = re.compile(rf"{GPU}|{UUID}|{GUID}|{MAC}|[/~].*|[0-9a-fA-F-]{{16,}}|\D*", re.DOTALL)

# Numbers stand before an `@` for ranks and jobs.
_AT = r"(?<![\w.@+-])(?P<user>(?!\d+@)\w[\w.+-]*)@"
AT_HOST = re.compile(rf"{_AT}(?P<host>{_V6}|[\w.-]+)")
MAIL = re.compile(rf"{_AT}(?P<host>[\w-]+(\.[\w-]+)*\.[A-Za-z]{{2,}})")
NO_MAIL = (".toml", ".so")  # files behind an `@`: settings of a library, and that of a symbol
# The end of names with domains: two words, or one that nothing else ends with.
TOP = r"\.(?:[A-Za-z0-9-]+\.[A-Za-z]{2,}|local|lan|internal|localdomain)"
# Domains that many sites are in. A site of its own may be as short, like `psi.ch`.
MANY_SITES = re.compile(r"(ac|co|com|edu|gob|gouv|gov|net|or|org|re|res)\.[a-z]{2}", re.IGNORECASE)

_NAME = r"[A-Za-z0-9_](?:[\w.-]*\w)?"
_NAMED = {
    "HOST": rf"(?P<host>{_NAME})",
    "NODE9": rf"(?P<host>(?=[A-Za-z][\w.-]*\d){_NAME})",  # where a word without a digit may be any
    "MANY": r"(?P<host>[\w.,[\]-]+)",  # as Slurm writes it
    "USER": rf"(?P<user>{_NAME})",
}
# The forms that tell, each with groups of the kinds of names in it. `whole`: a host with its
# domain. Each is searched separately, which is faster where the first letters are known.
FORMS = [
    re.compile(re.sub("<([A-Z]+9?)>", lambda name: _NAMED[name[1]], form), re.MULTILINE)
    for form in (
        r"\b[Ss](?:erial|ERIAL)(?:[ _-]?(?:[Nn]umber|[Nn]o))?\b\W{1,3}(?P<serial>[\w-]{6,})",
        r"(?i:\b\w*serial\w*=)(?P<serial>[\w-]{6,})$",  # a variable
        r"(?<!\w)\[<NODE9>:\d{5,}\]",  # Open MPI, which pads PIDs with 0
        r"(?:^|: )\[<HOST>:\d{5,}\]",
        r"(?<!\w)\[<HOST>\]\[\[\d",
        r"\b(?:[Hh]ost(?:name)?|[Nn]ode):[ \t]+<NODE9>",
        r"\b(?:(?:[A-Z]\w+ h|H)ost(?:name)?|Node):[ \t]+<HOST>[.,]?$",
        r"\bon node <NODE9>",
        r"(?:PID \d+|\]) on node <HOST>",
        r"(?<!\w)\[<HOST>:\d+ *:\d+(?::\d+)?\]",  # UCX, which pads PIDs with blanks
        r"(?<![\w.-])<HOST>:\d+:\d+ \[\d+\] (?:\S+ )?NCCL",
        r"\[(?:mpiexec|proxy:[\d:]+)@<HOST>\]",
        r"RUNNING AT <HOST>",
        r"prte(?:run|d)?-<HOST>-\d+@",
        r"srun: error: <MANY>: tasks?\b(?! [a-z])",
        r"failed on node <HOST>:",
        r"slurmstepd-<HOST>:",
        r"\*\*\* (?:STEP|JOB) \S+ ON <HOST> ",
        r"resolve hostname <HOST>:",
        r"connect to host <HOST> port",
        r"Permanently added '?<HOST>",
        r"@<HOST>(?:: Permission denied|'s password)",
        r"\b(?:HOST|HOSTNAME|SLURM_SUBMIT_HOST|SLURMD_NODENAME|PBS_O_HOST)=<MANY>",
        r"\bSLURM_(?:[A-Z]+_)?NODELIST=<MANY>",
        r"(?:Built|Configured) by: <USER>",  # ompi_info
        r"\b(?:[A-Z]+_)*(?:USER|LOGNAME|USERNAME)=<USER>",
        r"User=<USER>",  # an option of ssh
        r"\b[rs]sh(?= )[^\n;|&]{0,400}? -l <USER>",
        r"(?<![\w/])~(?!\d)<USER>(?=[/:]|\n?\Z)",
        r"://<USER>:[^\s/@]+@",
        r"://[^\s/:@]+:(?P<word>[^\s/]+)@(?P<whole>[\w.-]*\w)",  # a password
        r"package: Open MPI (?P<user>[^\s@]+)@(?P<host>[^\s@]+) Distribution",
        # As a word of a shell's line that has blanks is written.
        r"'(?:\w+=)?(?P<folder>/[^' \n]* [^'\n]*)'",
    )
]


def digits_of(uuid: str) -> str:
    """The digits of a GPU's UUID, however it is written."""
    return re.sub(r"^(MIG-)?(GPU-|MIG-)?", "", uuid).replace("-", "").lower()


def address_of(text: str) -> str | None:
    """The IP address of a text in its standard form; None for other texts, and for an address that
    every host has."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    plain = getattr(address, "ipv4_mapped", None) or address
    return None if plain.is_loopback or plain.is_unspecified else str(plain)


def alone(word: str, *, anyhow: bool) -> str:
    """A pattern of a word that is no part of another. `_` is a part of words, but not next to one
    with a dot or a digit, which no English word has, nor next to one that is private `anyhow`."""
    if anyhow or "." in word or any(map(str.isdigit, word)):
        return rf"(?<![A-Za-z0-9])(?i:{re.escape(word)})(?![A-Za-z0-9])"
    return rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])"
