"""Mass of every link."""

from steelyard.report.figures.pairs import pairs
from steelyard.report.record import record_of


def masses(run):
    """Mass of every link, given and identified, with the interval of the latter. run: as of `torque`."""
    summary = record_of(run).summary
    names = [body["name"] for body in summary["bodies"]]
    before, after = ([body[key]["mass"] for body in summary["bodies"]] for key in ("prior", "identified"))
    found = {each["name"]: (each["lower"], each["upper"]) for each in summary["parameters"]}
    spans = [found[f"{name}.m"] for name in names]
    spans = [(value if a is None else a, value if b is None else b) for value, (a, b) in zip(after, spans, strict=True)]
    return pairs("Mass of each link, with intervals", "mass [kg]", "kg", names, before, after, spans=spans)
