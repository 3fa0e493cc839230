"""The page in a real browser: it lives, settles by key press, undoes, and names do nothing."""

import numpy as np
import pytest

from crowdassay import simulate
from support.hostile import NAMES
from support.service import serving, wait_for

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
pytestmark = pytest.mark.slow
CLASSES = ("duck", "goose", "<b>swan</b>")
WHO = [name for name in NAMES if name.strip() and "\0" not in name]
TEXT = "Seen at the pond.\n<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A fitted job whose workers, items and classes have hostile names, behind a token."""
    labels, _ = simulate(np.random.default_rng(5), n_items=60, n_workers=len(WHO), n_classes=3, labels_per_item=4)
    rows = [
        {"item": f"photo {j}", "worker": WHO[i], "label": CLASSES[k]}
        for j, i, k in zip(labels.label_item, labels.worker, labels.label, strict=True)
    ]
    split = [{"item": WHO[2], "worker": f"w{n}", "label": CLASSES[n % 3]} for n in range(3)]
    with serving(tmp_path_factory.mktemp("page") / "job.db", "--title", NAMES[0], "--price", "0.1", token="made") as running:
        running.post("/labels", [*rows, *split])
        running.post("/items", [{"item": WHO[2], "text": TEXT, "link": "https://pictures.invalid/a.png"}])
        assert running.fit()["state"] == "done"
        wait_for(lambda: running.get("/summary"), lambda seen: seen["fit"]["labels_since"] == 0)
        yield running


@pytest.fixture
def look(browser, server):
    """Open the page; whatever it says, pops up, or asks of others is a failure."""
    heard, contexts = [], []
    home = f"http://127.0.0.1:{server.port}/"

    def visit(*, scheme="light", width=1280):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        picture = "https://pictures.invalid/a.png"
        context.route(picture, lambda route: route.fulfill(status=200, content_type="image/svg+xml", body=b"<svg/>"))
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith((home, picture, "data:,")) or heard.append(request.url))
        page.goto(f"{home}?token={server.token}")
        assert page.url == home
        page.wait_for_selector("#choices button")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert heard == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)])
def test_it_fits_and_shows_how_the_job_stands(look, server, scheme, width):
    page = look(scheme=scheme, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    bright = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (paper, ink)]
    assert (bright[0] > bright[1]) == (scheme == "light")
    seen = server.get("/summary")
    assert page.title() == NAMES[0]
    assert page.locator("h1").inner_text() == NAMES[0]
    assert f"{seen['settled']} of {seen['items']} items" in page.locator("#settled-more").inner_text()
    assert page.locator("#errors").inner_text() == f"{seen['expected_errors']['value']:,.0f}"
    assert f"for {seen['labels']} labels" in page.locator("#cost-more").inner_text()


def test_names_and_text_do_nothing(look):
    page = look()
    page.locator("#q").fill("onerror")
    page.wait_for_function("() => document.querySelectorAll('#queue li').length === 1")
    page.wait_for_function("() => document.getElementById('item-text').textContent !== ''")
    assert page.locator("#item-text").inner_text() == TEXT
    assert page.locator("#item-name").inner_text() == WHO[2]
    assert page.locator("#choices bdi").all_inner_texts() == sorted(CLASSES)
    assert page.locator("#item-image").get_attribute("src") == "https://pictures.invalid/a.png"
    page.locator("#verdict").select_option("")
    assert page.locator("#workers tbody tr").count() >= len(WHO)
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 1
    assert page.locator("main b").count() == 4  # those of the cards


def test_a_dispute_is_settled_by_a_key_and_undone(look, server):
    page = look()
    first = page.locator("#queue button[aria-current=true] bdi").inner_text()
    label = page.locator("#choices button").nth(1).get_attribute("data-label")
    page.keyboard.press("2")
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Settled')")
    assert page.locator("#said-last").inner_text() == f"Settled {first} as {label}."
    found = server.item(first)
    assert (found["label"], found["basis"]) == (label, "decision")
    page.wait_for_function("old => document.querySelector('#queue [aria-current=true] bdi').textContent !== old", arg=first)
    page.keyboard.press("u")
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Undone')")
    assert server.item(first)["basis"] != "decision"
    assert page.locator("#item-name").inner_text() == first
    assert page.locator("#undo").is_hidden()


def test_undo_waits_for_the_item_that_is_on_its_way(look, server):
    page, held, let_through = look(), [], []
    first = page.locator("#queue button[aria-current=true] bdi").inner_text()
    page.route("**/items/*", lambda route: route.continue_() if let_through else held.append(route))
    page.keyboard.press("2")
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Settled')")
    while not held:
        page.wait_for_timeout(20)
    page.keyboard.press("u")
    page.wait_for_timeout(100)
    assert server.item(first)["basis"] == "decision"
    let_through.append(True)
    for route in held:
        route.continue_()
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Undone')")
    assert server.item(first)["basis"] != "decision"


