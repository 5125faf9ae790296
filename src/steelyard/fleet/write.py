"""Files of a fleet: models, `fleet.json`, `fleet.html` and the Information of all, together or not at all."""

import json
import re
from pathlib import Path

from steelyard.fleet.fits import Fits
from steelyard.fleet.html import page
from steelyard.fleet.study import Study
from steelyard.fleet.summary import summary
from steelyard.information import save_information
from steelyard.model import save
from steelyard.report import staged

MODELS = "models"
SUMMARY, REPORT, SUMS = "fleet.json", "fleet.html", "information.npz"


def write(study: Study, fits: Fits, out) -> dict:
    """Write everything to the folder `out`. Returns the summary.

    `NAME_fleet` is the model of what the robots have in common, `models/ROBOT` those of each; a single robot has
    `NAME_identified`. Raises OptionError where the folder cannot be written.
    """
    sums = study.accumulation
    model = Path(sums.job.model)
    single = len(study.members) == 1
    with staged(out, inputs=[model]) as stage:
        files = []
        common = stage / f"{model.stem}_{'identified' if single else 'fleet'}{model.suffix}"
        for robot, path in [(fits.common.require_robot(), common), *([] if single else _members(fits, stage, model))]:
            files += [file.relative_to(stage).as_posix() for file in save(robot, path).files]
        save_information(sums.fitted, stage / SUMS)
        found = summary(study, fits, files=[*files, SUMS, SUMMARY, REPORT]) | {"out": str(out)}
        text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
        (stage / SUMMARY).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        (stage / REPORT).write_text(page(found), encoding="utf-8", errors="backslashreplace")
    return found


def _members(fits: Fits, stage: Path, model: Path):
    """Robots and the paths of their models; what a file name cannot hold is replaced, and never two by the same."""
    used: set[str] = set()
    for name, fit in fits.members.items():
        if fit.estimate is None:
            continue
        plain = base = re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "robot"
        count = 1
        while plain.lower() in used:
            count += 1
            plain = f"{base}_{count}"
        used.add(plain.lower())
        yield fit.estimate.require_robot(), stage / MODELS / f"{plain}{model.suffix}"
