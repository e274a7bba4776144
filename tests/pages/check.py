"""Opens pages in a real browser and fails on faults that a reader would meet.

    python3 tests/pages/check.py DEMO_FOLDER CHROMIUM [AXE_CORE_SCRIPT]

The folder is that of `jointly demo`; pages beside its report.html are opened too. Needs the package playwright; with axe-core's script, accessibility is checked too.
"""

import json
import math
import pathlib
import re
import sys

from playwright.sync_api import sync_playwright

WIDTHS = [390, 800, 1280]


def faults(page, axe):
    """What is wrong with the open page."""
    found = []
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > page.viewport_size["width"]:
        found.append(f"the page is {width} px wide")
    clipped = page.evaluate(
        "[...document.querySelectorAll('.card, .card *')].filter(e => e.scrollWidth > e.clientWidth + 1 "
        "&& getComputedStyle(e).display !== 'inline').map(e => e.textContent.trim())"
    )
    found += [f"text runs out of a card: {text}" for text in clipped]
    unnamed = page.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].filter(e => !e.getAttribute('aria-label')).length"
    )
    if unnamed:
        found.append(f"{unnamed} pictures without a text")
    if axe:
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        for one in result["violations"]:
            if one["impact"] in ("serious", "critical"):
                found.append(f"{one['impact']}: {one['help']} ({one['nodes'][0]['html'][:120]})")
    return found


def contradictions(page, folder):
    """Where a release's report contradicts the files beside it."""
    found = []
    report = json.loads((folder / "report.json").read_text())
    ledger = json.loads((folder / "ledger.json").read_text())
    text = page.inner_text("main")
    # inner_text has hard line ends where the page breaks lines.
    flat = " ".join(text.split())
    if " ".join(report["guarantee"]["text"].split()) not in flat:
        found.append("the guarantee of report.json is not on the page")
    for letter, name in [("ε", "epsilon"), ("δ", "delta")]:
        shown = [number(text) for text in re.findall(rf"{letter} = ([0-9.e-]*[0-9])", flat)]
        if not any(close(one, ledger[name]) for one in shown):
            found.append(f"{name} {ledger[name]} of the ledger is not on the page")
    spent, limit = (ledger["ledger"][name]["rho"] for name in ("spent", "limit"))
    card = re.search(r"Budget spent ρ = (\S+) \S+ % of (\S+)", flat)
    if not card or not close(number(card[1]), spent) or not close(number(card[2]), limit):
        found.append(f"rho {spent} of {limit} of the ledger is not on the page")
    found += wrong_rounds(page, ledger["ledger"]["entries"])
    return found


def number(text):
    """A number as the page writes it; NaN for other texts."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def close(shown, exact):
    """Whether a number of four digits is that of the ledger."""
    return math.isclose(shown, exact, rel_tol=6e-4)


def wrong_rounds(page, entries):
    """Rounds whose bar says other costs than the ledger's entries."""
    costs = {}
    for entry in entries:
        kind = 0 if entry["purpose"].startswith("choose") else 1
        costs.setdefault(entry["round"], [0.0, 0.0])[kind] += entry["rho"]["rho"]
    titles = page.evaluate("[...document.querySelectorAll('svg title')].map(e => e.textContent)")
    found, bars = [], 0
    for title in titles:
        match = re.fullmatch(r"round (\d+): .*choosing ρ (\S+), measuring ρ (\S+)", title)
        if match:
            bars += 1
            paid = costs.get(int(match[1]), [0.0, 0.0])
            if not all(close(number(text), exact) for text, exact in zip(match.groups()[1:], paid)):
                found.append(f"the ledger has choosing rho {paid[0]}, measuring rho {paid[1]} for {title}")
    if not bars:
        found.append("no bar says what its round cost")
    return found


def check(browser, path, axe):
    """The faults of a page at all widths, light and dark."""
    found, address = [], path.as_uri()
    for width in WIDTHS:
        for scheme in ["light", "dark"]:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            said = []
            page.on("console", lambda message, said=said: said.append(f"console: {message.text}"))
            page.on("pageerror", lambda error, said=said: said.append(f"error: {error}"))
            page.on("request", lambda request, said=said: said.append(f"request: {request.url}"))
            page.goto(address)
            said.remove(f"request: {address}")
            said += faults(page, axe)
            if path.name == "report.html":
                said += contradictions(page, path.parent)
            found += [f"{path.name}, {width} px, {scheme}: {fault}" for fault in said]
            page.close()
    return found


def main():
    folder, chromium = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    axe = pathlib.Path(sys.argv[3]).read_text() if len(sys.argv) > 3 else None
    pages = sorted(folder.glob("*.html"))
    assert folder / "report.html" in pages, f"{folder} has no report.html"
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        for path in pages:
            found += check(browser, path, axe)
        browser.close()
    for fault in found:
        print(fault, file=sys.stderr)
    names = ", ".join(path.name for path in pages)
    print(f"{names}: {len(WIDTHS)} widths, light and dark, {'with' if axe else 'WITHOUT'} axe-core: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
