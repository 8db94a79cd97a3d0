"""Show the library's own source in a notebook, so that no page holds a copy that goes stale."""

import ast
import inspect
import textwrap
from collections.abc import Callable

from IPython.display import Markdown


def listing(function: Callable) -> Markdown:
    """The source of ``function`` as a code block, without its docstring.

    Raises:
        TypeError: what came has no Python source, such as a builtin.
    """
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    body = ast.parse("\n".join(lines)).body[0].body
    if ast.get_docstring(ast.parse("\n".join(lines)).body[0]) is not None:
        del lines[body[0].lineno - 1 : body[0].end_lineno]
    return Markdown("```python\n" + "\n".join(lines) + "\n```")
