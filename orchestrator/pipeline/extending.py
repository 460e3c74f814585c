"""Steps for a run that has begun: checked against those that it has, and added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...catalog.errors import BindingError
from ..runtime import Runtime
from .compiling import compile_steps, edges_of
from .inputs import check_inputs, merge_inputs
from .outcomes import FallbackPolicy
from .run import Run
from .steps import CompiledStep, Kind, StepSpec


def extend_run(
    run: Run, specs: Sequence[StepSpec], *, given: Mapping[str, Any], runtime: Runtime, policy: FallbackPolicy
) -> None:
    """Checks steps against those that an open run has, and adds them.

    Args:
        run: the run.
        specs: the new steps.
        given: the run's inputs.
        runtime: runs its tools, and has the catalog in which their names are looked up.
        policy: the run's.

    Raises:
        PipelineError: as for `PipelineBuilder.build`, or the run takes no more steps.
        InputError: a step asks for an input that the run was not given.
    """
    there = list(run.steps.values())
    steps, asked = compile_steps(specs, catalog=runtime.catalog, declared=None, policy=policy, earlier=there)
    check_runtime(steps, runtime)
    check_inputs(merge_inputs(asked, None), dict(given), declared=False)
    run.add(steps, edges_of(steps, [*there, *steps]))


def check_runtime(steps: Iterable[CompiledStep], runtime: Runtime) -> None:
    """Refuses a step whose tool the runtime does not know.

    Raises:
        BindingError: names both.
    """
    for step in steps:
        for level in step.levels:
            if level.kind is Kind.TOOL and level.value not in runtime.catalog:
                raise BindingError(
                    f"step {step.name!r} uses the tool {level.value!r}, which the runtime's catalog lacks"
                )
