"""Functions of a Robot and its motion, with leading batch axes."""

from typing import TYPE_CHECKING

from steelyard.dynamics import closed_loop, kernel_choice
from steelyard.dynamics.balances import (
    SensorFrame,
    base_wrench_regressor,
    base_wrench_rows,
    energy_regressor,
    energy_rows,
    link_wrench_rows,
    momentum_blocks,
    momentum_drift_regressor,
    momentum_regressor,
    power_regressor,
    sensor_frame,
    wrench_regressor,
)
from steelyard.dynamics.closed_loop.assembly import Choice, choose_independent
from steelyard.dynamics.closed_loop.projection import columns, on_independent_joints, with_motors
from steelyard.dynamics.closed_loop.states import (
    State,
    accelerations,
    closed_configurations,
    random_closed_states,
    require_regular,
    transmission,
    tree_state_of,
)
from steelyard.dynamics.derivatives import InverseDynamicsDerivatives, engine_for, inverse_dynamics_derivatives
from steelyard.dynamics.effects import (
    effect_column,
    extra_rows,
    extra_torque,
    friction_torque,
    shared_directions,
    unstated_torque,
)
from steelyard.dynamics.kernel_choice import kernel_pays
from steelyard.dynamics.kernel_plans import fixed_poses, fused_plan
from steelyard.dynamics.kinematics import FRAME_FIELDS, Motion, body_motion, joint_motion, motion, samples_last, tree
from steelyard.dynamics.newton_euler import (
    body_regressor,
    body_wrench_regressors,
    coordinate_map,
    inverse_dynamics,
    projected,
    projected_blocks,
    regressor,
    regressor_rows,
    regressor_rows_with_rotors,
    row_blocks,
)
from steelyard.dynamics.rotors import with_rotor_bodies
from steelyard.dynamics.stacks import cross, times
from steelyard.lazy import lazy

if TYPE_CHECKING:
    from steelyard.dynamics.kernel import add_samples

# Loaded on first use: they bring heavy libraries.
__getattr__ = lazy(__name__, {"add_samples": "kernel"})

__all__ = [
    "FRAME_FIELDS",
    "Choice",
    "InverseDynamicsDerivatives",
    "Motion",
    "SensorFrame",
    "State",
    "accelerations",
    "add_samples",
    "base_wrench_regressor",
    "base_wrench_rows",
    "body_motion",
    "body_regressor",
    "body_wrench_regressors",
    "choose_independent",
    "closed_configurations",
    "closed_loop",
    "columns",
    "coordinate_map",
    "cross",
    "effect_column",
    "energy_regressor",
    "energy_rows",
    "engine_for",
    "extra_rows",
    "extra_torque",
    "fixed_poses",
    "friction_torque",
    "fused_plan",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "joint_motion",
    "kernel_choice",
    "kernel_pays",
    "link_wrench_rows",
    "momentum_blocks",
    "momentum_drift_regressor",
    "momentum_regressor",
    "motion",
    "on_independent_joints",
    "power_regressor",
    "projected",
    "projected_blocks",
    "random_closed_states",
    "regressor",
    "regressor_rows",
    "regressor_rows_with_rotors",
    "require_regular",
    "row_blocks",
    "samples_last",
    "sensor_frame",
    "shared_directions",
    "times",
    "transmission",
    "tree",
    "tree_state_of",
    "unstated_torque",
    "with_motors",
    "with_rotor_bodies",
    "wrench_regressor",
]
