"""Honest players: models that read the prompt as a person would, and nothing else.

They show that a prompt suffices: what such a player cannot find in its messages, no language model
can know either. A player is a generator that is sent the newest observation and gives an action; it
knows English and the house by its own notes, made from the text alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    Usage,
)

Play = Generator[str, str, None]
"""Actions; what is sent back is the next observation."""

Spot = tuple[float, float]
_SEEN = re.compile(r"(\w+?_\d+) \(([^()]*?)(?:, )?(\d+\.\d) m\)")
_PARTS = re.compile(r"; |\n|(?:On your left|Ahead|On your right): ")
_GROUP = re.compile(r"(?:on|in) (\w+_\d+): ")
_LISTED = re.compile(r"\b([a-z]\w*_\d+)\b(?: \(([^()]*)\))?")
_NAME = re.compile(r"\b[a-z]\w*_\d+\b")
_SAME = re.compile(r"\ba ([a-z ]+?),? (?:is )?a (\w+_\w+)")
_NUMBERS = {"knives": "knife", "watches": "watch", "loaves": "loaf"}


class Honest(Model):
    """A model that answers ``Action: …`` by a player's script. ``script`` is given the prompt's
    fixed text and its task."""

    name = "honest"

    def __init__(self, script: Callable[[str, str], Play]) -> None:
        self._script = script
        self._play = None
        self.said: list[str] = []
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        assert not isinstance(prompt, str)
        self.prompts.append(prompt)
        words = [m.content for m in prompt if isinstance(m, Message)]
        if self._play is None:
            fixed = words[0]
            first = words[1]
            task = first.split("Task: ", 1)[1].split("\n\nObservation: ")[0]
            self._play = self._script(fixed, task)
            next(self._play)
        try:
            action = self._play.send(words[-1].rpartition("Observation: ")[2])
        except StopIteration:
            action = "stop"
        self.said.append(action)
        return Completion((f"Action: {action}",), ("stop",), Usage(1, 1))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


@dataclass
class Notes:
    """What a player wrote down of a house."""

    rooms: list[str]
    words: dict[str, str]
    here: str = ""
    said: str = ""
    holding: str = ""
    place: dict[str, str] = field(default_factory=dict)
    spot: dict[str, Spot] = field(default_factory=dict)
    room: dict[str, str] = field(default_factory=dict)
    open: dict[str, bool] = field(default_factory=dict)
    away: dict[str, float] = field(default_factory=dict)
    """Of what is in view now, metres."""
    others: bool = False
    exact: bool = False
    """Whether no shorter name will do: a knife is no butter knife."""
    explored: set[str] = field(default_factory=set)
    looked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, fixed: str) -> Notes:
        """From the fixed part of a prompt: the rooms, and what everyday words stand for."""
        found = re.search(r"rooms: (.+)", fixed)
        rooms = found.group(1).split(", ") if found else []
        tail = fixed.partition("Synonyms: ")[2].split(".")[0]
        words = dict(re.findall(r"([\w ]+?) = (\w+)", tail))
        words = {word.strip(): name for word, name in words.items()}
        return cls(rooms, words, others="The others are" in fixed)

    def read(self, text: str) -> str:
        """Take in an observation; gives it back."""
        self.said = text
        here = re.search(r"You are in (?:the )?(.+?), facing", text)
        self.here = here.group(1) if here else self.here
        held = re.search(r"facing .+?, holding (\w+)", text)
        if held:
            self.holding = held.group(1).removeprefix("nothing")
        self.away.clear()
        groups = [
            (_GROUP.match(part), _SEEN.findall(part)) for part in _PARTS.split(text)
        ]
        seen = [(on[1] if on else "", each) for on, those in groups for each in those]
        for on, _ in groups:
            if on:
                self.place |= dict.fromkeys(_NAME.findall(on.string[on.end() :]), on[1])
                for name, about in _LISTED.findall(on.string, on.end()):
                    self.room.setdefault(name, self.here)
                    self.spot.pop(name, None)
                    if spot := _middle(about):
                        self.spot[name] = spot
        for on, (name, about, metres) in seen:
            self.away[name] = float(metres)
            parts = about.split(", ")
            if on:
                self.place[name] = on
                self.spot.pop(name, None)
            if spot := _middle(about):
                self.spot[name] = spot
            self.room.setdefault(name, self.here)
            for state in ("open", "closed"):
                if state in parts:
                    self.open[name] = state == "open"
        return text

    def like(self, phrase: str, names: Sequence[str] = ()) -> list[str]:
        """The names known (or given) that an everyday phrase may mean."""
        pool = names or list(dict.fromkeys([*self.room, *self.place]))
        reply = phrase.strip().lower()
        reply = self.words.get(reply, reply).replace(" ", "_")
        joined = reply.replace("_", "")
        exact = [n for n in pool if n.rpartition("_")[0].replace("_", "") == joined]
        if exact:
            return exact
        words = set(reply.split("_")) - {"of", "a", "the"}
        kinds = {n: set(n.split("_")[:-1]) for n in pool}
        return [
            n
            for n, own in kinds.items()
            if words <= own or (own <= words and not self.exact)
        ]


def singular(words: str) -> str:
    """``heads of lettuce`` -> ``head of lettuce``."""
    head, of, back = words.partition(" of ")
    front, _, last = head.rpartition(" ")
    one = _NUMBERS.get(last) or re.sub(r"(?<=[ox])es$|s$", "", last)
    return f"{front} {one}{of}{back}".strip()


class House:
    """How a player goes about a house: each method is a play."""

    def __init__(self, fixed: str) -> None:
        self.notes = Notes.of(fixed)

    def do(self, action: str) -> Generator[str, str, bool]:
        """One action; whether the answer is not one of the ways it fails."""
        feedback = self.notes.read((yield action))
        first = feedback.split("\n")[0]
        bad = (
            "There is no",
            "Not an action",
            "You have seen no",
            "You know no",
            "The path is",
            "You do not",
        )
        good = (
            not first.startswith(bad)
            and "cannot" not in first
            and "does not" not in first
        )
        verb, _, inside = action.partition("[")
        inside = inside.rstrip("]")
        if good and verb == "go_explore":
            self.notes.explored.add(inside)
            seen = first.partition("There you saw: ")[2].partition(". Of these")
            for part in seen[0].split("; "):
                on = _GROUP.match(part)
                for name in _NAME.findall(part[on.end() :] if on else part):
                    self.notes.room[name] = inside
                    if on:
                        self.notes.place[name] = on[1]
            self.notes.open |= dict.fromkeys(_NAME.findall(seen[2]), False)
        if good and verb == "go_check":
            self.notes.looked.add(inside)
            self.notes.open[inside] = True
            for name in _NAME.findall(first.partition("you see: ")[2]):
                self.notes.place[name] = inside
                self.notes.room[name] = self.notes.room.get(inside, self.notes.here)
        return good

    def way(self, action: str) -> Generator[str, str, bool]:
        """An action that walks; where a shut door bars the way, doors are opened first."""
        rooms = [self.notes.here, *self.notes.rooms]
        for _ in range(12):
            if (yield from self.do(action)):
                return True
            if "There is no path" not in self.notes.said:
                return False
            matches = re.findall(r"door_\d+", self.notes.said.split("\n")[0])
            # Look for the door, or let somebody pass
            if not matches and self.notes.others:
                unseen = "not seen" in self.notes.said.split("\n")[0]
                yield from self.do(
                    f"go_explore[{rooms.pop(0)}]" if unseen and rooms else "wait"
                )
                continue
            for door in matches:
                if (yield from self.do(f"goto[{door}]")) and (
                    yield from self.do(f"open[{door}]")
                ):
                    self.notes.open[door] = True
                    break
            else:
                return False
        return False

    def find(self, phrase: str, but: Sequence[str] = ()) -> Generator[str, str, str]:
        """The name of a thing that the phrase means, looked for all over the house."""
        later: list[str] = []
        for room in [self.notes.here, *self.notes.rooms]:
            known = [n for n in self.notes.like(phrase) if n not in but]
            if known:
                return known[0]
            if room not in self.notes.explored and not (
                yield from self.way(f"go_explore[{room}]")
            ):
                later.append(room)
        for room in later:
            yield from self.way(f"go_explore[{room}]")
        while True:
            known = [n for n in self.notes.like(phrase) if n not in but]
            if known:
                return known[0]
            closed = [
                n
                for n, o in self.notes.open.items()
                if not o and not n.startswith("door_")
            ]
            box = next((n for n in closed if n not in self.notes.looked), "")
            if not box:
                return ""
            self.notes.looked.add(box)
            yield from self.way(f"go_check[{box}]")

    def take(self, phrase: str, but: Sequence[str] = ()) -> Generator[str, str, str]:
        """Find a thing and have it in the hands."""
        but = list(but)
        while name := (yield from self.find(phrase, but)):
            yield from self.way(f"go_grab[{name}]")
            if self.notes.holding == name:
                return name
            but.append(name)
        return ""


_THE = r"(?:a|an|the|two|pair of|same) "
_END = r"(?= (?:on|in|from|and|to|with|by|under|next|needs|down|for|holding|there|it)\b|[,.?;]|$)"
_PHRASE = re.compile(rf"\b{_THE}([A-Za-z]+(?: [A-Za-z]+)*?){_END}")
_LOOKS = re.compile(r"^(?:clean|hot|warm|cold|chilled|sliced) ")


def phrases(task: str) -> list[str]:
    """The things that a request is about, in order, each once."""
    text = task[0].lower() + task[1:]
    found = [
        m.group(1).strip().removeprefix("loaf of ") for m in _PHRASE.finditer(text)
    ]
    found = [_LOOKS.sub("", each) for each in found]
    found = [each.removeprefix("head of ").removeprefix("roll of ") for each in found]
    idle = {"light", "tap", "light of", "pair", "light on", "moment", "one"}
    return [each for each in dict.fromkeys(found) if each not in idle]


def household(fixed: str, task: str) -> Play:
    """A household request, as its words and the rules of the prompt have it."""
    house = House(fixed)
    yield from _begin(house)
    lower = task.lower()
    items = phrases(task)
    if "lamp" in lower:
        lamp = next(each for each in items if "lamp" in each)
        item = next(each for each in items if "lamp" not in each)
        yield from _light(house, item, lamp)
        return
    if re.search(r"\b(two|pair)\b", lower):
        yield from _two(house, singular(items[0]), items[-1])
        return
    how = next(
        (verb for verb, words in _TREATED.items() if re.search(words, lower)), ""
    )
    if not how and len(items) == 3:
        yield from _stack(house, task, items)
        return
    if "sliced" in lower:
        yield from _slice(house, items[0])
    name = yield from house.take(items[0])
    if how:
        tools = {"heat": "microwave", "cool": "fridge", "clean": "sink_basin"}
        tool = yield from house.find(tools[how])
        if how == "clean":
            yield from house.way(f"goto[{tool}]")
        yield from house.way(f"{how}[{name}, {tool}]")
    yield from _put(house, items[-1])


_TREATED = {
    "heat": r"\bhot\b|heat|warm|microwave",
    "cool": r"\bcold\b|chill|\bcool\b|refrigerate",
    "clean": r"\bclean|wash|rinse",
}


def _begin(house: House) -> Generator[str, str, None]:
    house.notes.read((yield ""))


def _put(house: House, place: str) -> Generator[str, str, None]:
    where = yield from house.find(place)
    yield from house.way(f"go_put[{where}]")


def _light(house: House, item: str, lamp: str) -> Generator[str, str, None]:
    found = yield from house.find(lamp)
    yield from house.take(item)
    yield from house.way(f"goto[{found}]")
    yield from house.do(f"toggle_on[{found}]")


def _two(house: House, item: str, place: str) -> Generator[str, str, None]:
    where = yield from house.find(place)
    done: list[str] = []
    for _ in range(2):
        done.append((yield from house.take(item, done)))
        yield from house.way(f"go_put[{where}]")


def _slice(house: House, item: str) -> Generator[str, str, None]:
    knife = yield from house.take("knife")
    name = yield from house.find(item)
    yield from house.way(f"goto[{name}]")
    yield from house.do(f"slice[{name}]")
    yield from house.do(f"drop[{knife}]")


def _stack(house: House, task: str, things: list[str]) -> Generator[str, str, None]:
    item, movable, place = things
    if re.search(
        rf"(place|bring|need) an? {movable}|(place|bring|need) an? {item}\b.*with",
        task,
    ):
        item, movable = movable, item
    if re.search(r"i need", task.lower()):
        movable, place, item = things
    carried = yield from house.find(movable)
    yield from house.take(item, [carried])
    yield from house.way(f"go_put[{carried}]")
    yield from house.take(movable.replace(movable, carried.rpartition("_")[0]), [])
    yield from _put(house, place)


def question(fixed: str, task: str) -> Play:
    """An interactive question: the room is looked through, then answered."""
    house = House(fixed)
    yield from _begin(house)
    room = re.search(rf"in the ({'|'.join(house.notes.rooms)})", task)
    where = room.group(1) if room else house.notes.here
    yield from house.way(f"go_explore[{where}]")
    there = [n for n, r in house.notes.room.items() if r == where]
    place = re.search(r"(?:on|in) the ([\w ]+?) in the ", task)
    if place:
        boxes = house.notes.like(place.group(1), there)
    else:
        boxes = [
            n for n in there if house.notes.open.get(n) is False and "door_" not in n
        ]
    for box in boxes:
        yield from house.way(f"go_check[{box}]")
    kind = re.search(
        r"(?:How many|Count the|number of|0 and 3) (.+?) (?:are|in the|does)|\ban? ([\w ]+?)"
        r"(?= (?:on|in|be|anywhere|there)\b)",
        task.replace("if it is", ""),
    )
    assert kind, task
    words = singular(kind.group(1)) if kind.group(1) else kind.group(2)
    words = re.sub(r"^(loaf|head|roll) of | is$", "", words)
    inside = [n for n, r in house.notes.room.items() if r == where]
    found = house.notes.like(words, inside)
    if "what its full name says" in fixed:
        # A basketball is a basket_ball, and a CD a cd.
        known = house.notes.words.get(words, words).lower().replace(" ", "")
        found = [n for n in found if n.rpartition("_")[0].replace("_", "") == known]
    if place:
        found = [n for n in found if house.notes.place.get(n) in boxes]
    if kind.group(1):
        yield f"stop[{len(found)}]"
    else:
        yield f"stop[{'yes' if found else 'no'}]"


def restore(fixed: str, task: str) -> Play:
    """A rearrangement from how everything was: look at all there is, put right what differs."""
    house = House(fixed)
    notes = house.notes
    yield from _begin(house)
    belongs, lids, spots = _inventory(task)
    for room in notes.rooms:
        yield from house.way(f"go_explore[{room}]")
    places = [
        place for place in dict.fromkeys([*lids, *belongs.values()]) if place != FLOOR
    ]
    for place in places:
        checked = yield from house.way(f"go_check[{place}]")
        if not checked and notes.open.get(place) not in (lids.get(place), None):
            yield from house.way(f"goto[{place}]")
            yield from house.do(f"{'open' if lids[place] else 'close'}[{place}]")
        yield from _as_before(house, place, lids)
    for name, place in belongs.items():
        at = notes.place.get(name, FLOOR if name in notes.room else "")
        goal = spots.get(name)
        here = notes.spot.get(name)
        if not at or (
            at == place and (not goal or not here or math.dist(goal, here) < 0.4)
        ):
            continue
        if at in lids:
            yield from house.way(f"go_check[{at}]")
        yield from house.way(f"go_grab[{name}]")
        yield from _as_before(house, at, lids)
        if place == FLOOR:
            yield from house.do(f"drop[{name}]")
            continue
        sides = goal and [
            f"{abs(d):.1f} m {w}" for d, w in zip(goal, _sides(goal), strict=True)
        ]
        yield from house.way(
            f"go_put[{place}{f', {sides[0]} and {sides[1]}' if sides else ''}]"
        )
        yield from _as_before(house, place, lids)


FLOOR = "the floor"


def _middle(text: str) -> Spot | None:
    """Metres east and north of the middle of the furniture, where a text tells a spot."""
    if "in the middle" in text:
        return 0.0, 0.0
    if "of the middle" not in text:
        return None
    parts = {
        side: float(metres) for metres, side in re.findall(r"([\d.]+) m (\w+)", text)
    }
    east, north = (parts.get(a, 0.0) - parts.get(b, 0.0) for a, b in _AXES)
    return east, north


_AXES = (("east", "west"), ("north", "south"))


def _sides(spot: Spot) -> list[str]:
    return [names[metres < 0] for metres, names in zip(spot, _AXES, strict=True)]


def _inventory(task: str) -> tuple[dict[str, str], dict[str, bool], dict[str, Spot]]:
    """What was in or on what, which lids were open, and the spots that are told."""
    belongs: dict[str, str] = {}
    lids: dict[str, bool] = {}
    form = r"^- (?:(?:on|in) )?(\w+_\d+) ?(\(open\)|\(closed\))?(?:: (.+))?$"
    for place, state, held in re.findall(form, task, re.M):
        belongs |= dict.fromkeys(_NAME.findall(held), place)
        if state:
            lids[place] = state == "(open)"
    if floor := re.search(r"^On the floor: (.+)\.$", task, re.M):
        belongs |= dict.fromkeys(_NAME.findall(floor[1]), FLOOR)
    matches = re.findall(r"(\w+_\d+) \(([^()]* middle)\)", task)
    return (
        belongs,
        lids,
        {name: spot for name, words in matches if (spot := _middle(words))},
    )


def _as_before(
    house: House, place: str, lids: dict[str, bool]
) -> Generator[str, str, None]:
    """Shut what was opened to look inside."""
    if not lids.get(place, True):
        yield from house.do(f"close[{place}]")
        house.notes.open[place] = False


def together(fixed: str, task: str) -> Play:
    """A job for several: the kinds of things in the list are dealt out in turn, by one's number."""
    house = House(fixed)
    yield from _begin(house)
    house.notes.exact = True
    me = int(fixed.partition("You are agent_")[2][0])
    match = re.search(r"put (.+) (?:on|in) the ([\w ]+?) in the ([\w ]+)\.", task)
    assert match, task
    listed, place, room = match.groups()
    yield from house.way(f"go_explore[{room}]")
    local = [name for name, where in house.notes.room.items() if where == room]
    (where, *_) = house.notes.like(place, local)
    brought: list[str] = []
    for number, part in enumerate(re.split(r", | and ", listed)):
        if number % 2 == me % 2:
            count = {"two": 2, "three": 3, "four": 4}.get(part.split()[0], 1)
            words = part.partition(" ")[2]
            words = singular(words) if count > 1 else words
            for _ in range(count):
                name = yield from house.take(_OF.sub("", words), brought)
                brought.append(name)
                yield from house.way(f"go_put[{where}]")
    if (held := re.search(r"must hold an? ([\w ]+?)\.", task)) and me == 1:
        yield from house.take(held[1], brought)
    yield from house.do(
        f"go_explore[{next(r for r in house.notes.rooms if r != room)}]"
    )


