"""The image as a container, without a daemon: its files by a mount, isolation by bubblewrap.

What runs is what the image says: entrypoint, command, environment, user, directory, volumes. The
root file system is read-only, the user has no capabilities and can gain none, and the process is
number 1 of its own, as under Docker with ``--read-only --cap-drop ALL``. The network is the one of
the test: whoever runs it gives it one of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

_AS_NOBODY_ELSE: Final = ("--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


class Image(msgspec.Struct, frozen=True):
    """An image: the folder of its files, and its configuration as ``docker inspect`` has it."""

    root: Path
    config: dict[str, Any]

    def command(self, *words: str) -> list[str]:
        """What runs: the entrypoint, and the words or else the image's own command."""
        return [*self.config["Entrypoint"], *(words or self.config["Cmd"])]


class Container:
    """One process in the image. ``words`` take the place of the image's command.

    ``volumes`` are host folders by where they appear; those that the image declares can be
    written. ``out`` collects the lines of its standard output, ``said`` those of its errors.
    """

    def __init__(
        self,
        bwrap: str,
        image: Image,
        volumes: Mapping[str, Path],
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = (),
    ) -> None:
        self.out: list[str] = []
        self.said: list[str] = []
        told, tells = os.pipe()
        self._process = subprocess.Popen(
            [
                bwrap,
                *("--info-fd", str(tells), "--die-with-parent", "--as-pid-1"),
                *("--unshare-pid", "--unshare-ipc", "--unshare-uts"),
                *("--ro-bind", str(image.root), "/", "--dev", "/dev", "--proc", "/proc"),
                *_binds(image, volumes),
                *_variables(image, environment or {}),
                *("--chdir", image.config["WorkingDir"]),
                *("setpriv", "--no-new-privs", *_AS_NOBODY_ELSE, *_user(image)),
                *(command or image.command()),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(tells,),
            text=True,
        )
        os.close(tells)
        with os.fdopen(told, encoding="utf-8") as info:
            self._number = int(json.load(info)["child-pid"])
        self._readers = [
            threading.Thread(target=_keep, args=(self._process.stdout, self.out)),
            threading.Thread(target=_keep, args=(self._process.stderr, self.said)),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to process 1 of the container; its exit code."""
        os.kill(self._number, number)
        return self.wait()

    def wait(self) -> int:
        """The exit code, when it ends by itself."""
        code = self._process.wait(timeout=60)
        for reader in self._readers:
            reader.join()
        return code

    def kill(self) -> None:
        """End it, whatever state it is in."""
        if self.running:  # bwrap itself will not do: the change of user lets its child outlive it
            self.stop(signal.SIGKILL)


def _keep(lines: Any, kept: list[str]) -> None:
    with lines:
        kept.extend(line.rstrip("\n") for line in lines)


def _binds(image: Image, volumes: Mapping[str, Path]) -> list[str]:
    words = []
    for place, folder in volumes.items():
        how = "--bind" if place in image.config.get("Volumes", {}) else "--ro-bind"
        words += [how, str(folder), place]
    return words


def _variables(image: Image, more: Mapping[str, str]) -> list[str]:
    declared = dict(one.split("=", 1) for one in image.config["Env"])
    pairs = {**declared, **more}.items()
    return ["--clearenv", *(word for name, value in pairs for word in ("--setenv", name, value))]


def _user(image: Image) -> list[str]:
    user, group = image.config["User"].split(":")
    return ["--reuid", user, "--regid", group]
