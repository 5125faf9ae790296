class Robot:
    """Go2, B2, G1 and H1-2 by unitree_sdk2py, the base on a stand or hung up: stiffness and damping of every motor.

    The robot's own motion program is released after yes, which leaves legs without torque until they are held where
    they are. At the end stiffness fades and damping stays. Desired speeds and torques are zero.
    """

    package = "pip install git+https://github.com/unitreerobotics/unitree_sdk2_python"
    address = "network interface that leads to the robot, such as enp2s0"
    paced = True
    stamps = "tick of the robot"
    channels = {"v": "rad/s", "tau": "N m, by the motors (tau_est)", "kp": "N m/rad", "kd": "N m s/rad"}

    def __init__(self, plan, address, clock):
        from unitree_sdk2py.comm.motion_switcher.motion_switcher_client import MotionSwitcherClient
        from unitree_sdk2py.core.channel import ChannelFactoryInitialize, ChannelPublisher, ChannelSubscriber
        from unitree_sdk2py.idl import default, unitree_go, unitree_hg
        from unitree_sdk2py.utils.crc import CRC

        types = {"unitree_go": unitree_go, "unitree_hg": unitree_hg}[plan.messages].msg.dds_
        self.plan, self.clock, self.active, self.crc = plan, clock, False, CRC()
        self.motors = {number: (kp, kd) for number, kp, kd in plan.motors.values()}
        self.at = [plan.motors[joint][0] for joint in plan.joints]
        self.gains = {
            name: np.array([plan.motors[joint][i] for joint in plan.joints]) for i, name in ((1, "kp"), (2, "kd"))
        }
        ChannelFactoryInitialize(plan.domain, address)
        self.publisher = ChannelPublisher("rt/lowcmd", types.LowCmd_)
        self.publisher.Init()
        self.subscriber = ChannelSubscriber("rt/lowstate", types.LowState_)
        self.subscriber.Init()
        self.switcher = MotionSwitcherClient()
        self.switcher.SetTimeout(5.0)
        self.switcher.Init()
        first = self.state(2.0)
        if first is None:
            raise OSError(f"nothing comes on rt/lowstate by {address}")
        self.message = getattr(default, f"{plan.messages}_msg_dds__LowCmd_")()
        if plan.messages == "unitree_go":
            self.message.head[:], self.message.level_flag = (0xFE, 0xEF), 0xFF
        else:
            self.message.mode_pr, self.message.mode_machine = 0, first.mode_machine  # joints, not rods, of ankles
        self.count(first)
        if plan.release and (name := self.program()):
            say(f"The robot runs '{name}', which is released after yes: LEGS ARE WITHOUT TORQUE FOR A MOMENT.")
        say("The base must stand on a stand or hang, and no foot may touch the ground.")

    def count(self, first):
        """Refuse ticks of another length than the plan's: the motion would be that much faster."""
        began, latest = self.clock.monotonic(), first
        while (passed := self.clock.monotonic() - began) < 0.5 or latest is None:
            latest = self.state() or latest
        ticks = latest.tick - first.tick
        if not 0.8 < ticks * self.plan.tick / passed < 1.25:
            raise OSError(f"{ticks} ticks in {passed:.3f} s; `tick` in Plan has {self.plan.tick} s each")

    def state(self, seconds=0.05):
        return self.subscriber.Read(seconds)

    def read(self):
        state = self.state()
        if state is None:
            return None
        motors = [state.motor_state[i] for i in self.at]
        q, v, tau = (np.array([getattr(motor, name) for motor in motors], float) for name in ("q", "dq", "tau_est"))
        self.latest = state
        return state.tick * self.plan.tick, q, {"v": v, "tau": tau, **self.gains}

    def program(self):
        """Name of the motion program that runs on the robot, empty for none."""
        code, found = self.switcher.CheckMode()
        if code:
            raise OSError(f"CheckMode: code {code}")
        return found["name"]

    def start(self):
        until = self.clock.monotonic() + 10
        while self.plan.release and (name := self.program()):
            if self.clock.monotonic() > until:
                raise OSError(f"'{name}' is not released")
            self.switcher.ReleaseMode()
            self.clock.sleep(0.1)
        while (found := self.read()) is None:
            if self.clock.monotonic() > until:
                raise OSError("nothing comes on rt/lowstate")
        for number in self.motors:  # those that are not in the plan stay, too
            self.message.motor_cmd[number].q = self.latest.motor_state[number].q
        self.command(found[1])
        return found[1]

    def command(self, q, stiffness=1.0):
        """stiffness: share of kp. What is missing of it is made up by damping."""
        self.active = True
        for number, (kp, kd) in self.motors.items():
            motor = self.message.motor_cmd[number]
            motor.mode, motor.kp = 1, stiffness * kp
            motor.kd = stiffness * kd + (1 - stiffness) * max(kd, self.plan.damping)
        for number, each in zip(self.at, q.tolist(), strict=True):
            self.message.motor_cmd[number].q = each
        self.message.crc = self.crc.Crc(self.message)
        if not self.publisher.Write(self.message):
            raise OSError("rt/lowcmd takes no command")

    def stop(self, q):
        """Hold for half a second, then fade: legs that carry something sink slowly."""
        if not self.active:
            return
        began = self.clock.monotonic()
        while (passed := self.clock.monotonic() - began) < 2.2:
            self.command(q, min(1.0, max(0.0, (2.0 - passed) / 1.5)))
            self.clock.sleep(0.004)

    def close(self):
        self.publisher.Close()
        self.subscriber.Close()
