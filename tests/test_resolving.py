import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys

import huggingface_hub
import polars as pl
import pytest
import stanza
import udapi
from checkpoints import REPOSITORY, STANZA_MODELS, needs_stanza_models
from coref_models import TRANSFORMER, config_of, respell, save_resolver, save_transformer
from hub import Hub
from serving import serving
from stanza.models.common.doc import Document, Word
from stanza.models.coref.coref_chain import CorefChain, CorefMention
from stanza.models.coref.model import CorefModel

from headscope.corpora import parsing, resolving
from headscope.corpora.parsing import Line
from headscope.corpora.resolving import (
    Mention,
    Paragraph,
    load_resolver,
    resolve_file,
    to_brackets,
    to_corefud,
    transformer_of,
)
from headscope.errors import InputError
from resolve_coreference import main

STORY = "Anna saw the dog.\nShe liked it.\n"
OTHERS = ["Clara saw the old house in the garden. She liked it.\n", "It rains.\n", "Rain\n", STORY * 3]


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    return save_resolver(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def resolver(models):
    return load_resolver(models, "en", "ewt", device="cpu")


@pytest.fixture
def resolved(tmp_path, caplog):
    """Resolve this content; give the text, the mentions that udapi reads in it, and the rows skipped."""

    def resolve(resolver, content, max_words=100):
        path, corefud = tmp_path / "corpus.txt", tmp_path / "corpus.conllu"
        path.write_text(content, "utf-8")
        count, skipped = resolve_file(path, corefud, resolver, max_words, shown_as="corpus.txt")
        text = corefud.read_text("utf-8")
        assert text.count("# newdoc id = ") == count
        return text, read_back(text, caplog), skipped.rows()

    return resolve


def read_back(text, caplog):
    """{entity: [(sentence, words, head word)]} as udapi reads it, without a warning."""
    caplog.clear()
    entities = udapi_document(text).coref_entities
    assert caplog.records == []
    return {
        entity.eid: [
            (m.head.root.sent_id, " ".join(word.form for word in m.words), m.head.form) for m in entity.mentions
        ]
        for entity in entities
    }


def udapi_document(text):
    document = udapi.Document()
    document.from_conllu_string(text)
    return document


def documents_of(text):
    """{first line: the lines of the document}, with lines counted from the document's own first."""
    parts = re.split(r"^# newdoc id = (\d+)\n", text, flags=re.MULTILINE)[1:]
    documents = {}
    for number, body in zip(map(int, parts[::2]), parts[1::2], strict=True):
        body = body.replace("# global.Entity = eid-etype-head-other\n", "").replace(f"e{number}_", "e_")
        documents[number] = re.sub(r"(?<=# sent_id = )\d+", lambda line, first=number: str(int(line[0]) - first), body)
    return documents


@needs_stanza_models
def test_what_stanza_resolves_is_what_udapi_reads(resolver, resolved):
    text, entities, skipped = resolved(resolver, STORY)
    assert entities == {
        "e1_1": [("1-1", "Anna", "Anna"), ("2-1", "She", "She")],
        "e1_2": [("1-1", "the dog", "dog"), ("2-1", "it", "it")],
    }
    assert text.startswith(
        "# newdoc id = 1\n# global.Entity = eid-etype-head-other\n# sent_id = 1-1\n# text = Anna saw the dog.\n"
    )
    assert "Entity=(e1_1--1)\n" in text
    assert "Entity=e1_2)|SpaceAfter=No\n" in text
    assert skipped == []


@needs_stanza_models
def test_mentions_are_those_of_the_pipeline_when_stanza_runs_it_itself(resolver, resolved):
    content = "".join(OTHERS).replace("\n", " ")
    document = resolver.parser.pipeline(content.strip())
    expected = sorted(
        (mention.sentence + 1, mention.start_word, mention.end_word)
        for entity in document.coref
        for mention in entity.mentions
    )
    assert len(expected) > 1, "how many depends on the random weights of the resolver"
    text, _, _ = resolved(resolver, content)
    found = [
        (int(mention.head.root.sent_id.removeprefix("1-")), mention.words[0].ord - 1, mention.words[-1].ord)
        for mention in udapi_document(text).coref_mentions
    ]
    assert sorted(found) == expected


@needs_stanza_models
@pytest.mark.parametrize("characters", [30_000, 1])
def test_no_document_depends_on_the_others(resolver, resolved, monkeypatch, characters):
    alone = {content: documents_of(resolved(resolver, content)[0])[1] for content in OTHERS}
    monkeypatch.setattr(parsing, "CHARACTERS_AT_ONCE", characters)
    for order in (OTHERS, OTHERS[::-1]):
        text, _, _ = resolved(resolver, "\n".join(order))
        assert list(documents_of(text).values()) == [alone[content] for content in order]
        assert text.count("# global.Entity") == 1


@needs_stanza_models
def test_a_document_is_read_as_a_whole_and_no_further(resolver, resolved):
    _, entities, _ = resolved(resolver, STORY + "\n" + STORY)
    assert set(entities) == {"e1_1", "e1_2", "e4_1", "e4_2"}
    _, apart, _ = resolved(resolver, STORY.replace("\n", "\n\n"))
    assert not {"Anna", "She"} <= {mention[1] for mention in apart.get("e1_1", [])}


@needs_stanza_models
def test_a_document_without_mentions_is_written(resolver, resolved):
    text, entities, skipped = resolved(resolver, "Rain.\n")
    assert (entities, skipped) == ({}, [])
    assert text.endswith("\t0\troot\t_\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_\n\n")


@needs_stanza_models
def test_a_sentence_too_long_takes_its_document_with_it_and_no_other(resolver, resolved):
    content = "Anna saw the dog.\nShe liked it. It rains and rains and rains.\n\nIt rains.\n"
    text, _, skipped = resolved(resolver, content, max_words=5)
    assert list(documents_of(text)) == [4]
    assert text.startswith("# newdoc id = 4\n# global.Entity")
    reason = "the document, for sentence 2 of line 2: 7 words, more than max_words (5)"
    assert skipped == [(None, "corpus.txt:1", reason)]


@needs_stanza_models
def test_what_cannot_be_resolved_is_a_row(resolver, resolved, monkeypatch):
    monkeypatch.setattr(resolving, "MOST_WORDS", 12)
    unseen = "a word that its transformer does not see as text"
    content = f"Anna\u200b saw \u200b .\n\n\u0097\n\n\u0097\nIt rains.\n\n{'a' * 300} is.\n\n{STORY * 2}"
    text, _, skipped = resolved(resolver, content)
    assert list(documents_of(text)) == [5]
    assert sorted(skipped, key=lambda row: int(row[1].partition(":")[2])) == [
        (None, "corpus.txt:1", f"the document, for sentence 1 of line 1: {unseen}: '\\u200b'"),
        (None, "corpus.txt:3", "no word in it that Stanza can see"),
        (None, "corpus.txt:5", "no word in it that Stanza can see"),
        (None, "corpus.txt:8", "the document, for sentence 1 of line 8: a token longer than Stanza's tokenizer takes"),
        (None, "corpus.txt:10", "the document, for its length: 18 words, more than 12"),
    ]


@needs_stanza_models
@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (" ".join(["It rains and"] * 50), r"\d+ subwords, more than twice the window of its transformer \(124\)"),
        ("Anna saw [SEP] .", r"a word that its transformer does not see as text: '\[SEP\]'"),
    ],
)
def test_what_would_lead_stanza_astray_is_kept_from_it(resolver, resolved, sentence, reason):
    words = [[{"id": n, "text": word} for n, word in enumerate(sentence.split(), start=1)]]
    assert re.fullmatch(reason, resolver.reason_to_skip(Document(words).sentences[0]))
    if "SEP" not in sentence:
        _, _, [row] = resolved(resolver, f"{sentence}\n\n{STORY}", max_words=200)
        assert re.fullmatch(f"the document, for sentence 1 of line 1: {reason}", row[2])


