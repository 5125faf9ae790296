"""Every error Steelyard raises on purpose. A message says what was found, what was expected and what to do."""

DONE, FINDINGS, REFUSED = 0, 1, 2  # exit statuses of commands


class SteelyardError(Exception):
    """Base of all errors caused by input that Steelyard refuses; the command line prints it and exits 2."""


class ModelError(SteelyardError):
    """A robot model cannot be read, used or written back."""


class LoopError(ModelError):
    """A closed loop cannot be assembled, or its driven joints do not determine its motion."""


class SingularConfigurationError(LoopError):
    """At a configuration the driven joints of a closed loop lose hold of the passive ones."""


class LogError(SteelyardError):
    """A log cannot be read, or its signals cannot be trusted."""


class UnrecordedJoints(LogError):
    """A log lacks joints that the robot has. joints: their names, as far as they can be told."""

    def __init__(self, message: str, joints: tuple[str, ...]):
        self.joints = joints
        super().__init__(message)


class StreamInterrupted(LogError):
    """A stream of logs failed or was interrupted. partial: Information of complete logs before that, None for none."""

    def __init__(self, logs: int, partial, error: BaseException):
        self.partial = partial
        kept = "nothing complete was summed" if partial is None else f"their first {partial.n} samples are in .partial"
        reason = str(error) or type(error).__name__
        super().__init__(f"The stream of logs ended after {logs} of them ({kept}): {reason}")


class InertiaError(SteelyardError):
    """Inertial parameters, a shape or a mesh do not describe a physical body."""


class FitError(SteelyardError):
    """An identification problem is ill-posed or its solution could not be verified."""


class OptionError(SteelyardError):
    """An argument or option has a value outside its documented choices."""


def choices(valid) -> str:
    """Readable list of the valid alternatives, for the end of a message."""
    names = [str(item) for item in valid]
    shown = ", ".join(names[:30])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 30 else "")
