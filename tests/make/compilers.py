"""Compilers of generated code, which take warnings for errors."""

import shutil

import pytest

C99 = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
CPP = ["-x", "c++", "-Wall", "-Wextra", "-pedantic", "-Werror"]
KNOWN = [["gcc", *C99], ["clang", *C99], ["g++", *CPP], ["clang++", *CPP]]
COMPILERS = [compiler for compiler in KNOWN if shutil.which(compiler[0])]
EACH_COMPILER = [
    pytest.param(each, id=each[0], marks=pytest.mark.skipif(each not in COMPILERS, reason=f"needs {each[0]}"))
    for each in KNOWN
]
NEEDED = pytest.mark.skipif(not COMPILERS, reason="needs a C compiler")
