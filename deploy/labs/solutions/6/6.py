import json, sys

rates = []
for line in sys.stdin:
    gradient = json.loads(line).get("gradient")
    answer = {"do": "give"}
    if gradient:
        rates.append(1 / (1 + gradient["now"] - gradient["base"]))
        answer = {"do": "apply", "rate": rates[-1]}
    print(json.dumps(answer), flush=True)
print("mean rate", sum(rates) / len(rates), file=sys.stderr)
