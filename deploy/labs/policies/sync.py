"""sync: hold a step's leaves until all are there, then close it: that is the barrier."""
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    gradient = asked["gradient"]
    whole = asked["held"] + gradient["leaves"] == gradient["of"]
    print(json.dumps({"do": "close" if whole else "hold"}), flush=True)