_OF = re.compile(r"^(?:loaf|head|roll) of ")


def follower(fixed: str, task: str) -> Play:
    """Does what the commander says in plain English, one thing at a time, and says so."""
    house = House(fixed)
    feedback = yield ""
    while True:
        house.notes.read(feedback)
        match = re.search(r"commander says: (.+)", feedback)
        if match is None:
            feedback = yield "wait"
            continue
        words = match.group(1)
        if "may stop" in words:
            return
        done = yield from _obey(house, words)
        feedback = yield "chat[Done.]" if done else f"chat[I cannot: {words}]"


def _obey(house: House, words: str) -> Generator[str, str, bool]:
    item, *more = _NAME.findall(words)
    verb = words.removeprefix("Please ").split(f" {item}")[0]
    room = re.search(r"in the ([\w ]+?)(?= to |\.)", words)
    if item not in house.notes.room and room:
        yield from house.way(f"go_explore[{room.group(1)}]")
    target = re.search(rf"to {more[-1]} in the ([\w ]+)\." if more else "^$", words)
    box = re.search(r"from (\w+_\d+)", words)
    if verb in ("take", "bring"):
        if house.notes.holding and house.notes.holding != item:
            yield from house.do(f"drop[{house.notes.holding}]")
        if box and item not in house.notes.away:
            yield from house.way(f"go_check[{box.group(1)}]")
        taken = house.notes.holding == item or (
            yield from house.way(f"go_grab[{item}]")
        )
        if verb == "take" or not taken:
            return taken
        if target and more[-1] not in house.notes.room:
            yield from house.way(f"go_explore[{target.group(1)}]")
        return (yield from house.way(f"go_put[{more[-1]}]"))
    if box and item not in house.notes.room:
        yield from house.way(f"go_check[{box.group(1)}]")
    if not (yield from house.way(f"goto[{item}]")):
        return False
    action = {"switch on": "toggle_on", "switch off": "toggle_off"}.get(verb, verb)
    return (yield from house.do(f"{action}[{item}]"))


