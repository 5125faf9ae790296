"""Fuzz one target with Atheris (libFuzzer): `python -m evidence.parsers.one TARGET FOLDER [libFuzzer options]`.

Every exception that is no SteelyardError is kept in FOLDER/findings, one input for each place it comes from, and the
run goes on. Inputs that take longer, use more memory or kill the process end the run, as libFuzzer does it.
"""

import hashlib
import resource
import sys
import traceback
import warnings
from pathlib import Path

import atheris

INSTRUMENTED = [
    "steelyard.log",
    "steelyard.model",
    "steelyard.check",
    "steelyard.app.options",
    "steelyard.prepare.undo",
    "steelyard.terms",
    "steelyard.fit.knowledge",
    "steelyard.fleet.cache",
    "steelyard.fleet.runs",
    "steelyard.inertia.mesh",
    "steelyard.inertia.mesh_files",
    "steelyard.information.files",
    "steelyard.payload.filling",
    "steelyard.payload.read",
    "steelyard.payload.shape",
    "steelyard.payload.wrench_log",
    "steelyard.report",
    "steelyard.prepare.second_look",
    "steelyard.viewer",
    "trimesh.exchange",
    "collada",
]
ADDRESSES = 12 * 2**30  # bytes: an allocation on the word of a forged header fails here

with atheris.instrument_imports(include=INSTRUMENTED):
    import collada  # noqa: F401
    import trimesh
    import trimesh.exchange.load  # noqa: F401

    from evidence.parsers.targets import TARGETS
    from steelyard.errors import SteelyardError


def place(error: Exception) -> str:
    """Where an exception comes from: its type, our innermost line, and the innermost line at all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "steelyard" in Path(frame.filename).parts]
    last = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], frames[-1])]
    return " ".join([type(error).__name__, *dict.fromkeys(last)])


def main(name: str, folder: Path, options: list[str]):
    target, input_ = TARGETS[name], folder / f"input{TARGETS[name].suffix}"
    findings = folder / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))

    def one_input(data: bytes):
        input_.write_bytes(data)
        try:
            target.read(input_)
        except SteelyardError:
            return
        except Exception as error:
            keep(error, data)

    def keep(error: Exception, data: bytes):
        where = place(error)
        file = findings / hashlib.sha1(where.encode()).hexdigest()[:10]
        if not file.exists() or len(data) < file.stat().st_size:  # the smallest input is kept
            file.write_bytes(data)
            file.with_suffix(".txt").write_text(f"{where}\n{''.join(traceback.format_exception(error))[-3000:]}")

    def mutated(data: bytes, size: int, seed: int) -> bytes:
        return target.mutated(data, size, seed, atheris.Mutate)

    atheris.Setup([sys.argv[0], *options], one_input, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
