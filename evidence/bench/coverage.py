"""How often nominal 95 % intervals hold the truth: 500 simulated repetitions of a PUMA 560's motion, torque noise 2 %.

Noise is white or correlated between neighbouring samples (AR(1), 250 Hz); the model is wrong by tens of percent.
`base`: every base parameter; `full`: parameters of the constrained fit that are labelled data-determined. `naive` takes
samples as independent.
"""

import numpy as np

from evidence import runner
from noisy_torques import Repetitions
from steelyard.app.demo_job import mistaken
from steelyard.fit import Source, consistent, uncertainty
from steelyard.model import library

REPETITIONS = 500
CORRELATIONS = (0.0, 0.9, 0.95, 0.98)
SERIES = {
    "base": ("#0072b2", "base parameters"),
    "full": ("#009e73", "data-determined"),
    "naive": ("#d55e00", "independent samples"),
}


def run() -> dict:
    """`{noise: {column: value}}`."""
    truth = library.puma560()
    study = Repetitions(truth, mistaken(truth, seed=0))
    names = {correlation: f"AR(1), {correlation}" if correlation else "white" for correlation in CORRELATIONS}
    return {name: _row(study, correlation) for correlation, name in names.items()}


def _row(study, correlation) -> dict:
    rng = np.random.default_rng([7, int(100 * correlation)])
    base, full, naive, labelled, each = [], [], [], [], []
    for _ in range(REPETITIONS):
        blocks = study.with_errors(study.errors(rng, correlation))
        estimate = consistent(sum(blocks))
        found = uncertainty(estimate, blocks)
        determined = found.parameters.by(Source.DATA)
        each.append(found.base.covers(study.base))
        base.append(np.mean(each[-1]))
        full += list(found.parameters.covers(study.parameters)[determined])
        labelled.append(determined.sum())
        independent = 1.96 * np.sqrt(np.diag(estimate.covariance))
        naive.append(np.mean(np.abs(estimate.base - study.base) <= independent))
    shares = np.mean(each, axis=0)
    return {
        "base": f"{np.mean(base):.1%}",
        "base, worst and best": f"{shares.min():.1%} .. {shares.max():.1%}",
        "full": f"{np.mean(full):.1%}",
        "labelled data-determined": f"{np.mean(labelled):.0f} of {len(study.parameters)}",
        "naive": f"{np.mean(naive):.1%}",
    }


def picture(rows: dict) -> str:
    """SVG of the coverage of every method over the kind of noise; `python -m evidence.bench.coverage` draws it."""
    width, height, left, top = 520, 250, 48, 14
    names = list(rows)

    def place(k, share):
        return left + (k + 0.5) * (width - left - 132) / len(names), top + (1 - share) * (height - top - 34)

    look = 'font-family="sans-serif" font-size="11"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {look}>']
    (x0, high), (_, low), (x1, _) = place(-0.5, 0.98), place(0, 0.92), place(len(names) - 0.5, 0)
    parts.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    parts.append(f'<rect x="{x0}" y="{high:.1f}" width="{x1 - x0:.1f}" height="{low - high:.1f}" fill="#d9ead3"/>')
    for percent in range(0, 101, 20):
        _, y = place(0, percent / 100)
        parts.append(f'<path d="M{x0} {y:.1f}H{x1:.1f}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>')
    for k, name in enumerate(names):
        parts.append(f'<text x="{place(k, 0)[0]:.1f}" y="{height - 16}" text-anchor="middle">{name}</text>')
    for series, (color, label) in SERIES.items():
        points = [place(k, float(rows[name][series].rstrip(" %")) / 100) for k, name in enumerate(names)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in points]
        shift = {"base": -3, "full": 10}.get(series, 4)
        parts.append(f'<text x="{x1 + 4:.1f}" y="{points[-1][1] + shift:.1f}" fill="{color}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    found = runner.read("benchmarks")["coverage"]["table"]
    (runner.ROOT / "docs" / "images" / "coverage.svg").write_text(picture(found), encoding="utf-8")