@needs_stanza_models
@pytest.mark.parametrize("content", ["", "\n \n", "It rains and rains.\n"])
def test_a_file_that_gives_no_document_is_refused_and_leaves_no_output(resolver, resolved, tmp_path, content):
    with pytest.raises(InputError, match=r"expected documents whose sentences have at most 3 words, found none and \d"):
        resolved(resolver, content, max_words=3)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def refuse_the_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


@needs_stanza_models
def test_two_runs_give_the_same_bytes_without_the_network(models, tmp_path, monkeypatch):
    refuse_the_network(monkeypatch)
    (tmp_path / "text").write_text("\n".join(OTHERS) + "\n\u0097\n", "utf-8")
    for run in ("one", "two"):
        main(
            text=tmp_path / "text",
            corefud=tmp_path / f"{run}.conllu",
            skipped=tmp_path / f"{run}.parquet",
            models=os.path.relpath(models),
            language="english",
            package="default",
            coref_package="default",
            max_words=100,
            name="my text",
            device="auto",
        )
    assert (tmp_path / "one.conllu").read_bytes() == (tmp_path / "two.conllu").read_bytes()
    assert pl.read_parquet(tmp_path / "two.parquet")["where"].to_list() == ["my text:14"]


@needs_stanza_models
def test_a_model_with_adapters_is_loaded_too(models, resolved, tmp_path, monkeypatch):
    pytest.importorskip("peft", reason="the optional package peft is not installed")
    folder = shutil.copytree(models, tmp_path / "lora", symlinks=True)
    config = config_of(folder, folder / "transformers" / TRANSFORMER, lora=True, bert_finetune=False)
    model = CorefModel(config=config, build_optimizers=False)
    model.config.bert_model = TRANSFORMER
    model.save_weights(str(folder / "en" / "coref" / "lora.pt"), save_optimizers=False)
    refuse_the_network(monkeypatch)
    content = "\n".join(OTHERS)
    first, second = (resolved(load_resolver(folder, "en", "ewt", "lora", "cpu"), content) for _ in range(2))
    assert first == second
    assert len(documents_of(first[0])) == len(OTHERS)


