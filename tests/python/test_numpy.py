"""The Python package without PyTorch: the protocol, ends, refusals, check, what is installed."""
import os
import stat
import subprocess
import sys
import unittest

import numpy as np
from programs import PACKAGE, Programs

# The loss of an example x is half of |w - x|^2, and an example is right where w < x.
SQUARES = """
import os, sys, numpy as np, syncopate
x = np.arange(20, dtype="f4").reshape(10, 2)
def gradient(p, g, i, test):
    d = p["w"] - x[i]
    {hook}
    if g is not None:
        g["w"][:] = d.sum(0)
    return (d * d).sum() / 2, (d < 0).all(1).sum()
syncopate.main(gradient, {{"b": np.ones(3, "f8"), "w": np.array([1, 2], {dtype}), "s": np.float32(7).reshape(())}},
               examples=10, test_examples=4, averages={{"b": 0.1}}, optimizer="adam", learning_rate=0.5)
"""


def squares(hook="pass", dtype='"f4"'):
    return SQUARES.format(hook=hook, dtype=dtype)


class Answers(Programs):
    def test_a_program_declares_and_writes_its_initial_values(self):
        asker = self.start(squares())
        self.assertEqual(asker.declared["name"], "net: numpy")
        self.assertEqual(asker.declared["variables"], [{"name": "b", "shape": [3], "average": 0.1},
                                                       {"name": "w", "shape": [2]}, {"name": "s", "shape": [1]}])
        self.assertEqual(asker.declared["options"], {"optimizer": "adam", "learning-rate": 0.5})
        self.assertEqual((asker.declared["examples"], asker.declared["test_examples"]), (10, 4))
        self.assertIn(f"numpy {np.__version__}", asker.declared["fingerprint"])
        self.assertEqual(asker.parameters["w"].tolist(), [1, 2])
        self.assertEqual(asker.parameters["b"].tolist(), [1, 1, 1])

    def test_gradient_loss_and_score_are_sums(self):
        asker = self.start(squares())
        answer = asker.gradient([0, 3])
        self.assertEqual((answer.loss, answer.correct), (1 + 25, 1))
        self.assertEqual(answer.gradient[16:18].tolist(), [1 - 5, 1 - 5])
        self.assertFalse(answer.gradient[:16].any())
        asker.parameters["w"][:] = [0, 0]
        self.assertEqual(asker.score(1, 2).loss, (4 + 9 + 16 + 25) / 2)
        asker.end()
        self.assertEqual(self.ends(asker), "")

    def test_generators_are_seeded_for_each_leaf(self):
        asker = self.start(squares("import random; d = d * np.random.rand() * random.random()"))
        one, other = asker.gradient([1], seed=5), asker.gradient([1], seed=1 << 63 | 6)
        self.assertNotEqual(one.loss, other.loss)
        self.assertEqual(one.loss, asker.gradient([1], seed=5).loss)

    def test_a_program_cannot_change_parameters(self):
        asker = self.start(squares('p["w"] += 1'))
        with self.assertRaisesRegex(RuntimeError, "read-only"):
            asker.gradient([1])


class Ends(Programs):
    def test_an_exception_is_told_and_ends_the_program(self):
        asker = self.start(squares('raise ValueError("no such thing")'))
        with self.assertRaisesRegex(RuntimeError, "^ValueError: no such thing$"):
            asker.gradient([1])
        self.assertRegex(self.ends(asker, 1), r'(?s)^Traceback .*net.py", line \d+, in gradient.*ValueError')

    def test_a_question_that_is_none_ends_the_program(self):
        asker = self.start(squares())
        with self.assertRaisesRegex(RuntimeError, "kind 77 is no question"):
            asker.ask(77, b"")

    def test_an_asker_that_has_gone_ends_the_program(self):
        asker = self.start(squares())
        asker.channel.socket.close()
        self.assertEqual(self.ends(asker, 1), "")

    def test_an_interrupt_is_no_traceback(self):
        asker = self.start(squares("os.kill(os.getpid(), 2)"))
        with self.assertRaises((EOFError, ConnectionResetError)):
            asker.gradient([1])
        self.assertEqual(self.ends(asker, 130), "")

    def test_children_of_a_program_do_not_answer(self):
        asker = self.start(squares("child = os.fork(); child and os.waitpid(child, 0)"))
        self.assertEqual([asker.gradient([0]).loss, asker.gradient([3]).loss], [1, 25])
        self.assertEqual(asker.score(0, 1).loss, 1)

    def test_what_a_program_starts_has_neither_socket_nor_variable(self):
        asker = self.start(squares("os.system('ls /proc/self/fd | wc -l; env | grep -c SYNCOPATE_PROGRAM')"))
        asker.gradient([0])
        asker.end()
        self.assertEqual(self.ends(asker).split(), ["4", "0"])  # Three, and the folder itself.

    def test_a_loop_that_forgets_done_is_told(self):
        asker = self.start("import numpy as np, syncopate\n"
                           "for w in syncopate.leaves({'w': np.zeros(2, 'f4')}, examples=2): pass\n")
        with self.assertRaisesRegex(RuntimeError, r"done\(\) or step\(\) is missing"):
            asker.gradient([0])

    def test_a_loop_of_ones_own_goes_on_after_the_end_where_it_has_trained(self):
        text = ("import numpy as np, syncopate\n"
                "for w in syncopate.leaves({'w': np.zeros(2, 'f4')}, examples=2): w.done(len(w.examples))\n"
                "print('behind the loop')\n")
        asker = self.start(text)
        asker.end()
        self.assertEqual(self.ends(asker), "")
        asker = self.start(text)
        self.assertEqual(asker.gradient([0, 1]).loss, 2)
        asker.end()
        self.assertEqual(self.ends(asker), "behind the loop\n")


