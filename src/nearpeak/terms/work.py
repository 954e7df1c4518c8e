# SPDX-License-Identifier: Apache-2.0
"""The least work of an application."""

import msgspec


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """The least work of a rank in an iteration of an application."""

    # bytes that a rank reads and writes in its memory in an iteration, each counted once: mean of
    # all ranks; 0: not known
    copied_bytes: int = 0
    # bytes of each message to another rank in an iteration, of the rank that sends most
    messages: list[int] = []
    own_bytes: int = 0  # bytes that the same rank sends to itself
    # size of a message in host memory that precedes and announces each of `messages`; 0: none
    announced_bytes: int = 0
