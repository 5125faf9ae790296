class Bus:
    """Servos on one serial line. Commands are goal positions; torque stays on at the end.

    Subclasses: sdk, protocol: module of the maker, and what its PacketHandler takes. area: first register of a reading,
    and its bytes. fields: channel, first register, bytes, size of a count, sign ("twos", the number of the bit that has
    it, or None). goal, torque, mode: registers. modes: in which goals are positions. size: bytes of a goal. before:
    registers that are written before torque is switched on (register, bytes, value).
    """

    address = "serial port, such as /dev/ttyUSB0 or COM3"
    paced = False
    stamps = "middle of each reading, clock of the computer"

    def __init__(self, plan, address, clock):
        import importlib

        sdk = importlib.import_module(self.sdk)
        self.good, self.clock = sdk.COMM_SUCCESS, clock
        self.zero, self.sign = (np.array([servo[i] for servo in plan.servos.values()]) for i in (1, 2))
        self.ids = [servo[0] for servo in plan.servos.values()]
        self.port, self.packets = sdk.PortHandler(address), sdk.PacketHandler(self.protocol)
        if not (self.port.openPort() and self.port.setBaudRate(plan.baud)):
            raise OSError(f"{address} does not open at {plan.baud} Bd")
        self.reader = sdk.GroupSyncRead(self.port, self.packets, *self.area)
        self.writer = sdk.GroupSyncWrite(self.port, self.packets, self.goal, self.size)
        self.models = []
        for name, number in zip(plan.joints, self.ids, strict=True):
            model, result, _ = self.packets.ping(self.port, number)
            self.done(result, f"servo {number} ({name}) at {plan.baud} Bd")
            mode, result, _ = self.packets.read1ByteTxRx(self.port, number, self.mode)
            self.done(result, f"servo {number} ({name})")
            if mode not in self.modes:
                raise OSError(f"servo {number} ({name}) has operating mode {mode}; goals are positions in {self.modes}")
            self.models.append(model)
            self.reader.addParam(number)

    def done(self, result, what):
        if result != self.good:
            raise OSError(f"{what}: {self.packets.getTxRxResult(result)}")

    def read(self):
        before = self.clock.monotonic()
        self.done(self.reader.txRxPacket(), "reading")
        stamp = (before + self.clock.monotonic()) / 2
        raw = {name: self.counts(*place) for name, place in self.fields.items()}
        raw["q"] = raw["q"] - self.zero
        found = {name: self.fields[name][2] * (1 if name in PLAIN else self.sign) * each for name, each in raw.items()}
        return stamp, found.pop("q"), found

    def counts(self, address, length, _, sign):
        found = np.array([self.reader.getData(number, address, length) for number in self.ids])
        if sign is None:
            return found
        if sign == "twos":
            return np.where(found >> (8 * length - 1), found - (1 << 8 * length), found)
        return np.where(found >> sign & 1, -(found & ((1 << sign) - 1)), found & ((1 << sign) - 1))

    def start(self):
        """Goals are where the joints are before torque is switched on: nothing jumps."""
        q = self.read()[1]
        self.command(q)
        for number in self.ids:
            for address, length, value in (*self.before, (self.torque, 1, 1)):
                write = getattr(self.packets, f"write{length}ByteTxRx")
                self.done(write(self.port, number, address, value)[0], f"servo {number}")
        return q

    def command(self, q):
        ticks = np.rint(self.zero + self.sign * q / self.fields["q"][2]).astype(int)
        self.writer.clearParam()
        for number, tick in zip(self.ids, ticks.tolist(), strict=True):
            self.writer.addParam(number, list(self.encoded(tick).to_bytes(self.size, "little")))
        self.done(self.writer.txPacket(), "writing")

    def stop(self, q):
        self.command(q)

    def close(self):
        self.port.closePort()


PLAIN = ("voltage", "amperes")  # have no direction
