import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    gradient = asked["gradient"]
    whole = asked["held"] + gradient["leaves"] == gradient["of"]
    print(json.dumps({"do": "close" if whole else "hold"}), flush=True)
