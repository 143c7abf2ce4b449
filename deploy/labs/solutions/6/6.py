import json, sys

rates = []
for line in sys.stdin:
    gradient = json.loads(line)["gradient"]
    rates.append(1 / (1 + gradient["now"] - gradient["base"]))
    print(json.dumps({"do": "apply", "rate": rates[-1]}), flush=True)
print("mean rate", sum(rates) / len(rates), file=sys.stderr)