def test_j_and_k_move_and_typing_settles_nothing(look, server):
    page = look()
    names = page.locator("#queue button bdi").all_inner_texts()
    page.keyboard.press("j")
    page.wait_for_function("name => document.getElementById('item-name').textContent === name", arg=names[1])
    page.keyboard.press("k")
    page.wait_for_function("name => document.getElementById('item-name').textContent === name", arg=names[0])
    before = len(server.get("/decisions")["decisions"])
    page.locator("#worker-q").press_sequentially("123")
    page.wait_for_timeout(200)
    assert len(server.get("/decisions")["decisions"]) == before


def test_labels_run_by_as_they_come(look, server):
    page = look()
    server.post("/labels", [{"item": "photo 1", "worker": "a late worker", "label": "duck"}])
    page.wait_for_function("() => document.querySelector('#feed li').textContent.includes('a late worker')")
    assert page.locator("#feed li").first.inner_text() == "a late worker says duck of photo 1"
    labels = server.get("/summary")["labels"]
    page.wait_for_function("count => document.getElementById('status').textContent.startsWith(count)", arg=f"{labels} labels")
    said = page.locator("#fit").inner_text()
    assert said.endswith((" label ago", " labels ago")) or said in {"up to date", "running"}


def test_it_can_be_heard_and_reached_by_key(look):
    page = look()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Go to the disputed items"
    regions = page.locator("section[aria-labelledby]").evaluate_all(
        "all => all.map(one => document.getElementById(one.getAttribute('aria-labelledby')).textContent)"
    )
    assert {"Settled", "Expected errors", "Disputed items", "Workers", "Coming in", "Download"} <= set(regions)
    assert page.locator("[role=status]").count() == 3
    unnamed = page.locator("button, input, select").evaluate_all(
        "all => all.filter(one => !(one.textContent.trim() || one.closest('label'))).length"
    )
    assert unnamed == 0


def test_who_may_only_read_is_told_so(browser, server):
    token = server.post("/tokens", {"role": "read"})["token"]
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/?token={token}")
    page.wait_for_selector("#choices button")
    page.keyboard.press("1")
    page.wait_for_function("() => document.getElementById('said-last').textContent !== ''")
    assert page.locator("#said-last").inner_text() == "A token of the role 'read' may not do this."
    context.close()


def test_a_label_is_removed_and_comes_back(look, server):
    page = look()
    item = page.locator("#item-name").inner_text()
    before = server.item(item)["labels"]
    page.locator("#said button").first.click()
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Removed')")
    assert len(server.item(item)["labels"]) == len(before) - 1
    page.wait_for_function("() => !state.busy")
    page.locator("#undo").click()
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Undone')")
    again = server.item(item)["labels"]
    assert sorted((one["key"], one["label"]) for one in again) == sorted((one["key"], one["label"]) for one in before)


def test_an_expert_answers_items_drawn_at_random_without_seeing_what_others_said(look, server):
    page = look()
    drawn = server.get("/expert")
    assert page.locator("#advice li").all_inner_texts() == server.get("/summary")["advice"]
    page.locator("#to-expert").click()
    page.wait_for_selector("#expert-told:not([hidden])")
    first = drawn["items"][0]["item"]
    page.wait_for_selector("#item:not([hidden])")
    assert page.locator("#item-name").inner_text() == first
    assert page.locator("#said").is_hidden()
    assert page.locator("#item-stands").inner_text() == ""
    assert page.locator("#choices .leads").count() == 0
    page.keyboard.press("1")
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Taken as known')")
    assert server.item(first)["basis"] == "truth"
    assert server.get("/expert")["answered"] == drawn["answered"] + 1
    page.wait_for_function("() => !state.busy")  # keys do nothing while an answer is on its way
    page.keyboard.press("u")
    page.wait_for_function("() => document.getElementById('said-last').textContent.startsWith('Undone')")
    assert server.item(first)["basis"] != "truth"


def test_a_file_is_loaded_from_the_page(look, server, tmp_path):
    page = look()
    path = tmp_path / "more.csv"
    path.write_text("task,who,said\nfrom a file,zoe,duck\n")
    page.locator("summary").click()
    for field, column in (("item_column", "task"), ("worker_column", "who"), ("label_column", "said")):
        page.locator(f"[name={field}]").fill(column)
    page.locator("#file").set_input_files(str(path))
    page.locator("#upload button").click()
    page.wait_for_function("() => document.getElementById('said-file').textContent.startsWith('1 label added')")
    assert server.item("from a file")["label"] == "duck"
