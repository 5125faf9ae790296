"""Run one job in the Python it is started with: `python run.py MODULE URDF CUTOFF OUT LOG ...`. Needs NumPy only.

Writes what was found, and the seconds, imports left out.
"""

import importlib
import sys
import time

import numpy as np

NAMES = ("theta", "viscous", "coulomb", "armature", "offset")


def main(module: str, urdf: str, cutoff: str, out: str, *files: str):
    identify = importlib.import_module(module).identify
    start = time.perf_counter()
    found = identify(urdf, list(files), float(cutoff))
    seconds = time.perf_counter() - start
    np.savez(out, seconds=seconds, **dict(zip(NAMES, found, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
