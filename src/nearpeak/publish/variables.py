# SPDX-License-Identifier: Apache-2.0
"""Decides which variables keep their values in a published copy: those of known names whose values
hold nothing secret, and values that anybody may have."""

import functools
import re
from itertools import chain

from nearpeak.libraries import given, settings, tunables
from nearpeak.libraries.families import all_families
from nearpeak.machine.doctor import NO_SETTINGS, SETTINGS
from nearpeak.withheld import WITHHELD, is_secret_name, secrets_in

_KNOWN = (
    *("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "TMPDIR"),
    *("HOSTNAME", "USER", "HOME"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"),
    *("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
)
_KNOWN_PREFIXES = ("OMP_", "CUDA_MPS_", "NEARPEAK_")
# Numbers with a unit, and words that turn something on and off. A longer number without a unit may
# be a PIN: it must be as round as sizes and counts are.
_PLAIN = re.compile(
    r"[+-]?\d{1,9}(\.\d{1,6})?([kmgt]i?(b|bps)?|b|bps|us|ms|s|%)|[+-]?\d{1,3}(\.\d{1,6})?"
    r"|y|n|yes|no|on|off|true|false|try|auto|none|always|never|default|inf|all|min|max|",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{4,9}")
_ROUND = (100, 256)  # a number that one of these divides is round
# A value that sets other variables, as mca_base_env_list does, and names that say so.
_SETS = re.compile(r"\w\s*=|[\"'\\`]")
_LISTS = re.compile(r"ENV_?LIST$|(^|_)EXPORT(_ENV)?$|GENV", re.IGNORECASE)
# A path, or a list of them, whose parts are replaced as in any text.
_PATHS = re.compile(r"/[^\s:]*(:/[^\s:]*)*:?")


@functools.cache
def known_names() -> frozenset[str]:
    """Names of variables that Nearpeak knows: of tunables, of named settings, of what launches are
    given, and of installations."""
    tried = chain.from_iterable(map(tunables.of_component, tunables.all_components()))
    named = chain.from_iterable(
        settings.family_settings(family).values() for family in all_families()
    )
    occasions = chain.from_iterable(map(dict.values, given.reasons().values()))
    return frozenset({*_KNOWN, *NO_SETTINGS}).union(
        *({tunable.name, *tunable.with_} for tunable in tried),
        *({*setting.env, *setting.unset} for setting in named),
        *occasions,
    )


def may_stay(name: str, value: str) -> bool:
    """True if a copy may hold the value of a variable, with stand-ins as in any text."""
    if value == WITHHELD or is_secret_name(name):
        return value == WITHHELD
    may_hold_any = lists_variables(name, value) or secrets_in(value)
    return _is_plain(value) or (not may_hold_any and _is_public(name, value))


def _is_public(name: str, value: str) -> bool:
    """True for the values of known variables, and for paths in those that set libraries."""
    is_known = name in known_names() or name.startswith(_KNOWN_PREFIXES)
    return is_known or (name.startswith(SETTINGS) and _PATHS.fullmatch(value) is not None)


def lists_variables(name: str, value: str) -> bool:
    """True if a variable may hold other variables with their values, which may be any."""
    return _SETS.search(value) is not None or _LISTS.search(name) is not None


def _is_plain(value: str) -> bool:
    if _NUMBER.fullmatch(value):
        return any(int(value) % divisor == 0 for divisor in _ROUND)
    return _PLAIN.fullmatch(value) is not None
