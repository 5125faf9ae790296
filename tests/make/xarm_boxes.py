"""A control box of UFACTORY on this machine, as their SDK speaks to it: Modbus-like frames on port 502."""

import socket
import struct
import threading
from contextlib import suppress

GET_VERSION, GET_SERIAL, GET_STATE, GET_ERROR, GET_JOINTS = 1, 2, 13, 15, 42
SET_STATE, SET_MODE, MOVE_SERVO = 12, 19, 29
ERROR = 0x40  # of the state in each answer


class Box:
    """Serves one arm. plant: joints that follow commands. commands: those that came. failed: an error is on."""

    def __init__(self, plant, host):
        self.plant, self.host, self.commands, self.failed = plant, host, [], False
        self.state, self.mode, self.sockets = 4, 0, []

    def __enter__(self):
        listening = socket.create_server((self.host, 502))
        self.sockets.append(listening)
        threading.Thread(target=self.accept, args=(listening,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.cut()

    def cut(self):
        """The cable is pulled."""
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def accept(self, listening):
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sockets.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with suppress(OSError, ValueError):
            stream = connection.makefile("rb")
            while head := stream.read(6):
                number, protocol, size = struct.unpack(">HHH", head)
                body = stream.read(size)
                data = bytes([ERROR if self.failed else 0]) + self.answer(body[0], body[1:])
                connection.sendall(struct.pack(">HHH", number, protocol, len(data) + 1) + body[:1] + data)

    def answer(self, kind, data):
        self.commands.append(kind)
        self.plant.advance()
        count = len(self.plant.q)
        if kind == GET_VERSION:
            return f"{count},50,XF0600,AC1300,v2.6.0".encode().ljust(40, b"\0")
        if kind == GET_SERIAL:
            return b"XF0600".ljust(40, b"\0")
        if kind == SET_STATE:
            self.state = {0: 2, 4: 4}[data[0]]
            if data[0] == 4:
                self.plant.command[:] = self.plant.q
        elif kind == GET_STATE:
            return bytes([self.state])
        elif kind == GET_ERROR:
            return bytes([31 if self.failed else 0, 0])
        elif kind == SET_MODE:
            self.mode = data[0]
        elif kind == MOVE_SERVO:
            assert self.mode == 1 and self.state == 2
            self.plant.command[:] = struct.unpack("<7f", data[:28])[:count]
        elif kind == GET_JOINTS:
            rest = [0.0] * (7 - count)
            return struct.pack("<21f", *self.plant.q, *rest, *self.plant.v, *rest, *self.plant.tau, *rest)
        return b"\0\0"