_SQUARE = re.compile(r"\b([a-z]+_(?:key|ball|box|door))_\d+\b")


def grounding(fixed: str, task: str) -> Play:
    """An instruction in a grid of rooms, by whole errands: its clauses one after the other."""
    known: dict[str, str] = {}

    def look(feedback: str) -> str:
        for match in _SQUARE.finditer(feedback):
            known.setdefault(match.group(0), match.group(1))
        return feedback

    def find(words: str) -> Generator[str, str, str]:
        kind = words.split()[-1]
        color = words.split()[-2] if " " in words else ""
        for _ in range(40):
            for name, what in known.items():
                if what.endswith(kind) and what.startswith(color):
                    return name
            feedback = look((yield "go_explore"))
            matched = re.search(r"(\w+_door_\d+)", feedback)
            if matched and "explore" in feedback.split("\n")[0]:
                look((yield f"go_open[{matched.group(1)}]"))
        return ""

    look((yield ""))
    clause = re.sub(r"\b(?:the|a|an) ", "", task)
    put = re.match(r"put (\w+ ?\w+) next to (\w+ ?\w+)", clause)
    if put:
        name = yield from find(put.group(1))
        look((yield f"go_grab[{name}]"))
        other = yield from find(put.group(2))
        yield f"go_put[{other}]"
        return
    verb, words = re.match(r"(go to|pick up|open) (.+)", clause).groups()  # type: ignore[union-attr]
    name = yield from find(words)
    yield {"go to": "goto", "pick up": "go_grab", "open": "go_open"}[verb] + f"[{name}]"


