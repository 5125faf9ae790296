"""A controller of Universal Robots on this machine: RTDE, dashboard and script port, as ur_rtde speaks to them."""

import socket
import struct
import threading
import time
from contextlib import suppress
from functools import partial

TYPES = {
    "DOUBLE": "d",
    "VECTOR6D": "6d",
    "VECTOR3D": "3d",
    "VECTOR6INT32": "6i",
    "UINT32": "I",
    "INT32": "i",
    "UINT64": "Q",
    "UINT8": "B",
}
KINDS = {  # RTDE guide of Universal Robots; the others of a name are DOUBLE
    "VECTOR6D": "target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_qdd "
    "actual_current actual_current_as_torque actual_moment joint_control_output actual_TCP_pose actual_TCP_speed "
    "actual_TCP_force target_TCP_pose target_TCP_speed joint_temperatures actual_joint_voltage ft_raw_wrench "
    "external_force_torque payload_inertia",
    "VECTOR3D": "actual_tool_accelerometer payload_cog",
    "VECTOR6INT32": "joint_mode",
    "UINT32": "runtime_state robot_status_bits safety_status_bits output_bit_registers0_to_31 speed_slider_mask "
    "output_bit_registers32_to_63",
    "UINT64": "actual_digital_input_bits actual_digital_output_bits",
    "INT32": "robot_mode safety_mode",
    "UINT8": "standard_digital_output_mask standard_digital_output configurable_digital_output_mask "
    "configurable_digital_output tool_digital_output_mask tool_digital_output standard_analog_output_mask "
    "standard_analog_output_type",
}
KIND = {name: kind for kind, names in KINDS.items() for name in names.split()}
SERVOJ, SERVO_STOP, STOP_SCRIPT = 11, 16, 255  # commands of ur_rtde's script, include/ur_rtde/rtde.h


def kind_of(name):
    return KIND.get(name, "INT32" if "int_register" in name else "DOUBLE")


class Controller:
    """Serves one robot. plant: joints that follow commands. commands: those that came, in order.

    frozen: stamps and values stay. protective: a protective stop is on.
    """

    def __init__(self, plant, host):
        self.plant, self.host, self.commands, self.scripts = plant, host, [], []
        self.frozen = self.protective = self.running = False
        self.ready, self.inputs, self.going, self.sockets, self.last = 1, {}, True, [], None
        self.lock = threading.Lock()

    def __enter__(self):
        for port, serve in ((30004, self.rtde), (29999, self.dashboard), (30003, self.script)):
            listening = socket.create_server((self.host, port))
            self.sockets.append(listening)
            threading.Thread(target=self.accept, args=(listening, serve), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.cut()

    def cut(self):
        """The cable is pulled."""
        self.going = False
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def accept(self, listening, serve):
        try:
            while self.going:
                connection, _ = listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sockets.append(connection)
                threading.Thread(target=self.guarded, args=(serve, connection), daemon=True).start()
        except OSError:
            pass

    def guarded(self, serve, connection):
        with suppress(OSError):
            serve(connection)

    def dashboard(self, connection):
        connection.sendall(b"Connected: Universal Robots Dashboard Server\n")
        answers = {"PolyscopeVersion": "URSoftware 5.12.0.1101319 (May 05 2022)", "is in remote control": "true"}
        answers |= {"get serial number": "20205500001", "running": "Program running: false"}
        for line in connection.makefile("r"):
            connection.sendall((answers.get(line.strip(), "ok") + "\n").encode())

    def script(self, connection):
        while data := connection.recv(65536):
            self.scripts.append(data)
            self.running = True

    def rtde(self, connection):
        stream, recipes = connection.makefile("rb"), {}
        while head := stream.read(3):
            size, kind = struct.unpack(">HB", head)
            body = stream.read(size - 3)
            if kind == ord("U"):
                self.take(recipes[body[0]], body[1:])
                continue
            answer = b""
            if kind == ord("V"):
                answer = b"\1"
            elif kind == ord("v"):
                answer = struct.pack(">4I", 5, 12, 0, 0)
            elif kind in (ord("O"), ord("I")):
                names = (body[8:] if kind == ord("O") else body).decode().strip(",").split(",")
                kinds = [kind_of(name) for name in names]
                if kind == ord("O"):
                    rate, sent = struct.unpack(">d", body[:8])[0], names
                else:
                    recipes[len(recipes) + 1] = names
                number = 1 if kind == ord("O") else len(recipes)
                answer = bytes([number]) + ",".join(kinds).encode()
            elif kind in (ord("S"), ord("P")):
                answer = b"\1"
            connection.sendall(struct.pack(">HB", len(answer) + 3, kind) + answer)
            if kind == ord("S"):
                threading.Thread(target=self.guarded, args=(partial(self.send, sent, rate), connection)).start()

    def take(self, names, data):
        form = ">" + "".join(TYPES[kind_of(name)] for name in names)
        flat, values = list(struct.unpack(form, data)), {}
        for name in names:
            count = struct.calcsize(">" + TYPES[kind_of(name)]) // 8 if kind_of(name) == "VECTOR6D" else 1
            values[name] = flat[:count] if count > 1 else flat[0]
            flat = flat[count:]
        with self.lock:
            self.inputs.update(values)
            command = self.inputs.get("input_int_register_0", 0)
            self.ready = 2 if command not in (0, SERVOJ) else 1
            if not command:
                return
            self.commands.append(command)
            self.plant.advance()
            if command == SERVOJ:
                self.plant.command[:] = [self.inputs[f"input_double_register_{i}"] for i in range(6)]
            elif command == SERVO_STOP:
                self.plant.command[:] = self.plant.q
            elif command == STOP_SCRIPT:
                self.running = False

    def state(self):
        with self.lock:
            self.plant.advance()
            return {
                "timestamp": self.plant.t,
                "actual_q": list(self.plant.q),
                "actual_qd": list(self.plant.v),
                "target_q": list(self.plant.command),
                "actual_current": list(self.plant.tau / 10),
                "runtime_state": 2 if self.running else 1,
                "robot_status_bits": 3 if self.running else 1,
                "safety_status_bits": 5 if self.protective else 1,
                "safety_mode": 1,
                "robot_mode": 7,
                "output_int_register_0": self.ready,
            }

    def send(self, names, rate, connection):
        due = time.monotonic()
        while self.going:
            if not (self.frozen and self.last):
                self.last = self.state()
            state = self.last
            data = b""
            for name in names:
                form = TYPES[kind_of(name)]
                value = state.get(name, 0)
                count = int(form[0]) if form[0].isdigit() else 1
                value = value if isinstance(value, list) else [value] * count
                data += struct.pack(">" + form, *(float(x) if "d" in form else int(x) for x in value))
            connection.sendall(struct.pack(">HBB", len(data) + 4, ord("U"), 1) + data)
            due += 1 / rate
            time.sleep(max(0.0, due - time.monotonic()))