@needs_stanza_models
def test_adapters_without_peft_are_refused_with_what_to_install(models, tmp_path, monkeypatch):
    folder = shutil.copytree(models, tmp_path / "lora", symlinks=True)

    def ask_for_adapters(parts):
        parts["config"]["lora"] = True

    respell(models / "en" / "coref" / "tiny.pt", folder / "en" / "coref" / "lora.pt", ask_for_adapters)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(
        InputError, match=r"lora.pt: expected the Python packages .* peft.*; install stanza\[transformers"
    ):
        load_resolver(folder, "en", "ewt", "lora", "cpu")


@needs_stanza_models
def test_mentions_without_a_word_are_empty_nodes(models, resolved, tmp_path):
    folder = shutil.copytree(models, tmp_path / "zeros", symlinks=True)

    def see_nothing_but_zeros(parts):
        parts["zeros_predictor"]["2.bias"].fill_(1)

    respell(models / "en" / "coref" / "tiny.pt", folder / "en" / "coref" / "zeros.pt", see_nothing_but_zeros)
    text, entities, skipped = resolved(load_resolver(folder, "en", "ewt", "zeros", "cpu"), STORY)
    assert entities == {
        "e1_1": [("1-1", "_", "_"), ("2-1", "_", "_")],
        "e1_2": [("1-1", "_", "_"), ("2-1", "_", "_")],
    }
    assert "# text = Anna saw the dog.\n0.1" + "\t_" * 7 + "\t1:dep\tEntity=(e1_1--1)\n1\tAnna\t" in text
    assert skipped == []


@needs_stanza_models
def test_a_transformer_in_the_hubs_cache_is_taken(models, resolved, tmp_path, monkeypatch):
    folder = shutil.copytree(models, tmp_path / "models", symlinks=True)
    cached = tmp_path / "cache" / f"models--{TRANSFORMER.replace('/', '--')}"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(Hub.REVISION, "utf-8")
    (cached / "snapshots").mkdir()
    (folder / "transformers" / TRANSFORMER).rename(cached / "snapshots" / Hub.REVISION)
    for constants in (huggingface_hub.constants, huggingface_hub.file_download.constants):
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    refuse_the_network(monkeypatch)
    _, entities, _ = resolved(load_resolver(folder, "en", "ewt", "tiny", "cpu"), STORY)
    assert set(entities) == {"e1_1", "e1_2"}


@needs_stanza_models
def test_what_was_fetched_is_all_that_is_needed_without_the_network(models, resolved, tmp_path, monkeypatch):
    served = tmp_path / "served"
    shutil.copytree(STANZA_MODELS / "en", served / "en")
    (served / "en" / "coref").mkdir()

    def name_the_one_on_the_hub(parts):
        parts["config"]["bert_model"] = "org/tiny"

    respell(models / "en" / "coref" / "tiny.pt", served / "en" / "coref" / "tiny.pt", name_the_one_on_the_hub)
    save_transformer(served)
    with serving(Hub, served) as address:
        resources = json.loads((models / "resources.json").read_text("utf-8")) | {
            "url": f"{address}/{{lang}}/{{filename}}"
        }
        for processor in (served / "en").iterdir():
            for file in processor.iterdir():
                resources["en"][processor.name][file.stem]["md5"] = hashlib.md5(file.read_bytes()).hexdigest()
        (served / f"resources_{stanza.__resources_version__}.json").write_text(json.dumps(resources), "utf-8")
        fetched = tmp_path / "fetched"
        subprocess.run(
            [
                sys.executable,
                "-c",
                f"from fetch_stanza import main; main('{fetched}/list.json', '{fetched}', 'en', 'ewt', 'default')",
            ],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "scripts"), os.environ.get("PYTHONPATH", "")]),
                "STANZA_RESOURCES_URL": address,
                "HF_ENDPOINT": address,
                "HF_HOME": str(tmp_path / "home"),
                "HF_HUB_OFFLINE": "0",
            },
            check=True,
        )
    listed = json.loads((fetched / "list.json").read_text("utf-8"))
    assert (listed["transformer"], listed["revision"]) == ("org/tiny", Hub.REVISION)
    assert {"en/coref/tiny.pt", "transformers/org/tiny/model.safetensors"} < set(listed["sha256"])
    refuse_the_network(monkeypatch)
    _, entities, _ = resolved(load_resolver(fetched, "en", "ewt", "default", "cpu"), STORY)
    assert set(entities) == {"e1_1", "e1_2"}


