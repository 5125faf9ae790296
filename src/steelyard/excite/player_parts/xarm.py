class Robot:
    """xArm, Lite 6 and 850 by UFACTORY's SDK: servo mode, and joint states of firmware 1.9.0 or newer.

    Effort is what the SDK calls so: torques of the joints, by the control box from motor currents.
    """

    package = "pip install xarm-python-sdk"
    address = "address of the control box, such as 192.168.1.200"
    paced = False
    stamps = "middle of each reading, clock of the computer"
    channels = {"v": "rad/s", "tau": "effort of the SDK, N m"}

    def __init__(self, plan, address, clock):
        from xarm.wrapper import XArmAPI

        self.clock, self.count, self.last = clock, len(plan.joints), None
        self.arm = XArmAPI(address, is_radian=True)
        if self.arm.axis != self.count:
            raise OSError(f"the arm has {self.arm.axis} joints, the motion {self.count}")

    def done(self, code, what):
        if self.arm.has_error or code == 1:  # 1: errors that are not cleared
            raise Stopped(f"error {self.arm.error_code}")
        if code:
            raise OSError(f"{what}: code {code}")

    def read(self):
        before = self.clock.monotonic()
        code, states = self.arm.get_joint_states(is_radian=True)
        self.done(code, "get_joint_states")
        q, v, effort = (np.array(each[: self.count]) for each in states)
        return (before + self.clock.monotonic()) / 2, q, {"v": v, "tau": effort}

    def start(self):
        """Servo mode starts at rest: commands are those of the present pose until the loop goes on."""
        self.done(self.arm.motion_enable(enable=True), "motion_enable")
        self.done(self.arm.set_mode(1), "set_mode")
        self.done(self.arm.set_state(0), "set_state")
        self.clock.sleep(0.2)
        return self.read()[1]

    def command(self, q):
        self.done(self.arm.set_servo_angle_j(q.tolist(), is_radian=True), "set_servo_angle_j")
        self.last = q

    def stop(self, q):
        """Joints that are at rest where they were told to be stay; others are stopped by the control box."""
        code, states = self.arm.get_joint_states(is_radian=True)
        given = self.last is not None and np.max(np.abs(q - self.last)) > 1e-6
        if code or given or np.max(np.abs(states[1][: self.count])) > 0.02:
            self.arm.set_state(4)
        if code:
            raise OSError(f"get_joint_states: code {code}")

    def close(self):
        self.arm.disconnect()
