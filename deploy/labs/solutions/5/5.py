import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    gradient = asked["gradient"]
    spare = gradient["of"] * 5 // 100
    enough = asked["held"] + gradient["leaves"] >= gradient["of"] - spare
    print(json.dumps({"do": "close" if enough else "hold"}), flush=True)
