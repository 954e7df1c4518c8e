# SPDX-License-Identifier: Apache-2.0
"""What an application must do at least."""

import msgspec


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """What a rank must do at least in an iteration of an application."""

    copied_bytes: int = 0  # within its memory: read and written once
    messages: list[int] = []  # the bytes of each that it sends to another rank
    own_bytes: int = 0  # of those that it sends to itself
    # Of a message, in host memory, that goes before each of them and says what comes; 0: none does.
    announced_bytes: int = 0
