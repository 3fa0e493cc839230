"""Documentation cannot drift: its code runs, its lists are complete."""

import re
import runpy
import shutil
from pathlib import Path

import pytest

import crowdassay
from conftest import DATA
from crowdassay.cli.main import main
from crowdassay.estimators.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    """Return language and text of every block that can be run, in order."""
    return re.findall(r"^```(python|console)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("CROWDASSAY_DATA", str(DATA))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page)])
def test_what_a_page_shows_works(page, workplace, capsys):
    """A page is read from top to bottom: its blocks share a folder and their names."""
    names = {}
    for language, block in blocks(page):
        if "load_dataset(" in block and not DATA.is_dir():
            pytest.skip("the data are not at hand: set CROWDASSAY_DATA to the folder that holds them")
        run_python(block, names, capsys) if language == "python" else run_commands(block, capsys)


def run_python(block, names, capsys):
    exec(compile(block, "documentation", "exec"), names)
    expected = [line[2:] for line in block.splitlines() if line.startswith("# ") and line[2:3] in "[('0123456789-"]
    assert capsys.readouterr().out.splitlines() == expected


def run_commands(block, capsys):
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *expected = part.rstrip().splitlines()
        if command.split()[0] == "make":
            assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
            continue
        assert command.split()[0] == "crowdassay"
        with pytest.raises(SystemExit) as stopped:
            main(command.split()[1:])
        printed = capsys.readouterr()
        assert not stopped.value.code, printed.err
        pattern = ".*".join(re.escape(piece) for piece in "\n".join(expected).split("..."))
        if expected:
            assert re.fullmatch(pattern, printed.out.rstrip(), flags=re.S), printed.out


def test_m18_the_page_of_the_interface_lists_no_private_names():
    """With `members: true` mkdocstrings lists what filters leave out elsewhere; a list or nothing names what is public."""
    listed = re.findall(r"^ +members: (.*)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), flags=re.M)
    assert listed
    for names in listed:
        assert names == "null" or re.fullmatch(r"\[[a-z]\w*(, [a-z]\w*)*\]", names), names


def test_m18_transcripts_show_their_numbers():
    """Three dots stand for what is left out at the end of a line, for lines and for times; never inside a sentence."""
    shortened = re.compile(r"(?<=[\w,:] )\.\.\.(?= (?!s\b)[\w%])|(?<=\w )\.\.\.\.$", flags=re.M)
    for page in PAGES:
        for language, block in blocks(page):
            if language == "console" and page.name != "next.md":  # whose figures the law of errors moves
                printed = "\n".join(line for line in block.splitlines() if not line.startswith("$"))
                assert not shortened.search(printed), (page.name, shortened.search(printed))


COMMANDS = re.findall(r"crowdassay (simulate .*?)`", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"), flags=re.S)


@pytest.mark.parametrize("command", COMMANDS, ids=["reviews", "plain"])
def test_the_examples_are_what_their_commands_make(command, tmp_path):
    arguments = command.split()
    place = arguments.index("--out") + 1
    folder, arguments[place] = ROOT / arguments[place], str(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert {"labels.csv", "truth.csv"} <= set(made)
    for name in made:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_badges_say_what_the_project_file_says():
    gallery = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    assert (gallery["PICTURES"] / "badges.svg").read_text(encoding="utf-8") == gallery["badges"](), "run: make pictures"


@pytest.mark.slow
def test_the_architecture_page_has_the_layers_and_a_bullet_for_every_file():
    files = runpy.run_path(str(ROOT / "docs" / "files.py"))
    assert files["PAGE"].read_text(encoding="utf-8") == files["page"](), "run: python docs/files.py"


def test_every_module_is_in_the_contract():
    files = runpy.run_path(str(ROOT / "docs" / "files.py"))
    named = [name for layer in files["layers"]() for name in layer]
    assert sorted(named) == sorted(files["modules"]())


def test_files_named_in_the_table_of_changes_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.split("## What a change touches")[1].split("## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("|")][2:]
    for row in rows:
        names = re.findall(r"`([\w/]+\.(?:py|html))`", row)
        assert 1 <= len(names) <= 3, row
        for name in names:
            assert (ROOT / "src" / "crowdassay" / name).is_file(), name


def test_nothing_is_imported_by_name_in_a_string():
    """Imports that a string hides point wherever they like; the public names of the package alone are looked up so."""
    for path in (ROOT / "src" / "crowdassay").rglob("*.py"):
        if path.parent.name != "crowdassay":
            found = re.findall(
                r"import_module\(.crowdassay|(?<!files\()[\"']crowdassay\.\w+\.\w+[\"']", path.read_text(encoding="utf-8")
            )
            assert not found, (path, found)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name):
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    assert f"`--method {name}`" in text
    assert "$$" in text
    assert f"methods/{name}.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = {line.rpartition(".")[2] for line in text.splitlines() if line.startswith("::: ")}
    assert set(crowdassay.__all__) <= shown
