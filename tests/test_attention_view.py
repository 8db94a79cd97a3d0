"""The attention view as it is stored: its numbers, its words, what it refuses.

What it does in a browser, `tests/site/test_attention_view.py` tries.
"""

import re
from xml.dom import minidom
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from transformer_lib.plots import attention_view

TOKENS = ["狗", "咬", "人"]
WORDS = {"alt": "狗 attends to 咬", "caption": "Choose a token."}
HEADS = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 3))  # layers, heads, n_q, n_k
SCRIPT = re.compile("<script>.*</script>")


def view(weights=HEADS, tokens_q=TOKENS, tokens_k=TOKENS, **words: str) -> str:
    return attention_view(tokens_q, tokens_k, weights, **WORDS | words).html


def parse(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def stored(html: str, *shape: int) -> np.ndarray:
    """The weights that the view carries along."""
    text = parse(html).find("div").get("data-weights")
    return np.array([int(share or 0) for share in text.split(",")]).reshape(shape) / 100


@pytest.mark.parametrize("weights", [HEADS, HEADS[1], HEADS[1, 2]], ids=["4-d", "3-d", "2-d"])
def test_weights_are_stored_in_hundredths_and_the_heads_mean_before_them(weights):
    full = weights.reshape((1,) * (4 - weights.ndim) + weights.shape)
    layers, heads = full.shape[:2]
    carried = stored(view(weights), layers, heads + 1 if heads > 1 else 1, 3, 3)
    assert np.abs(carried[:, -heads:] - full).max() <= 0.005
    assert np.abs(carried[:, 0] - full.mean(axis=1)).max() <= 0.005


def test_the_first_query_of_the_mean_is_drawn_without_a_script():
    tree = parse(view())
    mean = HEADS[0, :, 0].mean(axis=0)
    keys = tree.findall(".//div[@class='tokens keys']/button")
    assert [key.get("data-weight") for key in keys] == [f"{weight:.2f}" for weight in mean]
    assert len(tree.findall(".//svg/path")) == np.count_nonzero(mean >= 0.005)
    best = TOKENS[mean.argmax()]
    assert tree.find(".//p[@class='readout']").text.startswith(f"狗 → {best} ({mean.max():.2f})")


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_tensors_are_taken_with_their_gradients(kind):
    tensor = torch.tensor(HEADS, dtype=kind, requires_grad=True)
    assert np.abs(stored(view(tensor), 2, 5, 3, 3) - stored(view(), 2, 5, 3, 3)).max() < 0.02


def test_only_what_can_be_chosen_is_offered():
    def offered(weights):
        return {
            label.text: [option.text for option in label.iter("option")]
            for label in parse(view(weights)).iter("label")
        }

    heads = ["mean of all", "1", "2", "3", "4"]
    assert offered(HEADS) == {"Layer": ["1", "2"], "Head": heads}
    assert offered(HEADS[0]) == {"Head": heads}
    assert offered(HEADS[:, :1]) == {"Layer": ["1", "2"]}
    assert offered(HEADS[0, 0]) == {}


def test_every_character_of_a_token_can_be_seen_and_none_is_markup():
    tokens = ["</script><b>", "&", " ", "\n", "", "\x00", "\ud800"]
    html = view(np.full((7, 7), 1 / 7), tokens, tokens)
    buttons = parse(html).findall(".//div[@class='tokens queries']/button")
    assert [button.text for button in buttons] == ["</script><b>", "&", "␣", "⏎", "∅", "�", "�"]
    assert html.count("</script>") == 1
    html.encode()


def test_a_translator_finds_the_words_and_the_script_survives_one():
    """Translated pages are parsed and written again as XML (book/extensions/hidden_words.py)."""
    html = view()
    again = minidom.parseString(html).documentElement.toxml()
    assert SCRIPT.findall(again) == SCRIPT.findall(html) != []
    words = {e.text for e in parse(html).iter() if e.text and e.get("translate") != "no"}
    assert {"Layer", "Head", "mean of all", "Choose a token."} <= words
    assert not any(token in text for token in TOKENS for text in words)


def test_html_reads_it_as_xml_does():
    """HTML knows no <p/>: outside the drawing no element may be empty."""
    empty = [
        element.tag
        for element in parse(view()).iter()
        if not len(element) and not (element.text or "").strip()
    ]
    assert set(empty) == {"path"}


def test_the_same_weights_give_the_same_text():
    assert view() == view()
    assert len(view()) < 10_000
    assert " id=" not in view()  # nothing that a second view could clash with
    assert not re.search(r"https?:|//\w+\.", view())


def test_many_heads_stay_small():
    """Twelve layers of twelve heads over twenty tokens: 62,400 numbers."""
    weights = np.random.default_rng(1).dirichlet(np.full(20, 0.1), size=(12, 12, 20))
    assert len(view(weights, ["token"] * 20, ["token"] * 20)) < 150_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": HEADS[0, 0, 0]}, r"weights must be \(layers, .* got \(3,\)"),
        ({"weights": HEADS[None]}, r"got \(1, 2, 4, 3, 3\); take one sentence"),
        ({"weights": HEADS[..., :2]}, r"3 tokens_q and 3 tokens_k need .* got \(2, 4, 3, 2\)"),
        ({"tokens_k": TOKENS[:2]}, r"need weights \(…, 3, 2\), got \(2, 4, 3, 3\)"),
        ({"tokens_q": [], "weights": HEADS[..., :0, :]}, "0 tokens_q and 3 tokens_k need"),
        ({"weights": HEADS[:0]}, r"got \(0, 4, 3, 3\)"),
        ({"weights": np.where(HEADS.max() == HEADS, np.nan, HEADS)}, r"finite, got nan at \("),
        ({"weights": 4 * HEADS - 1}, "between 0 and 1, got -.*; are these scores"),
        ({"alt": ""}, "alt must say something"),
        ({"caption": " "}, "caption must say something"),
    ],
)
def test_errors_say_what_was_expected(arguments, message):
    with pytest.raises(ValueError, match=message):
        view(**arguments)