def route(fixed: str, task: str) -> Play:
    """A walk through a building: from landmark to landmark, as the instruction names them; where a
    landmark is not in sight, the way that the clause's turn asks for."""
    feedback = yield ""
    visited: set[str] = set()
    for clause in re.split(r"[.,]| then ", task.lower()):
        marks = [m for m in re.findall(r"\bthe ((?:\w+ ?){1,3})", clause) if m.strip()]
        turn = next((angle for word, angle in _TURNS.items() if word in clause), 0)
        for mark in marks or [""]:
            for _ in range(3):
                if _is_near(feedback, mark):
                    break
                routes = [way for way in _exits(feedback) if way[0] not in visited]
                if not routes:
                    return
                name, _, _ = min(routes, key=lambda way: _unlike(way, mark, turn))
                visited.add(name)
                feedback = yield f"goto[{name}]"
                turn = 0


_TURNS = {
    "all the way around": 180, "slightly right": 30, "slightly left": -30, "bear right": 45,
    "veer right": 45, "bear left": -45, "veer left": -45, "turn right": 90, "turn left": -90,
}  # fmt: skip


def _exits(text: str) -> list[tuple[str, int, str]]:
    """Each way on, its turn (degrees, right positive), and the line of its direction."""
    found = []
    for line in text.split("\n"):
        for name, side, angle in re.findall(r"goto\[(\w+)\] \((\w+) ?(\d*)", line):
            degrees = {"left": -1, "right": 1}.get(side, 0) * int(angle or 0)
            found.append((name, 180 if side == "behind" else degrees, line.lower()))
    return found


