import argparse
import csv
import os
import shlex
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import numpy as np


class Ended(Exception):
    """Why the motion ended early. give: whether the robot is to stay where it is, not where its command is."""

    give = False


class Stopped(Ended):
    """The robot has stopped itself."""

    def __init__(self, why):
        super().__init__(f"the robot has stopped itself: {why}")


def words(error):
    return str(error) or type(error).__name__


def say(text):
    """Print; a terminal that was closed is no reason to lose what was recorded."""
    with suppress(OSError):
        print(text, flush=True)


class StopKey:
    """Counts Enter and Ctrl-C: once slows down along the path, twice stops at once."""

    presses = 0

    def press(self, *_):
        self.presses += 1

    def __enter__(self):
        names = ("SIGINT", "SIGTERM", "SIGHUP")  # the last one: the terminal was closed
        self.before = {
            getattr(signal, name): signal.signal(getattr(signal, name), self.press)
            for name in names
            if hasattr(signal, name) and threading.current_thread() is threading.main_thread()
        }
        threading.Thread(target=self.watch, daemon=True).start()
        return self

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def watch(self):
        with suppress(OSError, ValueError):  # no terminal: Ctrl-C is left
            while os.read(sys.stdin.fileno(), 64):
                self.press()


class Path5:
    """Quintic pieces between knots of q, v, a (k, n) that are `step` s apart."""

    def __init__(self, q, v, a, step):
        self.q, self.v, self.a, self.step = q, v, a, step
        self.duration = (len(q) - 1) * step

    @classmethod
    def slow(cls, start, end, plan):
        """From rest to rest, slowly."""
        speed = np.minimum(0.1 * plan.speed, plan.slow)
        q, still = np.array([start, end]), np.zeros((2, len(start)))
        return cls(q, still, still, max(plan.settle, 1.875 * np.max(np.abs(q[1] - q[0]) / speed)))

    def __call__(self, t):
        k = min(int(t / self.step), len(self.q) - 2)
        h, x = self.step, t / self.step - k
        b, c = h * self.v[k], 0.5 * h * h * self.a[k]
        d = self.q[k + 1] - self.q[k] - b - c
        e = h * self.v[k + 1] - b - 2 * c
        f = 0.5 * h * h * self.a[k + 1] - c
        return self.q[k] + x * (
            b + x * (c + x * (10 * d - 4 * e + f + x * (7 * e - 15 * d - 2 * f + x * (6 * d - 3 * e + f))))
        )


class PlayerLoop:
    """Commands a robot along paths, looks at every measurement, and keeps what it is to record."""

    def __init__(self, robot, plan, clock, key):
        self.robot, self.plan, self.clock, self.key = robot, plan, clock, key
        self.rows, self.recent = [], deque()
        self.stamp, self.fresh, self.pose = np.nan, clock.monotonic(), None

    def measure(self):
        """A measurement: its stamp, when it came, q, other channels, and whether it is new. Single ones may be missing,
        which is None. Raises Ended for one of no use, and where none has come for `stale` s.
        """
        found, missing = None, "no new stamp"
        try:
            found = self.robot.read()
        except Ended:
            raise
        except Exception as error:
            missing = words(error)
        now = self.clock.monotonic()
        if found is None or found[0] == self.stamp:
            if now - self.fresh > self.plan.stale:
                raise Ended(f"connection lost: {missing} for {now - self.fresh:.2g} s")
            return found and (*found[:1], now, *found[1:], False)
        stamp, q, others = found
        if not (np.isfinite(stamp) and np.all(np.isfinite(q))):
            raise Ended("a measurement is not a number")
        if stamp < self.stamp:
            raise Ended(f"stamps go back by {self.stamp - stamp:.3g} s")
        self.fresh, self.stamp, self.pose = now, stamp, q
        self.within(
            q, self.plan.lower - self.plan.following, self.plan.upper + self.plan.following, "position", "limits"
        )
        if "v" in others:
            fastest = 1.2 * self.plan.speed
            self.within(others["v"], -fastest, fastest, "speed", "limits")
        return stamp, now, q, others, True

    def within(self, values, lower, upper, what, of):
        out = np.maximum(lower - values, values - upper)
        if np.max(out) > 0:
            i = int(np.argmax(out))
            ended = Ended(
                f"{what} of {self.plan.joints[i]} is {values[i]:.4g}, beyond the {of} {lower[i]:.4g} to {upper[i]:.4g}"
            )
            ended.give = True
            raise ended

    def follow(self, path, record=False):
        """Command a path to its end. Raises Ended."""
        plan, clock = self.plan, self.clock
        place, pace, before = 0.0, 1.0, clock.monotonic()
        due, last = before, self.stamp
        while True:
            found, now = self.measure(), clock.monotonic()
            if now - before > plan.stale:
                raise Ended(f"a cycle took {now - before:.2g} s")
            while len(self.recent) > 1 and self.recent[1][0] < now - plan.lag:
                self.recent.popleft()
            if found and found[-1] and self.recent:
                told = np.array([command for _, command in self.recent])
                low, high = told.min(axis=0) - plan.following, told.max(axis=0) + plan.following
                self.within(self.pose, low, high, "following error: position", "commanded range")
            passed = self.stamp - last if self.robot.paced else now - before
            step, before, last = min(passed, 2 / plan.rate), now, self.stamp
            if self.key.presses > 1:
                raise Ended("stopped by key, at once")
            if self.key.presses:
                pace = max(0.0, pace - step / plan.brake)
            place = min(place + pace * step, path.duration)
            command = path(place)
            try:
                self.robot.command(command)
            except Exception as error:
                raise Ended(f"connection lost: {words(error)}") from error
            sent = clock.monotonic()
            self.recent.append((sent, command))
            if record and found and found[-1]:
                stamp, came, q, others, _ = found
                self.rows.append(
                    [stamp, came, sent, *q, *command, *(x for c in self.robot.channels for x in others[c])]
                )
            if pace == 0.0:
                raise Ended("stopped by key")
            if place >= path.duration:
                return
            if not self.robot.paced:
                due = max(due + 1 / plan.rate, clock.monotonic())
                clock.sleep(max(0.0, due - clock.monotonic()))

    def write(self, file, note):
        """Everything recorded, as one file that appears whole."""
        joints = self.plan.joints
        names = ["t", "received", "sent"]
        names += [f"{channel}_{joint}" for channel in ("q", "command", *self.robot.channels) for joint in joints]
        draft = file.with_name(f".{file.name}.part")
        with draft.open("w", newline="", encoding="utf-8") as out:
            units = ", ".join(f"{name}: {unit}" for name, unit in self.robot.channels.items())
            out.write(
                f"# {self.plan.robot}: {note}\n# t: s, {self.robot.stamps}; received, sent: s, clock of the computer\n"
            )
            out.write(f"# q, command: rad (m); {units}\n")
            csv.writer(out, lineterminator="\n").writerow(names)
            table = np.array(self.rows)
            np.savetxt(out, table, fmt=["%.9f"] * 3 + ["%.9g"] * (table.shape[1] - 3), delimiter=",")
        draft.replace(file)


