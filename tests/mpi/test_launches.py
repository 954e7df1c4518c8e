# SPDX-License-Identifier: Apache-2.0
"""What tests of launches have in common."""

import socket

from mpi_launches import reserved_port


def test_only_a_program_that_asks_for_it_gets_a_reserved_port() -> None:
    with reserved_port() as port:
        with socket.socket() as stranger:
            assert stranger.connect_ex(("127.0.0.1", port)) != 0  # nobody listens yet
        with socket.create_server(("", port)) as program:  # with SO_REUSEADDR
            assert program.getsockname()[1] == port
