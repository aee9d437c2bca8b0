"""Tables for the user: pandas or polars data frames, or plain dictionaries of columns."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Literal

#: Which kind of table to return.
FrameOption = Literal["auto", "pandas", "polars", "dict"]


def frame(columns: dict[str, Any], kind: FrameOption = "auto") -> Any:
    """Returns columns as a table.

    With ``"auto"``, it is a data frame of pandas or polars: of the one that is imported already,
    else of the one that is installed; without either, the dictionary itself.
    """
    chosen: str = kind
    if chosen == "auto":
        known = ("pandas", "polars")
        imported = [name for name in known if name in sys.modules]
        installed = [name for name in known if importlib.util.find_spec(name)]
        chosen = [*imported, *installed, "dict"][0]
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if chosen == "polars":
        import polars

        return polars.DataFrame(columns)
    if chosen != "dict":
        raise ValueError(f'frame must be "auto", "pandas", "polars" or "dict", not {kind!r}')
    return columns
