"""Alert tools: look at alerts, and acknowledge, silence or resolve them, over HTTP."""

from __future__ import annotations

from .alert_client import AlertClient
from .arguments import Handler, Json


class AlertTools:
    """Handlers over the alert service."""

    def __init__(self, client: AlertClient) -> None:
        self._client = client

    def handlers(self) -> dict[str, Handler]:
        """Tool name to handler."""
        return {
            "alertdesk.list_alerts": self.list_alerts,
            "alertdesk.get_alert": self.get_alert,
            "alertdesk.acknowledge_alert": self.acknowledge_alert,
            "alertdesk.silence_alert": self.silence_alert,
            "alertdesk.resolve_alert": self.resolve_alert,
            "alertdesk.get_alert_history": self.get_alert_history,
        }

    def list_alerts(
        self, status: str = "firing", severity: str | None = None, service: str | None = None, limit: int = 20
    ) -> Json:
        """Alerts that match, newest first."""
        wanted = {"status": status, "severity": severity, "service": service, "limit": limit}
        answer = self._client.get("alerts", query={key: value for key, value in wanted.items() if value is not None})
        return {"alerts": answer["alerts"], "count": len(answer["alerts"])}

    def get_alert(self, alert_id: str) -> Json:
        """One alert."""
        return dict(self._client.get("alerts", alert_id))

    def acknowledge_alert(self, alert_id: str, engineer: str, note: str = "") -> Json:
        """The alert after somebody has taken it on."""
        return dict(self._client.post("alerts", alert_id, "acknowledge", body={"engineer": engineer, "note": note}))

    def silence_alert(self, alert_id: str, minutes: int, reason: str) -> Json:
        """The alert after it was muted."""
        return dict(self._client.post("alerts", alert_id, "silence", body={"minutes": minutes, "reason": reason}))

    def resolve_alert(self, alert_id: str, resolution: str) -> Json:
        """The alert after it was closed."""
        return dict(self._client.post("alerts", alert_id, "resolve", body={"resolution": resolution}))

    def get_alert_history(self, alert_id: str) -> Json:
        """What happened to the alert, oldest first."""
        return {"alert_id": alert_id, "history": self._client.get("alerts", alert_id, "history")["history"]}
