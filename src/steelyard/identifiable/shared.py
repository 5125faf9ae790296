"""What a robot's motion can show of motors that joints share."""

from collections.abc import Iterator

import numpy as np

from steelyard.errors import OptionError
from steelyard.identifiable.result import Identifiability
from steelyard.identifiable.structure import regression_basis
from steelyard.identifiable.thresholds import THRESHOLDS
from steelyard.terms import layout_of


def coupled_motors(result: Identifiability, coupling) -> Iterator[str]:
    """One line a column of the couplings: known on its own account, or which columns it is one with.

    result: of an experiment in which the robot, as it stands, moves freely and all joint torques are measured.
    coupling: see `accumulate`. Raises OptionError for other experiments and unknown joints.
    """
    setup = result.setup
    if setup.base is not None or setup.locked or setup.motion != "dynamic" or setup.sensors != ("joints",):
        raise OptionError(
            "Couplings are analysed where every joint of the robot, as it stands, moves and its torque is measured; "
            "leave out the other base, static poses, sensors and locked joints."
        )
    terms = {"friction": setup.friction, "armature": setup.armature, "rotors": setup.motors}
    layout = layout_of(result.robot, **terms, coupling=coupling)
    basis = regression_basis(result.robot, layout)
    for column, extra in enumerate(layout.extras, start=layout.extra.start):
        made_of = basis.regrouping[:, column]
        if column in basis.columns:
            yield f"{extra.name}: identifiable beside everything else"
        elif not np.any(np.abs(made_of) > THRESHOLDS.negligible_in_motor):
            yield f"{extra.name}: not identifiable"
        else:
            names = [layout.names[basis.columns[k]] for k in np.flatnonzero(np.abs(made_of) > THRESHOLDS.negligible_in_motor)]
            yield f"{extra.name}: not to be told from {', '.join(names)}"