@needs_stanza_models
def test_a_coreference_model_that_is_not_there_is_named_with_what_is(models):
    where = "named in resources.json and there as a file"
    for absent in ("none", "lora"):
        with pytest.raises(InputError, match=rf"en: expected a coref model '{absent}', {where}, found tiny; name one"):
            load_resolver(models, "en", "ewt", absent)
    with pytest.raises(InputError, match=rf"expected a coref model 'default', {where}, found none; .* fetch_stanza"):
        load_resolver(STANZA_MODELS, "en", "ewt")


@needs_stanza_models
def test_the_default_that_was_not_fetched_is_named(models, tmp_path):
    folder = shutil.copytree(models, tmp_path / "models", symlinks=True)
    (folder / "en" / "coref" / "tiny.pt").unlink()
    with pytest.raises(InputError, match=r"expected a coref model 'default' \(tiny\), named in .*, found none; "):
        load_resolver(folder, "en", "ewt")


@needs_stanza_models
def test_a_transformer_that_is_not_there_is_named_with_what_to_do(models, tmp_path):
    folder = shutil.copytree(models, tmp_path / "models", symlinks=True)
    shutil.rmtree(folder / "transformers")
    with pytest.raises(
        InputError,
        match=rf"expected the transformer '{TRANSFORMER}', .* in {folder}/transformers/{TRANSFORMER} or in the Hugging "
        rf"Face cache .*, found it in neither; run the rule fetch_stanza, or `hf download {TRANSFORMER}` where",
    ):
        load_resolver(folder, "en", "ewt", device="cpu")
    (folder / "transformers" / TRANSFORMER).mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"package ewt, coref tiny: expected files that Stanza \S+ can load, found: .*"
    ):
        load_resolver(folder, "en", "ewt", device="cpu")


def test_a_file_that_is_no_coreference_model_is_refused(tmp_path):
    (tmp_path / "coref.pt").write_bytes(b"no model")
    with pytest.raises(
        InputError, match=r"coref.pt: expected a coreference model of Stanza, found: .*; fetch it again"
    ):
        transformer_of(tmp_path / "coref.pt")


@pytest.mark.parametrize(
    ("mentions", "nodes", "expected"),
    [
        ([], 2, ["", ""]),
        ([(0, 0, "a", 1)], 1, ["(a--1)"]),
        ([(0, 2, "a", 3)], 3, ["(a--3", "", "a)"]),
        ([(0, 3, "a", 1), (1, 2, "b", 2), (1, 1, "c", 1)], 4, ["(a--1", "(b--2(c--1)", "b)", "a)"]),
        ([(0, 1, "a", 1), (0, 2, "b", 1)], 3, ["(b--1(a--1", "a)", "b)"]),
        ([(1, 2, "a", 1), (0, 2, "b", 1), (2, 2, "c", 1)], 3, ["(b--1", "(a--1", "(c--1)a)b)"]),
        ([(0, 1, "a", 1), (1, 2, "b", 1), (1, 1, "c", 1)], 3, ["(a--1", "a)(b--1(c--1)", "b)"]),
        ([(0, 2, "a", 1), (1, 3, "b", 1)], 4, ["(a--1", "(b--1", "a)", "b)"]),
        ([(0, 1, "a", 2), (0, 2, "a", 3), (0, 0, "a", 1)], 3, ["(a--3(a--2(a--1)", "a)", "a)"]),
        ([(0, 1, "b", 1), (0, 1, "a", 1)], 2, ["(a--1(b--1", "b)a)"]),
    ],
    ids=[
        "none",
        "one word",
        "a span",
        "nested",
        "same start",
        "same end",
        "one ends where another begins",
        "crossing",
        "three of one entity from one word",
        "two entities of one span",
    ],
)
def test_brackets_stand_in_the_order_of_corefud(mentions, nodes, expected):
    assert to_brackets([Mention(*mention) for mention in mentions], nodes) == expected


