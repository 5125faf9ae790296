"""A robot of Unitree on DDS, by unitree_sdk2py itself, as a process of its own.

    python unitree_robot.py MESSAGES DOMAIN Q...

Motors lag behind their commands. It takes lines (`cut`, `freeze`, `block`, `end`), prints `moving` when it does, and at
the end what it was told, as JSON.
"""

import json
import sys
import threading
import time

import numpy as np
from unitree_sdk2py.core.channel import ChannelFactoryInitialize, ChannelPublisher, ChannelSubscriber
from unitree_sdk2py.idl import default, unitree_go, unitree_hg
from unitree_sdk2py.rpc.server import Server
from unitree_sdk2py.utils.crc import CRC


class Switcher(Server):
    """The program of the robot, which commands motors until it is released."""

    def __init__(self):
        super().__init__("motion_switcher")
        self.program = "ai"

    def Init(self):
        self._SetApiVersion("1.0.0.1")
        self._RegistHandler(1001, lambda _: (0, json.dumps({"form": "0", "name": self.program})), False)
        self._RegistHandler(1003, self.release, False)

    def release(self, _):
        self.program = ""
        return 0, ""


def main(messages, domain, *pose):
    """Until the line `end`."""
    types = {"unitree_go": unitree_go, "unitree_hg": unitree_hg}[messages].msg.dds_
    q, words, count = np.array(pose, float), set(), len(pose)
    first, told, faults, fading, crc = [], [], set(), [], CRC()
    ChannelFactoryInitialize(int(domain), "lo")
    switcher = Switcher()
    switcher.Init()
    switcher.Start()

    def take(command):
        motors = command.motor_cmd[:count]
        faults.update({"crc"} if command.crc != crc.Crc(command) else set())
        faults.update({"two programs"} if switcher.program else set())
        faults.update({"mode"} if any(each.mode != 1 or each.dq or each.tau for each in motors) else set())
        told[:] = [[each.q for each in motors], [each.kp for each in motors], [each.kd for each in motors]]
        if not first:
            first[:] = [told[0], told[1], told[2], 0]
        first[3] += 1
        if told[1][0] < first[1][0]:
            fading.append((time.monotonic(), told[1][0], told[2][0]))
        if "moving" not in words and np.abs(np.subtract(told[0], first[0])).max() > 0.05:
            words.add("moving")
            print("moving", flush=True)

    subscriber = ChannelSubscriber("rt/lowcmd", types.LowCmd_)
    subscriber.Init(take, 0)
    publisher = ChannelPublisher("rt/lowstate", types.LowState_)
    publisher.Init()
    state = getattr(default, f"{messages}_msg_dds__LowState_")()
    threading.Thread(target=lambda: words.update(line.strip() for line in sys.stdin), daemon=True).start()
    print("ready", flush=True)
    last = due = time.monotonic()
    while "end" not in words:
        now = time.monotonic()
        if told and "block" not in words and any(told[1]):
            q, before = q + (1 - np.exp((last - now) / 0.02)) * (np.array(told[0]) - q), q
            v = (q - before) / max(now - last, 1e-6)
        else:
            v = np.zeros(count)
            if "block" in words:
                q[1] = told[0][1] - 0.35
        for motor, *each in zip(state.motor_state, q.tolist(), v.tolist(), strict=False):
            motor.q, motor.dq = each
            motor.tau_est = 3.0
        if "freeze" not in words:
            state.tick = int(1000 * now) % 2**32
        if "cut" not in words:
            publisher.Write(state)
        last, due = now, max(due + 0.002, now)
        time.sleep(max(0.0, due - time.monotonic()))
    end = {"faults": sorted(faults), "commands": first[3], "first": first[:3], "last": told, "fading": fading}
    print(json.dumps(end), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
