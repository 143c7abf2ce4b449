"""`python -m syncopate ARGS` is `syncopate ARGS`; `python -m syncopate check net.py` looks whether leaves are exact."""
import sys

from . import protocol
from .check import check

if sys.argv[1:2] == ["check"]:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m syncopate check PROGRAM.py")
    sys.exit(check(sys.argv[2]))
protocol.execute(sys.argv[1:])