def _is_near(text: str, mark: str) -> bool:
    """Whether a landmark is within two metres."""
    near = re.findall(r"([\w ]+) \([^()]*?(\d+\.\d) m\)", text.lower())
    words = set(mark.split())
    return any(words <= set(name.split()) and float(away) < 1.6 for name, away in near)


def _unlike(way: tuple[str, int, str], mark: str, turn: int) -> float:
    """How badly a way fits: landmarks in its direction count for most."""
    seen = sum(word in way[2] for word in mark.split()) / max(1, len(mark.split()))
    off = abs((way[1] - turn + 180) % 360 - 180) / 180
    return off - 1.2 * seen


def search(fixed: str, task: str) -> Play:
    """A search on foot: look all around, go where the free ways lead, come back, stop at the thing.

    It knows the target's words, and from each observation where it is, what is in view and how far
    it can go; nothing else.
    """
    target = re.sub(r"^(find|look for) (the|an?) |[.]$", "", task.lower())
    feedback = yield ""
    trail: list[Spot] = [_spot(feedback)]
    been: list[Spot] = []
    for _ in range(60):
        open_routes: list[Spot] = []
        for _ in range(4):
            if item := _in_view(feedback, target):
                yield from _come_up(feedback, target, item)
                return
            open_routes += _open_exits(feedback)
            feedback = yield "rotate[90]"
        here = _spot(feedback)
        been.append(here)
        new = [
            spot for spot in open_routes if all(_apart(spot, old) > 1.2 for old in been)
        ]
        while not new and len(trail) > 1:
            trail.pop()
            feedback = yield f"goto[{trail[-1][0]:.2f}, {trail[-1][1]:.2f}]"
            for _ in range(4):
                new += [
                    w
                    for w in _open_exits(feedback)
                    if all(_apart(w, b) > 1.2 for b in been)
                ]
                feedback = yield "rotate[90]"
        if not new:
            return
        x, y = max(new, key=lambda spot: min(_apart(spot, old) for old in been))
        feedback = yield f"goto[{x:.2f}, {y:.2f}]"
        been.append((x, y))  # not again, also where something was in the way
        trail.append(_spot(feedback))


