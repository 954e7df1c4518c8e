# SPDX-License-Identifier: Apache-2.0
"""The names of the methods of ceilings in running text; docs/methods/ceilings.md describes them."""

import re

# Each stands after "by". The names, in parentheses behind, are those of tables and records.
WORDS = {
    # pair: two cores of a host
    "flag": "cache lines with a flag in each",
    "flag-spin": "cache lines with a flag in each, spinning without pause",
    "ring": "a ring in shared memory",
    "cma": "one copy by the kernel",
    "mapped": "one copy out of mapped memory",
    "mapped-nt": "one copy out of mapped memory with non-temporal stores",
    "mapped-nt4": "one copy out of mapped memory with non-temporal stores, four pieces at once",
    "mapped-rep": "one copy out of mapped memory with rep movsb",
    "halves": "one copy by both ends, half of it each",
    "halves-nt": "one copy by both ends, half of it each, with non-temporal stores",
    # tcp
    "blocking": "one connection with calls that sleep",
    "spin": "one connection with calls that never sleep",
    "buffers-4M": "one connection with socket buffers of 4 MiB",
    "own-ways": "one connection for each direction",
    "streams-2": "two connections",
    "streams-4": "four connections",
    "batched": "handing all messages of a window to the kernel together",
    # verbs
    "write": "RDMA writes",
    "send": "sends of the RDMA adapter",
    "read": "RDMA reads",
    "write-q2": "RDMA writes over two queue pairs",
    "write-q4": "RDMA writes over four queue pairs",
    # gpu
    "ce": "a copy engine",
    "ce-poll": "a copy engine that is polled",
    "ce2": "copy engines over two streams",
    "ce4": "copy engines over four streams",
    "ce-pull": "a copy engine of the receiver",
    "ce-one": "copy engines that one process drives",
    "resident": "a kernel that stays on the GPU",
    "sm": "a kernel for each message",
    "sm4": "a kernel for each message, over four streams",
    "sm-pull": "a kernel of the receiver for each message",
    "sm-one": "kernels that one process launches",
    "sm-window": "one kernel for all messages of a window",
    "pageable": "copies of memory that is not registered",
    "staged-128K": "pinned host memory, in chunks of 128 KiB",
    "staged-1M": "pinned host memory, in chunks of 1 MiB",
}
# Of copy and triad in memory: how the stores are.
_STORES = {
    "plain": "plain stores",
    "nt": "non-temporal stores",
    "nt4": "non-temporal stores, four pieces at once,",
    "rep": "rep movsb",
}


def describe(method: str) -> str:
    """`one copy by the kernel (cma)`, `non-temporal stores by 2 threads (nt x2)`; a method without
    a text is returned unchanged."""
    if text := WORDS.get(method):
        return f"{text} ({method})"
    if (match := re.fullmatch(r"(\w+) x(\d+)", method)) and match[1] in _STORES:
        threads = "1 thread" if match[2] == "1" else f"{match[2]} threads"
        return f"{_STORES[match[1]]} by {threads} ({method})"
    return method
