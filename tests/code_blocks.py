"""Every code block and every command of the README and the manual, as Markdown has them."""

import re
from typing import NamedTuple

from checkpoints import REPOSITORY
from markdown_it import MarkdownIt

PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(REPOSITORY / "config" / name for name in ("README.md", "demo/README.md")),
    *sorted(path for path in (REPOSITORY / "docs").glob("*.md") if not path.is_symlink()),
]
COMMAND = re.compile(r"(snakemake|make|pip|python -m) ")


class Block(NamedTuple):
    """A fenced block, or a command in running text (`inline`): where it stands, its language and what it says."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        """The place for a message."""
        return f"{self.page}:{self.line}"


def blocks() -> list[Block]:
    """Return all of them, page by page in order."""
    found = []
    for path in PAGES:
        name, line = path.relative_to(REPOSITORY).as_posix(), 1
        for token in MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8")):
            line = token.map[0] + 1 if token.map else line
            if token.type in ("fence", "code_block"):
                found.append(Block(name, line, token.info.strip(), token.content))
            inline = [part.content for part in token.children or () if part.type == "code_inline"]
            found += [Block(name, line, "inline", text) for text in inline if COMMAND.match(text)]
    return found


def commands(block: Block) -> list[str]:
    """Return the commands of a block, one a line, comments left out."""
    lines = (line.partition(" #")[0].strip() for line in block.text.splitlines())
    return [line for line in lines if line]
