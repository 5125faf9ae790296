"""Stand-ins for the Python packages of robot makers: the calls that players make, with the arguments of the real ones.

`SIGNATURES` lists these calls; tests compare them with the packages where they are installed.
"""

from types import ModuleType, SimpleNamespace

import numpy as np

from servo_lines import TABLES, Servos, decoded

MILLISECOND = 0.001


def module(name, **content):
    """A module of this name with this content."""
    found = ModuleType(name)
    vars(found).update(content)
    return found


def servo_sdk(name, table, plant, clock):
    """dynamixel_sdk or scservo_sdk, and its servos."""
    servos = Servos(plant, TABLES[table])

    class PortHandler:
        def __init__(self, port_name):
            self.port_name = port_name

        def openPort(self):
            return True

        def setBaudRate(self, baudrate):
            return True

        def closePort(self):
            pass

    class Packets:
        def getTxRxResult(self, result):
            return {0: "fine", -6: "There is no status packet!"}[result]

        def ping(self, port, number):
            return TABLES[table]["number"], 0, 0

        def read1ByteTxRx(self, port, number, address):
            return servos.read(number, address, 1)[0], 0, 0

        def write1ByteTxRx(self, port, number, address, data):
            return servos.write(number, address, bytes([data])) or 0, 0

        def write4ByteTxRx(self, port, number, address, data):
            return servos.write(number, address, data.to_bytes(4, "little")) or 0, 0

    class GroupSyncRead:
        def __init__(self, port, ph, start_address, data_length):
            self.start, self.length, self.data = start_address, data_length, {}

        def addParam(self, number):
            self.data[number] = b""

        def txRxPacket(self):
            clock.sleep(2 * MILLISECOND)
            if servos.dead:
                clock.sleep(34 * MILLISECOND)
                return -6
            self.data = {number: servos.read(number, self.start, self.length) for number in self.data}
            return 0

        def getData(self, number, address, data_length):
            at = address - self.start
            return decoded(self.data[number][at : at + data_length], 64)

    class GroupSyncWrite:
        def __init__(self, port, ph, start_address, data_length):
            self.start, self.data = start_address, {}

        def addParam(self, number, data):
            self.data[number] = data

        def clearParam(self):
            self.data = {}

        def txPacket(self):
            for number, data in self.data.items():
                servos.write(number, self.start, bytes(data))
            return 0

    def PacketHandler(protocol):
        return Packets()

    content = (PortHandler, PacketHandler, GroupSyncRead, GroupSyncWrite)
    return [module(name, COMM_SUCCESS=0, Packets=Packets, **{each.__name__: each for each in content})], servos


def ur_rtde(plant, clock):
    """rtde_receive and rtde_control, and what a test may do to them."""
    world = SimpleNamespace(dead=False, frozen=None, protective=False, stopped=0)

    class RTDEReceiveInterface:
        def __init__(self, hostname):
            pass

        def getTimestamp(self):
            clock.sleep(MILLISECOND / 10)
            plant.advance()
            return np.floor((plant.t - 90) * 500) / 500 if world.frozen is None else world.frozen

        def getActualQ(self):
            return plant.q.tolist()

        def getActualQd(self):
            return plant.v.tolist()

        def getActualCurrent(self):
            return (plant.tau / 10).tolist()

        def isConnected(self):
            return not world.dead

        def isProtectiveStopped(self):
            return world.protective

        def isEmergencyStopped(self):
            return False

        def disconnect(self):
            pass

    class RTDEControlInterface:
        def __init__(self, hostname):
            pass

        def servoJ(self, q, speed, acceleration, time, lookahead_time, gain):
            assert 0.03 <= lookahead_time <= 0.2 and 100 <= gain <= 2000
            plant.command[:] = q
            return True

        def servoStop(self):
            world.stopped += 1
            return True

        def stopScript(self):
            pass

        def isConnected(self):
            return not world.dead

        def disconnect(self):
            pass

    return [
        module("rtde_receive", RTDEReceiveInterface=RTDEReceiveInterface),
        module("rtde_control", RTDEControlInterface=RTDEControlInterface),
    ], world


