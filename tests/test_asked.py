"""Asked as people ask: in the first person, about days, and in other words than a key's."""

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from dated_memory import DatedMemory
from workspaces import Desk, desk

from mdmem.index.indexed import key_terms
from mdmem.index.query import Lexicon, clauses
from mdmem.memory import Memory
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import Search
from mdmem.model.writes import Log, WriteOptions
from mdmem.show.hits import search_text
from mdmem.text.asked_days import asked_days
from mdmem.text.document import parse
from mdmem.text.facts import entries

TODAY = date(2026, 6, 18)
"""A Thursday."""


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def memory(at: Desk, text: str, path: str = "memory/2026-06-10.md") -> Memory:
    at.write(path, text)
    at.commit()
    return Memory.open(at.root, os.environ)


def texts(memory: Memory, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in memory.search(Search(query, **options)).hits]


def factors(memory: Memory, query: str) -> dict[str, list[str]]:
    """The names of the factors of each hit, by its text."""
    hits = memory.search(Search(query, explain=True)).hits
    return {
        hit.text: [factor.name for factor in hit.explanation.factors if factor.name != "day"]
        for hit in hits
        if hit.explanation
    }


class TestTheFirstPerson:
    LOG = (
        "# 2026-06-10\n\n"
        "- User: I spend 35 dollars on books each month, can you help me to spend less on books?\n"
        "- Assistant: Books: a monthly budget for books keeps what is spent on books in sight.\n"
        "- Assistant: Monthly planning: buy books once a month, within the budget for books.\n"
    )

    def test_what_the_person_said_is_before_what_the_agent_said(self, at: Desk):
        log = memory(at, self.LOG)
        assert texts(log, "What is my monthly budget for books?")[0].startswith("User: I spend 35")
        assert texts(log, "monthly budget for books")[0].startswith("Assistant: ")
        assert texts(log, "What budget did you recommend for my books?")[0].startswith("Assistant:")

    def test_a_request_of_the_person_is_no_question_and_others_are(self, at: Desk):
        told = factors(memory(at, self.LOG.replace("Assistant: M", "Ben: Why m")), "books budget?")
        mine = (
            "User: I spend 35 dollars on books each month, can you help me to spend less on books?"
        )
        assert "asks" not in told[mine]
        ben = "- Ben: I spend nothing on books, do you?\n"
        told = factors(memory(at, f"{self.LOG}{ben}"), "Who spends nothing on books?")
        assert told["Ben: I spend nothing on books, do you?"] == ["confidence", "asks"]

    def test_verbs_that_say_little_count_less(self):
        weights = [
            {term: weight for name, term, weight, _ in clauses(query, Lexicon(9, len, len, list))}
            for query in ("what did I use the US bank for", "what did Ann use the US bank for")
        ]
        assert [each["use"] < each["bank"] for each in weights] == [True, False]

    @pytest.mark.parametrize(
        "line",
        [
            "I moved the tent to the cellar",
            "Ich habe das Zelt (tent) in den Keller gebracht",
            "j'ai mis la tente (tent) à la cave",
            "yo guardé la tienda (tent)",
            "我把帐篷 tent 放在地下室",
            "Human: the tent is in the cellar",
        ],
    )
    def test_lines_of_the_person(self, at: Desk, line: str):
        log = memory(at, f"# 2026-06-10\n\n- {line}\n- the tent is in the shop\n")
        assert "self" in factors(log, "where is my tent?")[line]
        assert "self" not in factors(log, "where is the tent?")[line]
        assert "self" not in factors(log, "where is my tent?")["the tent is in the shop"]

    def test_lines_of_nobody_and_of_others(self, at: Desk):
        at.write("MEMORY.md", "# Memory\n\n- I keep the tent dry\n")
        at.write("memory/faq.md", "# Tents\n\n- How do I dry my tent? In the sun.\n")
        log = memory(
            at,
            "# 2026-06-10\n\n- Caroline: I have a tent\n- User Interface: I drew the tent\n",
        )
        log.apply(Log("I'd suggest a dry tent", options=WriteOptions(actor="agent/coder")))
        told = factors(log, "where is my tent?")
        assert len(told) == 5
        assert not any("self" in names for names in told.values())

    def test_what_is_curated_gains_too(self, at: Desk):
        at.write("MEMORY.md", "# Memory\n\n- the garage is rented\n")
        log = memory(at, "# 2026-06-10\n\n- User: cleaned the garage for a month of rain\n")
        rented = "the garage is rented"
        assert "curated" in factors(log, "what is my garage like?")[rented]
        assert "curated" not in factors(log, "what is the garage like?")[rented]

    def test_the_owner_is_the_person_under_their_name(self, at: Desk):
        log = memory(at, "# 2026-06-10\n\n- Ada: the tent is dry\n- Ben: the tent is dry\n")
        assert "self" not in factors(log, "is my tent dry?")["Ada: the tent is dry"]
        config = Path(os.environ["HOME"]) / ".config/mdmem/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text('owner = ["Ada"]\n')
        told = factors(Memory.open(at.root, os.environ), "is my tent dry?")
        assert told["Ada: the tent is dry"] == ["confidence", "speaker", "self"]
        assert "self" not in told["Ben: the tent is dry"]


