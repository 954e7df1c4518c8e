# SPDX-License-Identifier: Apache-2.0
"""The least work of an application."""

import msgspec


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """The least work of a rank in an iteration of an application."""

    copied_bytes: int = 0  # within its memory: read and written once
    messages: list[int] = []  # bytes of each message to another rank
    own_bytes: int = 0  # bytes of messages to itself
    # Bytes of a message in host memory that announces each of them; 0: there is none.
    announced_bytes: int = 0
