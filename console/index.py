"""`toolpath index`: embeds a catalog once and keeps the vectors in a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .options import CatalogArgument, EmbedderOption, JsonOption, LenientOption, open_catalog, open_embedder
from .output import ERR, OUT, print_json