def main(plan, robot_class, arguments=None, clock=time, ask=input, key=None):
    """Play the motion. Returns 0 when it was played to its end, 1 when it ended early, 2 when nothing moved."""
    parser = argparse.ArgumentParser(description=plan.about)
    parser.add_argument("address", help=robot_class.address)
    parser.add_argument("--out", type=Path, default=Path(time.strftime(f"{plan.name}_%Y%m%d_%H%M%S.csv")))
    told = parser.parse_args(arguments)
    for name in ("lower", "upper", "speed", "following"):
        setattr(plan, name, np.array(getattr(plan, name), dtype=float))
    knots = np.array(plan.knots.split(), dtype=float).reshape(-1, 3, len(plan.joints))
    motion = Path5(knots[:, 0], knots[:, 1], knots[:, 2], plan.step)
    if np.any(motion.q < plan.lower) or np.any(motion.q > plan.upper) or np.any(np.abs(motion.v) > plan.speed):
        print("Refused: the motion is not within the limits of this script.")
        return 2
    if told.out.exists() or not told.out.resolve().parent.is_dir():
        print(f"Refused: {told.out} exists, or its folder does not; choose another --out.")
        return 2
    robot = None
    try:
        robot = robot_class(plan, told.address, clock)
        player = PlayerLoop(robot, plan, clock, key or StopKey())
        while player.measure() is None:
            pass
        measured = player.pose
        ramp = Path5.slow(measured, motion.q[0], plan)
        print("joint: measured -> start of the motion (rad, m)")
        for joint, at, to in zip(plan.joints, measured, motion.q[0], strict=True):
            print(f"  {joint}: {at:.3f} -> {to:.3f}")
        print(f"A straight move of {ramp.duration:.1f} s to the start, not checked for collisions,")
        print(f"then {motion.duration:.1f} s of motion.")
        print("Compare the measured pose with the robot's. Clear its space and keep a hand on the emergency stop.")
        print("Enter or Ctrl-C slows down and stops; twice stops at once.")
        if ask("Type yes to move: ").strip().lower() != "yes":
            raise Ended("nothing was moved")
    except (Exception, KeyboardInterrupt) as error:
        remedy = f" Install it: {robot_class.package}" if isinstance(error, ImportError) else ""
        print(f"Refused: {words(error)}.{remedy}")
        if robot is not None:
            patiently(robot.close)
        return 2
    with player.key:
        return run(player, motion, told.out)


def patiently(call, seconds=3.0):
    """What went wrong in a call, empty for nothing. A call that does not come back is left behind."""
    found = [f"no answer for {seconds} s"]

    def carried():
        try:
            call()
            found[0] = ""
        except Exception as error:
            found[0] = words(error)

    thread = threading.Thread(target=carried, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0]


def run(player, motion, out):
    """Ramp, arrive, play, stop and record, whatever happens. Returns the exit status."""
    robot, plan = player.robot, player.plan
    note, ended, held = "complete", 0, False
    try:
        begin = robot.start()
        player.fresh = player.clock.monotonic()
        player.follow(Path5.slow(begin, motion.q[0], plan))
        player.follow(Path5.slow(motion.q[0], motion.q[0], plan))
        player.within(player.pose, motion.q[0] - plan.following, motion.q[0] + plan.following, "start pose", "range")
        say("Start pose reached. Playing.")
        began = player.clock.monotonic()
        player.follow(motion, record=True)
        if (took := player.clock.monotonic() - began) > 1.05 * motion.duration:
            say(f"Cycles were too long for {plan.rate:g} Hz: the motion took {took:.1f} s, and is that much slower.")
    except Exception as error:
        note, ended, held = f"ended early, {words(error)}", 1, getattr(error, "give", False)
    where = player.pose if held or not player.recent else player.recent[-1][1]
    if failure := patiently(lambda: robot.stop(where)):
        say(f"THE ROBOT DID NOT TAKE THE STOP ({failure}): use its emergency stop.")
        ended = 1
    if failure := patiently(robot.close):
        say(f"The connection did not close: {failure}.")
    say(f"Motion {note}.")
    if player.rows:
        player.write(out, note)
        say(f"Recorded {len(player.rows)} samples. Next:\n  {shlex.join([*plan.identify, str(out), *plan.options])}")
    else:
        say("Nothing was recorded.")
    return ended