def pylibfranka(plant, clock):
    """pylibfranka, and what a test may do to it."""
    world = SimpleNamespace(dead=False, protective=False, stopped=0, frozen=None)

    class ControlException(RuntimeError):
        pass

    class JointPositions:
        def __init__(self, q):
            assert len(q) == 7
            self.q, self.motion_finished = q, False

    def state():
        clock.sleep(MILLISECOND)
        if world.dead:
            raise OSError("UDP receive: Timeout")
        if world.protective:
            raise ControlException("joint_reflex")
        plant.advance()
        stamp = plant.t - 90 if world.frozen is None else world.frozen
        time = SimpleNamespace(to_sec=lambda: stamp)
        return SimpleNamespace(
            time=time, q=list(plant.q), dq=list(plant.v), tau_J=list(plant.tau), q_d=list(plant.command)
        )

    class ActiveControlBase:
        def readOnce(self):
            return state(), None

        def writeOnce(self, command):
            assert np.max(np.abs(np.array(command.q) - plant.command)) < 0.01, "discontinuity"
            plant.command[:] = command.q
            world.stopped += command.motion_finished

    class Robot:
        def __init__(self, robot_ip_address, realtime_config):
            pass

        def read_once(self):
            return state()

        def start_joint_position_control(self, mode):
            return ActiveControlBase()

        def stop(self):
            world.stopped += 1

    content = (ControlException, JointPositions, ActiveControlBase, Robot)
    config = SimpleNamespace(kEnforce=0, kIgnore=1)
    mode = SimpleNamespace(JointImpedance=0)
    named = {each.__name__: each for each in content}
    return [module("pylibfranka", RealtimeConfig=config, ControllerMode=mode, **named)], world


def lerobot(plant, clock):
    """Parts of LeRobot's motors, and their servos."""
    servos = Servos(plant, TABLES["feetech"])
    registers = {"Present_Position": "q", "Present_Velocity": "v", "Present_Load": "duty"}

    class Motor:
        def __init__(self, id, model, norm_mode):
            self.id = id

    class FeetechMotorsBus:
        def __init__(self, port, motors):
            self.motors = motors

        def connect(self):
            pass

        def read_calibration(self):
            return {name: SimpleNamespace(range_min=1, range_max=4095) for name in self.motors}

        def sync_read(self, data_name, motors=None, *, normalize=True):
            assert not normalize
            clock.sleep(MILLISECOND)
            if servos.dead:
                clock.sleep(50 * MILLISECOND)
                raise ConnectionError("There is no status packet!")
            address, size, _, bit = TABLES["feetech"][registers[data_name]]
            return {name: decoded(servos.read(m.id, address, size), bit) for name, m in self.motors.items()}

        def sync_write(self, data_name, values, *, normalize=True):
            assert data_name == "Goal_Position" and not normalize
            for name, value in values.items():
                servos.write(self.motors[name].id, 42, value.to_bytes(2, "little"))

        def enable_torque(self, motors=None):
            for motor in self.motors.values():
                servos.write(motor.id, 40, b"\1")

        def disconnect(self, disable_torque=True):
            assert not disable_torque

    motors = module("lerobot.motors", Motor=Motor, MotorNormMode=SimpleNamespace(DEGREES="degrees"))
    return [module("lerobot"), motors, module("lerobot.motors.feetech", FeetechMotorsBus=FeetechMotorsBus)], servos


