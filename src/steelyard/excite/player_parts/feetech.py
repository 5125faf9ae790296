class Robot(Bus):
    """Feetech STS and SMS servos. Registers: their memory table, as in lerobot/motors/feetech/tables.py of LeRobot.

    Load is the share of the voltage that the motor gets.
    """

    package = "pip install feetech-servo-sdk"
    sdk, protocol = "scservo_sdk", 0
    goal, size, torque, mode, modes = 42, 2, 40, 33, (0,)
    before = ((41, 1, 254),)  # the acceleration that the servo allows itself
    area = (56, 15)
    fields = {
        "q": (56, 2, 2 * np.pi / 4096, 15),
        "v": (58, 2, 2 * np.pi / 4096, 15),
        "duty": (60, 2, 0.001, 10),
        "voltage": (62, 1, 0.1, None),
        "amperes": (69, 2, 0.0065, 15),
    }
    channels = {
        "v": "rad/s",
        "duty": "share (present load)",
        "voltage": "V",
        "amperes": "A, magnitude of the current, without a sign",
    }

    def encoded(self, tick):
        return -tick | 1 << 15 if tick < 0 else tick
