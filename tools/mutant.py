"""What a mutant is: one small mistake put into the source, and the tests that should see it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """name: of the mistake, unique. file: under src/steelyard. old, new: text, `old` found in the file exactly once.

    tests: files, folders or `file::test` under tests/, that should fail. alive: why nothing can or need see it; empty
    for one that tests must kill.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    alive: str = ""

    @property
    def key(self) -> str:
        """A mutant that was changed is another one."""
        return f"{self.file}: {self.old!r} -> {self.new!r}"

    @property
    def path(self) -> str:
        """File from the root of the project."""
        return f"src/steelyard/{self.file}"

    @property
    def package(self) -> str:
        """Folder of the source, or `loose` for files beside the folders."""
        return self.file.split("/")[0] if "/" in self.file else "loose"

    def applied(self, source: str) -> str:
        """The source with the mistake. Raises ValueError unless the text is there once."""
        if source.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.name}: the text is {source.count(self.old)} times in {self.file}, not once.")
        return source.replace(self.old, self.new)
