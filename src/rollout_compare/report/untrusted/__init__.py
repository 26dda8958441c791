"""Text from rollouts and logs, made fit to be shown. Every report uses these rules and no others.

Twice over: `Redactor` takes out what must not be told, before anything is cut. Then `label` and `log_line` make
harmless what is left, on a terminal and everywhere else; `untrusted.markdown` does what Markdown needs besides.
"""

from rollout_compare.report.untrusted.neutral import fitted, is_web_address, label, log_line
from rollout_compare.report.untrusted.redactor import Redactor
from rollout_compare.report.untrusted.shapes import REDACTED

__all__ = ["REDACTED", "Redactor", "fitted", "is_web_address", "label", "log_line"]
