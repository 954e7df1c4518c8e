# SPDX-License-Identifier: Apache-2.0
"""Withholds secrets in variables, by their names and by their values: the one filter of all that is
recorded, printed or published. `bench/record/record.cpp` has the same names.

Values come from anybody, so the time of each search grows with the length of the value: a pattern
begins once in a run of the characters that it repeats.
"""

import functools
import re
from collections.abc import Iterator, Mapping

WITHHELD = "(withheld)"  # in a secret's place
_LEAST = 6  # characters of a secret that is looked for in the rest of its value
# In names of variables, in capitals or not: MCA's are lower case. The last three of the first row
# are keys with which the processes of a job know each other, and where a user's files are. The keys
# of memory and of partitions of InfiniBand (UCX_RKEY_PTR_SEG_SIZE, NCCL_IB_PKEY) are none.
_ANYWHERE = re.compile(
    "(?<!_[RPLM])KEY|SECRET|TOKEN|(?<!BY)PASS|CRED|COOKIE|AUTH|PRIVATE|BEARER|SIGNATURE"
    "|UUID|PRECONDITION|_WDIR"
    "|JWT|WEB_?HOOK|HOOK_UR[IL]|CONN_?STR|CONNECTION_?STR|CONN_UR[IL]|PIN_?CODE"
)
# Words at the end of a name, but for a number behind them; PW and PWD also as the end of a word.
_LAST = re.compile(r"(?:^|[^A-Z0-9])(?:PIN|DSN|SAS|SIG|CONN|HOOK|PAT|PSK|OTP)[_\d]*$|PWD?[_\d]*$")
# Words of names that are no settings of MPI libraries, of what these stand on, or of modules.
_WORDS = re.compile(r"(?:^|[^A-Z0-9])(?:CONN|CONNECTION|HOOKS?|DSN|SAS)(?:[^A-Z0-9]|$)")
_FAMILIES = (
    *("OMPI_", "OPAL_", "PRTE_", "PMIX_", "UCX_", "FI_", "I_MPI_", "MPIR_", "MPICH_", "MV2_"),
    *("MVP_", "PAMI_", "NCCL_", "RCCL_", "KMP_", "SLURM_", "LMOD_", "MODULES_", "EASYBUILD_"),
)
# Settings that are called like a secret, and folders.
_SETTINGS = ("I_MPI_PIN", "I_MPI_OFFLOAD_PIN", "OMPI_MCA_HOOK", "PWD", "OLDPWD")

# A name before a value, as lists of variables, JSON, YAML, command lines and connection strings
# have it: `NAME=value;`, `"name": "value"`, `--name value`.
_NAME = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]+)(?P<between>"
    r"\\{0,8}[\"']?\s*(?:[=:]{1,3}>?|>|%3[AaDd])[\s\[{]*|\s+)"
)
_VALUE = re.compile(
    r"[bruf]{0,2}(?P<open>\\{0,8}[\"'])(?P<quoted>(?:(?!(?P=open)).)*)|(?P<plain>[^\s;,&\"']+)",
    re.DOTALL,
)
_SHAPES = (
    # A token of JSON (JWT).
    re.compile(r"(?<![\w-])(?=[\w-]*eyJ)[\w-]{8,}\.[\w-]{5,}(?:\.[\w-]*)?"),
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}-----[^-]*(?:-(?!----END)[^-]*)*(?:-----END[^-]*-----)?"
    ),
    # What services begin their keys with.
    re.compile(
        r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|gl(?:pat|ptt|dt|rt|soat|cbt)-|hf_|sk-|xapp-"
        r"|xox[a-z]-|[rsp]k_(?:live|test)_|whsec_|do[pors]_v1_|dckr_pat_|shp(?:at|ss|ca)_)[\w-]{3,}"
    ),
    re.compile(
        r"(?<![A-Za-z0-9])(?:AIza|npm_|pypi-|nvapi-|lin_api_|PMAK-|tskey-|NRAK-|ATATT3|sntrys_"
        r"|ya29\.|hv[sb]\.|SG\.)[\w.-]{8,}"
    ),
    re.compile(r"(?<![A-Za-z0-9])AGE-SECRET-KEY-[\w-]{3,}", re.IGNORECASE),
    re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9-]{6,}"),
    # What follows the scheme in a header: of `Basic` no word of a sentence.
    re.compile(r"(?<![\w-])(?i:Bearer)(?:[ \t:]|%20){1,8}(?P<secret>[\w.~+/=-]{6,})"),
    re.compile(
        r"(?<![\w-])(?i:Basic)(?:[ \t:]|%20){1,8}"
        r"(?P<secret>(?=[a-z+/]{0,400}[A-Z0-9=])[\w+/=-]{6,})"
    ),
    # The user and the password of a URL, or of an address without a scheme; of Oracle, and of curl.
    re.compile(r"(?<=://)[^\s/:@]*:(?:(?!://)[^\s\"'])+(?=@)"),
    re.compile(
        r"(?<![\w.@:/-])[\w.-]+:(?=[\d:]*[^\d:\s/@,;\"'])[^\s/@,;\"']{1,256}(?=@(?:[A-Za-z\[]|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d))"
    ),
    re.compile(r"(?<=thin:)[^\s/@:]+/[^\s/@]+(?=@)"),
    re.compile(r"(?<![\w-])(?:-u|--user)[ \t=]{1,8}(?P<secret>[^\s:/@]+:[^\s/]+)"),
    # Where a chat takes messages from anybody who knows the address.
    re.compile(
        r"(?:hooks\.slack\.com|discord(?:app)?\.com/api|webhook\.office\.com|chat\.googleapis\.com)"
        r"/(?P<secret>[^\s\"']+)"
    ),
    re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])"),
    re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{16}-[0-9a-fA-F]{16}(?![0-9A-Za-z])"),
)
_URL = re.compile(r"://[^\s/\"']*(?P<secret>/[^\s\"']*)")  # a secret if it is called a hook
# Base64 has digits, capitals and others.
_BASE64 = re.compile(
    r"(?<![\w/+-])(?=[\w/+-]*[0-9])(?=[\w/+-]*[A-Z])(?=[\w/+-]*[a-z])[\w/+-]{14,}={0,2}(?![\w/+=-])"
)
_CHANGE = re.compile(r"(?=[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z])")


