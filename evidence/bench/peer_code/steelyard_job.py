"""The job with Steelyard."""

from steelyard import filters, fit, load, read_log
from steelyard.information import accumulate


def identify(urdf: str, file: str, cutoff: float):
    robot = load(urdf)
    log = filters.differentiate(filters.restamp(read_log(file, robot)), cutoff=cutoff)
    info = accumulate(robot, log, armature=True)
    estimate = fit.consistent(info)
    friction = estimate.friction
    return (
        *(estimate.robot.inertias, friction["viscous"], friction["coulomb"]),
        *(estimate.robot.armature, friction["offset"]),
    )
