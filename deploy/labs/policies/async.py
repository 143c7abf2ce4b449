"""async: apply each gradient when it comes; no worker waits for another."""
import sys

for line in sys.stdin:
    print('{"do": "apply"}', flush=True)
