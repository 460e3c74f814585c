"""Stage 1: which categories a request is about, decided by rules."""

from .classifier import RuleIntentClassifier
from .protocol import IntentClassifier
from .rules import IntentRule, load_rules

__all__ = ["IntentClassifier", "IntentRule", "RuleIntentClassifier", "load_rules"]
