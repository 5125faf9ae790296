"""Run one job in the Python it is started with: `python run.py MODULE URDF LOG CUTOFF OUT`. Needs NumPy only.

Writes what was found, and the seconds of the first and of a second call, imports left out.
"""

import importlib
import sys
import time

import numpy as np

NAMES = ("theta", "viscous", "coulomb", "armature", "offset")


def main(module: str, urdf: str, file: str, cutoff: str, out: str):
    identify = importlib.import_module(module).identify
    seconds = []
    while len(seconds) < 2 and sum(seconds) < 20:
        start = time.perf_counter()
        found = identify(urdf, file, float(cutoff))
        seconds.append(time.perf_counter() - start)
    np.savez(out, seconds=np.array(seconds), **dict(zip(NAMES, found, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