class TestDaysOfAQuestion:
    @pytest.mark.parametrize(
        ("question", "first", "last"),
        [
            ("who called yesterday", "2026-06-17", ""),
            ("what was that the day before yesterday", "2026-06-16", ""),
            ("what did I eat last Sunday?", "2026-06-14", ""),
            ("what did I eat on Thursday?", "2026-06-11", ""),
            ("what do I do on Thursday?", "2026-06-25", ""),
            ("what happened Monday morning?", "2026-06-15", ""),
            ("Wednesday of last week", "2026-06-10", ""),
            ("nine days ago I met whom", "2026-06-09", ""),
            ("two months ago", "2026-04-18", ""),
            ("what did we pay last month", "2026-05-01", "2026-05-31"),
            ("where was I last weekend", "2026-06-13", "2026-06-14"),
            ("what did I plan at the end of February", "2026-02-21", "2026-02-28"),
            ("in July 2025", "2025-07-01", "2025-07-31"),
            ("what is on 2 July?", "2026-07-02", ""),
            ("what did I do on 2 July?", "2025-07-02", ""),
            ("July 2nd, 2024", "2024-07-02", ""),
            ("what did I note on the 3rd", "2026-06-03", ""),
            ("2026-05-04 lunch", "2026-05-04", ""),
            ("wer hat vorgestern Abend angerufen", "2026-06-16", ""),
            ("was war letzten Dienstag los", "2026-06-16", ""),
            ("vor elf Tagen", "2026-06-07", ""),
            ("Anfang März hatten wir was vor", "2026-03-01", "2026-03-10"),
            ("was habe ich am 1. Mai gemacht?", "2026-05-01", ""),
            ("où étais-je avant-hier ?", "2026-06-16", ""),
            ("qu'est-ce que j'ai noté il y a dix jours", "2026-06-08", ""),
            ("où était Paul lundi ?", "2026-06-15", ""),
            ("¿qué había el lunes?", "2026-06-15", ""),
            ("le mois dernier", "2026-05-01", "2026-05-31"),
            ("le 8 mai, on a fait quoi", "2026-05-08", ""),
            ("¿qué compré anteayer?", "2026-06-16", ""),
            ("¿qué dije hace dos semanas?", "2026-06-04", ""),
            ("a mediados de mayo", "2026-05-11", "2026-05-20"),
            ("我昨天说了什么", "2026-06-17", ""),
            ("上周五我买了什么", "2026-06-12", ""),
            ("三天前", "2026-06-15", ""),
            ("先週の金曜日に何を買いましたか", "2026-06-12", ""),
            ("6月3日に何をしましたか", "2026-06-03", ""),
            ("what did Ann say on Tuesday the 9th?", "2026-06-09", ""),
            ("was hat sie am Dienstag, den 9. Juni gesagt", "2026-06-09", ""),
            ("the evening of the 9th, what was that on the 10th of June", "2026-06-10", ""),
            ("who came on the evening of the 9th?", "2026-06-09", ""),
            ("what is on the 25th?", "2026-06-25", ""),
            ("who came on Friday last week", "2026-06-12", ""),
            ("was war am Dienstag letzter Woche?", "2026-06-09", ""),
            ("was war letzte Woche Dienstag?", "2026-06-09", ""),
            ("who came the Friday before last?", "2026-06-05", ""),
            ("vorletzte Woche", "2026-06-01", "2026-06-07"),
            ("what did we do over the weekend?", "2026-06-13", "2026-06-14"),
            ("was war am Wochenende los?", "2026-06-13", "2026-06-14"),
            ("who called in the last three days", "2026-06-15", "2026-06-18"),
            ("wer hat in den letzten paar Tagen angerufen", "2026-06-15", "2026-06-18"),
            ("what did I pay since Monday", "2026-06-15", "2026-06-18"),
            ("what did I plan for the week of 9 June", "2026-06-08", "2026-06-14"),
            ("what did I do in the second week of May", "2026-05-08", "2026-05-14"),
            ("late in May I met whom", "2026-05-21", "2026-05-31"),
            ("what did I do at the start of the week", "2026-06-15", "2026-06-21"),
            ("what is the day after tomorrow?", "2026-06-20", ""),
            ("what did we decide in yesterday's meeting?", "2026-06-17", ""),
            ("¿qué vi el sábado por la noche?", "2026-06-13", ""),
            ("how long was my ride a fortnight ago?", "2026-06-04", ""),
            ("what did we spend in the last fortnight", "2026-06-04", "2026-06-18"),
            ("who came three weeks ago today?", "2026-05-28", ""),
            ("what did I plant a week ago today", "2026-06-11", ""),
            ("a week ago yesterday, what did she say?", "2026-06-10", ""),
            ("what did I eat two Saturdays ago?", "2026-06-06", ""),
            ("where were we three Fridays ago", "2026-05-29", ""),
            ("how many did I see on the eighteenth of May?", "2026-05-18", ""),
            ("how many people came on the twelfth?", "2026-06-12", ""),
            ("what was the weight on the twenty-third?", "2026-05-23", ""),
            ("what did Ann want on Tuesday the ninth?", "2026-06-09", ""),
            ("what did I do on June 2nd", "2026-06-02", ""),
            ("what did I sow on the first Saturday of June?", "2026-06-06", ""),
            ("what was the first Friday in May like, what did I do", "2026-05-01", ""),
            ("what did I do on the last Sunday of May?", "2026-05-31", ""),
            ("who came on the second Monday of the month?", "2026-06-08", ""),
            ("what happened in the first half of May?", "2026-05-01", "2026-05-15"),
            ("what happened in the second half of May?", "2026-05-16", "2026-05-31"),
            ("who rang the week before last?", "2026-06-01", "2026-06-07"),
            ("what did I lose the weekend before last", "2026-06-06", "2026-06-07"),
            ("what did I buy last Friday but one", "2026-06-05", ""),
            ("what did I say at the start of the month?", "2026-06-01", "2026-06-10"),
            ("what did I note in the middle of the month", "2026-06-11", "2026-06-20"),
            ("what did I note earlier today?", "2026-06-18", ""),
            ("what did I note earlier this week?", "2026-06-15", "2026-06-21"),
            ("which tickets did I buy this morning", "2026-06-18", ""),
            ("who told me, as I learned on Monday?", "2026-06-15", ""),
            ("who will stand in for me, as I heard on Monday?", "2026-06-15", ""),
            ("who did I have in on Friday", "2026-06-12", ""),
            ("what happened between the 3rd and the 7th?", "2026-06-03", "2026-06-07"),
            ("what happened from 3 to 7 June?", "2026-06-03", "2026-06-07"),
            ("what did I eat between Monday and Wednesday?", "2026-06-15", "2026-06-17"),
            ("what did I do two weeks ago on Friday?", "2026-06-05", ""),
            ("what did I do on Friday two weeks ago?", "2026-06-05", ""),
            ("what did we plan at the beginning of last week?", "2026-06-08", "2026-06-14"),
            ("what broke early last week", "2026-06-08", "2026-06-14"),
            ("who came in the first few days of June?", "2026-06-01", "2026-06-07"),
            ("what did I do in the past couple of weeks?", "2026-06-04", "2026-06-18"),
            ("what did I do on the morning of the 9th", "2026-06-09", ""),
            ("wie lange war ich vor vierzehn Tagen unterwegs?", "2026-06-04", ""),
            ("was habe ich heute vor drei Wochen gemacht?", "2026-05-28", ""),
            ("was habe ich am achtzehnten Mai gekauft?", "2026-05-18", ""),
            ("wer kam am zwölften?", "2026-06-12", ""),
            ("wer kam am Dienstag, dem neunten?", "2026-06-09", ""),
            ("was war am ersten Samstag im Juni?", "2026-06-06", ""),
            ("was habe ich am letzten Sonntag im Mai gemacht?", "2026-05-31", ""),
            ("was habe ich vorletzten Freitag gekauft?", "2026-06-05", ""),
            ("was war vorletztes Wochenende?", "2026-06-06", "2026-06-07"),
            ("was habe ich am Anfang des Monats gesagt?", "2026-06-01", "2026-06-10"),
            ("was passierte in der ersten Hälfte des Mai?", "2026-05-01", "2026-05-15"),
            ("wer rief Mitte des Monats an?", "2026-06-11", "2026-06-20"),
            ("was habe ich am Freitag vor zwei Wochen gemacht?", "2026-06-05", ""),
            ("was habe ich in den letzten zwei Wochen bezahlt?", "2026-06-04", "2026-06-18"),
            ("was war zwischen dem 3. und dem 7. Juni?", "2026-06-03", "2026-06-07"),
            ("was habe ich heute Morgen gekauft?", "2026-06-18", ""),
            ("was war Anfang letzter Woche", "2026-06-08", "2026-06-14"),
            ("qu'est-ce que j'ai fait il y a quinze jours ?", "2026-06-04", ""),
            ("qu'est-ce que j'ai acheté il y a huit jours ?", "2026-06-11", ""),
            ("qui est venu le dix-huit mai ?", "2026-05-18", ""),
            ("qui est venu le douze ?", "2026-06-12", ""),
            ("qu'ai-je fait le premier samedi de juin ?", "2026-06-06", ""),
            ("qu'ai-je fait le dernier dimanche de mai ?", "2026-05-31", ""),
            ("qu'ai-je dit au début du mois ?", "2026-06-01", "2026-06-10"),
            ("qu'ai-je payé ces deux dernières semaines ?", "2026-06-04", "2026-06-18"),
            ("qu'ai-je fait l'avant-dernière semaine ?", "2026-06-01", "2026-06-07"),
            ("qu'ai-je acheté vendredi dernier ?", "2026-06-12", ""),
            ("qu'ai-je fait il y a trois samedis ?", "2026-05-30", ""),
            ("que s'est-il passé du 3 au 7 juin ?", "2026-06-03", "2026-06-07"),
            ("¿qué hice hace quince días?", "2026-06-04", ""),
            ("¿qué hice hace ocho días?", "2026-06-11", ""),
            ("¿quién vino el dieciocho de mayo?", "2026-05-18", ""),
            ("¿quién vino el doce?", "2026-06-12", ""),
            ("¿qué hice el primer sábado de junio?", "2026-06-06", ""),
            ("¿qué hice el último domingo de mayo?", "2026-05-31", ""),
            ("¿qué dije a principios de mes?", "2026-06-01", "2026-06-10"),
            ("¿qué pagué en las últimas dos semanas?", "2026-06-04", "2026-06-18"),
            ("¿qué compré el viernes pasado?", "2026-06-12", ""),
            ("¿qué hice la semana antepasada?", "2026-06-01", "2026-06-07"),
            ("¿qué hice hace tres sábados?", "2026-05-30", ""),
            ("¿qué pasó entre el 3 y el 7 de junio?", "2026-06-03", "2026-06-07"),
            ("¿qué hice a mediados de mes?", "2026-06-11", "2026-06-20"),
            ("¿qué pasó en la primera quincena de mayo?", "2026-05-01", "2026-05-15"),
            ("what did I do this past Sunday", "2026-06-14", ""),
            ("what did I do Sunday just gone", "2026-06-14", ""),
            ("who rang a few weeks ago", "2026-05-14", "2026-06-04"),
            ("what did I read on the last day of May", "2026-05-31", ""),
            ("who rang on Sunday evening", "2026-06-14", ""),
            ("was habe ich am Sonntagabend gekocht", "2026-06-14", ""),
            ("was habe ich vor ein paar Tagen gekauft", "2026-06-13", "2026-06-16"),
            ("in der Woche vom 8. Juni", "2026-06-08", "2026-06-14"),
            ("qui est venu le 12 ?", "2026-06-12", ""),
            ("¿qué hice el día 3?", "2026-06-03", ""),
            ("what did we have to wait for on Monday?", "2026-06-15", ""),
            ("what did she say I have to do on Monday?", "2026-06-22", ""),
        ],
    )
    def test_what_they_mean(self, question: str, first: str, last: str):
        days = asked_days(question, TODAY)
        assert days is not None
        assert (f"{days.first}", f"{days.last}") == (first, last or first)

    @pytest.mark.parametrize(
        "question",
        [
            "What is Monday's band called?",
            "may I ask who marches?",
            "who is August?",
            "do I always swim on Tuesday?",
            "what does “see you last Friday” mean",
            "where do I work",
            "31 June",
            "on 30 February",
            "in the year 0000 on 0000-00-00",
            "was steht hier",
            "jeden Freitag",
            "chaque lundi",
            "todos los martes",
            "Node 18 release of 2026",
            "the 2nd floor was wet",
            "is the weekend a good time",
            "who works at weekends",
            "what happened at the end of the year review",
            "on the third attempt, what did he say?",
            "who is the second doctor I saw",
            "what did I say about the first of the options",
            "what is the first Saturday market called",
            "wer war der dritte Arzt?",
            "qui est le premier ?",
            "¿quién fue el primero?",
            "what did the twelfth man say?",
            "every other Monday",
            "the sixth Sunday of June",
            "who rang half a year ago",
            "what did we see a few years back",
        ],
    )
    def test_what_names_none(self, question: str):
        assert asked_days(question, TODAY) is None

    def test_of_a_day_that_is_over_others_follow(self, dated: DatedMemory):
        for day, lines in (
            ("2026-06-16", ["bought a lamp", "the lamp is green", "Ann rang", "cleaned the oven"]),
            ("2026-06-17", ["a lamp fell", "rain all day"]),
        ):
            dated.at.write(f"memory/{day}.md", f"# {day}\n\n" + "".join(f"- {x}\n" for x in lines))
        dated.at.commit()
        day = f"{TODAY}"
        assert dated.texts("what did I say on Tuesday?", day)[:4] == [
            "bought a lamp",
            "the lamp is green",
            "Ann rang",
            "cleaned the oven",
        ]
        assert dated.texts("which lamp on Tuesday, what was it?", day)[:2] == [
            "bought a lamp",
            "the lamp is green",
        ]
        assert len(dated.texts("which lamp was it on Tuesday?", day, limit=4)) == 4
        asked = {"days": False}
        assert dated.texts("which lamp was it on Tuesday?", day, **asked)[1] == "a lamp fell"
        ahead = "is there a lamp on Tuesday?"
        assert dated.texts(ahead, day) == dated.texts(ahead, day, **asked)
        assert dated.texts("which lamp was it on 3 May?", day) == dated.texts("which lamp", day)

    def test_of_a_day_the_kind_of_answer_decides(self, dated: DatedMemory):
        lines = ["rain", "saw Ann", "Bob rang", "chess", "the vet took 58 pounds", "soup"]
        log = "# 2026-06-16\n\n" + "".join(f"- {each}\n" for each in lines)
        dated.at.write("memory/2026-06-16.md", log)
        dated.at.commit()
        day = f"{TODAY}"
        assert dated.texts("how much was the animal hospital on Tuesday?", day)[0] == lines[4]
        assert dated.texts("what was the animal hospital on Tuesday?", day)[0] == "rain"
        told = dated.texts("how much was it with Bob on Tuesday?", day)
        assert told[:2] == ["Bob rang", lines[4]]

    def test_weeks_are_counted_roughly(self, dated: DatedMemory):
        for day, line in (("2026-05-26", "sold the canoe"), ("2026-05-28", "rain")):
            dated.at.write(f"memory/{day}.md", f"# {day}\n\n- {line}\n")
        dated.at.write("memory/2026-06-17.md", "# 2026-06-17\n\n- canoe canoe: canoe club\n")
        dated.at.commit()
        day = f"{TODAY}"
        assert dated.texts("what was that with the canoe three weeks ago?", day)[0] == (
            "sold the canoe"
        )
        assert dated.texts("what did I note three weeks ago?", day)[0] == "rain"

    def test_the_part_of_a_day_comes_first(self, dated: DatedMemory):
        log = "# 2026-06-17\n\n## 09:10\n\n- porridge\n\n## 20:15\n\n- chess with Kim\n"
        dated.at.write("memory/2026-06-17.md", log)
        dated.at.commit()
        told = dated.texts("what did I do yesterday evening?", f"{TODAY}")
        assert told[:2] == ["chess with Kim", "porridge"]

    def test_it_says_which_days(self, dated: DatedMemory):
        dated.at.write("memory/2026-06-17.md", "# 2026-06-17\n\n- chess with Kim\n")
        dated.at.commit()
        result = dated.on(f"{TODAY}").search(Search("chess yesterday?", explain=True))
        assert "days in the query: 2026-06-17 to 2026-06-17" in result.notes
        assert "of the days in the query" in search_text(result, colour=False)

    def test_a_block_answers_such_a_question(self, dated: DatedMemory):
        dated.at.write("memory/2026-06-17.md", "# 2026-06-17\n\n- chess with Kim\n")
        dated.at.commit()
        today = dated.on(f"{TODAY}")
        assert "chess with Kim" in today.context(BuildContext("What did I do yesterday?")).text
        assert today.context(BuildContext("Fix what broke yesterday")).text == ""


