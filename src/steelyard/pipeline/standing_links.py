"""Which links stay as the file has them: those of every part of a robot for which identified ones are not better."""

from collections.abc import Collection

from steelyard.fit import Estimate, LinksGain, Uncertainty, Validation, branches, links_gain
from steelyard.information import Information


def standing_links(
    given: Estimate,
    identified: Uncertainty,
    motion: Information | None,
    alone: Validation,
    everything: Validation,
    *,
    memory: float,
    accused: Collection[str | None],
) -> tuple[tuple[str, ...], LinksGain]:
    """Links that stay, and what identified ones gain, where they do: of parts that share no moving link, one at a time.

    given, identified, motion, memory: as of `links_gain`. alone, everything: torque errors of both fits. accused:
    joints with a fault that a fit puts into links, None for all: their part stays until it is undone.
    """
    robot = given.require_robot()
    whole = links_gain(given, identified, motion, alone, everything, memory=memory)
    if not given.physical or alone.relative_error >= 1:  # which is no better than links without any mass
        return (), whole
    kept, gains = [], []
    for dofs, links in branches(robot):
        gained = links_gain(given, identified, motion, alone, everything, memory=memory, dofs=dofs)
        gains.append(gained)
        own = {robot.dof_names[dof] for dof in dofs}
        wrong = any(each is None or each in own for each in accused)
        if wrong or not (gained.certain or (whole.certain and gained.likely)):
            kept += links
    return tuple(kept), max(gains, key=lambda each: (each.certain, each.apart))
