"""A plan that arrives piece by piece, is watched while it runs, and waits for a person once.

python -m examples.plan
"""

from __future__ import annotations

import anyio
from toolpath.catalog import Catalog, tool
from toolpath.orchestrator import (
    Answer,
    Event,
    EventKind,
    Inbox,
    PipelineBuilder,
    Question,
    RunReport,
    Runtime,
    ToolError,
    ref,
)

PAGES = {"tides": ["springs and neaps", "bores", ""], "moon": ["phases", ""]}


class Library:
    """Two tools over a few pages; the session expires once.

    Attributes:
        logged_in: whether the session is valid.
    """

    def __init__(self) -> None:
        self.logged_in = False

    def catalog(self) -> Catalog:
        """Its tools."""

        @tool
        async def find_topics(question: str) -> list[str]:
            """Find the topics that a question is about."""
            return [topic for topic in PAGES if topic in question]

        @tool
        async def read_page(topic: str, page: int) -> str:
            """Read one page of a topic; the last one is empty."""
            if not self.logged_in:
                raise ToolError("the session has expired", "authentication_expired")
            return PAGES[topic][page]

        return Catalog([find_topics, read_page])


def join_pages(pages: list[str]) -> str:
    """The pages as one text."""
    return ", ".join(pages)


async def research(question: str, told: list[str]) -> RunReport:
    """Adds a step for each page as long as there is something on the last one: no plan knows how many there are.

    Args:
        question: what to look up.
        told: gets a line for each thing worth telling.
    """
    library = Library()

    def log_in(asked: Question) -> None:
        told.append(f"asked: {asked.text}")
        library.logged_in = True
        inbox.answer(asked.question_id, Answer(True, by="the librarian"))

    def watch(event: Event) -> None:
        if event.kind is EventKind.STEP_FINISHED:
            told.append(f"{event.where}: {event.outcome}")

    inbox = Inbox(on_question=log_in)
    runtime = Runtime(library.catalog(), approver=inbox)
    pipeline = PipelineBuilder("research", runtime=runtime).step("find_topics", bind={"question": question}).build()
    async with pipeline.open(on_event=watch) as run:
        topics = (await run.wait_for("find_topics")).value
        pages: list[str] = []
        for topic in topics:
            for number in range(len(PAGES[topic])):
                name = f"{topic}-{number}"
                run.add(PipelineBuilder().step("read_page", name=name, bind={"topic": topic, "page": number}))
                if not (await run.wait_for(name)).value:
                    break
                pages.append(name)
        run.add(PipelineBuilder().step(join_pages, name="answer", bind={"pages": [ref(page) for page in pages]}))
    return run.report


def main() -> None:
    """Looks something up and shows it."""
    told: list[str] = []
    report = anyio.run(research, "how do the moon and the tides go together?", told)
    print("\n".join(told))
    print(report.value("answer"))


if __name__ == "__main__":
    main()
