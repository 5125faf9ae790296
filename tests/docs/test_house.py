"""The rules of CONTRIBUTING.md about imports and files; `python tools/house.py` lists what breaks them."""

import house
import pytest


def test_packages_import_each_other_through_their_faces():
    assert house.deep() == []
    assert house.past_faces() == []


def test_no_circle_of_modules_or_packages():
    assert house.circles(house.module_edges()) == []
    assert house.circles(house.package_edges()) == []


def test_a_circle_is_told():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert house.circles(edges) == [["a", "b", "c"]]


def test_the_core_imports_no_satellite_and_satellites_not_each_other():
    assert house.of_satellites() == []


def test_a_small_file_with_one_importer_joins_it():
    assert house.small_with_one_importer() == []


def test_no_module_has_the_name_of_a_public_function():
    assert house.named_like_a_function() == []


@pytest.mark.parametrize("name", sorted(house.modules()))
def test_files_are_short(name):
    assert house.lines(name) <= house.LONG
