# SPDX-License-Identifier: Apache-2.0
"""Replaces private names in texts by stand-ins: `host1` for a host, wherever it occurs.

`learn` takes the names from all texts, then `replace` replaces them: a name that one text shows to
be a user's is replaced in all others too. docs/publish.md lists what is found.

The messages are those of Hydra, PRRTE, Open MPI, UCX, NCCL, Slurm and OpenSSH.
"""

import ipaddress
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from nearpeak.libraries import catalogue, launchers
from nearpeak.libraries.families import all_families
from nearpeak.terms.trials import CHECKS
from nearpeak.withheld import is_secret_name, secrets_in

Kind = Literal[
    "host",
    "domain",
    "user",
    "directory",
    "gpu",
    "uuid",
    "address",
    "mac",
    "guid",
    "serial",
    "value",
    "word",
]
SHORTEST_SECRET = 6  # characters, of one that is replaced everywhere: shorter ones are in words
KINDS: tuple[Kind, ...] = get_args(Kind)
SHORT = {"directory": "dir"}  # what stand-ins begin with, where that is not their kind
# Names that many machines have: they identify none.
COMMON = {"localhost", "localhost.localdomain", "root", "user", "nobody", "git"}
# Words of messages instead of a host's name.
PLACEHOLDERS = {"unknown", "host", "pid"}
# Folders at the top of which a system's own are: what is below keeps its name.
SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "usr"}
HOMES = {"home", "users", "Users"}
PUBLIC = {
    *HOMES,
    *COMMON,
    *("tmp", "var", "mnt", "scratch", "work", "data", "shm"),
    *("bin", "sbin", "lib", "lib64", "lib32", "libexec", "include", "share", "etc", "src"),
    *(
        "build",
        "cache",
        ".cache",
        "logs",
        "cases",
        "mpi",
        "bench",
        ".venv",
        "nearpeak",
        ".",
        "..",
        "",
    ),
    *launchers.programs(),
    *("env", "ssh"),
}
# Software besides MPI libraries that is installed in folders with a version in their name.
INSTALLED = {"ucx", "libucx", "cuda", "nvidia", "hpcx", "rocm", "libfabric"}
# Nearpeak's own programs and folders, those of its builds, and shared libraries.
_OWN = re.compile(
    r"nearpeak(-(mpi|native|bundle|layer|trace|explain))?|[0-9a-f]{16}-[0-9a-f]{8}"
    r"|nearpeak-(run|launch|start|probe|nodes|trace|explain|mps)-[a-z0-9_]{8}"  # temporary ones
    r"|lib[\w+-]+\.so(\.\d+)*"
    rf"|\S+-[HPDM],[HPDM]-[\w-]+-\d+-({'|'.join(CHECKS)})[\w-]*\.txt"  # cases of conformance
)
_VERSIONED = re.compile(r"(?P<name>[A-Za-z][\w-]*?)-\d+(\.\d+)*")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_BUILDER = re.compile(r"package: Open MPI (?P<user>[^\s@]+)@(?P<host>[^\s@]+) Distribution")
# Numbers stand before an `@` for ranks and jobs.
_AT = r"(?<![\w.@+-])(?P<user>(?!\d+@)\w[\w.+-]*)@"
_NO_MAIL = (".toml", ".so")  # files behind an `@`: settings of a library, and that of a symbol
_MAIL = re.compile(rf"{_AT}(?P<host>[\w-]+(\.[\w-]+)*\.[A-Za-z]{{2,}})")
# The end of names with domains: two words, or one that nothing else ends with.
_TOP = r"\.(?:[A-Za-z0-9-]+\.[A-Za-z]{2,}|local|lan|internal|localdomain)"
# Domains that many sites are in. A site of its own may be as short, like `psi.ch`.
_MANY_SITES = re.compile(r"(ac|co|com|edu|gob|gouv|gov|net|or|org|re|res)\.[a-z]{2}", re.IGNORECASE)
_SERIAL = re.compile(
    r"\b[Ss](?:erial|ERIAL)(?:[ _-]?(?:[Nn]umber|[Nn]o))?\b\W{1,3}(?P<serial>[\w-]{6,})"
)
_BEHIND = ".,]}!?"  # what may follow a path in a sentence, or a list
_NAMES_SERIAL = re.compile("serial", re.IGNORECASE)
# A path begins behind no word, or behind an option of a compiler or a URL of a file.
_START = r"(?:(?<![\w/.~$-])|(?<=-[LIB])|(?<=file://))"
# As a word of a shell's line that has blanks is written.
_QUOTED = re.compile(r"'(?:\w+=)?(?P<path>/[^' \n]* [^'\n]*)'")
_PART = r"(?:\\.|[^\s/:;'\"()<>|&`\\])+"
_GPU = r"(?:MIG-)?(?:GPU|MIG)-[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]+)*"
_UUID = r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"
_MAC = (
    r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![\w:])"  # of InfiniBand 20
    r"|(?<![A-Za-z0-9])(?:en|wl)x[0-9a-f]{12}(?![A-Za-z0-9])"  # systemd's name of a USB adapter
)
_GUID = r"\b0x[0-9a-fA-F]{16}\b|(?<![\w:])(?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4}(?![\w:])"
_FOUR = r"\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
_V6 = rf"(?<![\w:.])(?:[0-9a-fA-F]{{0,4}}:){{2,7}}(?:{_FOUR}|[0-9a-fA-F]{{0,4}}(?![\w:]|\.\d))"
_V4 = rf"(?<![\w.]){_FOUR}"
_AT_HOST = re.compile(rf"{_AT}(?P<host>{_V6}|[\w.-]+)")
_NAME = r"([A-Za-z0-9_](?:[\w.-]*\w)?)"
_HOST_VARIABLES = "HOST|HOSTNAME|SLURM_SUBMIT_HOST|SLURMD_NODENAME|PBS_O_HOST"
_HOST_VARIABLES += "|SLURM_(?:[A-Z]+_)?NODELIST"
_USER_VARIABLES = "(?:[A-Z]+_)*(?:USER|LOGNAME|USERNAME)"
_FORMS = {
    "WHO": _NAME,
    "N9": rf"(?=[A-Za-z][\w.-]*\d){_NAME}",  # where a word without a digit may be any
    "MANY": r"([\w.,[\]-]+)",  # as Slurm writes it
}
_RANGE = r"\[\d{1,9}(?:[,-]\d{1,9})+\]"
_MOST_HOSTS = 1 << 12  # of a list: of a longer one all that are called alike are taken for its own
_LISTED = re.compile(rf"(?:[\w.-]|{_RANGE})+")
# Where texts name a host, or a user. Each is searched separately, which is faster where the first
# letters are known.
_TELLS_HOST = [
    re.compile(re.sub("WHO|N9|MANY", lambda match: _FORMS[match[0]], pattern), re.MULTILINE)
    for pattern in (
        r"(?<!\w)\[N9:\d{5,}\]",  # Open MPI, which pads PIDs with 0
        r"(?:^|: )\[WHO:\d{5,}\]",
        r"(?<!\w)\[WHO\]\[\[\d",
        r"\b(?:[Hh]ost(?:name)?|[Nn]ode):[ \t]+N9",
        r"\b(?:(?:[A-Z]\w+ h|H)ost(?:name)?|Node):[ \t]+WHO[.,]?$",
        r"\bon node N9",
        r"(?:PID \d+|\]) on node WHO",
        r"(?<!\w)\[WHO:\d+ *:\d+(?::\d+)?\]",  # UCX, which pads PIDs with blanks
        r"(?<![\w.-])WHO:\d+:\d+ \[\d+\] (?:\S+ )?NCCL",
        r"\[(?:mpiexec|proxy:[\d:]+)@WHO\]",
        r"RUNNING AT WHO",
        r"prte(?:run|d)?-WHO-\d+@",
        r"srun: error: MANY: tasks?\b(?! [a-z])",
        r"failed on node WHO:",
        r"slurmstepd-WHO:",
        r"\*\*\* (?:STEP|JOB) \S+ ON WHO ",
        r"resolve hostname WHO:",
        r"connect to host WHO port",
        r"Permanently added '?WHO",
        r"@WHO(?:: Permission denied|'s password)",
        rf"\b(?:{_HOST_VARIABLES})=MANY",
    )
]
_TELLS_USER = [
    re.compile(pattern.replace("WHO", _NAME))
    for pattern in (
        r"(?:Built|Configured) by: WHO",  # ompi_info
        rf"\b(?:{_USER_VARIABLES})=WHO",
        r"User=WHO",  # an option of ssh
        r"\b[rs]sh(?= )[^\n;|&]{0,400}? -l WHO",
        r"(?<![\w/])~(?!\d)WHO(?=[/:]|$)",
        r"://WHO:[^\s/@]+@",
    )
]
# Values behind a secret name that have a kind of their own, or are its word or number.
_NO_SECRET = re.compile(rf"{_GPU}|{_UUID}|{_GUID}|{_MAC}|[/~].*|[0-9a-fA-F-]{{16,}}|\D*", re.DOTALL)
_SECRET = re.compile(r"://[^\s/:@]+:(?P<secret>[^\s/]+)@(?P<host>[\w.-]*\w)")