def _apart(one: Spot, other: Spot) -> float:
    return math.dist(one, other)


def _spot(text: str) -> Spot:
    x, y = re.findall(r"[xy] = (-?[\d.]+) m", text)[:2]
    return float(x), float(y)


def _heading(text: str) -> float:
    found = re.search(r"You face ([\d.]+)°", text)
    return float(found.group(1)) if found else 0.0


def _off(spot: Spot, heading: float, metres: float) -> Spot:
    angle = math.radians(heading)
    return spot[0] + metres * math.sin(angle), spot[1] + metres * math.cos(angle)


def _open_exits(text: str) -> list[Spot]:
    """Where the free ways lead, a little before their ends."""
    line = text.rpartition("Free way: ")[2]
    found = []
    for metres, side in re.findall(
        r"([\d.]+) m(?: or more)? (ahead|\d+° to the \w+)", line
    ):
        degrees = re.match(r"(\d+)° to the (\w+)", side)
        turn = int(degrees[1]) * (-1 if degrees[2] == "left" else 1) if degrees else 0
        if float(metres) > 0.9:
            found.append(_off(_spot(text), _heading(text) + turn, float(metres) - 0.4))
    return found


def _in_view(text: str, target: str) -> tuple[float, float] | None:
    """The angle (right positive) and the metres of the target, where it is in view."""
    found = re.search(
        rf"\b{re.escape(target)} \((ahead|left|right) ?(\d*)°?, ([\d.]+) m\)", text
    )
    if found is None:
        return None
    return {"left": -1, "right": 1}.get(found[1], 0) * float(found[2] or 0), float(
        found[3]
    )


