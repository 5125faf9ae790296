class Robot:
    """ROS 2: points for ros2_control's joint_trajectory_controller, and JointState messages with the stamps of drivers.

    Each command is a trajectory of one point, two cycles ahead, with the joints by name. Effort is what the driver
    publishes as such: N m (N) as the message says, and of some drivers motor currents.
    """

    package = "a sourced ROS 2"
    address = "name of the controller, such as joint_trajectory_controller"
    paced = False
    stamps = "header of the message"

    def __init__(self, plan, address, clock):
        import rclpy
        from rclpy.qos import qos_profile_sensor_data
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        self.rclpy, self.message, self.point = rclpy, JointTrajectory, JointTrajectoryPoint
        self.plan, self.latest, self.seen = plan, None, ()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is a stop key
        self.node = rclpy.create_node("steelyard_player")
        self.node.create_subscription(JointState, plan.states, self.take, qos_profile_sensor_data)
        self.publisher = self.node.create_publisher(JointTrajectory, f"/{address.strip('/')}/joint_trajectory", 10)
        until = clock.monotonic() + 5
        while self.latest is None and clock.monotonic() < until:
            rclpy.spin_once(self.node, timeout_sec=0.1)
        if self.latest is None:
            raise OSError(
                f"{plan.states} has no message of {', '.join(plan.joints)}; joints there: {self.seen or 'none'}"
            )
        self.channels = {name: unit for name, unit in UNITS.items() if name in self.latest[2]}

    def take(self, message):
        """A message with all joints; drivers publish others, too."""
        self.seen = tuple(message.name)
        at = [self.seen.index(name) for name in self.plan.joints if name in self.seen]
        if len(at) < len(self.plan.joints):
            return
        given = {"q": message.position, "v": message.velocity, "tau": message.effort}
        found = {name: np.array([each[i] for i in at]) for name, each in given.items() if len(each) == len(self.seen)}
        if "q" in found:
            self.latest = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec, found.pop("q"), found

    def read(self):
        for _ in range(20):  # all that wait
            before = self.latest
            self.rclpy.spin_once(self.node, timeout_sec=0.0)
            if self.latest is before:
                break
        return self.latest

    def start(self):
        if not self.publisher.get_subscription_count():
            raise OSError(f"no controller listens on {self.publisher.topic_name}")
        return self.read()[1]

    def command(self, q, seconds=None):
        point = self.point(positions=q.tolist())
        point.time_from_start.nanosec = round(1e9 * (seconds or 2 / self.plan.rate))
        self.publisher.publish(self.message(joint_names=list(self.plan.joints), points=[point]))

    def stop(self, q):
        self.command(q, 0.3)

    def close(self):
        self.node.destroy_node()
        self.rclpy.shutdown()


UNITS = {"v": "rad/s (m/s)", "tau": "effort of the driver, N m (N) by the message"}
