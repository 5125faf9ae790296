"""The answer in three sentences: how many parameters there are, how many can be known, what would show most more; with
drives a fourth, on scale."""

from functools import partial

from steelyard.identifiable.analysis import Analysis, Status
from steelyard.identifiable.explanation import Again, candidates, changed
from steelyard.identifiable.scale_words import scale_sentence

SHOWN = 3  # links that are named
MEASURED = {"joints": "joint torques", "base": "a wrench sensor under the robot"}
LOGGED = "commands of drives"


def opening(result: Analysis, analyse: Again) -> tuple[str, ...]:
    """Three sentences on a whole robot, or four.

    Args:
        result: of `identifiability`.
        analyse: the function that made it, for changed experiments.

    Returns:
        What there is, what this experiment shows of it, where drives log commands whether with its scale, and what it
        cannot show.
    """
    scale = (scale_sentence(result),) if result.scales else ()
    return _all_there_is(result), _shown(result), *scale, _not_shown(result, analyse)


def _all_there_is(result: Analysis) -> str:
    layout = result.mechanism.layout
    bodies, inertial = len(layout.body_names), layout.inertial.stop - layout.inertial.start
    links = f"{bodies} moving link{'s' * (bodies != 1)}"
    text = (
        f"{result.robot.name} has {result.size} parameters: mass, centre of mass and inertia (ten numbers) of {links}"
    )
    return f"{text}{f', and {result.size - inertial} of its drives' * (result.size > inertial)}."


def _shown(result: Analysis) -> str:
    setup = result.setup
    how = "Poses held at rest" if setup.motion == "static" else "Motion"
    if setup.contacts is not None:
        how += " on feet that stand still" if any(setup.contacts.sets) else " in flight"
    words = MEASURED | ({"joints": LOGGED} if result.scales else {})
    measured = " and ".join(words.get(each, each) for each in setup.sensors)
    verb = "recorded" if result.scales else "measured"
    alone = sum(status is Status.ALONE for status in result.status)
    sums = sum(status in (Status.BASE, Status.COMBINED) for status in result.status)
    return (
        f"{how} with {measured} {verb} can show {result.count} independent values: "
        f"{alone} parameters by themselves, {sums} more only in sums with others, however good the data."
    )


def _not_shown(result: Analysis, analyse: Again) -> str:
    hidden = [status is Status.UNIDENTIFIABLE for status in result.status]
    spans = [result.mechanism.layout.body(b) for b in range(len(result.mechanism.layout.body_names))]
    links = [
        name
        for name, at in zip(result.mechanism.layout.body_names, spans, strict=True)
        if any(hidden[at.start : at.stop])
    ]
    of = f" (of {', '.join(links[:SHOWN])}{' and others' * (len(links) > SHOWN)})" if links else ""
    lead = f"{sum(hidden)} have no effect on these measurements at all{of}" if any(hidden) else "None is without effect"
    tried = candidates(result, partial(changed, analyse, result))
    gains = [(after.count - result.count, -n, words) for n, (words, after) in enumerate(tried)]
    best = max(gains, default=(0, 0, ""))
    if best[0] <= 0:
        return f"{lead}; no other base, mounting or sensor would show more."
    values = f"{best[0]} more value{'s' * (best[0] != 1)}"
    return f"{lead}; of other experiments, {best[2]} would show most: {values}."