def _come_up(
    text: str, target: str, item: tuple[float, float]
) -> Generator[str, str, None]:
    """Go up to the target until it is at most a metre away, then face it."""
    for _ in range(12):
        angle, metres = item
        if metres <= 0.95:
            return
        before = _spot(text)
        x, y = _off(before, _heading(text) + angle, metres - 0.5)
        text = yield f"goto[{x:.2f}, {y:.2f}]"
        if _apart(before, _spot(text)) < 0.1:  # around what is in the way
            routes = _open_exits(text)
            text = yield "rotate[60]"
            routes += _open_exits(text)
            text = yield "rotate[-120]"
            routes += _open_exits(text)
            if routes:
                near = min(routes, key=lambda spot: _apart(spot, (x, y)))
                text = yield f"goto[{near[0]:.2f}, {near[1]:.2f}]"
        for _ in range(6):
            if seen := _in_view(text, target):
                break
            text = yield "rotate[60]"
        if not seen:
            return
        item = seen


def street(prompt: str) -> str:
    """The next word of a walk along a route of ``towns``, from VELMA's text alone.

    It counts the intersections, or the lights, of each part of the instruction, and stops beside
    the landmark, or after the steps, that the last part names.
    """
    route, _, walk = prompt.rpartition('Navigation Instructions:\n"')[2].partition(
        "\nAction Seq"
    )
    turns, last = _legs(route)
    crossed = lights = steps = 0
    light_ahead = False
    leg = 0
    due = list[str]()
    word = ""
    seen = list[str]()
    for line in walk.split("\n")[1:]:
        if re.match(r"\d+\. ?", line) is None:
            seen.append(line)
            continue
        here = " ".join(seen)
        if "-way intersection" in here:
            crossed = crossed + 1
            lights = lights + light_ahead
        if seen or word == "forward":
            light_ahead = "a traffic light ahead" in here
        if not due and leg < len(turns):
            words, count, by_light = turns[leg]
            if (
                "-way intersection" in here
                and (lights if by_light else crossed) == count
            ):
                due = list(words)
                leg = leg + 1
                crossed = 0
                lights = 0
                steps = 0
        if due:
            word = due.pop(0)
        elif leg == len(turns) and last(here, crossed, lights, steps):
            word = "stop"
        else:
            word = "forward"
            steps = steps + 1
        seen = []
    return word


