"""Mutation of JSON and XML as trees: values, keys and elements change, so that inputs get past the syntax.

A mutator takes content, a size, a seed and Atheris' own mutation of bytes, which it falls back on.
"""

import copy
import json
import random
from collections.abc import Callable

RAW = 0.2  # share of the mutations that are of the text as bytes
VALUES = (None, True, False, 0, -1, 1, 1e308, -1e-320, 2**70, float("nan"), float("inf"), "", "x", "é\ud800", [], {})
WORDS = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "1000000000",
        "nan",
        "inf",
        "1e999",
        "1e308",
        "1e-320",
        "0 0 0",
        "0 0 1",
        "1 2",
        "1 2 3 4",
        "x",
        "é",
    ),
    *("../../../../etc/passwd", "/dev/zero", "/", ".", "package://x/y", "file:///dev/null", "http://x/y", "a" * 5000),
)

Bytes = Callable[[bytes, int], bytes]


def for_name(name: str) -> Callable[[bytes, int, int, Bytes], bytes]:
    """The mutator for a file of that name."""
    suffix = name.rpartition(".")[2]
    return {"json": of_json, "xml": of_xml, "urdf": of_xml}.get(suffix, of_bytes)


def of_bytes(data: bytes, max_size: int, seed: int, mutate: Bytes) -> bytes:
    return mutate(data, max_size)


def of_json(data: bytes, max_size: int, seed: int, mutate: Bytes) -> bytes:
    """JSON with one value replaced, taken away, put twice or exchanged with another."""
    chance = random.Random(seed)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate(data, max_size)
    places = [(parent, key) for parent in _containers(tree) for key in _keys(parent)]
    if not places or chance.random() < RAW:
        return mutate(data, max_size)
    parent, key = chance.choice(places)
    how = chance.randrange(5)
    if how == 0:
        del parent[key]
    elif how == 1:
        other, its = chance.choice(places)
        parent[key] = copy.deepcopy(other[its])
    elif how == 2 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif how == 3 and isinstance(parent[key], str):
        parent[key] = chance.choice(WORDS)
    else:
        parent[key] = copy.deepcopy(chance.choice(VALUES))
    return json.dumps(tree).encode()[:max_size]


def _containers(tree):
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            yield each
            waiting += each.values() if isinstance(each, dict) else each


def _keys(parent):
    return list(parent) if isinstance(parent, dict) else range(len(parent))


def of_xml(data: bytes, max_size: int, seed: int, mutate: Bytes) -> bytes:
    """XML with one element or attribute replaced, taken away, put twice or moved."""
    from lxml import etree

    chance = random.Random(seed)
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return mutate(data, max_size)
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    if chance.random() < RAW:
        return mutate(data, max_size)
    one, other = chance.choice(elements), chance.choice(elements)
    how = chance.randrange(6)
    if how < 3 and one.attrib:
        key = chance.choice(list(one.attrib))
        elsewhere = [value for each in elements for value in each.attrib.values()]
        one.attrib[key] = chance.choice(WORDS if how else elsewhere)
    elif how == 3 and one.attrib:
        del one.attrib[chance.choice(list(one.attrib))]
    elif how == 4 and one is not root:
        one.getparent().remove(one)
    elif how == 5 and one not in [*other.iterancestors(), other]:
        other.append(copy.deepcopy(one))
    else:
        one.tag = other.tag
    return etree.tostring(root)[:max_size]
