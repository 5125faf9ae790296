"""From a wrong model and a log to a verified model, step by step.

A SCARA arm whose given inertias are off by tens of percent is driven in MuJoCo; what its sensors record is all that the
identification sees. Run it: `python examples/01_identify_step_by_step.py`.
"""

import numpy as np

import steelyard as sy


def main():
    truth = sy.library.scara()
    given = truth.with_inertias(truth.inertias * np.array([1.4, *[1.1] * 3, *[1.3] * 6]))

    recording = sy.simulate.record(truth, duration=16.0)
    log = sy.filters.differentiate(recording.log)
    train, held_out = sy.split_blocks(log, 0.3)

    info = sy.accumulate(given, train)
    estimate = sy.fit.consistent(info)

    print(estimate.summary())
    before, after = sy.validate(given, held_out), sy.validate(estimate, held_out)
    print(f"held-out torque error: {before.relative_error:.1%} before, {after.relative_error:.1%} after")
    for joint, was, now in zip(after.joint_names, before.relative, after.relative, strict=True):
        print(f"  {joint}: {was:.1%} -> {now:.1%}")
    report = sy.save(estimate.robot, "scara_identified.urdf")
    print(f"written: {report.path.name}, {len(report.changed)} elements changed")


if __name__ == "__main__":
    main()
