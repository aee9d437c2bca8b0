"""The interactive report of a model."""

from __future__ import annotations

import contextlib
import html
import os
from typing import Union

__all__ = ["Report"]


class Report:
    """An interactive report: one HTML page that works offline.

    A notebook shows it inline. :meth:`save` writes it to a file.
    """

    def __init__(self, page: str) -> None:
        #: The page as HTML.
        self.html = page

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to a file; open it in a browser."""
        temporary = f"{os.fspath(path)}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as out:
                out.write(self.html)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _repr_html_(self) -> str:
        # The page runs in a frame without access to the notebook.
        source = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{source}" sandbox="allow-scripts allow-downloads" '
            'style="width: 100%; height: 800px; border: 0" title="topic model"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report: {len(self.html):,} characters of HTML; save it with .save(path)>"