class Names:
    """The private names of all texts, each with its stand-in."""

    def __init__(self, kept: Iterable[str] = (), hidden: Iterable[str] = ()) -> None:
        """`kept`: phrases that stay as they are, like the ids of data paths. `hidden`: further
        words that are private."""
        self._kept = sorted(
            {phrase for phrase in kept if phrase}, key=lambda phrase: (-len(phrase), phrase)
        )
        self._given: dict[Kind, dict[str, str]] = {kind: {} for kind in KINDS}
        self._words: dict[str, tuple[Kind, str]] = {}  # in texts, as words of their own
        self._values: dict[str, dict[str, None]] = {}  # of variables, by their names
        self._blank: dict[str, None] = {}  # folders with blanks in them
        self._installed = {*catalogue.entries(), *all_families(), *INSTALLED}
        self._software = {*self._installed, *PUBLIC}
        self._counts: Counter[Kind] = Counter()  # of different names
        self._pattern: re.Pattern[str] | None = None
        self._any_word: re.Pattern[str] | None = None
        self._alike: set[str] = set()  # patterns of hosts of lists that are too long
        self._with_hosts: set[str] = set()  # the domains in which known hosts are
        self.places: Counter[Kind] = Counter()  # how often something was replaced
        for word in hidden:
            self._word("word", word)

    def names(self, kind: Kind) -> int:
        """The number of different names of a kind that have a stand-in."""
        return self._counts[kind]

    def host(self, name: str | None) -> None:
        """Adds the name of a host; with and without its domain it is the same host."""
        if name and (user := re.fullmatch(r"([\w.-]+)@(.+)", name)):
            self.user(user[1])
            name = user[2]
        if not name or name.lower() in COMMON or not _HOST.fullmatch(name) or _address(name):
            return
        full, (short, _, domain) = name.lower(), name.lower().partition(".")
        given = self._given["host"]
        if full not in given:
            alias = given.get(short)
            if alias is None or (domain and any(other.startswith(f"{short}.") for other in given)):
                alias = self._stand_in("host", full)
            given[full] = alias
            given.setdefault(short, alias)
        self._words.setdefault(name, ("host", full))
        self._words.setdefault(name.partition(".")[0], ("host", short))
        if "." in domain and not _MANY_SITES.fullmatch(domain):  # else it is a word like "local"
            self._with_hosts |= set(self._domain(name.partition(".")[2]))

    def _domain(self, name: str) -> list[str]:
        """Adds a domain and those that it is in, if they are not one word; returns them."""
        self._word("domain", name)
        domains = [name]
        while "." in (name := name.partition(".")[2]) and not _MANY_SITES.fullmatch(name):
            self._words.setdefault(name, ("domain", name.lower()))
            domains.append(name)
        return domains

    def user(self, name: str) -> None:
        """Adds the name of a user."""
        if name.lower() not in COMMON and not name.isdecimal():
            self._word("user", name)

    def gpu(self, uuid: str | None) -> None:
        """Adds the UUID of a GPU."""
        if uuid:
            self._stand_in("gpu", _digits(uuid))

    def variable(self, name: str, value: str) -> None:
        """Adds a variable whose value is private: in texts that set it to this value, and
        everywhere if the value looks like a key."""
        self._values.setdefault(name, {})[value] = None
        for secret in secrets_in(value):
            if len(secret) >= SHORTEST_SECRET:
                self._word("value", secret)
        if is_secret_name(name) and len(value) >= SHORTEST_SECRET:
            self._word("value", value)

    def value(self, name: str, value: str) -> str:
        """A variable's value in the copy."""
        if value in self._values.get(name, ()):
            return self._put("value", value)
        return self.replace(value)

    def folder(self, path: str) -> None:
        """Adds a folder, or a list of them: folders with blanks in their names, and paths below
        them, are then recognised in texts."""
        for part in path.split(":"):
            if blank := re.match("/.* [^/]*", part):
                self._blank[blank[0].rstrip()] = None
                self._homes(part)

    def learn(self, texts: Iterable[tuple[str, str]]) -> None:
        """Adds the hosts and users that texts name; each text with the name of its value, or ""."""
        distinct = list(dict.fromkeys(texts))
        for text, called in distinct:
            self._learn(text, called)
        # A host that any text names is a host in all.
        before = -1
        while before != len(self._words):
            before = len(self._words)
            self._learn_domains(text for text, _ in distinct)
        for text, _ in distinct:
            if "@" in text:
                self._learn_at(text)

    def _learn(self, text: str, called: str) -> None:
        if _NAMES_SERIAL.search(called):
            self._serial(text)
        if re.fullmatch(_USER_VARIABLES, called) and re.fullmatch(_NAME, text):
            self.user(text)
        if re.fullmatch(_HOST_VARIABLES, called):
            self._add_hosts(text)
        for match in _SERIAL.finditer(text):
            self._serial(match["serial"])
        for pattern in _TELLS_HOST:
            for match in pattern.finditer(text):
                self._add_hosts(match[1])
        for pattern in _TELLS_USER:
            for match in pattern.finditer(text):
                self.user(match[1])
        for secret in secrets_in(text):
            user = f"://{secret}@" in text  # and a password, which have kinds of their own
            if len(secret) >= SHORTEST_SECRET and not (user or _NO_SECRET.fullmatch(secret)):
                self._word("value", secret)
        for match in _SECRET.finditer(text):
            self._word("word", match["secret"])
            self._whole_host(match["host"])
        for match in _BUILDER.finditer(text):
            self.user(match["user"])
            self._add_hosts(match["host"])
        for match in _QUOTED.finditer(text):
            self.folder(match["path"])
        if "/" in text:
            for match in re.finditer(rf"(?:{_START}|(?<![\w/.])\.{{1,2}})(?:/{_PART})+", text):
                if not any(folder.startswith(match[0]) for folder in self._blank):
                    self._homes(match[0].rstrip(_BEHIND))

    def _learn_domains(self, texts: Iterable[str]) -> None:
        """Adds names of hosts with their domains, where either is known."""
        known_hosts = sorted(word for word, (kind, _) in self._words.items() if kind == "host")
        hosts, domains = (
            "|".join(map(re.escape, names)) or "(?!)"
            for names in (known_hosts, sorted(self._with_hosts))
        )
        pattern = re.compile(
            rf"(?<![\w.-])(?:(?:{hosts})(?:\.[A-Za-z0-9-]+)*{_TOP}\b"
            rf"|(?:[A-Za-z0-9][\w-]*\.)+(?i:{domains})(?![\w-]))"
        )
        for match in itertools.chain.from_iterable(map(pattern.finditer, texts)):
            self._whole_host(match[0])

    def _whole_host(self, name: str) -> None:
        """Adds the name of a host with its domain; without it, it may be a word like "mail"."""
        short, _, domain = name.partition(".")
        if not domain or short in self._words or any(map(str.isdigit, short)):
            self._add_hosts(name)
        elif name.lower() not in COMMON:
            self._word("host", name)

    def _learn_at(self, text: str) -> None:
        """Adds users before an @ and a host that is known or has a domain."""
        for match in _AT_HOST.finditer(text):
            if match["user"] not in self._software and self._is_host(match["host"]):
                self.user(match["user"])
        for match in _MAIL.finditer(text):
            library = match["user"] in self._software  # NAME@FILE.toml
            public = match["host"] in COMMON or match["host"].endswith(_NO_MAIL)
            if not library and not public:
                self.user(match["user"])
                self._domain(match["host"])

    def _add_hosts(self, names: str) -> None:
        """Adds a host, or a list of them, that a message names."""
        listed, of_ranges = _listed(names)
        for name in (*listed, *of_ranges):
            if re.search("[A-Za-z]", name) and name.lower() not in PLACEHOLDERS:
                self.host(name)
        self._alike |= {_alike(name) for name in of_ranges if _numbered(name)}

    def _is_host(self, name: str) -> bool:
        """True for the name of a known host, and for an address."""
        name = name.rstrip(_BEHIND).lower()
        hosts = self._given["host"]
        return name in hosts or name.startswith("localhost") or _address(name) is not None

    def _homes(self, path: str) -> None:
        """Adds the users whose homes are in a path."""
        for before, part in itertools.pairwise(path.split("/")):
            if before in HOMES and part not in PUBLIC:
                self.user(part)

    def replace(self, text: str) -> str:
        """The text with stand-ins for all private names in it."""
        if self._pattern is None:
            self._pattern = self._compiled()
        return self._pattern.sub(self._instead, text)

    def _compiled(self) -> re.Pattern[str]:
        for digits in self._given["gpu"]:
            if len(digits) == 32:  # of a UUID without its dashes
                self._words.setdefault(digits, ("gpu", digits))
        blank = "|".join(map(re.escape, sorted(self._blank, key=len, reverse=True)))
        kept = "|".join(map(re.escape, self._kept))
        longest_first = sorted(self._words, key=lambda name: (-len(name), name))
        word_patterns = (
            _alone(name, anyhow=self._words[name][0] == "word")
            for name in longest_first
            if len(name) > 1
        )
        word = "|".join([*word_patterns, *sorted(self._alike)])
        self._any_word = re.compile(word) if word else None
        hosts = (name for name, (kind, _) in self._words.items() if kind == "host")
        parts = {
            "variable": self._assignments(),
            "kept": kept and rf"(?<!\w)(?:{kept})(?!\w)",
            "folder": blank and rf"{_START}(?:{blank})(?:/{_PART})*",
            "path": rf"{_START}(?:/{_PART})+|(?<![\w/])~(?:[A-Za-z_][\w.-]*)?(?:/{_PART})+",
            "gpu": _GPU,
            "uuid": _UUID,
            "mac": _MAC,
            "guid": _GUID,
            "address": f"{_V6}|{_V4}",
            "range": "|".join(sorted(set(map(_range, filter(_numbered, hosts))))),
            "word": word,
        }
        return re.compile("|".join(f"(?P<{name}>{part})" for name, part in parts.items() if part))

    def _assignments(self) -> str:
        """A pattern of variables that are set to private values, as shells have them."""
        forms = []
        for name, values in sorted(self._values.items()):
            quoted = {form: None for value in values for form in (value, shlex.quote(value))}
            # Within the quotes of a whole word a quote is written so.
            quoted |= {value.replace("'", "'\"'\"'"): None for value in values}
            any_of = "|".join(map(re.escape, sorted(quoted, key=len, reverse=True)))
            forms.append(rf"(?<![A-Za-z0-9_]){re.escape(name)}[= ](?:{any_of})(?![A-Za-z0-9])")
        return "|".join(forms)

    def _assigned(self, text: str) -> str:
        """An assignment, with a stand-in for the value."""
        name = text[: re.search("[= ]", text).start()]  # type: ignore[union-attr]  # it matched
        before, written = text[: len(name) + 1], text[len(name) + 1 :]
        for value in self._values[name]:
            if written in (value, shlex.quote(value), value.replace("'", "'\"'\"'")):
                return before + self._put("value", value)
        return before + self._put("value", written)

    def _instead(self, match: re.Match[str]) -> str:
        text = match[0]
        kind = match.lastgroup
        if kind == "variable":
            return self._assigned(text)
        if kind in ("path", "folder"):
            end = text.rstrip(_BEHIND)
            return self._path(end) + text[len(end) :]
        if kind == "gpu" or (kind == "uuid" and _digits(text) in self._given["gpu"]):
            return self._put("gpu", self._gpu_like(_digits(text)))
        if kind == "range":
            return self._put("host", text.lower())
        if kind == "word":
            return self._known_word(text)
        if kind == "address" and (address := _address(text)):
            return self._put("address", address)
        if kind in ("kept", "address"):
            return text
        [listed_kind] = (name for name in KINDS if name == kind)
        return self._put(listed_kind, text.lower())

    def _path(self, text: str) -> str:
        """The path with stand-ins for the parts that are not known to be public."""
        parts = text.split("/")
        top, below = parts[1], parts[2:]
        public = top in SYSTEM or (top == "var" and below[:1] != ["tmp"])
        if text.startswith("/") and (public or not below):
            return "/".join(map(self._within, parts))
        done: list[str] = []
        installed = False  # whether it is below the folder of a library, whose files have no secret
        for part in parts:
            public = part in PUBLIC or installed
            done.append(self._within(part) if public else self._part(part))
            installed = installed or self._is_installed(part)
        return "/".join(done)

    def _is_installed(self, part: str) -> bool:
        """True if it is called like the folder of a known library: `openmpi-5.0.11`."""
        versioned = _VERSIONED.fullmatch(part)
        return versioned is not None and versioned["name"] in self._installed

    def _part(self, part: str) -> str:
        if part in self._words:
            return self._known_word(part)
        if part.startswith("~"):
            return f"~{self._known_word(part[1:])}" if part[1:] in self._words else part
        if self._is_installed(part) or part in self._software or _OWN.fullmatch(part):
            return self._within(part)
        return self._put("directory", part)

    def _within(self, part: str) -> str:
        """A part of a path that may stay, with stand-ins for the words in it."""
        if self._any_word is None:
            return part
        return self._any_word.sub(lambda match: self._known_word(match[0]), part)

    def _known_word(self, text: str) -> str:
        alike = (kind for word, kind in self._words.items() if word.lower() == text.lower())
        kind_and_name = self._words.get(text) or next(alike, ("host", text.lower()))
        return self._put(*kind_and_name)

    def _put(self, kind: Kind, name: str) -> str:
        self.places[kind] += 1
        return self._stand_in(kind, name)

    def _stand_in(self, kind: Kind, name: str) -> str:
        given = self._given[kind]
        if name not in given:
            self._counts[kind] += 1
            given[name] = f"{SHORT.get(kind, kind)}{self._counts[kind]}"
        return given[name]

    def _gpu_like(self, digits: str) -> str:
        """The GPU whose UUID begins with `digits`: drivers take a part of it too."""
        matching = (uuid for uuid in self._given["gpu"] if uuid.startswith(digits))
        return next(matching, digits)

    def _word(self, kind: Kind, name: str) -> None:
        if name not in self._words:
            self._stand_in(kind, name.lower())
            self._words[name] = (kind, name.lower())

    def _serial(self, text: str) -> None:
        if len(text) >= 6 and len(set(text)) > 1 and re.fullmatch(r"[\w-]+", text):
            self._word("serial", text)


