"""The venues that are recorded: each file `<venue>.py` of this folder declares one, as `<VENUE>`."""

from importlib import import_module
from pkgutil import iter_modules

from ingest.declaration.venue import Venue


def _declared() -> tuple[Venue, ...]:
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(getattr(import_module(f"{__name__}.{name}"), name.upper()) for name in names)


VENUES: tuple[Venue, ...] = _declared()
