"""The sandbox's clock: wall time, wall time with an offset, or a fixed time."""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """`fixed_ms` takes precedence over the offset."""

    offset_ms: int = 0
    fixed_ms: int | None = None

    def now_ms(self) -> int:
        """UTC epoch milliseconds of the simulated world."""
        return self.fixed_ms if self.fixed_ms is not None else time.time_ns() // 1_000_000 + self.offset_ms

    def set(self, wanted: dict[str, object]) -> None:
        """Apply {"now_ms": n} (fixed), {"start_ms": n} (continues from n), {"offset_ms": n} or {"mode": "wall"}."""
        if wanted == {"mode": "wall"}:
            self.offset_ms, self.fixed_ms = 0, None
            return
        if len(wanted) != 1 or next(iter(wanted)) not in ("now_ms", "start_ms", "offset_ms"):
            raise ValueError('clock takes one of {"now_ms": n}, {"start_ms": n}, {"offset_ms": n}, {"mode": "wall"}')
        name, value = next(iter(wanted.items()))
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"clock {name} must be whole milliseconds, not {value!r}")
        self.fixed_ms = value if name == "now_ms" else None
        if name != "now_ms":
            self.offset_ms = value - (time.time_ns() // 1_000_000 if name == "start_ms" else 0)

    def shown(self) -> dict[str, object]:
        """The state as the admin path shows it."""
        mode = "fixed" if self.fixed_ms is not None else "wall"
        return {"mode": mode, "now_ms": self.now_ms(), "offset_ms": self.offset_ms}
