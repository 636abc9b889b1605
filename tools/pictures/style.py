"""Colours that are fine on light and on dark pages."""

from __future__ import annotations

import html

STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #24292f }
.muted { fill: #57606a } .strong { font-weight: 600 }
.box { fill: #f6f8fa; stroke: #8c959f } .ours { fill: #1a7f64 } .theirs { fill: #8c959f }
.line { stroke: #57606a; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .muted { fill: #9198a1 }
  .box { fill: #161b22; stroke: #6e7681 } .ours { fill: #3fb68b } .theirs { fill: #6e7681 }
  .line { stroke: #9198a1 }
}"""


def svg(width: int, height: int, title: str, body: str, style: str = STYLE) -> str:
    """A picture with a title for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{html.escape(title)}">\n'
        f"<style>{style}</style>\n{body}</svg>\n"
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">'
        f"{html.escape(words)}</text>\n"
    )
