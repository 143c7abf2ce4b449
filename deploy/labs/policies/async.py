"""async: apply each gradient when it comes; no worker waits for another."""
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"do": "apply" if "gradient" in asked else "give"}), flush=True)
