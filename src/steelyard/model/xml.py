"""Hardened XML reading: no entities, no network, bounded size; errors that name file, line and element."""

from pathlib import Path

from lxml import etree

from steelyard.errors import ModelError

MAX_BYTES = 64 * 2**20


def parse(path) -> etree._Element:
    """Root element of an XML model file. Raises ModelError that names the file, the line and the remedy."""
    return parse_bytes(read_bytes(path), path)


def read_bytes(path) -> bytes:
    """Content of a model file. Raises ModelError when it is missing, unreadable, empty or too large."""
    path = Path(path)
    try:
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "missing" if not path.exists() else "not a regular file"
            raise ModelError(f"Model file {path} is {kind}. Give the path of a .urdf or MJCF .xml file.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ModelError(
                f"Model file {path} has {size / 2**20:.0f} MB; model files up to {MAX_BYTES // 2**20} MB are read."
            )
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"Model file {path} cannot be read: {error.strerror or error}.") from error
    if not content.strip():
        raise ModelError(f"Model file {path} is empty.")
    return content


def parse_bytes(content: bytes, path) -> etree._Element:
    """Root element of XML text; `path` only names it in messages."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ModelError(
            f"{path}, line {error.lineno}: not well-formed XML ({error.msg}). Correct the file and try again."
        ) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise ModelError(
            f"{path}: document type declarations and entities are not accepted in model files. Remove <!DOCTYPE>."
        )
    return root


def where(element, path) -> str:
    """`file:line <tag name="...">`, to start a message with."""
    name = element.get("name") or element.get("link")
    return f"{path}:{element.sourceline} <{element.tag}" + (f' name="{name}">' if name else ">")
