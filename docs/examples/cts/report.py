"""What a run found: a table for people, JUnit XML for machines."""

import time
from xml.sax.saxutils import escape, quoteattr

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


def _plain(text):
    # XML has no control characters, whatever was answered.
    return "".join(one if one >= " " or one == "\n" else "?" for one in text)


class Report:
    """Cases in the order in which they ran."""

    def __init__(self):
        self.cases = []
        self.facts = {}
        self.began = time.monotonic()

    def add(self, group, name, outcome, detail=""):
        self.cases.append((group, name, outcome, _plain(detail), time.monotonic()))

    def passed(self, group, name, detail=""):
        self.add(group, name, PASSED, detail)

    def skipped(self, group, name, reason):
        self.add(group, name, SKIPPED, reason)

    def failed(self, group, name, reason, answer=None):
        request = "" if answer is None else f"\nrequest: {answer.request}\nanswer: {answer}"
        self.add(group, name, FAILED, f"{reason}{request}")

    def count(self, outcome, group=None):
        return sum(1 for one in self.cases if one[2] == outcome and group in (None, one[0]))

    def groups(self):
        return list(dict.fromkeys(group for group, *_ in self.cases))

    def table(self):
        """A line for each group, then each failure whole, then what was skipped by its reason."""
        lines = [f"{name}: {value}" for name, value in self.facts.items()]
        lines += ["", f"{'GROUP':<14}{'PASSED':>8}{'FAILED':>8}{'SKIPPED':>9}"]
        for group in [*self.groups(), None]:
            counts = [self.count(outcome, group) for outcome in (PASSED, FAILED, SKIPPED)]
            lines.append(f"{group or 'all':<14}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}")
        lines += [f"\n{FAILED} {group}: {name}\n{detail}" for group, name, outcome, detail, _ in self.cases if outcome == FAILED]
        reasons = {}
        for group, name, outcome, detail, _ in self.cases:
            if outcome == SKIPPED:
                reasons.setdefault(detail, []).append(name)
        lines += [f"\nskipped, {reason}:\n  {', '.join(names)}" for reason, names in reasons.items()]
        return "\n".join(lines) + "\n"

    def junit(self):
        parts = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="compatibility" {self._counts(None)}>']
        before = self.began
        for group in self.groups():
            parts.append(f"  <testsuite name={quoteattr(group)} {self._counts(group)}>")
            for found, name, outcome, detail, at in self.cases:
                if found != group:
                    continue
                head = f"    <testcase classname={quoteattr(group)} name={quoteattr(name)} time=\"{max(0, at - before):.3f}\""
                before = at
                if outcome == PASSED:
                    parts.append(f"{head}/>")
                elif outcome == SKIPPED:
                    parts.append(f"{head}><skipped message={quoteattr(detail)}/></testcase>")
                else:
                    first = detail.split("\n", 1)[0]
                    parts.append(f"{head}><failure message={quoteattr(first)}>{escape(detail)}</failure></testcase>")
            parts.append("  </testsuite>")
        return "\n".join([*parts, "</testsuites>", ""])

    def _counts(self, group):
        failed, skipped = self.count(FAILED, group), self.count(SKIPPED, group)
        return f'tests="{failed + skipped + self.count(PASSED, group)}" failures="{failed}" skipped="{skipped}"'
