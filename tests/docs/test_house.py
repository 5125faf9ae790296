"""The rules of CONTRIBUTING.md about imports and files; `python tools/house.py` lists what breaks them."""

import house
import pytest


def test_nothing_of_the_library_comes_through_another_package_unless_it_is_public():
    """What no user calls is imported from the module that defines it."""
    through = [each for each in house.imports() if each.target in house.faces()]
    names = [each for each in through if each.name != each.target.rpartition(".")[2]]  # not the package itself
    assert [each for each in names if each.name not in house.public_names(each.target)] == []


def test_public_names_are_few():
    assert sum(len(house.public_names(name)) for name in house.faces()) < 260


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
