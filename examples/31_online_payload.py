"""What is it holding, right now? A simulated hand picks up a hammer, swaps it for a barbell and drops that.

Run it: `python examples/31_online_payload.py [OUT]`; without OUT a temporary folder is made. Samples come one by one;
after each there is a physically consistent estimate with intervals. It prints the changes as they are noticed, and
writes a page with estimates, three standard deviations, and the truth.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from steelyard.payload import OnlineEstimator, predicted_wrench

sys.path.append(str(Path(__file__).resolve().parents[1]))
from evidence.bench.tray_experiment import test_object, wrist_motion

NOISE = (0.1, 0.005)  # N and N m, a good wrist sensor
SPANS = ((2.0, 6.0, "hammer"), (6.0, 10.0, "barbell"))  # s, what is held
ESTIMATE, TRUTH, BAND = "#0072b2", "#4d4d4d", "rgba(0,114,178,0.2)"


def stream(duration=12.0):
    """A wrist that swings slowly, and what its sensor reads. Returns the log and what is held at every sample."""
    motion = wrist_motion(1.0, duration)
    held, wrench = np.zeros((len(motion), 10)), np.zeros((len(motion), 6))
    for start, stop, name in SPANS:
        during, theta = (motion.t >= start) & (motion.t < stop), test_object(name).theta
        held[during], wrench[during] = theta, predicted_wrench(theta, motion[during])
    wrench += np.random.default_rng(0).normal(size=wrench.shape) * np.repeat(NOISE, 3)
    return motion.replace(wrench=wrench), held


def follow(log):
    """Feed a log sample by sample. Returns estimates and standard deviations (n, 4) of mass and centre, and changes."""
    estimator = OnlineEstimator(shape=test_object("empty").solid, noise=NOISE)
    values, deviations = np.full((len(log), 4), np.nan), np.full((len(log), 4), np.nan)
    noticed = 0
    for k in range(len(log)):
        estimator.update(log.t[k], log.rotation[k], log.wrench[k], log.twist[k], log.acceleration[k])
        now = estimator.payload
        values[k, 0], deviations[k, 0] = now.mass, now.mass_deviation
        if estimator.holding:
            values[k, 1:], deviations[k, 1:] = 1e3 * now.com, 1e3 * now.com_deviation
        for change in estimator.changes[noticed:]:
            print(
                f"at {log.t[k]:.2f} s: {change.kind} at {change.time:.2f} s, "
                f"{change.mass_before:.2f} kg -> {change.mass_after:.2f} kg"
            )
        noticed = len(estimator.changes)
    return values, deviations, estimator.changes


def draw(log, held, values, deviations, changes):
    """Four panels over time: mass, and the centre of mass along x, y, z."""
    names = ("mass [kg]", "centre x [mm]", "centre y [mm]", "centre z [mm]")
    truth = np.column_stack([held[:, 0], 1e3 * held[:, 1:4] / np.where(held[:, :1] > 0, held[:, :1], np.nan)])
    figure = make_subplots(rows=4, shared_xaxes=True, vertical_spacing=0.03)
    for row, name in enumerate(names, start=1):
        middle, spread, true = values[:, row - 1], 3 * deviations[:, row - 1], truth[:, row - 1]
        show = row == 1
        figure.add_scatter(x=log.t, y=middle + spread, line_width=0, showlegend=False, row=row, col=1)
        figure.add_scatter(
            x=log.t,
            y=middle - spread,
            line_width=0,
            fill="tonexty",
            fillcolor=BAND,
            name="three standard deviations",
            showlegend=show,
            row=row,
            col=1,
        )
        figure.add_scatter(x=log.t, y=middle, line_color=ESTIMATE, name="estimate", showlegend=show, row=row, col=1)
        figure.add_scatter(
            x=log.t, y=true, line={"color": TRUTH, "dash": "dash"}, name="truth", showlegend=show, row=row, col=1
        )
        low, high = np.nanmin(true), np.nanmax(true)
        room = max(0.3 * (high - low), 0.1 if row == 1 else 15.0)
        figure.update_yaxes(title=name, range=[low - room, high + room], row=row, col=1)
    for change in changes:
        figure.add_vline(x=change.time, line={"color": "black", "width": 1, "dash": "dot"})
        figure.add_annotation(x=change.time, y=1.02, yref="paper", text=change.kind, showarrow=False)
    figure.update_xaxes(title="time [s]", row=4, col=1)
    figure.update_layout(template="plotly_white", width=1000, height=800, legend={"orientation": "h", "y": 1.09})
    return figure


def main(arguments):
    folder = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    log, held = stream()
    figure: go.Figure = draw(log, held, *follow(log))
    figure.write_html(folder / "online_payload.html", include_plotlyjs=True)
    print(f"estimates with intervals: {folder / 'online_payload.html'}")


if __name__ == "__main__":
    main(sys.argv[1:])