def by_hand(heads, line=7):
    """A document of one paragraph: a sentence for each list of heads, its words w1, w2, ..."""
    sentences = [
        [
            {"id": (n,), "text": f"w{n}", "head": head, "deprel": "root" if head == 0 else "dep"}
            for n, head in enumerate(of_sentence, start=1)
        ]
        for of_sentence in heads
    ]
    return [Paragraph(Line(line, "", True), Document(sentences).sentences)]


def entity(*spans):
    return CorefChain(0, [CorefMention(*span) for span in spans], "_", None)


def test_the_head_is_the_first_word_whose_own_head_is_outside_the_span():
    document = by_hand([[2, 3, 0, 5, 3]])
    text, crossing = to_corefud(document, [entity((0, 0, 2)), entity((0, 3, 5)), entity((0, 0, 5)), entity((0, 1, 4))])
    assert crossing == 0
    assert re.findall(r"\(e7_\d+--\d", text) == ["(e7_3--3", "(e7_1--2", "(e7_4--2", "(e7_2--2"]


def test_mentions_across_sentences_are_read_as_they_were(caplog):
    document = by_hand([[0, 1, 2], [2, 0], [0, 1]])
    chains = [entity((2, 0, 2), (0, 0, 1), (1, 1, 2)), entity((1, 0, 2), (0, 1, 3), (0, 2, 3), (0, 1, 3))]
    text, crossing = to_corefud(document, chains)
    assert crossing == 0
    assert read_back(text, caplog) == {
        "e7_1": [("7-1", "w1", "w1"), ("7-2", "w2", "w2"), ("7-3", "w1 w2", "w1")],
        "e7_2": [("7-1", "w2 w3", "w2"), ("7-1", "w3", "w3"), ("7-2", "w1 w2", "w2")],
    }


def test_a_mention_that_crosses_another_of_its_entity_is_counted_and_left_out(caplog):
    document = by_hand([[0, 1, 1, 1, 1]])
    crossed = [entity((0, 0, 3), (0, 1, 4)), entity((0, 1, 3), (0, 2, 5)), entity((0, 2, 5))]
    text, crossing = to_corefud(document, crossed)
    assert crossing == 1
    spans = {name: [words for _, words, _ in mentions] for name, mentions in read_back(text, caplog).items()}
    assert spans == {"e7_1": ["w1 w2 w3"], "e7_2": ["w2 w3", "w3 w4 w5"], "e7_3": ["w3 w4 w5"]}


@needs_stanza_models
def test_a_mention_left_out_is_a_row(resolver, resolved, monkeypatch):
    crossing = [entity((0, 0, 3), (0, 1, 4), (1, 0, 1))]
    monkeypatch.setattr(resolving.Resolver, "resolve", lambda self, sentences: crossing)
    _, entities, skipped = resolved(resolver, STORY)
    assert entities["e1_1"] == [("1-1", "Anna saw the", "saw"), ("2-1", "She", "She")]
    assert skipped == [(None, "corpus.txt:1", "mentions of the document that cross another of their entity: 1")]


def test_empty_nodes_are_numbered_anew_and_counted_in_the_head(caplog):
    document = by_hand([[2, 0, 2]])
    sentence = document[0].sentences[0]
    # Stanza numbers the empty nodes of a sentence in the order in which it finds them.
    for node in [(2, 1), (0, 2), (2, 3)]:
        sentence.empty_words.append(Word(sentence, {"id": node, "text": "_", "lemma": "_"}))
    chains = [
        entity((0, (2, 3), (2, 3)), (0, 0, 1)),
        entity((0, (0, 2), (0, 2))),
        entity((0, 1, 3), (0, (2, 1), (2, 1))),
    ]
    text, _ = to_corefud(document, chains)
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#") and line]
    assert [(row[0], row[8], row[9]) for row in rows] == [
        ("0.1", "1:dep", "Entity=(e7_2--1)"),
        ("1", "_", "Entity=(e7_1--1)"),
        ("2", "_", "Entity=(e7_3--1"),
        ("2.1", "3:dep", "Entity=(e7_3--1)"),
        ("2.2", "3:dep", "Entity=(e7_1--1)"),
        ("3", "_", "Entity=e7_3)"),
    ]
    assert read_back(text, caplog)["e7_3"] == [("7-1", "w2 _ _ w3", "w2"), ("7-1", "_", "_")]