@functools.lru_cache(maxsize=1 << 12)
def is_secret_name(name: str) -> bool:
    """True if a variable of this name may hold a secret."""
    upper = name.upper()
    if upper in _SETTINGS:
        return False
    return (
        _ANYWHERE.search(upper) is not None
        or _LAST.search(upper) is not None
        or (not upper.startswith(_FAMILIES) and _WORDS.search(upper) is not None)
    )


def secrets_in(value: str) -> list[str]:
    """The parts of a value that look like keys, or that follow a secret name."""
    return [value[start:end] for start, end in _places(value)]


def withhold(name: str, value: str) -> str:
    """The value of a variable with its possible secrets withheld."""
    if is_secret_name(name):
        return WITHHELD
    places = sorted(_places(value))
    parts: list[str] = []
    end = 0
    for start, stop in places:
        if start >= end:
            parts += [value[end:start], WITHHELD]
        end = max(end, stop)
    kept = "".join([*parts, value[end:]])
    for secret in {value[start:stop] for start, stop in places if stop - start >= _LEAST}:
        kept = kept.replace(secret, WITHHELD)
    return kept


def recordable(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables as they may be recorded."""
    return {name: withhold(name, value) for name, value in environment.items()}


def _places(value: str) -> list[tuple[int, int]]:
    """Spans of the secrets in a value; they may overlap."""
    spans = [*_named(value)]
    for pattern in _SHAPES:
        group = "secret" if "secret" in pattern.groupindex else 0
        spans += (match.span(group) for match in pattern.finditer(value))
    spans += (match.span("secret") for match in _URL.finditer(value) if "hook" in match[0].lower())
    spans += (match.span() for match in _BASE64.finditer(value) if _is_base64(match[0]))
    return [(start, end) for start, end in spans if start < end]


def _named(value: str) -> Iterator[tuple[int, int]]:
    """Spans of the values behind secret names. The search goes on behind each value."""
    position = 0
    while match := _NAME.search(value, position):
        position = match.end()
        if not _tells_of_secret(value, match) or not (behind := _VALUE.match(value, position)):
            continue
        part = "plain" if behind["plain"] else "quoted"
        # Behind `%3D` the value without its name would be a part of a word.
        start = match.start("name") if "%" in match["between"] else behind.start(part)
        if behind[part] != WITHHELD:
            yield start, behind.end(part)
        position = max(position, behind.end())


def _tells_of_secret(value: str, match: re.Match[str]) -> bool:
    """True if the name before a value is one of a secret. A part of a path is none, unless it is
    set (`https://host/token=...`), a pattern of files is none, and a folder is no password."""
    name, before = match["name"].lstrip("-."), value[max(0, match.start() - 1) : match.start()]
    if name.upper() in ("PWD", "OLDPWD"):
        first = value[match.end() : match.end() + 1]
        return name.upper() == "PWD" and first not in ("/", "~", "$")
    sets = "=" in match["between"] or "%" in match["between"]
    return before != "*" and (sets or before != "/") and is_secret_name(name)


def _is_base64(text: str) -> bool:
    """True for base64, not for a path or a name. Its letters change between capitals, others and
    digits in two of three places, those of words in one of four. Short text must be padded."""
    if len(text) < 40 and (not text.endswith("=") or len(text) % 4):
        return False
    if len(text) >= 40 and not re.search("[/-]", text):
        return True
    return len(_CHANGE.findall(text)) >= 0.4 * (len(text) - 1)
