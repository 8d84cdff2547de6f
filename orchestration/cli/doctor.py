"""The text of `tidemark doctor`: a line for each finding, and the verdict."""

from collections.abc import Sequence

from orchestration.supervise.doctor import FAILURE, OK, Finding

MARKS = {"ok": "ok  ", "warning": "look", "failure": "BAD "}


def verdict(machine: Sequence[Finding], exchanges: Sequence[Finding]) -> tuple[bool, str]:
    """Whether the machine can run it, and what to expect, in a sentence."""
    if bad := [one.about for one in machine if one.state == FAILURE]:
        return False, f"not ready: {', '.join(bad)}"
    if not exchanges:
        return True, "ready: all that was looked at is as it should be"
    venues = [one for one in exchanges if " " not in one.about]
    lost = [one.about for one in venues if one.state == FAILURE]
    part = [one.about for one in venues if one.state not in (OK, FAILURE)]
    if venues and len(lost) == len(venues):
        return False, "not ready: no exchange answers as it should"
    if not lost and not part:
        return True, "ready: every exchange answers as it should"
    without = f"without {', '.join(lost)}" if lost else ""
    partly = f"with parts of {', '.join(part)}" if part else ""
    return True, f"ready, {' and '.join(filter(None, (without, partly)))}"


def as_text(machine: Sequence[Finding], exchanges: Sequence[Finding], sentence: str) -> str:
    """All findings, those of an exchange's endpoints below it."""
    lines = [f"{MARKS[one.state]} {one.about:12} {one.text}" for one in machine]
    lines.append("")
    for one in exchanges:
        venue, _, name = one.about.partition(" ")
        lines.append(f"{MARKS[one.state]} {venue:12} {one.text}" if not name else f"       {name}: {one.text}")
    return "\n".join([*lines, "", sentence])
