"""Where the files of an edited MJCF model go, and the paths in them that have to follow.

The main file goes to the target. An included file that changes goes beside it, as `TARGET_NAME.xml`; all others stay
and are pointed at. MuJoCo looks for meshes and height fields in `meshdir`, for textures in `texturedir`, both seen from
the main file; for assets named in an included file it first looks beside that file.
"""

import os
from pathlib import Path

from steelyard.errors import ModelError
from steelyard.model.mjcf_files import Files
from steelyard.model.paths import Mover
from steelyard.model.xml_edit import Document, Edit, Element, New, assign, insert

FOLDERS = ("meshdir", "texturedir", "assetdir")
FOLDER_OF = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}


def relocate(files: Files, edited: set[Document], target: Path):
    """Places of the files to be written: document -> path; edits: document -> list; one line for each changed path."""
    mover = Mover(files.main.path.parent, target.parent)
    places = _places(files, _written(files, edited, mover), target)
    edits: dict[Document, list[Edit]] = {document: [] for document in places}
    lines = []

    def change(document: Document, element: Element, name: str, text: str | None):
        if text is not None:
            edits[document].extend(assign(document, element, name, text))
            lines.append(f'<{element.tag}> in {document.path.name}:{document.line(element)}: {name}="{text}"')

    for document in places:
        beside = Mover(document.path.parent, target.parent)
        for element in document.root.walk():
            if element.tag == "include":
                included = files.includes[element]
                text = places[included].name if included in places else mover.seen(included.path)
                stays = os.path.normpath(element.attributes["file"]) == os.path.normpath(text)
                change(document, element, "file", None if stays else text)
            elif element.tag == "compiler":
                for name in FOLDERS:
                    change(document, element, name, mover.moved(element.attributes.get(name)))
            elif element.tag == "model":
                change(document, element, "file", beside.moved(element.attributes.get("file")))
            elif document is not files.main:
                for name in _file_attributes(element):
                    change(document, element, name, beside.moved(element.attributes[name]))
    missing = {name: mover.seen(files.main.path.parent) for name in _missing_folders(files, mover)}
    edits[files.main] += _add_folders(files.main, missing)
    lines += [f'<compiler> in {files.main.path.name}: {name}="{text}"' for name, text in missing.items()]
    return places, edits, lines


def _written(files: Files, edited: set[Document], mover: Mover) -> set[Document]:
    """The main file, the edited ones, and those whose paths would otherwise lead nowhere."""
    written = {files.main, *edited}
    owner = {e: document for document in files.documents.values() for e in document.root.walk()}
    if not mover.stays:
        for element, document in owner.items():
            moves = element.tag == "compiler" and any(mover.moved(element.attributes.get(name)) for name in FOLDERS)
            lost = element.tag == "include" and not (document.path.parent / element.attributes["file"]).is_file()
            if moves or lost:
                written.add(document)
    size = 0
    while size != len(written):  # a file that names a file with a new place has to say so
        size = len(written)
        written |= {owner[element] for element, included in files.includes.items() if included in written}
    return written


def _places(files: Files, written: set[Document], target: Path) -> dict[Document, Path]:
    places, taken = {}, {os.path.realpath(path) for path in files.documents}
    if os.path.realpath(target) in taken:
        raise ModelError(f"{target} is a file of the model itself; input files are never changed. Choose another name.")
    for document in files.documents.values():
        if document is files.main:
            places[document] = target
        elif document in written:
            place, count = target.with_name(f"{target.stem}_{document.path.name}"), 1
            while os.path.realpath(place) in taken:
                count += 1
                place = target.with_name(f"{target.stem}_{count}_{document.path.name}")
            places[document] = place
            taken.add(os.path.realpath(place))
    return places


def _file_attributes(element: Element) -> list[str]:
    """Attributes that name files an element is read from: file, and a texture's fileright, fileup, ..."""
    return [name for name in element.attributes if name.startswith("file")] if element.tag in FOLDER_OF else []


def _missing_folders(files: Files, mover: Mover) -> list[str]:
    """Folders no `<compiler>` names although files are read from there (the main file's own folder)."""
    if mover.stays:
        return []
    elements = [(document, e) for document in files.documents.values() for e in document.root.walk()]
    named = {name for _, e in elements if e.tag == "compiler" for name in e.attributes}
    needed = {
        FOLDER_OF[element.tag]
        for document, element in elements
        for name in _file_attributes(element)
        if mover.moved(element.attributes[name])
        and (document is files.main or not (document.path.parent / element.attributes[name]).exists())
    }
    return sorted(name for name in needed if name not in named and "assetdir" not in named)


def _add_folders(main: Document, folders: dict[str, str]) -> list[Edit]:
    if not folders:
        return []
    compiler = main.root.find("compiler")
    if compiler is None:
        return insert(main, main.root, New("compiler", folders))
    return [edit for name, text in folders.items() for edit in assign(main, compiler, name, text)]
