"""`toolpath route`: which tools serve a request, and what each stage made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..router import Router, RuleIntentClassifier, load_rules
from .options import (
    BaseUrlOption,
    CatalogArgument,
    EmbedderOption,
    IndexOption,
    JsonOption,
    LenientOption,
    ModelOption,
    RerankerOption,
    open_catalog,
    open_embedder,
    open_index,
    open_reranker,
    open_selector,
)
from .output import OUT, fail, print_json


def route(
    catalog: CatalogArgument,
    request: Annotated[str, typer.Argument(help="What you want, in any language.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates to find.")] = 5,
    rules: Annotated[Path | None, typer.Option(help="A YAML file with intent rules of your own.")] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = None,
    reranker: RerankerOption = None,
    index: IndexOption = None,
    lenient: LenientOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the tools that serve a request and explain the choice."""
    if not request.strip():
        fail("the request is empty: say what you want")
    tools = open_catalog(catalog, lenient=lenient)
    retriever, _ = open_index(tools, index, open_embedder(embedder))
    router = Router(
        tools,
        classifier=RuleIntentClassifier(tools, load_rules(rules)) if rules is not None else None,
        selector=open_selector(model, base_url, tools, retriever),
        retriever=retriever,
        reranker=open_reranker(reranker),
    )
    decision = router.route_sync(request, k)
    if as_json:
        print_json(decision.to_dict())
    else:
        OUT.print(decision.explain(), markup=False, soft_wrap=True)
