"""The pictures of the pages in the README and the guide, taken of a demo that runs: `make pictures` runs this."""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support.servers.chromium import chromium

IMAGES = Path(__file__).parents[3] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
# Name → page, its theme, and what has to be there before the picture is taken.
PICTURES = {
    "markets": ("/", "light", ".markets svg.spark"),
    "coin": ("/coins/BTC?range=1d", "dark", ".charts canvas"),
    "explain": ("/coins/BTC/oi?range=1d", "light", ".charts canvas"),
}


def main() -> None:
    """Write every picture; needs Chromium, and a demo that has run for some minutes."""
    found = chromium()
    if found is None:
        sys.exit("make pictures needs Chromium (Debian: apt-get install chromium-headless-shell)")
    at = f"http://127.0.0.1:{os.environ.get('TIDEMARK_API_PORT', '8080')}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name, (path, theme, ready) in PICTURES.items():
            page = browser.new_page(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
            page.goto(at + path)
            page.locator(ready).first.wait_for()
            if name == "explain":
                page.locator(".pane .u-over").first.click(position={"x": 900, "y": 30})
                page.get_by_role("region", name="Markets in it").wait_for()
            page.evaluate("document.fonts.ready")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / f"{name}.png")
            print(IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
