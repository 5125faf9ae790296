class Robot:
    """SO-100 and SO-101 by LeRobot's bus of Feetech servos. A joint is at zero in the middle of its calibrated range.

    The calibration is that in the servos. Commands are goal positions; torque stays on at the end.
    """

    package = "pip install 'lerobot[feetech]'"
    address = "serial port, such as /dev/ttyACM0 or COM3 (lerobot-find-port)"
    paced = False
    stamps = "middle of the reading of the positions, clock of the computer"
    channels = {"v": "rad/s", "duty": "share (Present_Load)"}
    count = 2 * np.pi / 4096

    def __init__(self, plan, address, clock):
        from lerobot.motors import Motor, MotorNormMode
        from lerobot.motors.feetech import FeetechMotorsBus

        self.clock, self.names = clock, plan.joints
        motors = {name: Motor(number, "sts3215", MotorNormMode.DEGREES) for name, number in plan.servos.items()}
        self.bus = FeetechMotorsBus(address, motors)
        self.bus.connect()
        found = self.bus.read_calibration()
        ends = np.array([(found[name].range_min, found[name].range_max) for name in self.names])
        if np.any(ends[:, 0] >= ends[:, 1]):
            raise OSError("the servos are not calibrated (lerobot-calibrate)")
        self.zero = ends.mean(axis=1)

    def counts(self, register):
        found = self.bus.sync_read(register, normalize=False)
        return np.array([found[name] for name in self.names])

    def read(self):
        before = self.clock.monotonic()
        q = self.count * (self.counts("Present_Position") - self.zero)
        stamp = (before + self.clock.monotonic()) / 2
        others = {"v": self.count * self.counts("Present_Velocity"), "duty": 0.001 * self.counts("Present_Load")}
        return stamp, q, others

    def start(self):
        q = self.read()[1]
        self.command(q)
        self.bus.enable_torque()
        return q

    def command(self, q):
        ticks = np.rint(self.zero + q / self.count).astype(int).tolist()
        self.bus.sync_write("Goal_Position", dict(zip(self.names, ticks, strict=True)), normalize=False)

    def stop(self, q):
        self.command(q)

    def close(self):
        self.bus.disconnect(disable_torque=False)
