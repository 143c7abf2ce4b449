"""`python -m syncopate ARGS` is `syncopate ARGS`, but for `check net.py`: are its leaves exact?"""
import sys

from . import protocol
from .check import check

if sys.argv[1:2] == ["check"]:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m syncopate check PROGRAM.py")
    sys.exit(check(sys.argv[2]))
protocol.execute(sys.argv[1:])