class Commands(Programs):
    def setUp(self):
        super().setUp()
        path = self.file('#!/bin/sh\nfor word; do echo "[$word]"; done\n', "syncopate")
        os.chmod(path, stat.S_IRWXU)

    def test_a_program_becomes_the_command_that_starts_it(self):
        path = self.file(squares(), "my net.py")
        code, said = self.run_here("my net.py", "run", "--workers", "2", SYNCOPATE_BIN_DIR=self.folder)
        self.assertEqual((code, said.split("\n")[:4]), (0, ["[run]", "[--workers]", "[2]", "[--program]"]))
        self.assertIn(f"[{sys.executable} '{path}']", said)

    def test_the_module_is_the_command(self):
        code, said = self.run_here("-m", "syncopate", "inspect", "RUN", SYNCOPATE_BIN_DIR=self.folder)
        self.assertEqual((code, said), (0, "[inspect]\n[RUN]\n"))
        code, said = self.run_here("-m", "syncopate", "inspect", SYNCOPATE_BIN_DIR="/nonexistent")
        self.assertEqual(code, 1)
        self.assertRegex(said, "^syncopate is not here: install it")

    def test_a_program_without_a_question_says_how_to_start_it(self):
        for words in ([], ["--help"]):
            self.assertRegex(self.run_here(self.file(squares()), *words)[1], "computes gradients for syncopate: python3 .* run")

    def test_what_is_not_float_is_refused(self):
        code, said = self.run_here(self.file(squares(dtype='"i8"')), "run")
        self.assertEqual(code, 1)
        self.assertIn('variable "w" is int64: programs train floats (kept as float32; float16 and bfloat16 are copied)', said)


class Check(Programs):
    def check(self, *hook):
        return self.run_here("-m", "syncopate", "check", self.file(squares(*hook)))

    def test_a_program_that_is_exact_passes(self):
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, "net: numpy: 3 variables, 6 values; 10 examples, 4 test examples\n")
        self.assertRegex(said, "no gradient: b, s\nthe same bits again, after others, and in a second process$")

    def test_what_remembers_is_found(self):
        code, said = self.check("x[:] += 1")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"differently the second time \(w, 2 of 2 values\): the program is not deterministic")

    def test_what_differs_between_processes_is_found(self):
        code, said = self.check("d *= os.getpid()")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"differently in a second process \(w, 2 of 2 values\)")

    def test_a_mean_is_found(self):
        code, said = self.check("return (d * d).mean(), 0")
        self.assertEqual(code, 1)
        self.assertRegex(said, 'a mean, where the sum over the examples belongs')

    def test_a_stream_cannot_be_checked(self):
        text = squares().replace("examples=10", "examples=0")
        code, said = self.run_here("-m", "syncopate", "check", self.file(text))
        self.assertEqual(code, 1)
        self.assertRegex(said, "its examples are a stream")


class Installed(Programs):
    def test_pip_installs_it_without_an_index(self):
        place = os.path.join(self.folder, "venv")
        made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place], capture_output=True)
        if made.returncode:
            self.skipTest("no python3-venv")
        python = os.path.join(place, "bin", "python3")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", PACKAGE], check=True, env=environment)
        where = subprocess.run([python, "-c", "import syncopate.check; print(syncopate.__file__)"], check=True, text=True,
                               capture_output=True, env=environment, cwd=self.folder).stdout
        self.assertTrue(where.startswith(place), where)
        subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "syncopate"], check=True, env=environment)
        self.assertFalse(os.path.exists(os.path.dirname(where)))


if __name__ == "__main__":
    unittest.main()
