"""Friction and armature of position servos with mujoco.sysid: its residual of simulated positions, its optimiser.

python mujoco_sysid_drives.py MODEL LOG OUT: an MJCF file with actuators and sensors of joint positions; arrays t, q and
command; the file to write.
"""

import sys
import time

import mujoco
import numpy as np
from mujoco import sysid

WINDOW = 0.5  # s
BOUNDS = {"damping": (1e-3, 5.0), "frictionloss": (1e-3, 5.0), "armature": (1e-4, 0.2)}


def main(path: str, file: str, out: str):
    spec = mujoco.MjSpec.from_file(path)
    model = spec.compile()
    with np.load(file) as log:
        t, q, command = log["t"], log["q"], log["command"]
    v = np.gradient(q, t, axis=0)
    names = [joint.name for joint in spec.joints]
    count = int(WINDOW / (t[1] - t[0]))
    starts, controls, sensors, labels = [], [], [], []
    for k in range(0, len(t) - count, count):
        own, since = slice(k, k + count + 1), t[k : k + count + 1] - t[k]
        starts.append(sysid.create_initial_state(model, q[k], v[k]))
        controls.append(sysid.TimeSeries(since, command[own]))
        sensors.append(sysid.TimeSeries.from_names(since, q[own], model))
        labels.append(f"window {k}")
    params = sysid.ParameterDict()
    for name, (low, high) in BOUNDS.items():

        def write(spec, param, name=name):
            for joint, value in zip(spec.joints, param.value, strict=True):
                setattr(joint, name, np.r_[value, 0, 0] if name == "damping" else value)

        start = np.full(len(names), np.sqrt(low * high))
        params.add(sysid.Parameter(name, start, start * 0 + low, start * 0 + high, modifier=write))
    sequences = sysid.ModelSequences("robot", spec, labels, starts, controls, sensors)
    begin = time.perf_counter()
    found, _ = sysid.optimize(params, sysid.build_residual_fn(models_sequences=[sequences]), verbose=False)
    seconds = time.perf_counter() - begin
    np.savez(out, seconds=seconds, **{name: found[name].value for name in BOUNDS})


if __name__ == "__main__":
    main(*sys.argv[1:])
