"""Write the tables in reliability.md, each row with the tests that show it: `python docs/faults.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
MARK = "<!-- table -->\n"
KNOCKS_HEADING = "\n## The second round of attempts to break it\n"
TEST = re.compile(r"^def (test_row_(\d\d)_\w+)", re.MULTILINE)
FUNCTION = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
KNOCK, KNOCK_IN_NAME = re.compile(r"\b[WLSM]\d+\b"), re.compile(r"test_([wlsm]\d+)_")

ROWS = {
    1: ("Empty file, or header only", 'Error "no labels found", exit 1; in Python a `ValueError`; no output'),
    2: ("Missing or misspelt column", "Error listing the columns found and the nearest match; exit 2"),
    3: (
        "Null, blank or whitespace item, worker or label",
        "Row dropped and counted by reason; error if more than half are dropped, unless `--allow-drops`",
    ),
    4: (
        "The same judgement twice (worker, item and label)",
        "Kept and counted; `--repeats first`, `last` or `error` change that",
    ),
    5: (
        "Same worker, same item, different labels",
        "The same policy; conflicts are counted and three are named; `first` and `last` go by the time column if there is "
        "one, else by row, and say which",
    ),
    6: (
        "Label `1` and `1.0`; `Yes`, `yes `, NFC and NFD variants",
        "Equal numbers are one class; variants are reported with a suggested map and never merged silently",
    ),
    7: ("19-digit ids, leading zeros, `1e5`, `NA`, `None`, `null` as ids", "Ids stay text, byte for byte"),
    8: (
        "UTF-8 BOM, UTF-16, Latin-1, NUL bytes, lone surrogates",
        "UTF-8 and UTF-16 read, with or without BOM; else the error names line and byte; NUL refused with its line",
    ),
    9: (
        "Ragged rows, unclosed quote, embedded newlines, mixed line ends, `;` or tab separators",
        "Sniffed; bad lines counted and listed up to 20; an unclosed quote is an error with its line",
    ),
    10: (
        "Truncated JSON, JSONL or Parquet",
        "Error with the line or byte; JSONL keeps its good lines only with `--skip-bad`",
    ),
    11: ("One class only", 'Labels returned with a "degenerate: one class" note; agreement undefined, not 1'),
    12: ("One worker, or one label per item", "Falls back to priors; said to be an assumption; no worker is judged"),
    13: ("Disconnected worker-item graph", "Works; components reported; worker scores not compared across them"),
    14: ("All workers random, or an adversarial majority", 'Ends; "no better than chance" said, and the risk of a swap'),
    15: (
        "Perfect agreement or separation",
        "No overflow, nothing infinite; with the default method a probability below 1 (a vote share of 1 is 1)",
    ),
    16: ("One worker with 40 % of the labels; 10^6 workers with one label", "Bounded memory and time"),
    17: (
        "1000 classes, or free text taken as label",
        "Refused before allocating when classes² x workers exceeds the memory, with the estimate and advice",
    ),
    18: (
        "Gold in conflict with itself, unknown gold items, gold label not in classes",
        "Error for conflict; the others counted and noted; gold never changed by the model",
    ),
    19: (
        "Ordered labels whose order is unknown, or gaps (1, 2, 4, 5)",
        "Asks for `--order`; numeric order only when all labels are numbers; levels given but unseen are kept, gaps noted",
    ),
    20: (
        "NaN, infinite or negative weights or times",
        "Error with the row; weight 0 is left out and counted; different positive weights are refused, since no method "
        "takes them",
    ),
    21: ("No convergence", "Result saved with `converged: false` and a note, exit 0; exit 1 with `--strict`"),
    22: (
        "Ctrl-C, SIGTERM or kill -9 while fitting or saving",
        "Old result intact or new one complete; exit 3 within a second",
    ),
    23: (
        "Disk full, read-only folder, output path is a file, input vanishes",
        "Error before fitting where it can be known; no partial file left",
    ),
    24: ("Out of memory", "Estimated first; `MemoryError` is a message; `--engine files` needs less"),
    25: (
        "Saved state truncated, tampered with, or of a newer version",
        "Arrow and JSON with checksum and version; refused in words; pickle never loaded",
    ),
    26: (
        "Worker or label named `<script>`, `</script>`, 10,000 characters, RTL marks, emoji",
        "Shown inert and shortened in HTML and JSON-in-script; raw value kept in data exports",
    ),
    27: (
        "Worker named `=HYPERLINK(..)`, `@SUM`, `-1+1`, tab prefix",
        "CSV for people gets a `'` before it; `--raw` for machines; numbers such as -1 untouched",
    ),
    28: (
        "Zip bomb, too many entries, `../` names, links, gzip ratio above 100",
        "Refused before unpacking by size, count and ratio; nothing is ever unpacked to disk; the server takes no archives",
    ),
    29: ("Upload above the limit, slow, of the wrong type, empty", "413, 408, 415, 422; temporary files gone; server stays up"),
    30: (
        "Path traversal in ids; SQL in names",
        "404; identifiers quoted, values bound; DuckDB opens the one file named and nothing else",
    ),
    31: (
        "Two uploads or fits at the same time; restart in the middle",
        'One transaction each; one fit runs and one waits, then 429; "interrupted" after a restart',
    ),
    32: (
        "Cross-site POST, foreign Host header, public bind",
        "Refused; loopback and a token by default; a warning when bound elsewhere",
    ),
    33: ("Spark executor lost, Python worker without pyarrow", "Retried, or a clear message; same labels as the local run"),
    34: ("GPU absent, out of memory, or NaN in float32", "Falls back to the CPU with one warning"),
    35: (
        "Personal data: emails as worker ids, IP columns",
        "Only the columns needed are read; `--pseudonymise` makes stable salted ids; no values in messages about counts",
    ),
}
# What broke when it was broken on purpose: the fault, what happens now, and the tests, named after what they are about.
BROKEN_ON_PURPOSE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "A class that nobody chose",
        "No item gets it, and a note says so",
        ("test_a_class_that_nobody_chose_takes_no_part",),
    ),
    (
        "Broken text on its way to Spark: quoted newlines, long rows, Latin-1, broken JSON lines, an open quote",
        "The same words as from memory and files",
        ("test_w2_text_on_its_way_to_spark_gets_the_same_checks",),
    ),
    (
        "`--missing -1` where labels are floating-point numbers, or spelt -1.0",
        "Left out, whatever the engine",
        (
            "test_w3_missing_labels_in_a_column_of_floats",
            "test_w3_missing_labels_in_text_however_they_are_spelt",
        ),
    ),
    (
        "`--repeats last` with several files, from disk, or with times in nanoseconds",
        "Goes by time everywhere, to the last digit; refused where only some files have times",
        (
            "test_w4_repeats_go_by_time_from_one_file_two_files_and_disk",
            "test_w4_nanoseconds_as_numbers",
            "test_w4_a_time_column_in_some_files_only",
        ),
    ),
    (
        "Numerals that are not ASCII, or have underscores",
        "Texts: methods that need an order ask for `--order`",
        ("test_w5_numerals_that_are_sorted_as_text_are_not_called_natural",),
    ),
    (
        "A fit that collapses, or disagrees with nearly every vote",
        "Left for another start or a simpler model, and a note says so",
        (
            "test_a_fit_that_contradicts_the_votes_is_left",
            "test_real_fits_that_collapsed",
        ),
    ),
    (
        "A frame in one JSON object; lists and objects as labels",
        "The frame is read; the others refused by record",
        ("test_w7_frames_in_one_json_object", "test_w7_lists_and_objects_are_no_labels"),
    ),
    (
        "RMSE of classes 1, 2, 10",
        "Numbers use their values; other classes are said to be counted in steps",
        ("test_distances_are_those_of_the_numbers_or_of_the_steps",),
    ),
    ("Results written into a model's folder", "Refused", ("test_tables_do_not_go_into_a_model",)),
    (
        "Outputs that would replace inputs: through patterns, folders, links; or files of yours under our names",
        "Refused before anything is read; a folder is ours by its marker alone",
        (
            "test_what_is_read_is_not_written_over",
            "test_what_somebody_keeps_under_our_names_is_not_simulated_over",
        ),
    ),
    (
        "Several updates of one model at once; the same labels again",
        "One after the other; what the model has is not counted twice",
        (
            "test_updates_at_once_lose_nothing",
            "test_conflicts_with_labels_of_the_model_follow_the_policy",
        ),
    ),
    (
        "Spark killed between two tables",
        "The old tables or the new ones",
        ("test_results_appear_at_once",),
    ),
    (
        "Folders and files of yours where we clean up",
        "Left alone without our marker",
        ("test_l6_a_folder_of_the_users_own_is_left_alone",),
    ),
    (
        "`--pseudonymise` from disk, and updates without it or with another salt",
        "No id leaks; a wrong salt is said",
        (
            "test_s1_names_do_not_leak_from_disk",
            "test_updates_neither_bring_real_ids_nor_make_strangers_of_workers",
            "test_the_right_salt_knows_its_workers_and_a_wrong_one_is_said",
        ),
    ),
    (
        "A zip that lies about its sizes",
        "Refused within 16 MB",
        ("test_s2_a_zip_that_lies_about_its_sizes",),
    ),
    (
        "Formulas after `;`, a line feed, full-width signs, and in Spark's headers",
        "Quoted, or with an apostrophe",
        (
            "test_s3_cells_that_a_spreadsheet_would_run",
            "test_headers_that_a_spreadsheet_would_run",
        ),
    ),
    (
        "NUL in text, Parquet, pairs, ratings, and in what Spark reads itself",
        "Refused everywhere",
        (
            "test_s4_nul_is_refused_everywhere",
            "test_s4_nul_is_refused_in_pairs_and_ratings",
            "test_nul_in_what_spark_reads_itself",
        ),
    ),
    (
        "Models that were changed and signed again",
        "Work, or are refused in one sentence",
        (
            "test_whatever_is_signed_again_works_or_is_refused_in_one_sentence",
            "test_codes_that_point_nowhere_never_reach_compiled_code",
            "test_brackets_in_brackets_are_no_model",
        ),
    ),
    (
        "Ctrl-C or SIGTERM after everything was written, while Python tidies up",
        "Nothing: the exit code is that of the work",
        ("test_ctrl_c_when_all_is_done_changes_nothing",),
    ),
    (
        "Standard output or error closed",
        "Exit codes as ever",
        (
            "test_a_closed_stream_does_no_harm",
            "test_an_error_with_closed_standard_error_still_has_its_exit_code",
        ),
    ),
    (
        "A report under a limit of addresses",
        "Refused before the work",
        ("test_a_report_under_a_limit_of_addresses_is_refused_before_the_work",),
    ),
    (
        "Hundreds of classes",
        "Workers' tables have rows for the cells that occur; several starts are for few cells, long fits announced",
        (
            "test_with_many_classes_workers_have_rows_for_their_cells",
            "test_several_starts_are_for_few_cells_and_long_fits_are_announced",
        ),
    ),
    (
        "Classes that differ in case alone, on Spark",
        "Kept apart",
        ("test_classes_that_differ_in_case_alone",),
    ),
    (
        "A file that DuckDB refuses, with `--memory`",
        "Read little by little",
        (
            "test_c6_what_duckdb_refuses_is_still_read_little_by_little",
            "test_memory_is_kept_to",
        ),
    ),
    (
        "More workers than `--memory` has room for",
        "Refused before the fit, with what they take",
        ("test_more_workers_than_the_memory_has_room_for_are_refused_before_the_fit",),
    ),
    (
        "Ctrl-C while modules load",
        "Interrupted, exit 3",
        ("test_ctrl_c_while_modules_load_is_an_interruption",),
    ),
    (
        "JSON lines with late, many or sparse keys",
        "Read",
        ("test_m1_json_lines_with_late_many_and_sparse_keys",),
    ),
    (
        "Parquet files whose types differ; bytes that are no text",
        "Read as text; refused by column",
        ("test_m2_parquet_files_whose_types_differ_and_bytes_that_are_no_text",),
    ),
    ("Fields of more than 131,072 characters", "Read", ("test_m3_fields_longer_than_the_csv_module_likes",)),
    (
        "Penalties and smoothing of 1e308",
        "Refused",
        ("test_penalties_that_are_no_numbers_are_refused",),
    ),
    (
        "`Item` and `item`; labels that look the same; ids in floating-point columns",
        "Asked which; noted; written alike by every engine",
        (
            "test_m5_columns_that_differ_in_case_only",
            "test_m6_texts_that_look_the_same_are_noted",
            "test_m7_ids_in_floats_are_written_alike",
            "test_floating_point_ids_and_labels_are_written_as_in_memory",
        ),
    ),
    (
        "One bad time; a file replaced while it is read",
        "The row is named; noticed",
        (
            "test_m8_one_bad_time_is_the_one_that_is_named",
            "test_m9_a_file_replaced_while_it_is_read",
        ),
    ),
    (
        "`--strict --quiet`; a password in an address; `--next`",
        "The reason is said; never repeated; what was written is said",
        (
            "test_strict_says_why_even_when_quiet",
            "test_no_message_repeats_a_password_and_no_address_becomes_a_folder",
            "test_a_file_of_items_to_label_next_is_written_and_said",
        ),
    ),
    (
        "Exports with short rows, blank lines, byte order marks, any separator",
        "Every judgement that is there, and nothing else",
        ("test_short_rows_blank_lines_marks_and_separators",),
    ),
    (
        "An item that several columns tell, such as model and prompt, or a guessed item that makes most labels repeats",
        "`--item-column model,prompt` on every engine; the guess stops with the columns that make every label the only one",
        (
            "test_several_columns_make_the_item_in_every_kind_of_file",
            "test_several_columns_make_the_item_as_in_memory",
            "test_a_guessed_item_that_makes_most_labels_repeats_stops_with_the_columns_that_read_the_file_right",
        ),
    ),
    (
        "A table of spans or of tokens with tags; a proposal that would misread the very file",
        "Refused by name with what to give instead; only what was tried on the file is proposed",
        (
            "test_spans_and_tokens_are_refused_by_name_with_what_to_give_instead",
            "test_only_what_reads_the_file_is_proposed",
        ),
    ),
    (
        "The expected error, asked in the terminal, the report, the notebook, tables, Python and `plan`",
        "One number everywhere, with and without known items",
        ("test_every_place_says_the_same_numbers", "test_a_saved_model_says_the_same_error"),
    ),
    (
        "Labels of one class, one label an item, one worker, or a method whose probabilities nobody has checked",
        "No estimate of the error, and why; gates fail, and `plan` never says stop",
        (
            "test_without_an_estimate_every_place_says_so_and_why",
            "test_other_methods_give_no_estimate_in_python",
            "test_labels_that_nobody_else_gave_are_marked_in_python",
            "test_where_everything_is_known_nothing_is_wrong",
        ),
    ),
    (
        "Two of three votes on a lone item; labels that never differ; known items that show many errors",
        "Not settled; they count for little more than one; the error is what they show",
        (
            "test_two_of_three_votes_on_one_item_settle_nothing",
            "test_labels_that_never_differ_count_for_little_more_than_one",
            "test_the_error_that_known_items_show_is_heeded",
        ),
    ),
)
FIRST = len(ROWS) + 1
ROWS |= {n: (fault, outcome) for n, (fault, outcome, _) in enumerate(BROKEN_ON_PURPOSE, FIRST)}
# Rows whose tests are named after what they are about.
ELSEWHERE: dict[int, tuple[str, ...]] = {
    **{n: shown for n, (*_, shown) in enumerate(BROKEN_ON_PURPOSE, FIRST)},
    25: ("test_damage_is_found",),
    33: (
        "test_a_lost_executor_changes_nothing",
        "test_executors_without_the_package",
    ),
}
# The second round, by the names that tests carry: W wrong answers, L lost data, S the service, M misleading. What happened, and
# what happens now. A row that no test names is open.
KNOCKS: dict[str, tuple[str, str]] = {
    "W1": ("A class that nobody chose, with a latent trait", "It takes no part in any method"),
    "W6": (
        "A fallback that is worse than what it replaces",
        "It is taken only where it beats the vote by the tool's own check",
    ),
    "W10": ("An ordered categorical changes the decision", "The likeliest class, unless another decision is asked for by name"),
    "W11": ("A ranking in which one competitor is always on one side", "The side's effect is not estimated, and that is said"),
    "W12": (
        "Several people, or both orders, on one question",
        "Intervals are clustered by question, in `rank`, `rate` and `measure`",
    ),
    "W13": ("A judge's left bias beside the mean judge's", "The judge's own is shown"),
    "W14": ("`rate` on the same rows in another order", "The same figures"),
    "W15": (
        "`03/02/2024 10:00`",
        "Refused where times are needed, else left aside; a number above 12 in one date tells for all",
    ),
    "W16": ("MACE with other names of workers or classes", "The same answer"),
    "W17": (
        "A sample of rows that ends in the middle of a cell",
        "That row says nothing; what is the same in all rows of every item is not taken for the label where another could be",
    ),
    "W18": ("promptfoo: assertions that threw, or none", "They have not judged, and nothing is made up for them"),
    "W19": ("Several metrics in one table", "Each is a question of its own; `--question` picks one"),
    "W20": ("The best workers accused of copying, and real copies missed", "Copies show in the answers that nobody else gives"),
    "W21": ("Workers with one answer who are as right as the others", "They are not accused"),
    "W22": ("Intervals of workers that hold less often than they promise", "They hold what they promise on data left out"),
    "W23": ("`compare` without truth names a best", "Only where the held-out labels can tell"),
    "W24": ("Expected errors of other methods than the default", "Not given, and why is said"),
    "W25": ("One label for each item", "The error is said to be unknown, in every place"),
    "W26": ("Two votes against one on a lone item", "It is not settled; what known items show is heeded"),
    "L7": ("Two outputs of one run on one path", "Refused before any work, links and names in another case included"),
    "L8": ('Python `save("")`', "Refused"),
    "L9": ("A model whose objective is no number", "It is read again"),
    "L10": ("A store that is copied while it is served", "`crowdassay store backup` copies all of it"),
    "S6": ("A label token that takes the key of another's next label", "Keys that are given and keys that are made live apart"),
    "S7": (
        "Numbers that no row can have, two hosts, unknown standings",
        "404, refused, 422; a token that is taken back ends at once",
    ),
    "S8": ("A schema in the address of PostgreSQL", "It is made"),
    "S9": ("The first label of a job", "It is fitted"),
    "S10": ("Times and durations sent to the service", "They reach the fit"),
    "S11": ("The database is away; nothing is logged", "`GET /ready` says so; requests and fits are logged"),
    "S12": ("A proxy with a path, another port or another Host", "The page and its cookie work behind it"),
    "S13": (
        "Any token makes a new class; a truth cannot be taken back",
        "Classes can be fixed; truths are listed and taken back",
    ),
    "S14": ("The page of a job without known items", "It gives the advice that `aggregate` gives"),
    "M11": ("`plan` for labels of one class", "No error is estimated, and it never says to stop"),
    "M12": ("One quantity, two numbers", "Terminal, report, page, tables, Python and `plan` say the same"),
    "M13": ("What it will cost", "Items that more labels would settle have a price, and so have those for an expert"),
    "M14": (
        "Sentences with a wrong number, list or reason",
        "Counts agree with their nouns; workers are named under what is to be done",
    ),
    "M15": ("scikit-learn's scorers", "A wide frame or a matrix is predicted as an array"),
    "M16": (
        "Ids that are replaced, `--quiet`, infinite classes, names that look alike, a class None",
        "Found; silent; refused; said",
    ),
    "M17": ("Sentences that stopped a manager", "Plain words"),
    "M18": ("Frames and tables of other kinds", "They are read, or refused with a remedy"),
    "M19": ("Tests of Ctrl-C started by a shell that ignores it", "Ctrl-C is heard whoever started them"),
}
# Why a row has no test yet.
NOT_YET: dict[int, str] = {}


def tests() -> dict[int, list[str]]:
    """Return the tests by row: every function `test_row_NN_...` under tests/, and those that a row names."""
    found: dict[int, list[str]] = {}
    homes: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text, place = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT / "tests"))
        homes |= dict.fromkeys(FUNCTION.findall(text), place)
        for name, row in TEST.findall(text):
            found.setdefault(int(row), []).append(f"`{place}::{name}`")
    for row, names in ELSEWHERE.items():
        for name in names:
            if name not in homes:
                raise LookupError(f"there is no test {name}")
            found.setdefault(row, []).append(f"`{homes[name]}::{name}`")
    return found


def knock_tests() -> dict[str, list[str]]:
    """Return the tests by row of the second round: those that name it in their own name or in their docstring."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named = {one.upper() for one in KNOCK_IN_NAME.findall(node.name)}
                for row in named | set(KNOCK.findall(ast.get_docstring(node) or "")):
                    found.setdefault(row, []).append(f"`{path.relative_to(ROOT / 'tests')}::{node.name}`")
    return found


def page() -> str:
    """Return the page with its tables made anew."""
    found = tests()
    lines = ["| # | Input or fault | What happens | Shown by |", "|---|---|---|---|"]
    for number, (fault, outcome) in ROWS.items():
        shown = "<br>".join(found.get(number, [])) or f"not tested: {NOT_YET[number]}"
        lines.append(f"| {number} | {fault} | {outcome} | {shown} |")
    lines += [KNOCKS_HEADING, "| Row | What was found | What happens now | Shown by |", "|---|---|---|---|"]
    known = knock_tests()
    for row, (fault, outcome) in KNOCKS.items():
        shown = "<br>".join(known.get(row, []))
        lines.append(f"| {row} | {fault} | {outcome if shown else 'Open'} | {shown} |")
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