class TestKeys:
    TEXT = (
        "# Memory\n\n## Facts\n\n- home: Bergen\n- manager: Noor\n- allergy: walnuts\n"
        "- a rash of late trains makes the ferry the better way\n- **wife**: Ida\n- lamp: green\n"
    )

    @pytest.mark.parametrize(
        ("question", "text"),
        [
            ("where do I live", "home: Bergen"),
            ("who is my boss?", "manager: Noor"),
            ("what am I allergic to", "allergy: walnuts"),
            ("to whom am I married", "**wife**: Ida"),
            ("wo wohne ich", "home: Bergen"),
            ("où est-ce que j'habite", "home: Bergen"),
            ("¿a qué soy alérgico?", "allergy: walnuts"),
        ],
    )
    def test_words_of_a_question_find_the_key(self, at: Desk, question: str, text: str):
        (hit,) = memory(at, self.TEXT, "MEMORY.md").search(Search(question, limit=1)).hits
        assert (hit.text, hit.near) == (text, False)

    def test_the_words_are_nowhere_to_be_seen(self, at: Desk):
        facts = memory(at, self.TEXT, "MEMORY.md")
        result = facts.search(Search("boss", explain=True))
        assert "by its key" in search_text(result, colour=False)
        assert "supervisor" not in search_text(result, colour=True)

    def test_only_keys_have_them(self):
        text = "# Memory\n\n- home: Bergen\n- the home: far\n- lamp: green\n- Home\n\nhome: here\n"
        terms = [key_terms(each) for each in entries(parse(text), "MEMORY.md")]
        assert [bool(each) for each in terms] == [True, False, False, False, False]
