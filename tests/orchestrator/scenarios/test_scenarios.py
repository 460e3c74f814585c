"""Every engine shows the behaviours in scenarios.yaml, on asyncio and trio, with limits of 1, 2 and many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from toolpath.catalog import ToolError
from toolpath.orchestrator import Pipeline, RunReport, SQLiteStore, build_definition

from tests.support.virtual_time import run_virtually

SCENARIOS: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "scenarios.yaml").read_text())
OURS = ("fails", "fails_first", "value", "reads", "doubles")

Engine = Callable[[Pipeline, int | None, str, Path], RunReport]


def in_memory(pipeline: Pipeline, limit: int | None, backend: str, _folder: Path) -> RunReport:
    return run_virtually(backend, lambda: pipeline.run(limit=limit))


def kept_in_sqlite(pipeline: Pipeline, limit: int | None, backend: str, folder: Path) -> RunReport:
    store = SQLiteStore(folder / "runs.sqlite")
    try:
        return anyio.run(lambda: pipeline.run(limit=limit, store=store), backend=backend)
    finally:
        store.close()


def taken_up_again(pipeline: Pipeline, limit: int | None, backend: str, folder: Path) -> RunReport:
    """The report of a resume of a run that is over: everything comes from the file."""
    store = SQLiteStore(folder / "runs.sqlite")

    async def twice() -> RunReport:
        first = await pipeline.run(limit=limit, store=store)
        return await pipeline.resume(first.run_id, store=store)

    try:
        return anyio.run(twice, backend=backend)
    finally:
        store.close()


ENGINES: dict[str, Engine] = {"memory": in_memory, "sqlite": kept_in_sqlite, "resumed": taken_up_again}


def step_of(given: dict[str, Any]) -> Callable[..., Any]:
    """The function that a scenario describes."""
    left = list([given["fails_first"][0]] * given["fails_first"][1]) if "fails_first" in given else []

    async def act() -> Any:
        if left:
            raise ToolError("not yet", left.pop())
        if "fails" in given:
            raise ToolError("it fails", given["fails"])
        return given.get("value")

    if "doubles" in given:

        async def double(item: Any) -> Any:
            if not isinstance(item, int):
                raise ToolError("no number", "validation_error")
            return 2 * item

        return double
    if "reads" in given:

        async def read(inputs: Any) -> Any:
            return await act()

        return read
    return act


def pipeline_of(scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    steps: dict[str, Any] = {}
    for name, given in scenario["steps"].items():
        function = step_of(given)
        monkeypatch.setitem(globals(), f"scenario_{name}", function)
        steps[name] = {key: value for key, value in given.items() if key not in OURS}
        steps[name]["function"] = f"{__name__}:scenario_{name}"
        if "reads" in given:
            steps[name]["with"] = {"inputs": [{"ref": dep} for dep in given["reads"]]}
    return build_definition({"name": "scenario", "steps": steps})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("limit", [1, 2, None])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_engine_behaves(
    name: str, backend: str, limit: int | None, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = dict(SCENARIOS[name]["then"])
    report = ENGINES[engine](pipeline_of(SCENARIOS[name], monkeypatch), limit, backend, tmp_path)
    assert {step.name: str(step.outcome) for step in report} == then.pop("outcomes")
    assert str(report.outcome) == then.pop("run")
    if "outputs" in then:
        assert report.outputs == then.pop("outputs")
    for step, attributes in then.items():
        for attribute, wanted in attributes.items():
            if engine == "resumed" and attribute == "items":
                continue  # how many there were is not kept beside the list
            got = getattr(report[step], attribute)
            assert (list(got) if isinstance(got, tuple) else got) == wanted, (step, attribute)
