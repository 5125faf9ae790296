"""What the documentation shows and no test runs, each with its reason. Nothing else may be left out."""

LANGUAGES = {
    "": "output, or a form of command with words to fill in",
    "xml": "fragments of model files; tests/check runs each rule on whole ones",
    "yaml": "settings of services that need a network",
    "csv": "rows of a table; tests/fleet reads tables",
    "cpp": "uses generated code; tests/codegen compiles it",
}
PROGRAMS = {
    "pip": "needs a network; `make package` installs the wheel in empty environments",
    "python3": "makes the environment that pip fills",
    ".venv/bin/pip": "needs a network",
    ".venv/bin/steelyard": "in that environment",
    "make": "sets up environments; `make test` is how this runs",
}
# (page, beginning of the block's first line or of one of its commands): reason
LOGS_OF_OTHERS = "the log belongs to its authors; `python -m evidence.bench.real_logs` writes the page"
WORKERS = "starts workers, which takes seconds each; tests/fleet runs them"
EXCERPTS: dict[tuple[str, str], str] = {
    ("docs/evidence/inspect/kuka_kr300.md", "$ steelyard inspect kuka_kr300_A.npz"): LOGS_OF_OTHERS,
    ("docs/evidence/inspect/panda.md", "$ steelyard inspect panda_unisa_30Hz.npz"): LOGS_OF_OTHERS,
    ("docs/evidence/inspect/tx40.md", "$ steelyard inspect tx40_100Hz.npz"): LOGS_OF_OTHERS,
    ("docs/evidence/inspect/ur10.md", "$ steelyard inspect ur10_unisa_125Hz.npz"): LOGS_OF_OTHERS,
    ("docs/gallery.md", "$ steelyard identify"): "logs of others, and minutes; `tools/gallery.py` writes the page",
    ("docs/drives.md", "$ steelyard identify go2.xml"): "a walk takes minutes: tests/drives/test_walking.py",
    ("docs/legged.md", "$ steelyard identify go2.urdf"): "a walk takes seconds: tests/prepare/test_walks.py",
    ("docs/drives.md", "$ steelyard identify so101.urdf"): LOGS_OF_OTHERS,
    ("docs/excitation.md", "python motion/motion.ros2.py"): "needs a robot; tests/excite plays it",
    ("docs/information.md", "import jax"): "compiles for seconds; tests/information/test_device.py runs it",
    ("docs/logs.md", 'sy.read_log("run.mcap", robot, channels='): "messages of one robot's own: tests/log",
    ("docs/logs.md", 'sy.identify("arm.urdf", "run.csv", corrections='): "faults of one log: test_corrections.py",
    ("docs/fleet.md", "steelyard fleet arm.urdf robots.csv --out result --scheduler local"): WORKERS,
    ("docs/fleet.md", "steelyard identify arm.urdf --logs 'week12/**/*.parquet'"): WORKERS,
    ("docs/fleet.md", "import steelyard as sy"): WORKERS,
    ("docs/command_line.md", "steelyard excite humanoid.xml"): "a humanoid's motion takes half a minute: tests/excite",
    ("docs/command_line.md", "$ steelyard fleet arm.urdf robots.csv --out result --scheduler local"): WORKERS,
}