def _alone(word: str, *, anyhow: bool) -> str:
    """A pattern of a word that is no part of another. `_` is a part of words, but not next to one
    with a dot or a digit, which no English word has, nor next to one that is private `anyhow`."""
    if anyhow or "." in word or any(map(str.isdigit, word)):
        return rf"(?<![A-Za-z0-9])(?i:{re.escape(word)})(?![A-Za-z0-9])"
    return rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])"


def _numbered(host: str) -> bool:
    """True if a host may be one of many, which Slurm writes as `node[001-004]`."""
    return re.fullmatch(r"[\w-]*[A-Za-z-]\d+[\w-]*", host) is not None


def _range(host: str) -> str:
    """A pattern of hosts that differ only in their numbers, at least one of which is a range."""
    fixed = [re.escape(part) for part in re.split(r"\d+", host)]
    any_of = "|".join(  # by the number that is the first range
        r"\d+".join(fixed[:first]) + _RANGE + rf"(?:\d+|{_RANGE})".join(fixed[first:])
        for first in range(1, len(fixed))
    )
    return rf"(?<![A-Za-z0-9])(?:{any_of})(?![A-Za-z0-9])"


def _alike(host: str) -> str:
    """A pattern of hosts that differ only in their numbers."""
    fixed = r"\d+".join(map(re.escape, re.split(r"\d+", host)))
    return rf"(?<![A-Za-z0-9])(?i:{fixed})(?![A-Za-z0-9])"


