"""Connections of the viewer send small writes at once."""

from __future__ import annotations

import socket
from contextlib import closing

from wayword.viewer.app import _bound


def test_accepted_connections_do_not_wait_for_confirmations() -> None:
    with (
        closing(_bound("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with closing(accepted):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
