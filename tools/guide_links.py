"""Hook of mkdocs: links to files outside `docs` become plain text, since the site lacks these files.

`tools/check-guide` checks that the files exist.
"""

import posixpath
import re


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(match):
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        return f"{match[1]} (`{target.removeprefix('../')}`)" if target.startswith("../") else match[0]

    return re.sub(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)[^)\s]*\)", replaced, markdown)
