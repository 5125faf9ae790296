"""Servos on a serial line, simulated: their registers, and two makers' protocols over a pseudo-terminal."""

import os
import pty
import select
import threading
import tty

import numpy as np

COUNT = 2 * np.pi / 4096


class Servos:
    """Registers of servos 1, 2, ... that hold joints of a plant. sign: how numbers keep it: "twos" or "bits"."""

    def __init__(self, plant, table, zero=2048):
        self.plant, self.table, self.zero, self.written, self.dead = plant, table, zero, [], False
        self.memory = {i + 1: bytearray(256) for i in range(len(plant.q))}
        for own in self.memory.values():
            own[table["mode"]] = table["modes"]
            for place, end in table.get("range", {}).items():
                own[place : place + 2] = end.to_bytes(2, "little")
            own[table["model"] : table["model"] + 2] = table["number"].to_bytes(2, "little")
        self.torque = dict.fromkeys(self.memory, False)

    def read(self, number, address, length):
        self.plant.advance()
        i, own = number - 1, self.memory[number]
        values = {
            "q": self.zero + self.plant.q[i] / COUNT,
            "v": self.plant.v[i] / self.table["v"][2],
            "duty": self.plant.tau[i] / 20 / self.table["duty"][2],
            "voltage": 120,
            "current": self.plant.tau[i] / 3 / self.table["current"][2],
        }
        for name, value in values.items():
            place, size, _, bit = self.table[name]
            own[place : place + size] = encoded(round(value), size, bit)
        return bytes(own[address : address + length])

    def write(self, number, address, data):
        own = self.memory[number]
        own[address : address + len(data)] = data
        self.written.append((number, address, bytes(data)))
        if address == self.table["torque"]:
            self.torque[number] = bool(data[0])
        place, size, _, bit = self.table["goal"]
        goal = decoded(bytes(own[place : place + size]), bit)
        if self.torque[number]:
            self.plant.advance()
            self.plant.command[number - 1] = (goal - self.zero) * COUNT


def encoded(value, size, bit):
    if bit is None or bit == "twos":
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    return (-value | 1 << bit if value < 0 else value).to_bytes(size, "little")


def decoded(data, bit):
    value = int.from_bytes(data, "little", signed=bit == "twos")
    return value if bit == "twos" or not value >> bit & 1 else -(value & (1 << bit) - 1)


TABLES = {
    # address, bytes, size of a count, sign; e-manual of the XL330-M288
    "dynamixel": {
        "model": 0, "number": 1200, "mode": 11, "modes": 3, "torque": 64, "goal": (116, 4, COUNT, "twos"),
        "q": (132, 4, COUNT, "twos"), "v": (128, 4, 0.229 * np.pi / 30, "twos"), "duty": (124, 2, 1 / 885, "twos"),
        "voltage": (144, 2, 0.1, None), "current": (126, 2, 0.001, "twos"),
    },
    # memory table of the STS3215
    "feetech": {
        "model": 3, "number": 777, "range": {9: 1, 11: 4095}, "mode": 33, "modes": 0, "torque": 40,
        "goal": (42, 2, COUNT, 15),
        "q": (56, 2, COUNT, 15), "v": (58, 2, COUNT, 15), "duty": (60, 2, 0.001, 10),
        "voltage": (62, 1, 0.1, None), "current": (69, 2, 0.0065, 15),
    },
}  # fmt: skip


class Protocol2:
    """Frames of DYNAMIXEL Protocol 2.0: FF FF FD 00, number, length, instruction, parameters, CRC-16."""

    @staticmethod
    def frames(data):
        """Complete frames (number, instruction, parameters) at the start of bytes, and the rest."""
        found = []
        while len(data) >= 7 and len(data) >= 7 + (size := int.from_bytes(data[5:7], "little")):
            frame, data = data[: 7 + size], data[7 + size :]
            assert frame[:4] == b"\xff\xff\xfd\0" and Protocol2.crc(frame[:-2]) == frame[-2:]
            found.append((frame[4], frame[7], frame[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")))
        return found, data

    @staticmethod
    def crc(data):
        rest = 0
        for byte in data:
            rest ^= byte << 8
            for _ in range(8):
                rest = (rest << 1 ^ 0x8005 if rest & 0x8000 else rest << 1) & 0xFFFF
        return rest.to_bytes(2, "little")

    @staticmethod
    def status(number, data):
        body = (b"\x55\0" + data).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
        frame = b"\xff\xff\xfd\0" + bytes([number]) + (len(body) + 2).to_bytes(2, "little") + body
        return frame + Protocol2.crc(frame)

    word = 2  # bytes of an address

    @staticmethod
    def pong(servos, number):
        return servos.read(number, 0, 2) + b"\x34"  # model number, firmware


class Protocol0:
    """Frames of Feetech: FF FF, number, length, instruction, parameters, checksum."""

    @staticmethod
    def frames(data):
        found = []
        while len(data) >= 4 and len(data) >= 4 + data[3]:
            frame, data = data[: 4 + data[3]], data[4 + data[3] :]
            assert frame[:2] == b"\xff\xff" and Protocol0.check(frame[2:-1]) == frame[-1:]
            found.append((frame[2], frame[4], frame[5:-1]))
        return found, data

    @staticmethod
    def check(data):
        return bytes([~sum(data) & 0xFF])

    @staticmethod
    def status(number, data):
        body = bytes([number, len(data) + 2, 0]) + data
        return b"\xff\xff" + body + Protocol0.check(body)

    word = 1

    @staticmethod
    def pong(servos, number):
        return b""


PING, READ, WRITE, SYNC_READ, SYNC_WRITE = 1, 2, 3, 0x82, 0x83


def answers(servos, protocol, number, instruction, parameters):
    """Status frames to one instruction."""
    w = protocol.word
    numbers = [int.from_bytes(parameters[i : i + w], "little") for i in range(0, 2 * w, w)]
    if instruction == PING and number in servos.memory:
        yield protocol.status(number, protocol.pong(servos, number))
    elif instruction == READ:
        yield protocol.status(number, servos.read(number, *numbers))
    elif instruction == WRITE:
        servos.write(number, numbers[0], parameters[w:])
        yield protocol.status(number, b"")
    elif instruction == SYNC_READ:
        for each in parameters[2 * w :]:
            yield protocol.status(each, servos.read(each, *numbers))
    elif instruction == SYNC_WRITE:
        rest, size = parameters[2 * w :], numbers[1] + 1
        for i in range(0, len(rest), size):
            servos.write(rest[i], numbers[0], rest[i + 1 : i + size])


class Line:
    """A pseudo-terminal with servos at its far end; `path` is what a program opens."""

    def __init__(self, servos, protocol):
        self.servos, self.protocol = servos, protocol
        self.ours, theirs = pty.openpty()
        tty.setraw(theirs)
        self.path, self.theirs, self.error = os.ttyname(theirs), theirs, None
        self.going = True
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.thread.join(5)
        os.close(self.ours)
        os.close(self.theirs)

    def serve(self):
        data = b""
        try:
            while self.going:
                if not select.select([self.ours], [], [], 0.05)[0]:
                    continue
                frames, data = self.protocol.frames(data + os.read(self.ours, 4096))
                for frame in frames:
                    for answer in answers(self.servos, self.protocol, *frame):
                        if not self.servos.dead:
                            os.write(self.ours, answer)
        except Exception as error:
            self.error = error
