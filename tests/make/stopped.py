"""`python -m stopped`: commands that are stopped before the changes they make to files.

Standard input is JSON, `{"folder": ..., "commands": [[WORD, ...], ...]}`; standard output a JSON line for each run: the
command, `at`, the number of the change before which it was stopped (None: a whole run), exit status, standard error,
and the files below the folder afterwards. A whole run has a `trail`, too: each change, and the visible files before it,
which are those that a killed process leaves. A command runs up to its first change only once: each run is a fork from
there, and finds the folder as it was.
"""

import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from forked import import_all

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def visible(folder: Path) -> dict[str, str]:
    """Digest of every file whose path below the folder has no hidden part."""
    inner = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    shown = [each for each in inner if not any(part.startswith(".") for part in each.parts)]
    return {str(each): hashlib.sha256((folder / each).read_bytes()).hexdigest()[:12] for each in shown}


def watch(folder: Path, step) -> None:
    """Call `step(event, path)` before each change of a file or folder in `folder`."""
    busy = False

    def hook(event, args):
        nonlocal busy
        if busy or not (event in CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & WRITING)):
            return
        if isinstance(args[0], int):
            return
        path = Path(os.path.abspath(os.fsdecode(args[0])))  # noqa: PTH100  links are not to be followed
        if folder not in path.parents:
            return
        busy = True
        try:
            step(event, str(path.relative_to(folder)))
        finally:
            busy = False

    sys.addaudithook(hook)


class Stops:
    """One command, whose first change becomes the place where its runs are forked."""

    def __init__(self, folder: Path, words: list[str], replies: int):
        self.folder, self.words, self.replies = folder, words, replies
        self.serving, self.trail, self.left, self.signal = True, [], -1, 0
        self.before = Path(tempfile.mkdtemp()) / "before"
        shutil.copytree(folder, self.before)

    def step(self, event, path):
        if self.serving and self.serve():
            os._exit(0)
        self.trail.append((event, path, visible(self.folder)))
        self.left -= 1
        if self.left == -1:
            os.kill(os.getpid(), self.signal)

    def serve(self) -> bool:
        """Whether this is the process that forked the others, which are through."""
        self.serving = False
        whole = self.forked(None)
        if whole is None:
            return False
        last = len(whole["trail"]) - 1
        for k, at in enumerate(sorted({0, 1, last // 3, last // 2, last})):
            if self.forked(at, SIGNALS[k % 2]) is None:
                return False
        return True

    def forked(self, at: int | None, number: int = 0) -> dict | None:
        """What came of a fork that is stopped; None in the fork."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as trail:
            child = os.fork()
            if not child:
                self.left, self.signal, self.kept = -1 if at is None else at, number, os.dup(trail.fileno())
                os.dup2(said.fileno(), 2)
                return None
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            trail.seek(0)
            found = {
                "command": self.words,
                "at": at,
                "signal": int(number),
                "code": code,
                "said": said.read().decode(),
                "trail": json.loads(trail.read() or "[]"),
                "visible": visible(self.folder),
                "all": sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*")),
            }
        os.write(self.replies, (json.dumps(found) + "\n").encode())
        shutil.rmtree(self.folder)
        shutil.copytree(self.before, self.folder)
        return found

    def run(self) -> int:
        from steelyard.app import main

        sys.argv = ["steelyard", *self.words]
        watch(self.folder, self.step)
        try:
            main()
        except SystemExit as ended:
            os.write(self.kept, json.dumps(self.trail).encode())
            return ended.code
        return 0


def main():
    told = json.load(sys.stdin)
    import_all()
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for words in told["commands"]:
        if not os.fork():
            os._exit(Stops(Path(told["folder"]).resolve(), words, replies).run())
        os.wait()


if __name__ == "__main__":
    main()
