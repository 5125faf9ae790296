class Robot:
    """Panda and FR3 by pylibfranka: joint positions at 1 kHz, and the measurements of the link-side torque sensors.

    The robot's own thresholds of collisions stay as they are set; those for slow motion may end it.
    """

    package = "pip install pylibfranka"
    address = "address of the robot, such as 172.16.0.2; FCI activated"
    paced = True
    stamps = "clock of the robot"
    channels = {"v": "rad/s", "tau": "N m, link side, gravity in it (tau_J)"}

    def __init__(self, plan, address, clock):
        import pylibfranka

        config = pylibfranka.RealtimeConfig
        self.franka, self.active, self.last = pylibfranka, None, [np.zeros(7)] * 2
        self.robot = pylibfranka.Robot(address, config.kEnforce if plan.realtime else config.kIgnore)

    def asked(self, call, *arguments):
        try:
            return call(*arguments)
        except self.franka.ControlException as error:
            raise Stopped(error) from error

    def read(self):
        state = self.asked(self.robot.read_once) if self.active is None else self.asked(self.active.readOnce)[0]
        return state.time.to_sec(), np.array(state.q), {"v": np.array(state.dq), "tau": np.array(state.tau_J)}

    def start(self):
        """Commands begin at the desired pose, not at the measured one."""
        begin = np.array(self.robot.read_once().q_d)
        self.active = self.robot.start_joint_position_control(self.franka.ControllerMode.JointImpedance)
        return begin

    def command(self, q):
        self.asked(self.active.writeOnce, self.franka.JointPositions(q.tolist()))
        self.last = [self.last[1], q]

    def stop(self, q):
        if self.active is None:
            return
        if np.max(np.abs([self.last[1] - self.last[0], self.last[1] - q])) > 1e-6:  # moves, or is not where it was told
            self.robot.stop()
            return
        self.active.readOnce()
        command = self.franka.JointPositions(self.last[1].tolist())
        command.motion_finished = True
        self.active.writeOnce(command)

    def close(self):
        self.active = self.robot = None
