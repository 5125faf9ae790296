"""The job with Steelyard."""

import steelyard as sy


def identify(urdf: str, file: str, cutoff: float):
    robot = sy.load(urdf)
    log = sy.filters.differentiate(sy.filters.restamp(sy.read_log(file, robot)), cutoff=cutoff)
    info = sy.accumulate(robot, log, armature=True, independence=min(1.0, 2 * cutoff / log.rate))
    estimate = sy.fit.consistent(info)
    friction = estimate.friction
    return (
        *(estimate.robot.inertias, friction["viscous"], friction["coulomb"]),
        *(estimate.robot.armature, friction["offset"]),
    )
