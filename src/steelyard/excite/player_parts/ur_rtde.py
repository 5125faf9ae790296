class Robot:
    """Universal Robots by ur_rtde: servoJ, and RTDE's measurements with the stamp of the controller.

    Currents are of the motors. RTDE's target_moment is the controller's own model, and from PolyScope 5.23 and 10.11 on
    actual_current_as_torque may have gravity taken out: neither is recorded.
    """

    package = "pip install ur-rtde"
    address = "address of the robot, such as 192.168.0.10; remote control switched on"
    paced = False
    stamps = "clock of the controller"
    channels = {"v": "rad/s", "current": "A, of the motors (actual_current)"}
    lookahead, gain = 0.05, 500  # of servoJ: 0.03 to 0.2 s, 100 to 2000

    def __init__(self, plan, address, clock):
        from rtde_receive import RTDEReceiveInterface

        self.period, self.address = 1 / plan.rate, address
        self.receive, self.control = RTDEReceiveInterface(address), None

    def read(self):
        r = self.receive
        if not r.isConnected():
            raise OSError("no data from the controller")
        if self.stopped():
            raise Stopped("protective or emergency stop")
        for _ in range(9):  # values of one stamp: they change while they are read
            stamp = r.getTimestamp()
            found = (np.array(r.getActualQ()), np.array(r.getActualQd()), np.array(r.getActualCurrent()))
            if r.getTimestamp() == stamp:
                break
        return stamp, found[0], {"v": found[1], "current": found[2]}

    def stopped(self):
        return self.receive.isProtectiveStopped() or self.receive.isEmergencyStopped()

    def start(self):
        from rtde_control import RTDEControlInterface

        self.control = RTDEControlInterface(self.address)
        return self.read()[1]

    def command(self, q):
        if not self.control.servoJ(q.tolist(), 0.0, 0.0, self.period, self.lookahead, self.gain):
            raise OSError("servoJ was refused")

    def stop(self, q):
        if (
            self.control is not None
            and not self.stopped()
            and not (self.control.isConnected() and self.control.servoStop())
        ):
            raise OSError("the controller does not answer")

    def close(self):
        if self.control is not None:
            self.control.stopScript()
            self.control.disconnect()
        self.receive.disconnect()
