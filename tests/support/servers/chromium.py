"""Where this machine's Chromium is, for tests and pictures of pages: the headless shell where it is installed.

The shell is the same engine without the browser's own windows, whose pages cost eight times the CPU of an empty page.
"""

import shutil

COMMANDS = ("chromium-headless-shell", "chromium", "google-chrome")
"""As Debian names its packages, and Google its browser; the first that is there is used."""


def chromium() -> str | None:
    """The path of the browser; None without one."""
    return next(filter(None, map(shutil.which, COMMANDS)), None)
