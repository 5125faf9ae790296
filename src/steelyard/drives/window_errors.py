"""Windows of logs in simulations: their errors, by steps as fine as they are needed, and the ground that fits them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.drives.arrays import DriveArrays
from steelyard.drives.simulation import Simulation
from steelyard.drives.windows import Recorded, Windows, windows_of
from steelyard.model import Robot

CAREFUL = 5e-4  # s, step of a careful simulation
PRESSED = (0.0, 5e-4, 1e-3, 2e-3, 4e-3)  # m, by which feet that stand may be within soft ground


@dataclass(frozen=True, eq=False)
class Simulated:
    """Windows of logs, and simulations of them: with the step that derivatives are taken with, and with the one, as
    fine or finer, that errors are taken with."""

    simulation: Simulation
    windows: Windows
    finer: Simulation
    finely: Windows

    @classmethod
    def of(cls, robot: Robot, recordings: Sequence[Recorded], length: float, chosen, step: float, finer: float):
        """chosen: windows of all those of a length, s, of the recordings; step, finer: s."""
        both = [Simulation(robot, each, centred=True) for each in (step, finer)]
        first, second = (windows_of(recordings, each.step, length, lead=each.lead)[chosen] for each in both)
        return cls(both[0], first, both[1], second)

    def errors(self, moved: Sequence[np.ndarray], drives: Sequence[DriveArrays]) -> list[np.ndarray]:
        """As of `errors_of`, by the finer simulation. moved: (2, k, nv) each, added to where windows begin."""
        return errors_of(self.finer, [self.finely.begun(each) for each in moved], drives)

    def by_step(self, moved: np.ndarray, drives: DriveArrays) -> np.ndarray:
        """(m, nv) what a step of `CAREFUL`, or the finer one of walks, changes in errors by an integrator of the first
        order, such as that of simulators people use."""
        finer = self.finer
        plain = Simulation(finer.robot, finer.step)
        (centred,) = self.errors([moved], [drives])
        (other,) = errors_of(plain, [replace(self.finely, lead=plain.lead).begun(moved)], [drives])
        return (other - centred) * (1.0 if self.finely.walking else min(1.0, CAREFUL / finer.step))

    def halved(self, moved: np.ndarray, drives: Sequence[DriveArrays]) -> list[np.ndarray]:
        """Errors by a simulation of half the finer step."""
        half = Simulation(self.finer.robot, self.finer.step / 2, centred=True)
        windows = replace(self.finely, step=half.step, steps=2 * self.finely.steps)
        return errors_of(half, [windows.begun(moved)], drives)


def errors_of(simulation: Simulation, windows: Sequence[Windows], drives: Sequence[DriveArrays]) -> list[np.ndarray]:
    """(m, nv) simulated minus measured positions of each of several sets of drives, as many at once as memory has room
    for. windows: of each set, alike but for where they begin; one for all."""
    windows = list(windows) * (len(drives) if len(windows) == 1 else 1)
    together, found = simulation.together(windows[0]), []
    for first in range(0, len(drives), together):
        part, own = drives[first : first + together], windows[first : first + together]
        once = {id(each): own[0].driven(simulation, each) for each in {id(d): d for d in part}.values()}
        models = [model for each in part for model in once[id(each)]]
        told = {each.told_by: own[0].controls(each) for each in {d.told_by: d for d in part}.values()}
        controls = np.concatenate([told[each.told_by] for each in part])
        q, v = np.concatenate([each.begin for each in own]), np.concatenate([each.v for each in own])
        q = simulation.run(models, q, v, controls, np.tile(own[0].lengths, len(part)))
        found += [own[0].errors(each) for each in q.reshape(len(part), len(own[0]), *q.shape[1:])]
    return found


def levelled(simulation: Simulation, windows: Windows, drives: DriveArrays) -> DriveArrays:
    """Drives on the height of the ground at which a robot that walks moves most like the windows; of others the
    same."""
    if not windows.walking:
        return drives
    touching = float(np.median(simulation.gap(windows.q)))
    height = touching if np.isfinite(touching) else 0.0
    return least(simulation, windows, [drives.changed(ground=(height + each, 0.0, 0.0)) for each in PRESSED])


def least(simulation: Simulation, windows: Windows, cases: Sequence[DriveArrays]) -> DriveArrays:
    """The case whose joints err least."""
    costs = [np.mean(e[:, windows.base :] ** 2) for e in errors_of(simulation, [windows], cases)]
    return cases[int(np.argmin(costs))]
