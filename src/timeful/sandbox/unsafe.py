"""No confinement, only limits: for machines without another backend, on request."""

import os
import shutil
from dataclasses import dataclass

from timeful.sandbox.backend import Box, Launch, environment, python


@dataclass(frozen=True, slots=True)
class Unsafe:
    """A plain process with limits: it can read and write whatever you can, and use the network."""

    because: str = ""
    name = "unsafe"

    @property
    def description(self) -> str:
        """A description for the user."""
        return (
            "UNSAFE: programs that a model wrote run as you, with your files and your network."
            f"{self.because}"
        )

    def launch(self, box: Box) -> Launch:
        """Copy the files, since nothing would keep a program from changing them."""
        for name, source in box.files.items():
            to = box.folder.work / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(to):
                (shutil.copytree if source.is_dir() else shutil.copy2)(source, to)
        return Launch(
            command=python(),
            environment=environment(str(box.folder.tmp)),
            settings={
                "work": str(box.folder.work),
                "confined": False,
                "seccomp": "",
                "landlock": None,
            },
            is_alone=False,
        )
