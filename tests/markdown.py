"""Markdown read as the book's own parser reads it, for the tests of notebooks and translations."""

from collections.abc import Iterator
from functools import cache

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tests import ROOT


@cache
def parser() -> MarkdownIt:
    """The MyST parser with the extensions that ``_config.yml`` turns on."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    extensions = config["parse"]["myst_enable_extensions"]
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


def tokens(text: str) -> Iterator[Token]:
    """Every token of the text, those inside paragraphs and directives too."""
    for token in parser().parse(text):
        yield token
        yield from token.children or []
        if directive_name(token):
            yield from tokens(token.content)


def directive_name(token: Token) -> str:
    """``exercise`` for the token of ```` ```{exercise} Title ````, else empty."""
    is_fence = token.type in ("fence", "colon_fence") and token.info.startswith("{")
    return token.info[1:].partition("}")[0] if is_fence else ""


def directive_label(token: Token) -> str:
    """The value of the directive's ``:label:`` option, or empty."""
    lines = (line.strip() for line in token.content.splitlines())
    return next((line[7:].strip() for line in lines if line.startswith(":label:")), "")
