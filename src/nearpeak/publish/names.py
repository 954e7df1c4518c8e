# SPDX-License-Identifier: Apache-2.0
"""Replaces private names by stand-ins: `host1` for a host, wherever it occurs.

The names come from marked fields, and `learn` takes those that texts tell: a name that one text
shows to be a user's is replaced in all others too. docs/reference/private-names.md lists what is
found.
"""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePosixPath
from typing import Literal, get_args

from nearpeak.publish import forms, hostlists
from nearpeak.publish.paths import COMMON, HOMES, PUBLIC, SOFTWARE, public_parts
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
# Words of messages instead of a host's name.
PLACEHOLDERS = {"unknown", "host", "pid"}


class Names:
    """The private names of all texts, each with its stand-in."""

    def __init__(self, kept: Iterable[str] = (), hidden: Iterable[str] = ()) -> None:
        """`kept`: phrases that stay as they are, like the ids of data paths. `hidden`: further
        words that are private."""
        self._kept = {*kept} - {""}
        self._given: dict[Kind, dict[str, str]] = {kind: {} for kind in KINDS}
        self._words: dict[str, tuple[Kind, str]] = {}  # in texts, as words of their own
        # By a variable and the forms of its private values in shells, the value.
        self._set: dict[tuple[str, str], str] = {}
        self._blank: dict[str, None] = {}  # folders with blanks in them
        self._counts: Counter[Kind] = Counter()  # of different names
        self._alike: set[str] = set()  # patterns of hosts of lists that are too long
        self._with_hosts: set[str] = set()  # the domains in which known hosts are
        self._pattern: re.Pattern[str] | None = None
        self.places: Counter[Kind] = Counter()  # how often something was replaced
        self._add: dict[str, Callable[[str], None]] = {  # by the groups of forms
            "host": self._hosts,
            "whole": self._whole_host,
            "user": self.user,
            "serial": self._serial,
            "word": partial(self._word, "word"),
            "folder": self.folder,
        }
        self._instead: dict[str | None, Callable[[str], str]] = {  # by the groups of the pattern
            "variable": self._assigned,
            "kept": str,
            "folder": self._path,
            "path": self._path,
            "gpu": self._gpu,
            "uuid": self._uuid,
            "mac": partial(self._folded, "mac"),
            "guid": partial(self._folded, "guid"),
            "address": self._address,
            "range": partial(self._folded, "host"),
            "word": self._known_word,
        }
        for word in hidden:
            self._word("word", word)

    def names(self, kind: Kind) -> int:
        """The number of different names of a kind that have a stand-in."""
        return self._counts[kind]

    def host(self, name: str) -> None:
        """Adds the name of a host; with and without its domain it is the same host."""
        if match := re.fullmatch(r"([\w.-]+)@(.+)", name):
            self.user(match[1])
            name = match[2]
        is_name = forms.HOST.fullmatch(name) and not forms.address_of(name)
        if not is_name or name.lower() in COMMON:
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
        if "." in domain and not forms.MANY_SITES.fullmatch(domain):  # else a word like "local"
            self._with_hosts |= set(self._domain(name.partition(".")[2]))

    def user(self, name: str) -> None:
        """Adds the name of a user."""
        if name.lower() not in COMMON and not name.isdecimal():
            self._word("user", name)

    def gpu(self, uuid: str) -> None:
        """Adds the UUID of a GPU."""
        self._stand_in("gpu", forms.digits_of(uuid))

    def variable(self, name: str, value: str) -> None:
        """Adds a variable whose value is private: in texts that set it to this value, and
        everywhere if the value looks like a key."""
        # Within the quotes of a whole word a quote is written so.
        for form in (value, shlex.quote(value), value.replace("'", "'\"'\"'")):
            self._set.setdefault((name, form), value)
        for secret in [*secrets_in(value), *[value] * is_secret_name(name)]:
            self._secret(secret)

    def folder(self, path: str) -> None:
        """Adds a folder, or a list of them: folders with blanks in their names, and paths below
        them, are then recognised in texts."""
        for part in path.split(":"):
            folders = (PurePosixPath(part), *PurePosixPath(part).parents)
            blank = [str(folder) for folder in folders if " " in folder.name]
            if part.startswith("/") and not all(public for _, public in public_parts(part)):
                self._blank |= dict.fromkeys(blank)
                self._homes(part if blank else "")

    def learn(self, texts: Iterable[str]) -> None:
        """Adds the hosts, users and others that texts tell."""
        distinct = list(dict.fromkeys(texts))
        for text in distinct:
            self._learn(text)
        # A host that any text names is a host in all.
        before = -1
        while before != len(self._words):
            before = len(self._words)
            self._learn_domains(distinct)
        for text in distinct:
            self._learn_at(text)

    def value(self, name: str, value: str) -> str:
        """A variable's value in the copy."""
        return self._put("value", value) if (name, value) in self._set else self.replace(value)

    def replace(self, text: str) -> str:
        """The text with stand-ins for all private names in it."""
        if self._pattern is None:
            self._pattern = self._compiled()
        return self._pattern.sub(lambda match: self._instead[match.lastgroup](match[0]), text)

    def _learn(self, text: str) -> None:
        for match in itertools.chain.from_iterable(form.finditer(text) for form in forms.FORMS):
            for kind, name in match.groupdict().items():
                self._add[kind](name)
        for secret in secrets_in(text):
            user = f"://{secret}@" in text  # and a password, which have kinds of their own
            if not (user or forms.NO_SECRET.fullmatch(secret)):
                self._secret(secret)
        for match in forms.FROM_ANYWHERE.finditer(text):
            if not any(folder.startswith(match[0]) for folder in self._blank):
                self._homes(match[0].rstrip(forms.BEHIND))

    def _learn_domains(self, texts: Iterable[str]) -> None:
        """Adds names of hosts with their domains, where either is known."""
        known_hosts = (word for word, (kind, _) in self._words.items() if kind == "host")
        hosts, domains = map(_any_of, (known_hosts, self._with_hosts))
        pattern = re.compile(
            rf"(?<![\w.-])(?:(?:{hosts})(?:\.[A-Za-z0-9-]+)*{forms.TOP}\b"
            rf"|(?:[A-Za-z0-9][\w-]*\.)+(?i:{domains})(?![\w-]))"
        )
        for match in itertools.chain.from_iterable(map(pattern.finditer, texts)):
            self._whole_host(match[0])

    def _learn_at(self, text: str) -> None:
        """Adds users before an @ and a host that is known or has a domain."""
        if "@" not in text:
            return
        for match in forms.AT_HOST.finditer(text):
            if match["user"] not in SOFTWARE and self._is_host(match["host"]):
                self.user(match["user"])
        for match in forms.MAIL.finditer(text):
            public = match["host"] in COMMON or match["host"].endswith(forms.NO_MAIL)
            if match["user"] not in SOFTWARE and not public:  # NAME@FILE.toml of a library
                self.user(match["user"])
                self._domain(match["host"])

    def _hosts(self, names: str) -> None:
        """Adds a host, or a list of them, that a message names."""
        listed, alike = hostlists.listed(names)
        for name in (*listed, *alike):
            if re.search("[A-Za-z]", name) and name.lower() not in PLACEHOLDERS:
                self.host(name)
        self._alike |= set(map(hostlists.alike_pattern, filter(hostlists.is_numbered, alike)))

    def _whole_host(self, name: str) -> None:
        """Adds the name of a host with its domain; without it, it may be a word like "mail"."""
        short, _, domain = name.partition(".")
        if not domain or short in self._words or any(map(str.isdigit, short)):
            self._hosts(name)
        elif name.lower() not in COMMON:
            self._word("host", name)

    def _domain(self, name: str) -> list[str]:
        """Adds a domain and those that it is in, if they are not one word; returns them."""
        self._word("domain", name)
        domains = [name]
        while "." in (name := name.partition(".")[2]) and not forms.MANY_SITES.fullmatch(name):
            self._words.setdefault(name, ("domain", name.lower()))
            domains.append(name)
        return domains

    def _is_host(self, name: str) -> bool:
        """True for the name of a known host, and for an address."""
        name = name.rstrip(forms.BEHIND).lower()
        is_known = name in self._given["host"] or name.startswith("localhost")
        return is_known or forms.address_of(name) is not None

    def _homes(self, path: str) -> None:
        """Adds the users whose homes are in a path."""
        for before, part in itertools.pairwise(path.split("/")):
            if before in HOMES and part not in PUBLIC:
                self.user(part)

    def _serial(self, text: str) -> None:
        if len(set(text)) > 1:
            self._word("serial", text)

    def _secret(self, text: str) -> None:
        if len(text) >= SHORTEST_SECRET:
            self._word("value", text)

    def _word(self, kind: Kind, name: str) -> None:
        if name not in self._words:
            self._stand_in(kind, name.lower())
            self._words[name] = (kind, name.lower())

    def _compiled(self) -> re.Pattern[str]:
        for digits in self._given["gpu"]:
            if len(digits) == 32:  # of a UUID without its dashes
                self._words.setdefault(digits, ("gpu", digits))
        self._lower_case = {word.lower(): self._words[word] for word in reversed(self._words)}
        alone = [
            forms.alone(name, anyhow=self._words[name][0] == "word")
            for name in _longest_first(self._words)
            if len(name) > 1
        ]
        word = "|".join([*alone, *sorted(self._alike)]) or "(?!)"
        self._any_word = re.compile(word)
        hosts = (name for name, (kind, _) in self._words.items() if kind == "host")
        numbered = set(map(hostlists.range_pattern, filter(hostlists.is_numbered, hosts)))
        assigned = (rf"{re.escape(name)}[= ]{re.escape(form)}" for name, form in self._set)
        assignments = "|".join(_longest_first(assigned)) or "(?!)"
        blank = _any_of(self._blank)
        parts = {
            "variable": rf"(?<![A-Za-z0-9_])(?:{assignments})(?![A-Za-z0-9])",
            "kept": rf"(?<!\w)(?:{_any_of(self._kept)})(?!\w)",
            "folder": rf"{forms.START}(?:{blank})(?:/{forms.PART})*",
            "path": forms.PATH,
            "gpu": forms.GPU,
            "uuid": forms.UUID,
            "mac": forms.MAC,
            "guid": forms.GUID,
            "address": forms.ADDRESS,
            "range": "|".join(sorted(numbered)) or "(?!)",
            "word": word,
        }
        return re.compile("|".join(f"(?P<{name}>{part})" for name, part in parts.items()))

    def _assigned(self, text: str) -> str:
        """An assignment, with a stand-in for the value."""
        name, between, form = re.split("([= ])", text, maxsplit=1)
        return name + between + self._put("value", self._set.get((name, form), form))

    def _path(self, text: str) -> str:
        """The path with stand-ins for the parts that are not known to be public."""
        path = text.rstrip(forms.BEHIND)
        parts = (
            self._within(part) if public else self._part(part)
            for part, public in public_parts(path)
        )
        return "/".join(parts) + text[len(path) :]

    def _part(self, part: str) -> str:
        if part.startswith("~"):
            return f"~{self._known_word(part[1:])}" if part[1:] in self._words else part
        return self._known_word(part) if part in self._words else self._put("directory", part)

    def _within(self, part: str) -> str:
        """A part of a path that may stay, with stand-ins for the words in it."""
        part = re.sub(forms.MAC, lambda match: self._folded("mac", match[0]), part)
        return self._any_word.sub(lambda match: self._known_word(match[0]), part)

    def _gpu(self, text: str) -> str:
        """The stand-in of the GPU whose UUID begins so: drivers take a part of it too."""
        digits = forms.digits_of(text)
        whole = (uuid for uuid in self._given["gpu"] if uuid.startswith(digits))
        return self._put("gpu", next(whole, digits))

    def _uuid(self, text: str) -> str:
        is_gpu = forms.digits_of(text) in self._given["gpu"]
        return self._gpu(text) if is_gpu else self._folded("uuid", text)

    def _address(self, text: str) -> str:
        address = forms.address_of(text)
        return self._put("address", address) if address else text

    def _known_word(self, text: str) -> str:
        alike = self._lower_case.get(text.lower(), ("host", text.lower()))
        return self._put(*self._words.get(text, alike))

    def _folded(self, kind: Kind, text: str) -> str:
        return self._put(kind, text.lower())

    def _put(self, kind: Kind, name: str) -> str:
        self.places[kind] += 1
        return self._stand_in(kind, name)

    def _stand_in(self, kind: Kind, name: str) -> str:
        given = self._given[kind]
        if name not in given:
            self._counts[kind] += 1
            given[name] = f"{SHORT.get(kind, kind)}{self._counts[kind]}"
        return given[name]


def _longest_first(phrases: Iterable[str]) -> list[str]:
    return sorted(phrases, key=lambda phrase: (-len(phrase), phrase))


def _any_of(phrases: Iterable[str]) -> str:
    """A pattern of these phrases; of none, one that matches nothing."""
    return "|".join(map(re.escape, _longest_first(phrases))) or "(?!)"
