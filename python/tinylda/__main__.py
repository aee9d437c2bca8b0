"""The command line: ``python -m tinylda`` and the script ``tinylda``."""

from __future__ import annotations

import sys

from . import _core


def main() -> int:
    """Runs the command line with the arguments of the process and returns its exit code."""
    return _core.main(["tinylda", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
