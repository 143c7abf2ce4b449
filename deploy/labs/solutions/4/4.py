import json, sys

for line in sys.stdin:
    gradient = json.loads(line)["gradient"]
    old = gradient["now"] - gradient["base"] > 8
    print(json.dumps({"do": "again" if old else "apply"}), flush=True)
