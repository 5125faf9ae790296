"""Options by the group: dataclasses whose fields are options, which commands take whole."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass replaced by one option a field, in their order.

    Typer makes options of a signature; the one of what is returned has the fields, and a call gathers them again.
    """
    whole = signature(command).parameters
    kinds = {name: each.annotation for name, each in whole.items()}
    groups = {name: kind for name, kind in kinds.items() if isinstance(kind, type) and is_dataclass(kind)}
    options: list[Parameter] = []
    for name, each in whole.items():
        options += signature(groups[name]).parameters.values() if name in groups else [each]

    @wraps(command)
    def gathered(**given):
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)}) for name, group in groups.items()
        }
        return command(**given, **made)

    gathered.__signature__ = Signature(  # type: ignore[attr-defined]
        [each.replace(kind=Parameter.KEYWORD_ONLY) for each in options]
    )
    gathered.__annotations__ = {each.name: each.annotation for each in options}
    return gathered
