"""Claims about logs."""

from tools.claim import Claim, Figure

RECORDINGS = ("rosbag2 (SQLite)", "rosbag2 (MCAP)", "ROS 1 bag", "MCAP")
CLAIMS = (
    Claim(
        "logs",
        "every format round-trips; fifty damaged variants of each end in a message or a named partial read",
        ("log/test_formats.py", "log/test_recordings.py", "log/test_lerobot.py"),
    ),
    Claim(
        "logs",
        "injected faults of logs are named, and the suggested fix restores the error to 1.5 times the clean log's",
        (
            "diagnose/test_log_faults.py",
            "diagnose/test_delay.py",
            "diagnose/test_position_offset.py",
            "test_corrections.py",
            "test_cli_corrections.py",
            "test_clipped.py",
        ),
        pages=("docs/logs.md",),
        limits="logs that are slow or clipped are recorded again for as long as suggested, and gravity taken off needs "
        "the model that it came from; 1 ms of the UR10's second joint, which tells it to 0.4 ms, is named once in two "
        "and costs 1.03 times",
    ),
    Claim(
        "logs",
        "filters have the response they state; irregular data against a dense truth",
        ("log/test_filters.py", "log/test_smoothers.py", "log/test_decimate.py"),
    ),
    Claim(
        "logs",
        "what is found in four measured logs",
        ("reference/test_inspected_logs.py",),
        pages=("docs/evidence/inspect/README.md",),
    ),
    Claim(
        "logs",
        "the automatic cutoff is within 10 % of the best",
        (
            "inspect/test_inspect.py::test_identification_error_is_within_ten_percent_of_the_best_cutoffs",
            "inspect/test_inspect.py::test_cutoff_has_the_least_expected_error",
            "inspect/test_inspect.py::test_other_smoothers_have_their_own_best_cutoff",
        ),
        figures=tuple(
            Figure(
                f"{smoother}, over the best of nine",
                "cutoffs",
                ("largest",),
                f"{smoother} over best",
                most=1.1,
            )
            for smoother in ("butterworth", "kalman", "savgol")
        ),
        pages=("docs/logs.md",),
    ),
    Claim(
        "logs",
        "read, checked and summed at 150 MB/s; recordings ten times as fast as a loop over their messages",
        figures=(
            Figure("NPZ, Parquet", "logs", (".npz", ".parquet"), "MB/s", "MB/s", least=150),
            Figure("recordings", "logs", RECORDINGS, "ratio", "times", least=10),
        ),
    ),
)