def ros2(plant, clock, extra=("gripper",)):
    """rclpy and messages of Jazzy, as far as players use them. extra: further joints of the driver, the first ones."""
    world = SimpleNamespace(dead=False, frozen=None, stopped=0)
    names = [*extra, *(f"joint{i + 1}" for i in range(len(plant.q)))]
    callbacks = []

    class Stamp(SimpleNamespace):
        pass

    def state():
        plant.advance()
        stamp = 1.7e9 + (np.floor((plant.t - 90) * 100) / 100 if world.frozen is None else world.frozen)
        header = SimpleNamespace(stamp=Stamp(sec=int(stamp), nanosec=round(1e9 * (stamp % 1)) % 10**9))
        rest = [0.0] * len(extra)
        lists = {"position": [*rest, *plant.q], "velocity": [*rest, *plant.v], "effort": [*rest, *plant.tau]}
        return SimpleNamespace(header=header, name=names, **lists)

    class Node:
        def create_subscription(self, msg_type, topic, callback, qos_profile):
            callbacks.append(callback)

        def create_publisher(self, msg_type, topic, qos_profile):
            return SimpleNamespace(topic_name=topic, publish=publish, get_subscription_count=lambda: 1)

        def destroy_node(self):
            pass

    def publish(message):
        (point,) = message.points
        assert point.time_from_start.nanosec > 0
        told = dict(zip(message.joint_names, point.positions, strict=True))
        plant.command[:] = [told[name] for name in names[len(extra) :]]

    last = []

    def spin_once(node, *, timeout_sec=None):
        clock.sleep(0.2 * MILLISECOND)
        found = state()
        if world.dead or (last and found.header.stamp == last[-1].header.stamp and world.frozen is None):
            return
        last.append(found)
        for callback in callbacks:
            callback(found)

    class JointTrajectoryPoint:
        def __init__(self, positions):
            self.positions, self.time_from_start = positions, SimpleNamespace(sec=0, nanosec=0)

    class JointTrajectory:
        def __init__(self, joint_names, points):
            self.joint_names, self.points = joint_names, points

    calls = {
        "init": lambda *, signal_handler_options: None,
        "shutdown": lambda: None,
        "create_node": lambda name: Node(),
        "spin_once": spin_once,
    }
    messages = {"JointTrajectory": JointTrajectory, "JointTrajectoryPoint": JointTrajectoryPoint}
    return [
        module("rclpy", **calls),
        module("rclpy.qos", qos_profile_sensor_data=None),
        module("rclpy.signals", SignalHandlerOptions=SimpleNamespace(NO=0)),
        module("sensor_msgs"),
        module("sensor_msgs.msg", JointState=SimpleNamespace),
        module("trajectory_msgs"),
        module("trajectory_msgs.msg", **messages),
    ], world


def xarm(plant, clock):
    """xarm.wrapper, and what a test may do to it."""
    world = SimpleNamespace(dead=False, protective=False, stopped=0)

    class XArmAPI:
        def __init__(self, port, is_radian):
            self.axis, self.mode, self.state = len(plant.q), 0, 4

        @property
        def has_error(self):
            return world.protective

        error_code = 31

        def get_joint_states(self, is_radian=None):
            clock.sleep(2 * MILLISECOND)
            plant.advance()
            padded = [[*each, *[0.0] * (7 - self.axis)] for each in (plant.q, plant.v, plant.tau)]
            return 3 if world.dead else 0, padded

        def motion_enable(self, enable):
            return 0

        def set_mode(self, mode):
            self.mode = mode
            return 0

        def set_state(self, state):
            self.state = state
            world.stopped += state == 4
            return 0

        def set_servo_angle_j(self, angles, is_radian=None):
            assert self.mode == 1 and self.state == 0 and is_radian
            plant.command[:] = angles
            return 0

        def disconnect(self):
            pass

    return [module("xarm"), module("xarm.wrapper", XArmAPI=XArmAPI)], world


