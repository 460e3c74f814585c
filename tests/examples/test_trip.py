"""The YAML example does what the README says of it."""

from pathlib import Path

from toolpath.orchestrator import StepOutcome, load_pipeline

TRIP = Path(__file__).parents[2] / "examples" / "trip.yaml"


def test_the_trip_is_planned_although_services_fail() -> None:
    pipeline = load_pipeline(TRIP)
    assert {name: str(one) for name, one in pipeline.inputs.items()} == {
        "origin": "origin: str",
        "destination": "destination: str",
    }
    report = pipeline.run_sync({"origin": "Oslo", "destination": "Rome"}, backend="asyncio")
    assert report["flights"].attempts == 2
    assert report["hotels"].served_by == "hotels_of_last_week"
    assert report["weather"].outcome is StepOutcome.FAILED
    assert report["itinerary"].degraded_by == ("hotels", "weather")
    assert report.value("itinerary").startswith("Fly DY1872 for 149, stay at Grand Rome; weather unknown")