_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_ORDER = {"next": 1, "first": 1, "second": 2, "third": 3, "fourth": 4}
Last = Callable[[str, int, int, int], bool]
"""True if the walk ends, by what is in view, crossings, lights and steps since the last turn."""


def _legs(route: str) -> tuple[list[tuple[list[str], int, bool]], Last]:
    """The turns of an instruction, each with its words, its number of crossings, and whether they
    are lights; and where to stop."""
    turns: list[tuple[list[str], int, bool]] = []
    through = 0
    by_light = False
    place = ""
    count = 0
    for sentence in re.split(r"\.[ \"]+", route):
        text = sentence.rstrip('."')
        turn = re.search(
            r"(?:turn|make|take|bear)(?: a| the)? ?(sharp|slight\w*)? (left|right)$",
            text,
        )
        if turn:
            number = re.search(
                r"through (\w+) (?:lights?|intersections?), and at the next", text
            )
            order = re.search(rf"({'|'.join(_ORDER)}) (?:light|intersection)", text)
            at = _COUNTS[number[1]] + 1 if number else _ORDER[order[1]] if order else 1
            words = [turn[2]] * (2 if turn[1] == "sharp" else 1)
            turns.append(
                (
                    words,
                    at,
                    re.search(r"\blights?\b", text.split(", with")[0]) is not None,
                )
            )
        elif ahead := re.search(
            r"straight through the next ?(\w*) (light|intersection)s?$", text
        ):
            through = _COUNTS.get(ahead[1], 1)
            by_light = ahead[2] == "light"
        elif stop := re.match(
            r"Stop (?:next to|in front of|beside) (.+) on your (\w+)$", text
        ):
            place = f"You see {stop[1]} on your {stop[2]}."
        elif taken := re.match(r"(?:Take|Stop after) (\w+) steps", text):
            count = _COUNTS[taken[1]]

    def last(here: str, crossed: int, lights: int, steps: int) -> bool:
        if count:
            return steps == count
        return (lights if by_light else crossed) >= through and place in here

    return turns, last
