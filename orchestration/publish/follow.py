"""A host that only serves: it publishes each window that the lake's builder closes into its own replica."""

import time

from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse import lake
from orchestration.warehouse.writer import Report

LOOK_S = 1.0
# After a failure, so that a catalog that is down is not asked each second by every host.
AGAIN_S = 5.0


def follow(settings: Settings, report: Report = print) -> None:
    """Publish the newest closed window whenever there is another, until the process ends. A catalog or a store that
    does not answer is reported once: what is published stays served, and is older by the minute."""
    published: lake.Closed | None = None
    failure = ""
    while True:
        try:
            newest = lake.newest_closed(settings.warehouse)
            if newest != published and (edition := publish(settings, report=report)) is not None:
                report(f"edition {edition.edition_id}")
            published, failure, pause_s = newest, "", LOOK_S
        except Exception as error:
            # Whatever it is: a host that serves goes on serving, and tries again.
            if (said := str(error)) != failure:
                report(f"cannot follow the lake: {said}")
            failure, pause_s = said, AGAIN_S
        time.sleep(pause_s)
