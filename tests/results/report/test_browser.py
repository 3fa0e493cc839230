"""The report in a real browser: it draws, loads nothing, says nothing, and names do nothing."""

import numpy as np
import pytest

from crowdassay import DawidSkene
from support.crowds import draw_workers
from support.hostile import NAMES, hostile_labels

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    labels, truth, _ = draw_workers(np.random.default_rng(2), n_items=120, n_workers=16, spammers=3)
    path = tmp_path_factory.mktemp("report") / "plain.html"
    DawidSkene(smoothing=0.5).fit(labels).result_.report(path, truth=truth)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    DawidSkene(smoothing=0.5).fit(hostile_labels()).result_.report(path, title=NAMES[0])
    return path


# The elements that reach further to the right than the text does.
BEYOND = """chosen => {
    const right = one => one.getBoundingClientRect().right, edge = right(document.querySelector('main'));
    return [...document.querySelectorAll(chosen)].filter(one => right(one) > edge).map(one => one.className);
}"""


@pytest.fixture
def look(browser):
    """Open a page without a network; whatever it says, asks for or pops up is a failure."""
    heard, contexts = [], []

    def visit(path, *, scheme="light", width=1100):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        context.route("**/*", lambda route: route.continue_() if route.request.url == path.as_uri() else route.abort())
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url == path.as_uri() or heard.append(request.url))
        page.goto(path.as_uri())
        n_charts = page.locator(".chart").count()
        page.wait_for_function(f"document.querySelectorAll('.chart svg').length === {n_charts}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 1100), ("light", 390)])
def test_it_draws_and_fits(look, plain, tmp_path, scheme, width):
    page = look(plain, scheme=scheme, width=width)
    assert page.locator("#chart-workers svg path, #chart-workers svg circle").count() > 13
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    bright = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (paper, ink)]
    assert (bright[0] > bright[1]) == (scheme == "light")
    label = page.locator("#chart-workers svg .mark-text text").first
    assert label.evaluate("e => getComputedStyle(e).fill") == ink  # the ink of charts is the page's
    page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
    assert (tmp_path / f"{scheme}-{width}.png").stat().st_size > 20_000


def test_a_worker_can_be_chosen(look, plain):
    page = look(plain)
    cells = page.locator("#chart-confusion svg .mark-text.role-mark text")
    crowd = cells.all_text_contents()
    assert len(crowd) == 9
    page.locator("#chart-confusion select").select_option(index=3)
    page.wait_for_function(
        "old => document.querySelector('#chart-confusion .role-mark text').textContent !== old", arg=crowd[0]
    )
    assert cells.all_text_contents() != crowd


def test_a_tooltip_shows_on_a_worker(look, plain):
    page = look(plain)
    page.locator("#chart-workers svg .mark-symbol.role-mark path").first.hover()
    tooltip = page.locator("#vg-tooltip-element")
    tooltip.wait_for(state="visible")
    assert "95% interval" in tooltip.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_do_nothing(look, hostile, scheme):
    page = look(hostile, scheme=scheme)
    assert page.title() == NAMES[0]
    assert page.locator("h1").inner_text() == NAMES[0]
    assert page.locator("img").count() == 0
    for number in range(4):
        page.locator("#chart-workers svg .mark-symbol.role-mark path").nth(number).hover(force=True)
        page.wait_for_timeout(50)
        page.locator("#chart-confusion select").select_option(index=number)
    assert page.locator("script").count() == 3


def test_it_prints(look, plain, tmp_path):
    page = look(plain, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_paper_cuts_nothing_off(look, plain):
    """Paper is narrower than the screen that charts were drawn for, and printing does not draw them again."""
    page = look(plain, width=1200)
    page.evaluate("window.addEventListener('resize', event => event.stopImmediatePropagation(), true)")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 900})
    assert page.evaluate(BEYOND, ".chart svg, table, .card") == []


@pytest.mark.parametrize("width", [390, 790])
def test_no_table_has_to_be_scrolled(look, hostile, width):
    page = look(hostile, width=width)
    assert page.evaluate(BEYOND, "table") == []


def test_a_screen_reader_is_told_what_a_chart_shows(look, plain):
    told = look(plain).locator(".chart").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert len(set(told)) == len(told) > 6
    assert "Points: accuracy of each worker by name" in told
