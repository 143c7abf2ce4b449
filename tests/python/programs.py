"""What the tests of the Python package share: programs in temporary files, asked as an asker asks them."""
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
import unittest

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "worker", "python")
sys.path.insert(0, PACKAGE)
os.environ.update(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")

from syncopate.check import Asker  # noqa: E402


class Forked:
    """A program without the seconds in which an interpreter starts and imports torch."""

    def __init__(self, path, asker):
        ours, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(theirs, 1)
            os.dup2(theirs, 2)
            asker.channel.socket.close()
            os.environ["SYNCOPATE_PROGRAM"] = "1,%d,%d" % asker.ends
            code = 0
            try:
                runpy.run_path(path, run_name="__main__")
            except SystemExit as end:
                code = end.code
            except BaseException:
                code = 1
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            os._exit(code)
        asker.given()
        os.close(theirs)
        self.stdout = os.fdopen(ours)

    def wait(self):
        if self.pid:
            self.code, self.pid = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), 0
        return self.code


class Programs(unittest.TestCase):
    forked = False

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, text, name="net.py"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, text):
        """An asker of this program, which has declared and written its initial values."""
        asker, path = Asker(), self.file(text)
        if self.forked:
            asker.child = Forked(path, asker)
        else:
            asker.child = asker.start(f"exec {shlex.join([sys.executable, path])}", stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        self.addCleanup(asker.child.wait)
        self.addCleanup(asker.child.stdout.close)
        self.addCleanup(asker.channel.socket.close)
        asker.declared = asker.look()
        asker.initial()
        return asker

    def ends(self, asker, code=0):
        """Of the program's end, all that it has printed."""
        said = asker.child.stdout.read()
        self.assertEqual(asker.child.wait(), code, said)
        return said

    def run_here(self, *arguments, **environment):
        """Exit code and words of a command of Python."""
        done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, **environment}, cwd=self.folder)
        return done.returncode, done.stdout