def unitree(plant, clock):
    """Parts of unitree_sdk2py, and a Go2 whose joints are FL, FR, RL, RR in the plant and FR, FL, RR, RL on its bus."""
    world = SimpleNamespace(
        dead=False, frozen=None, stopped=0, program="normal", stuck=False, tick=MILLISECOND, faded=[]
    )
    numbers = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]

    def low_command():
        fields = ("mode", "q", "dq", "tau", "kp", "kd")
        motors = [SimpleNamespace(**dict.fromkeys(fields, 0.0)) for _ in range(20)]
        return SimpleNamespace(head=[0, 0], level_flag=0, motor_cmd=motors, crc=0)

    class CRC:
        def Crc(self, msg):
            return hash((*msg.head, msg.level_flag, *(x for each in msg.motor_cmd for x in vars(each).values())))

    class ChannelPublisher:
        def __init__(self, name, type):
            assert (name, type) == ("rt/lowcmd", "command of go")

        def Init(self):
            pass

        def Write(self, sample, timeout=None):
            assert not world.program, "two programs command"
            assert sample.crc == CRC().Crc(sample) and sample.head == [0xFE, 0xEF] and sample.level_flag == 0xFF
            plant.advance()
            motors = [sample.motor_cmd[i] for i in numbers]
            assert all(each.mode == 1 and each.dq == each.tau == 0 for each in motors)
            plant.command[:] = [each.q for each in motors]
            plant.kp, plant.kd = (np.array([getattr(each, name) for each in motors]) for name in ("kp", "kd"))
            if plant.kp[0] < 60:
                world.faded.append((clock.monotonic(), plant.kp[0], plant.kd[0]))
            world.stopped = int(not plant.kp.any())
            return True

        def Close(self):
            pass

    class ChannelSubscriber:
        def __init__(self, name, type):
            assert (name, type) == ("rt/lowstate", "state of go")

        def Init(self, handler=None, queueLen=0):
            pass

        def Read(self, timeout=None):
            clock.sleep(timeout if world.dead else 2 * MILLISECOND)
            if world.dead:
                return None
            plant.advance()
            motors = [SimpleNamespace(q=0.0, dq=0.0, tau_est=0.0) for _ in range(20)]
            for number, *each in zip(numbers, plant.q, plant.v, plant.tau, strict=True):
                vars(motors[number]).update(zip(("q", "dq", "tau_est"), each, strict=True))
            stamp = plant.t - 90 if world.frozen is None else world.frozen
            return SimpleNamespace(motor_state=motors, tick=round(stamp / world.tick))

        def Close(self):
            pass

    class MotionSwitcherClient:
        def SetTimeout(self, timeout):
            pass

        def Init(self):
            pass

        def CheckMode(self):
            return 0, {"form": "0", "name": world.program}

        def ReleaseMode(self):
            world.program = "normal" if world.stuck else ""
            return 0, None

    def types(word):
        return SimpleNamespace(
            msg=SimpleNamespace(dds_=SimpleNamespace(LowCmd_=f"command of {word}", LowState_=f"state of {word}"))
        )

    default = module("unitree_sdk2py.idl.default", unitree_go_msg_dds__LowCmd_=low_command)
    idl = {"default": default, "unitree_go": types("go"), "unitree_hg": types("hg")}
    channels = {"ChannelPublisher": ChannelPublisher, "ChannelSubscriber": ChannelSubscriber}
    channels["ChannelFactoryInitialize"] = lambda id=0, networkInterface=None: None
    folders = ("", ".core", ".comm", ".comm.motion_switcher", ".utils")
    return [
        *(module(f"unitree_sdk2py{folder}") for folder in folders),
        module("unitree_sdk2py.idl", **idl),
        module("unitree_sdk2py.core.channel", **channels),
        module("unitree_sdk2py.comm.motion_switcher.motion_switcher_client", MotionSwitcherClient=MotionSwitcherClient),
        module("unitree_sdk2py.utils.crc", CRC=CRC),
    ], world