def _listed(names: str) -> tuple[list[str], list[str]]:
    """The hosts of a list as Slurm writes it, `n[1-3],login1`; then the hosts of long lists, each
    list as one host with the first number of each range."""
    listed: list[str] = []
    ranges: list[str] = []
    for entry in _LISTED.findall(names):
        parts = re.split(rf"({_RANGE})", entry.strip(".-"))
        if len(listed) + math.prod(map(_count, parts)) > _MOST_HOSTS:
            ranges.append("".join(next(_spans(part))[0] for part in parts))
        else:
            listed += map("".join, itertools.product(*map(_numbers, parts)))
    return listed, ranges


def _spans(part: str) -> Iterator[tuple[str, str]]:
    """Yields the first and last of each span of a range, `[1-3,7]`; any other part as itself."""
    if not part.startswith("["):
        yield part, part
        return
    for span in part[1:-1].split(","):
        first, _, last = span.partition("-")
        yield first, last or first


def _count(part: str) -> int:
    """The number of texts that a part of a list stands for."""
    spans = _spans(part)
    return sum(1 if first == last else max(0, int(last) - int(first) + 1) for first, last in spans)


def _numbers(part: str) -> list[str]:
    """The texts that a part of a list stands for."""
    numbers: list[str] = []
    for first, last in _spans(part):
        if first == last:
            numbers.append(first)
        else:
            numbers += (f"{n:0{len(first)}}" for n in range(int(first), int(last) + 1))
    return numbers


def _digits(uuid: str) -> str:
    return re.sub(r"^(MIG-)?(GPU-|MIG-)?", "", uuid).replace("-", "").lower()


def _address(text: str) -> str | None:
    """The IP address of a text in its standard form; None for other texts, and for an address that
    every host has."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    plain = getattr(address, "ipv4_mapped", None) or address
    return None if plain.is_loopback or plain.is_unspecified else str(plain)
