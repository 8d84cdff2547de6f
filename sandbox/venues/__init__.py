"""The simulated venues: each module or package `<venue>` of this folder declares one, as SIMULATED."""

from importlib import import_module
from pkgutil import iter_modules

from sandbox.http.simulated_venue import SimulatedVenue


def _declared() -> tuple[SimulatedVenue, ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").SIMULATED for name in names)


SIMULATED_VENUES: tuple[SimulatedVenue, ...] = _declared()
