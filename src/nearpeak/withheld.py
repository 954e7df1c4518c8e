# SPDX-License-Identifier: Apache-2.0
"""Secrets in variables, by their names and by their values: the one filter of all that is recorded,
printed or published. `bench/record/record.cpp` knows the same names."""

import re
from collections.abc import Mapping

WITHHELD = "(withheld)"  # in a secret's place
# In names of variables, in capitals or not: MCA's are lower case. The last three are keys with
# which the processes of a job know each other, and where a user's files are. The keys of memory and
# of partitions of InfiniBand (UCX_RKEY_PTR_SEG_SIZE, NCCL_IB_PKEY) are none.
_NAMES = re.compile(
    "(?<!_[RPLM])KEY|SECRET|TOKEN|(?<!BY)PASS|CRED|COOKIE|AUTH|PRIVATE|BEARER|SIGNATURE|UUID|PRECONDITION|_WDIR",
    re.IGNORECASE,
)
# A name in a list of variables, as mca_base_env_list has it: `NAME=value;NAME2=value`.
_LISTED = re.compile(r"(?<![^;,\s'\"])(?P<name>[A-Za-z_][\w.-]*)=(?P<value>[^;,\s'\"]*)")
_VALUES = (
    re.compile(r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"),  # a token of JSON (JWT)
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}-----(?:[^-]|-(?!----END))*(?:-----END[^-]*-----)?"),
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-)[\w-]{3,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9-]{6,}"),
    re.compile(r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"),  # the user and the password of a URL
    re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{32,}(?![0-9A-Za-z])"),
    re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{16}-[0-9a-fA-F]{16}(?![0-9A-Za-z])"),
    # Base64 of 30 bytes and more: digits, capitals and others, and no path.
    re.compile(
        r"(?<![\w/+=-])(?=[\w+]*[0-9])(?=[\w+]*[A-Z])(?=[\w+]*[a-z])"
        r"[A-Za-z0-9_+]{40,}={0,2}(?![\w/+=-])"
    ),
)
_QUERY = re.compile(r"(?<=[?&])(?P<name>[\w.-]+)=(?P<value>[^&\s'\"]+)")


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of this name may hold a secret."""
    return _NAMES.search(name) is not None


def secrets_in(value: str) -> list[str]:
    """The parts of a value that look like keys, or that follow a secret name in a list."""
    found = [
        each["value"]
        for pattern in (_LISTED, _QUERY)
        for each in pattern.finditer(value)
        if each["value"] not in ("", WITHHELD) and is_secret_name(each["name"])
    ]
    return found + [each[0] for pattern in _VALUES for each in pattern.finditer(value)]


def withhold(name: str, value: str) -> str:
    """The value of a variable without what may be secret in it."""
    if is_secret_name(name):
        return WITHHELD
    for secret in sorted(secrets_in(value), key=len, reverse=True):
        value = value.replace(secret, WITHHELD)
    return value


def recordable(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables as they may be recorded."""
    return {name: withhold(name, value) for name, value in environment.items()}
