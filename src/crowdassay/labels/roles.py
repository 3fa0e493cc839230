"""The roles that columns play: which words name each, what it holds, and whether rows are of use without it.

Labels, truth, ratings, comparisons, verdicts and prices are all read by this one list; `find_columns` finds their columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

ITEM_WORKER_LABEL = ("item", "worker", "label")
BESIDE = ("time", "duration", "weight", "text")  # what may go with every label


@dataclass(frozen=True)
class Role:
    """What is looked for in a table.

    Attributes
    ----------
    name : str
        What messages call it.
    option : str, optional
        The option of the command line that names its column; without one the remedy is to rename a column.
    words : tuple of str
        What columns of this role are called, without blanks, underscores and capitals; earlier words win.
    endings : tuple of str
        What may follow a word: a plain word wins over the same word with "id".
    late_endings : tuple of str
        What may follow a word where nothing better is there.
    late_words : tuple of str
        Tried last, since they name other things as well.
    required : bool
    kind : {'name', 'class', 'number', 'time', 'text'}
        What the column holds.
    """

    name: str
    option: str | None = None
    words: tuple[str, ...] = ()
    endings: tuple[str, ...] = ("",)
    late_endings: tuple[str, ...] = ()
    late_words: tuple[str, ...] = ()
    required: bool = True
    kind: Literal["name", "class", "number", "time", "text"] = "name"

    @property
    def spellings(self) -> list[str]:
        """The names by which a column of this role is known, best first."""
        tries = ((self.words, self.endings), (self.words, self.late_endings), (self.late_words, self.endings))
        return [word + ending for words, endings in tries for word in words for ending in endings]

    def is_named(self, column: str) -> bool:
        """Return whether a column's name is one of the plain words of this role.

        >>> ROLES["worker"].is_named("Worker_ID"), ROLES["label"].is_named("annotation_id")
        (True, False)
        """
        return any(plain_name(column) == word + ending for word in self.words for ending in self.endings)

    def best(self, columns: Sequence[str]) -> list[str]:
        """Return the columns, more than one in case of doubt, that match the earliest spelling of this role."""
        for spelling in self.spellings:
            if matches := [name for name in columns if plain_name(name) == spelling]:
                return matches
        return []


RoleLike: TypeAlias = str | Role


def role_of(role: RoleLike) -> Role:
    """Return a role by its name; a role that is none of `ROLES` as it is."""
    return role if isinstance(role, Role) else ROLES[role]


def is_worker_name(name: str) -> bool:
    """Return whether a column is named after one of several workers: by number, or by an address.

    >>> is_worker_name("rater_2"), is_worker_name("ann@example.org"), is_worker_name("ann")
    (True, True, False)
    """
    return bool(NUMBERED_WORKER.fullmatch(name) or MAIL_ADDRESS.fullmatch(name))


def plain_name(name: str) -> str:
    """Return a column's name without blanks, underscores, hyphens and capitals, and without marks around it.

    >>> plain_name("Worker_ID"), plain_name("Your Name:")
    ('workerid', 'yourname')
    """
    return re.sub(r"^!|[\s_\-]+|[:?*.]+\s*$", "", name).casefold()


_WORKERS = (
    "worker", "annotator", "rater", "user", "labeler", "labeller", "coder", "judge", "crowdworker", "assessor",
    "turker", "contributor", "reviewer", "participant", "username", "evaluator", "grader", "scorer", "expert", "respondent",
    "annotatedby", "labeledby", "labelledby", "completedby", "annotationagent", "voter", "turk", "validator", "listener",
    "yourname", "reviewedby", "ratedby", "judgedby", "scoredby", "gradedby", "codedby", "evaluatedby", "annotatormodel",
    "evaluatormodel", "gradermodel", "ratermodel", "amtworker", "amtworkerids", "mturkworker", "mturkid", "participantprivate",
    "prolificpid", "prolificid",
)  # fmt: skip
_LABELS = (
    "label", "answer", "response", "annotation", "judgement", "judgment", "rating", "vote", "choice", "class",
    "category", "verdict", "labels",
)  # fmt: skip
_LATE_LABELS = ("score", "grade", "preference", "intent", "value", "val")
RATINGS = ("rating", "score", "grade", "value", "val")  # of which each may be the answer where the label column holds texts
JUDGE_MODELS = ("judgemodel", "judgellm", "modeljudge", "llmjudge")
KINDS_OF_ITEMS = (
    "category",
    "type",
    "topic",
    "domain",
    "intent",
)  # what an item may be about, as well as what workers say of it
# Things that are judged: with "id" they name items, alone they may be a text or a remark.
_JUDGED = (
    "tweet", "post", "comment", "doc", "message", "rev", "revision", "video", "movie", "article", "review",
    "utterance", "stimulus", "passage", "paragraph", "snippet", "page", "clip", "audio", "photo", "picture", "pair", "case",
    "product", "paper", "statement", "claim", "argument", "query",
)  # fmt: skip

WORDS_FOR_ITEMS = frozenset(
    {"doc", "document", "tweet", "post", "article", "page", "paragraph", "video", "movie", "paper", "product", "index", "idx"}
)

# Zooniverse's subjects are judged, those of an experiment judge: what else there is decides.
SUBJECTS = ("subjectid", "subject", "subjectids")
MAYBE_WORKERS = (*SUBJECTS, "ann")  # an annotator, or somebody called Ann

POSITIONS = frozenset({"slot", "position", "order", "rank", "place"})
# An experiment counts its steps anew for every worker: slide_number, trial_index.
STEPS = frozenset({"slide", "trial", "screen", "step", "presentation"})
NUMBERING = frozenset({"number", "num", "no", "nr", "index", "idx", "count", "counter"})
# Beside columns that are called after one of these, a model is what was rated.
RATERS = frozenset(
    {"rater", "annotator", "labeler", "labeller", "coder", "evaluator", "grader", "scorer", "assessor", "reviewer"}
)
# How columns and files of several workers are numbered or lettered.
SHORT_NUMBERED = r"(?:r|ann|vote)[\s_\-]*\d+"  # which may be other things as well
NUMBERED_WORKER = re.compile(rf"(?:{'|'.join(_WORKERS)})(?:[\s_\-]*\d+|[\s_\-]+[a-z]|[a-rt-z])|{SHORT_NUMBERED}", re.IGNORECASE)
MAIL_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")

# Only items and workers may end in "id": an `annotation_id` is no label.
_DECLARED = (
    Role(
        "item", "--item-column",
        ("item", "task", "question", "unit", "example", "object", "instance", "document", "record", "hit", "sample",
         "image", "sentence"),
        ("", "id"), ("url", "name"),
        (*(f"{word}id" for word in _JUDGED), "prompt", "conversation", "text", "filename", "file",
         "imagefile", "imagepath", "audiofile", "videofile", "stimid", "imgid", "uttid", "sentid", "id", "tweet", "utterance",
         "stimulus", *SUBJECTS),
    ),
    Role("worker", "--worker-column", _WORKERS, ("", "id"), ("email", "name"), (*JUDGE_MODELS, "model", "llm", "agent")),
    Role("label", "--label-column", _LABELS, late_words=_LATE_LABELS, kind="class"),
    Role(
        "truth", None, ("truth", "truelabel", "gold", "goldlabel", "groundtruth", "gt", "target", *_LABELS),
        late_words=_LATE_LABELS, kind="class",
    ),
    Role(
        "time", "--time-column",
        ("time", "timestamp", "datetime", "createdat", "created", "submittedat", "submittime", "annotatedat", "labeledat",
         "labelledat", "updatedat", "completedat", "date"),
        required=False, kind="time",
    ),
    Role(
        "duration", "--duration-column",
        ("duration", "leadtime", "worktimeinseconds", "worktime", "timespent", "timespentinseconds", "secondstolabel",
         "elapsedseconds", "responsetime", "timetaken"),
        required=False, kind="number",
    ),
    Role("weight", "--weight-column", required=False, kind="number"),  # never guessed: it may be what an object weighs
    Role("text", "--text-column", ("text", "itemtext", "content", "imageurl", "url"), required=False, kind="text"),
    # Ratings.
    Role(
        "score", "--score-column",
        ("score", "rating", "grade", "mark", "label", "answer", "response", "judgement", "judgment", "value"),
        kind="number",
    ),
    # Comparisons of two things.
    Role(
        "left", "--left-column",
        ("left", "modela", "a", "itema", "optiona", "responsea", "player1", "first", "item1", "model1",
         "generator1", "leftitem", "leftid"),
    ),
    Role(
        "right", "--right-column",
        ("right", "modelb", "b", "itemb", "optionb", "responseb", "player2", "second", "item2", "model2",
         "generator2", "rightitem", "rightid"),
    ),
    Role(
        "winner", "--winner-column",
        ("winner", "label", "preference", "preferred", "choice", "outcome", "result", "answer", "verdict", "vote", "selected"),
        kind="class",
    ),
    Role("question", "--cluster", ("question", "prompt", "instruction"), ("", "id"), required=False),
    # Prices.
    Role("judge", None, ("judge", "worker", "model")),
    Role("cost", None, ("cost", "price"), kind="number"),
    # The expert's sheet: which of its items were drawn at random.
    Role("drawn", None, ("drawn",), required=False),
)  # fmt: skip

ROLES: Mapping[str, Role] = {role.name: role for role in _DECLARED}
TRUTH_ROLES = (replace(ROLES["item"], option=None), ROLES["truth"])  # there are no options for the columns of such a file
SHEET_ROLES = (*TRUTH_ROLES, ROLES["drawn"])
AT_RANDOM = "at random"  # what the column ``drawn`` says of items that were
