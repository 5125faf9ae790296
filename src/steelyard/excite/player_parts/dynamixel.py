class Robot(Bus):
    """DYNAMIXEL X servos, Protocol 2.0. Registers and units: e-manual, control table of the X series.

    Velocity and acceleration profiles of the servos are switched off, as the motion is smooth by itself.
    """

    package = "pip install dynamixel-sdk"
    sdk, protocol = "dynamixel_sdk", 2.0
    goal, size, torque, mode, modes = 116, 4, 64, 11, (3, 4, 5)
    before = ((112, 4, 0), (108, 4, 0))
    area = (124, 22)
    fields = {
        "q": (132, 4, 2 * np.pi / 4096, "twos"),
        "v": (128, 4, 0.229 * np.pi / 30, "twos"),
        "duty": (124, 2, 1 / 885, "twos"),
        "voltage": (144, 2, 0.1, None),
    }
    channels = {"v": "rad/s", "duty": "share (present PWM)", "voltage": "V"}
    amperes = dict.fromkeys((1190, 1200, 1210, 1220, 1230, 1240), 0.001)  # by model number: XL330, XC330
    amperes |= dict.fromkeys((1000, 1010, 1020, 1030, 1040, 1050, 1120, 1130), 0.00269)  # XH430, XM430, XM540

    def __init__(self, plan, address, clock):
        super().__init__(plan, address, clock)
        count = np.array([self.amperes.get(model, np.nan) for model in self.models])
        if np.all(np.isfinite(count)):  # others report a load in place of the current
            self.fields = self.fields | {"current": (126, 2, count, "twos")}
            self.channels = self.channels | {"current": "A (present current)"}

    def encoded(self, tick):
        return tick % (1 << 32)