MAKERS = {
    "dynamixel": lambda plant, clock: servo_sdk("dynamixel_sdk", "dynamixel", plant, clock),
    "feetech": lambda plant, clock: servo_sdk("scservo_sdk", "feetech", plant, clock),
    "lerobot": lerobot,
    "ros2": ros2,
    "xarm": xarm,
    "ur_rtde": ur_rtde,
    "franka": pylibfranka,
    "unitree": unitree,
}
# calls of players, with the number of their arguments, `self` included
PORT = [("PortHandler", 1), ("PortHandler.openPort", 1), ("PortHandler.setBaudRate", 2), ("PortHandler.closePort", 1)]
GROUPS = [("PacketHandler", 1), ("COMM_SUCCESS", None), ("GroupSyncRead", 4), ("GroupSyncRead.addParam", 2)]
GROUPS += [("GroupSyncRead.txRxPacket", 1), ("GroupSyncRead.getData", 4), ("GroupSyncWrite", 4)]
GROUPS += [("GroupSyncWrite.addParam", 3), ("GroupSyncWrite.clearParam", 1), ("GroupSyncWrite.txPacket", 1)]
CALLS = [("getTxRxResult", 2), ("ping", 3), ("read1ByteTxRx", 4), ("write1ByteTxRx", 5), ("write4ByteTxRx", 5)]
SERVO_CALLS = [each for each in PORT + GROUPS if each[1]]
RECEIVE = "getTimestamp getActualQ getActualQd getActualCurrent isConnected isProtectiveStopped isEmergencyStopped"
SIGNATURES = {
    "dynamixel_sdk": SERVO_CALLS + [(f"Protocol2PacketHandler.{name}", count) for name, count in CALLS],
    "scservo_sdk": SERVO_CALLS + [(f"protocol_packet_handler.{name}", count) for name, count in CALLS],
    "lerobot.motors": [("Motor", 3), ("MotorCalibration", 5)],
    "lerobot.motors.feetech": [
        *[("FeetechMotorsBus", 2), ("FeetechMotorsBus.connect", 1), ("FeetechMotorsBus.read_calibration", 1)],
        *[("FeetechMotorsBus.sync_read", 2), ("FeetechMotorsBus.sync_write", 3), ("FeetechMotorsBus.enable_torque", 1)],
        ("FeetechMotorsBus.disconnect", 2),
    ],
    "rtde_receive": [(f"RTDEReceiveInterface.{name}", 1) for name in (RECEIVE + " disconnect").split()],
    "rtde_control": [
        ("RTDEControlInterface.servoJ", 7),
        *[(f"RTDEControlInterface.{name}", 1) for name in ("servoStop", "stopScript", "isConnected", "disconnect")],
    ],
    "xarm.wrapper": [
        *[("XArmAPI", 1), ("XArmAPI.get_joint_states", 1), ("XArmAPI.motion_enable", 2), ("XArmAPI.set_mode", 2)],
        *[("XArmAPI.set_state", 2), ("XArmAPI.set_servo_angle_j", 2), ("XArmAPI.disconnect", 1)],
        *[(f"XArmAPI.{name}", 1) for name in ("axis", "has_error", "error_code")],
    ],
    "unitree_sdk2py.core.channel": [
        *[("ChannelFactoryInitialize", 2), ("ChannelPublisher", 2), ("ChannelPublisher.Init", 1)],
        *[("ChannelPublisher.Write", 2), ("ChannelPublisher.Close", 1), ("ChannelSubscriber", 2)],
        *[("ChannelSubscriber.Init", 1), ("ChannelSubscriber.Read", 2), ("ChannelSubscriber.Close", 1)],
    ],
    "unitree_sdk2py.comm.motion_switcher.motion_switcher_client": [
        *[("MotionSwitcherClient", 0), ("MotionSwitcherClient.SetTimeout", 2), ("MotionSwitcherClient.Init", 1)],
        *[("MotionSwitcherClient.CheckMode", 1), ("MotionSwitcherClient.ReleaseMode", 1)],
    ],
    "unitree_sdk2py.idl.default": [("unitree_go_msg_dds__LowCmd_", 0), ("unitree_hg_msg_dds__LowCmd_", 0)],
    "unitree_sdk2py.utils.crc": [("CRC.Crc", 2)],
    "pylibfranka": [
        *[("Robot", 2), ("Robot.read_once", 1), ("Robot.start_joint_position_control", 2), ("Robot.stop", 1)],
        *[("ActiveControlBase.readOnce", 1), ("ActiveControlBase.writeOnce", 2), ("JointPositions", 1)],
        *[("ControlException", 1), ("RobotState.q_d", 1), ("RobotState.tau_J", 1), ("Duration.to_sec", 1)],
    ],
}
